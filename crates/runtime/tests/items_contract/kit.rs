//! What the tests of items have in common.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{Scope, ScopedJoinHandle};

use cmwq::{Report, Work, Workqueue};
use cmwq_os::{sched, thread};

use crate::common::{Occupancy, Permits, eventually, threads};

/// The CPUs of the process.
pub(crate) fn cpus() -> Vec<usize> {
    let mask = sched::affinity(thread::getpid()).unwrap();
    mask.iter().collect()
}

/// The kinds of queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    PerCpu,
    Managed,
    Unmanaged,
    Ordered,
    Bh,
}

pub(crate) const KINDS: [Kind; 5] = [
    Kind::PerCpu,
    Kind::Managed,
    Kind::Unmanaged,
    Kind::Ordered,
    Kind::Bh,
];

impl Kind {
    pub(crate) fn queue(self) -> Workqueue {
        let builder = Workqueue::builder(&format!("{self:?}"));
        let builder = match self {
            Kind::PerCpu => builder.percpu(),
            Kind::Managed => builder,
            Kind::Unmanaged => builder.unmanaged(),
            Kind::Ordered => builder.ordered(),
            Kind::Bh => builder.bh(),
        };
        builder.build().unwrap()
    }

    /// Whether an item that waits keeps all others of its queue, or of its CPU, from running.
    pub(crate) fn runs_one_at_a_time(self) -> bool {
        matches!(self, Kind::Ordered | Kind::Bh)
    }

    /// A queue that runs one item at a time, as far as the first CPU goes.
    pub(crate) fn narrow(self) -> Workqueue {
        let queue = self.queue();
        queue.set_max_active(1);
        queue
    }
}

/// An item's data: it counts its executions, and each waits for a permit.
#[derive(Default)]
pub(crate) struct Gated {
    pub(crate) gate: Permits,
    pub(crate) inside: Occupancy,
    pub(crate) began: AtomicUsize,
    pub(crate) ended: AtomicUsize,
    /// Where each execution was.
    places: Mutex<Vec<Place>>,
}

struct Place {
    queue: String,
    thread: i32,
    cpu: usize,
}

impl Place {
    fn here() -> Self {
        Place {
            queue: cmwq::current_work().map_or_else(String::new, |current| current.queue),
            thread: thread::gettid(),
            cpu: sched::current_cpu(),
        }
    }
}

pub(crate) type Item = Work<Gated>;

pub(crate) fn gated() -> Item {
    Work::with_data(Gated::default(), |item| item.data().pass())
}

impl Gated {
    /// What an execution does.
    pub(crate) fn pass(&self) {
        let _counted = self.inside.enter();
        self.places.lock().unwrap().push(Place::here());
        self.began.fetch_add(1, SeqCst);
        self.gate.take();
        self.ended.fetch_add(1, SeqCst);
    }

    pub(crate) fn began(&self) -> usize {
        self.began.load(SeqCst)
    }

    pub(crate) fn ended(&self) -> usize {
        self.ended.load(SeqCst)
    }

    /// Waits until that many executions have begun.
    pub(crate) fn has_begun(&self, times: usize) {
        eventually("it has begun that often", || self.began() >= times);
        assert_eq!(self.began(), times);
    }

    pub(crate) fn queue_of_run(&self, run: usize) -> String {
        self.places.lock().unwrap()[run].queue.clone()
    }

    pub(crate) fn thread_of_run(&self, run: usize) -> i32 {
        self.places.lock().unwrap()[run].thread
    }

    pub(crate) fn cpu_of_run(&self, run: usize) -> usize {
        self.places.lock().unwrap()[run].cpu
    }
}

/// A gated item that this queue executes at this moment, on the process's first CPU if that
/// matters.
pub(crate) fn running_on(queue: &Workqueue) -> Item {
    let item = gated();
    start(queue, &item);
    item
}

pub(crate) fn start(queue: &Workqueue, item: &Item) {
    let before = item.data().began();
    assert_eq!(queue.queue_on(cpus()[0], item), Ok(true));
    item.data().has_begun(before + 1);
}

/// An item that counts its executions.
pub(crate) fn counting() -> Work<AtomicUsize> {
    Work::with_data(AtomicUsize::new(0), |runs| {
        runs.data().fetch_add(1, SeqCst);
    })
}

/// Has other items run on this queue: time enough for what could wrongly run beside them.
pub(crate) fn others_run(queue: &Workqueue, items: usize) {
    for _ in 0..items {
        queue.spawn(|| ()).join().unwrap();
    }
}

/// Looks in a row at which a thread has to be asleep, a millisecond apart: it waits, and not for a
/// lock.
const LOOKS: usize = 20;

/// Calls `wait` on a thread of its own, and returns when that sleeps or has ended.
pub(crate) fn waiter<'scope, R: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    wait: impl FnOnce() -> R + Send + 'scope,
) -> ScopedJoinHandle<'scope, R> {
    let (say, tid) = mpsc::channel();
    let handle = scope.spawn(move || {
        say.send(thread::gettid()).unwrap();
        wait()
    });
    let tid = tid.recv().unwrap();
    let mut asleep = 0;
    eventually("it waits", || {
        asleep = if is_asleep(tid) { asleep + 1 } else { 0 };
        asleep >= LOOKS || handle.is_finished()
    });
    handle
}

fn is_asleep(tid: i32) -> bool {
    let all = threads::of(std::process::id() as i32);
    let thread = all.into_iter().find(|thread| thread.tid == tid);
    thread.is_some_and(|thread| thread.field("State:").starts_with('S'))
}

/// Takes over the reports of the process.
pub(crate) fn reports() -> Arc<Mutex<Vec<Report>>> {
    let log = Arc::<Mutex<Vec<Report>>>::default();
    let hook = log.clone();
    cmwq::set_report_hook(move |report| hook.lock().unwrap().push(report.clone()));
    log
}

/// A number sequence that is the same each time (xorshift).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }
}
