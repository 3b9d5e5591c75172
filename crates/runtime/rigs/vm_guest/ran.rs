//! Where items ran, and from where they were queued.

use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use cmwq::{Work, Workqueue};
use cmwq_os::sched;
use cmwq_policy::CpuMask;

use crate::checks::Outcome;

/// A thread that has nothing to do sleeps after so long, unless the machine is very busy. A worker
/// that has just ended an item does not: it takes the next one where it is, wherever that belongs.
const REST: Duration = Duration::from_millis(2);

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
        thread::sleep(REST);
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
        thread::sleep(REST);
        queue
            .queue_on(cpu, &work)
            .expect("the machine has this CPU");
        work.flush().expect("nothing waits for us");
    }
    let seen = seen.lock().expect("no panic");
    seen.clone()
}

/// A bare thread that begins in `pod`, may run on all of `cpus`, and is woken again and again.
pub(crate) fn woken(pod: &CpuMask, from: usize, cpus: &CpuMask, times: usize) -> Vec<Ran> {
    thread::scope(|scope| {
        let (wakes, woken) = mpsc::channel::<()>();
        let (ran, seen) = mpsc::channel();
        scope.spawn(move || {
            for mask in [pod, cpus] {
                sched::set_affinity_self(mask).expect("the machine has these CPUs");
            }
            while woken.recv().is_ok() {
                ran.send(Ran::here(from)).expect("somebody waits for it");
            }
        });
        let wake = |_| {
            thread::sleep(REST);
            wakes.send(()).expect("it waits");
            seen.recv().expect("it answers")
        };
        let runs = (0..times).map(wake).collect();
        drop(wakes);
        runs
    })
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
