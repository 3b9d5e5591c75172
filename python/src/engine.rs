//! All that this face asks of the engine and of the Rust face, in one place.

use std::any::Any;
use std::fmt::Display;

use cmwq::{AffinityScope, BuildError, JoinError, Workqueue};
use cmwq_engine::Process;
use cmwq_os::observe::{Blocked, TaskFiles};
use cmwq_os::{clock, schedstat, thread};
use cmwq_policy::Time;
use pyo3::pyfunction;

pub(crate) use cmwq::{Job, JobError, JobProgress, JobStats, Stats, cpus, stats};

/// What a queue is to be like.
pub(crate) struct Spec<'a> {
    pub(crate) name: &'a str,
    pub(crate) max_active: Option<usize>,
    pub(crate) nice: i32,
    pub(crate) scope: Option<&'a str>,
    pub(crate) strict: bool,
    pub(crate) ordered: bool,
}

/// What threads are like, from the first use in the process on, which decides. Bytes of their
/// stacks; the mask of signals is the caller's, as a thread has it that Python starts here: signals
/// still go to the main thread, unless that blocks them, but processes that a call starts inherit
/// the mask.
#[pyfunction]
pub(crate) fn prepare(stack_size: usize) {
    if Process::options().1 {
        return;
    }
    let sigmask = thread::sigmask();
    // Refused if another thread was faster.
    let _ = cmwq::Builder::new()
        .stack_size(stack_size)
        .on_thread_start(move || thread::set_sigmask(sigmask))
        .install();
}

/// A queue could not be made.
pub(crate) enum MakeError {
    /// An attribute is wrong; which one.
    Argument(String),
    /// What the system denies.
    System(String),
}

/// Makes a queue.
///
/// # Errors
/// An attribute is wrong, or the system denies what a queue needs.
pub(crate) fn make(spec: &Spec<'_>) -> Result<Workqueue, MakeError> {
    let mut builder = Workqueue::builder(spec.name)
        .nice(spec.nice)
        .affinity_strict(spec.strict);
    if let Some(scope) = spec.scope {
        builder = builder.affinity_scope(scope_named(scope).map_err(MakeError::Argument)?);
    }
    if spec.ordered {
        builder = builder.ordered();
    }
    if let Some(limit) = spec.max_active {
        builder = builder.max_active_exact(limit);
    }
    builder.build().map_err(|error| match error {
        BuildError::System(_) | BuildError::Rescuer(_) => MakeError::System(text(error)),
        _ => MakeError::Argument(text(error)),
    })
}

fn scope_named(name: &str) -> Result<AffinityScope, String> {
    AffinityScope::parse(name).ok_or_else(|| format!("affinity_scope {name:?} is none"))
}

/// Queues an item that calls `func` once.
///
/// # Errors
/// If the queue refuses it, says why.
pub(crate) fn start(queue: &Workqueue, func: impl FnOnce() + Send + 'static) -> Result<(), String> {
    let item = queue.spawn(func);
    // A refused item has ended at once. One that was not may have ended too.
    match item.is_finished().then(|| item.join()) {
        Some(Err(refused @ JoinError::Refused(_))) => Err(text(refused)),
        _ => Ok(()),
    }
}

fn text(error: impl Display) -> String {
    error.to_string()
}

/// Whether anything waits for the slot or the worker of the calling item.
pub(crate) fn others_waiting() -> bool {
    cmwq::others_waiting()
}

/// Runs `wait`, which sleeps: another worker may have the CPU.
pub(crate) fn blocking<R>(wait: impl FnOnce() -> R) -> R {
    cmwq::blocking(wait)
}

/// The calling item is about to block, until this is dropped on the same thread.
pub(crate) fn hint() -> Box<dyn Any> {
    Box::new(cmwq_engine::worker::hint())
}

/// What people are told of the calling item.
pub(crate) fn describe(text: &str) {
    cmwq::set_worker_desc(text);
}

/// What this face keeps for the process. A forked child begins with a new one.
///
/// # Panics
/// If the engine cannot be made; whoever has a queue has it.
pub(crate) fn state<T: Any + Default + Send + Sync>() -> &'static T {
    Process::get().expect("the engine is there").state()
}

/// The same, if the process has used the engine.
pub(crate) fn existing_state<T: Any + Default + Send + Sync>() -> Option<&'static T> {
    Process::existing().map(Process::state)
}

/// The time that the policy goes by.
pub(crate) fn now() -> Time {
    clock::now()
}

/// For how many nanoseconds a thread of this process has run or waited for a CPU, if the system
/// tells.
pub(crate) fn wanted_cpu(tid: i32) -> Option<u64> {
    let stat = schedstat::of(tid)?;
    Some(stat.run + stat.run_delay)
}

/// The calling thread's id.
pub(crate) fn gettid() -> i32 {
    thread::gettid()
}

/// What a thread sleeps at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SleepsAt {
    /// A futex at this address.
    Futex(u64),
    /// Something else.
    Elsewhere,
    /// It does not sleep.
    Runs,
    /// The system does not tell.
    Unknown,
}

/// Where a thread of this process sleeps.
pub(crate) fn sleeps_at(tid: i32) -> SleepsAt {
    match TaskFiles::new(tid).blocked() {
        Blocked::Unknown => SleepsAt::Unknown,
        Blocked::Running => SleepsAt::Runs,
        blocked => match blocked.futex_address() {
            Some(address) => SleepsAt::Futex(address),
            None => SleepsAt::Elsewhere,
        },
    }
}
