//! Multithreaded jobs (kernel `padata_do_multithreaded`): chunks of a range on idle CPUs.
//!
//! How many threads a job is worth and how long its chunks are is `cmwq_policy::job`. Chunks are
//! taken from the front, as in the kernel. The caller works too. Helpers that have not begun when
//! it is through never do; it waits for the others.

use std::ffi::{c_int, c_ulong, c_void};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

use cmwq_engine::sync::Mutex;
use cmwq_engine::{Header, Latch, Process, RawItem, RawQueue, Ref, Vtable, user};
use cmwq_policy::job::{Cut, Grant, Quota, Shape};

use crate::abi::{Arg, Sized32};
use crate::errno::EINVAL;
use crate::handle::{self, SYSTEM_UNMANAGED};
use crate::mode;
use crate::say::misuse;

type ThreadFn = extern "C-unwind" fn(c_ulong, c_ulong, *mut c_void);

/// As `struct cmwq_job`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct CJob {
    size_of: u32,
    max_threads: u32,
    func: Option<ThreadFn>,
    arg: Arg,
    start: c_ulong,
    size: c_ulong,
    align: c_ulong,
    min_chunk: c_ulong,
}

const NO_JOB: CJob = CJob {
    size_of: 0,
    max_threads: 0,
    func: None,
    arg: Arg(std::ptr::null_mut()),
    start: 0,
    size: 0,
    align: 1,
    min_chunk: 1,
};

/// Helpers of the process, of all jobs together.
#[derive(Default)]
struct Helpers(Mutex<Quota>);

/// What the threads of a job share, on the caller's stack.
struct Run {
    func: ThreadFn,
    arg: Arg,
    next: AtomicU64,
    end: u64,
    chunk: u64,
}

/// The header comes first.
#[repr(C)]
struct Helper {
    header: Header,
    run: *const Run,
    ended: Latch,
}

static HELPER: Vtable = Vtable {
    run: help,
    // The caller keeps it.
    count: |_, _: Ref| (),
    name: |_| "job",
};

/// # Safety
/// The header is that of a helper, whose job waits for it.
unsafe fn help(header: NonNull<Header>) {
    // SAFETY: as above.
    let helper = unsafe { header.cast::<Helper>().as_ref() };
    // SAFETY: the job is there until its helpers have ended.
    let run = unsafe { &*helper.run };
    mode::entered(helper.run.cast());
    run.work();
    mode::left();
    helper.ended.set();
}

impl Run {
    fn work(&self) {
        while let Some((from, to)) = self.take() {
            user::run(|| (self.func)(from as c_ulong, to as c_ulong, self.arg.0));
        }
    }

    /// The next chunk: to the next multiple of its length, so that later ones are aligned.
    fn take(&self) -> Option<(u64, u64)> {
        let to = |from: u64| {
            let to = (from / self.chunk + 1).saturating_mul(self.chunk);
            (from < self.end).then(|| to.min(self.end))
        };
        let from = self.next.fetch_update(SeqCst, SeqCst, to).ok()?;
        Some((from, to(from)?))
    }
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_run_job(job: Sized32<CJob>) -> c_int {
    const CALL: &str = "cmwq_run_job";
    let Some(job) = job.read(NO_JOB) else {
        return misuse(CALL, "the job is NULL or of no known size");
    };
    let (Some(func), Some(end)) = (job.func, job.start.checked_add(job.size)) else {
        return misuse(CALL, "the function is NULL, or the range has no end");
    };
    if job.size == 0 {
        return 0;
    }
    let process = Process::get().ok();
    let shape = Shape {
        size: job.size,
        cut: Cut::new(job.align, job.min_chunk),
        max_threads: job.max_threads,
        cpus: process.map_or(1, |process| process.cpus() as u32),
    };
    let threads = shape.threads();
    let run = Run {
        func,
        arg: job.arg,
        next: AtomicU64::new(job.start),
        end,
        chunk: match threads {
            1 => u64::MAX,
            threads => shape.chunk(threads),
        },
    };
    match process.zip(handle::system(SYSTEM_UNMANAGED, CALL).ok()) {
        Some((process, queue)) if threads > 1 => run_with(process, queue, &run, threads - 1),
        _ => run.work(),
    }
    if run.next.load(SeqCst) < end {
        EINVAL
    } else {
        0
    }
}

fn run_with(process: Process, queue: &RawQueue, run: &Run, wanted: u32) {
    let grants = granted(process, wanted);
    let mut helpers: Vec<Helper> = grants
        .iter()
        .map(|_| Helper {
            header: Header::new(&HELPER),
            run,
            ended: Latch::new(),
        })
        .collect();
    let mut begun = Vec::new();
    mode::queued(std::ptr::from_ref(run).cast());
    for helper in &mut helpers {
        // SAFETY: the header comes first. It is there until it was taken back or has ended.
        let item = unsafe { RawItem::new(NonNull::from(&mut *helper).cast()) };
        if queue.queue_item(None, item).is_ok() {
            begun.push((item, &helper.ended));
        }
    }
    run.work();
    if !process.is_ours() {
        // A child that the job has forked: its helpers are the parent's.
        std::mem::forget(helpers);
        return;
    }
    // First all are taken back: nobody waits for what another one is about to begin.
    begun.retain(|(item, _)| !item.cancel());
    for (_, ended) in begun {
        if !ended.is_set() {
            ended.announce();
            // SAFETY: no pwq is named.
            unsafe { queue.wait_begun(None, ended, Some("job"), &[]) };
        }
    }
    mode::waited();
    let mut quota = quota(process).lock().expect("nobody panics with it");
    grants.into_iter().for_each(|grant| quota.give_back(grant));
}

fn quota(process: Process) -> &'static Mutex<Quota> {
    &process.state::<Helpers>().0
}

fn granted(process: Process, wanted: u32) -> Vec<Grant> {
    let cpus = process.cpus() as u32;
    let mut quota = quota(process).lock().expect("nobody panics with it");
    (0..wanted)
        .map_while(|_| quota.grant(cpus, &[], None))
        .collect()
}
