//! Where items ran, and from where they were queued.

use std::sync::{Arc, Mutex};
use std::thread;

use cmwq::{Work, Workqueue};
use cmwq_os::sched;
use cmwq_policy::CpuMask;

use crate::checks::Outcome;

/// What an item saw.
#[derive(Clone, Copy)]
pub(crate) struct Ran {
    /// The CPU that it was queued for.
    pub(crate) from: usize,
    /// The CPU that it ran on.
    pub(crate) cpu: usize,
    /// The CPUs that its worker might use meanwhile.
    pub(crate) mask: CpuMask,
}

impl Ran {
    /// In the calling item.
    pub(crate) fn here(from: usize) -> Ran {
        Ran {
            from,
            cpu: sched::current_cpu(),
            mask: sched::affinity(0).expect("a thread may ask for its own"),
        }
    }
}

/// Calls it on this CPU. Not in the first thread: its mask is the process's.
pub(crate) fn on_cpu<R: Send>(cpu: usize, act: impl FnOnce() -> R + Send) -> R {
    let pinned = || {
        let only = [cpu].into_iter().collect();
        sched::set_affinity_self(&only).expect("the machine has this CPU");
        act()
    };
    thread::scope(|scope| scope.spawn(pinned).join().expect("it does not panic"))
}

/// Items that a thread on this CPU spawns, each after the end of the one before.
pub(crate) fn spawned(queue: &Workqueue, from: usize, items: usize) -> Vec<Ran> {
    let one = |_| {
        let item = queue.spawn(move || Ran::here(from));
        item.join().expect("it does not panic")
    };
    on_cpu(from, || (0..items).map(one).collect())
}

/// An item that is queued for this CPU from wherever we are, again and again.
pub(crate) fn queued_on(queue: &Workqueue, cpu: usize, items: usize) -> Vec<Ran> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = seen.clone();
    let work = Work::new(move || note.lock().expect("no panic").push(Ran::here(cpu)));
    for _ in 0..items {
        queue
            .queue_on(cpu, &work)
            .expect("the machine has this CPU");
        work.flush().expect("nothing waits for us");
    }
    let seen = seen.lock().expect("no panic");
    seen.clone()
}

/// What these items might use has to be this.
pub(crate) fn all_in(runs: &[Ran], cpus: &CpuMask) -> Outcome {
    let left = |ran: &&Ran| ran.mask != *cpus || !cpus.contains(ran.cpu);
    match runs.iter().find(left) {
        None => Ok(format!("on {cpus}")),
        Some(Ran { from, cpu, mask }) => Err(format!(
            "from CPU {from} on CPU {cpu}, the worker had {mask}, not {cpus}"
        )),
    }
}
