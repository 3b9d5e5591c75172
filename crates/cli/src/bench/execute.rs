//! Carries out the items, on whatever thread a pool gives them.

use std::io::{PipeReader, Read};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Barrier, Condvar, Mutex, OnceLock};
use std::time::Duration;

use super::clock::{self, now};
use super::plan::{Item, Wait};
use super::record::Slot;
use super::spec::BARRIER_GROUP;

/// Where the items of one group meet.
struct Group {
    barrier: Barrier,
    /// When the last of them came: from then on all can run.
    last_arrival: AtomicU64,
}

/// What the items, the producer and the delivering thread share.
pub(super) struct Run {
    pub(super) items: Vec<Item>,
    pub(super) slots: Vec<Slot>,
    /// Monotonic time at which the run began.
    start: OnceLock<u64>,
    lock: Mutex<()>,
    groups: Vec<Group>,
    pipes: Vec<PipeReader>,
    left: AtomicUsize,
    done: Mutex<bool>,
    all_done: Condvar,
}

impl Run {
    pub(super) fn new(items: Vec<Item>, pipes: Vec<PipeReader>) -> Run {
        Run {
            slots: items.iter().map(|_| Slot::default()).collect(),
            start: OnceLock::new(),
            lock: Mutex::new(()),
            groups: groups(&items),
            pipes,
            left: AtomicUsize::new(items.len()),
            done: Mutex::new(false),
            all_done: Condvar::new(),
            items,
        }
    }

    /// Sets the time from which all others are counted; the first call decides.
    pub(super) fn begin(&self, start: u64) -> u64 {
        *self.start.get_or_init(|| start)
    }

    /// When the run began; waits until it has.
    pub(super) fn started_at(&self) -> u64 {
        *self.start.wait()
    }

    /// What the pool calls: item `index`, from start to end.
    pub(super) fn execute(&self, index: usize) {
        let (item, slot) = (&self.items[index], &self.slots[index]);
        slot.started.set(now());
        clock::burn(item.before);
        if item.wait != Wait::None {
            slot.paused.set(now());
            slot.due.set(self.wait(index, item.wait));
            clock::burn(item.after);
        }
        slot.ended.set(now());
        self.one_done();
    }

    /// Waits, and returns when the wait was due to end.
    fn wait(&self, index: usize, wait: Wait) -> u64 {
        match wait {
            Wait::None => now(),
            Wait::Sleep(ns) => clock::sleep(ns),
            Wait::Pipe(due) => {
                let mut byte = [0];
                let read = (&self.pipes[index]).read_exact(&mut byte);
                read.expect("the writer is open until all items have ended");
                self.started_at() + due
            }
            Wait::Lock(ns) => {
                let _held = self.lock.lock().unwrap();
                clock::sleep(ns)
            }
            Wait::Meet(group) => self.groups[group].meet(),
        }
    }

    fn one_done(&self) {
        if self.left.fetch_sub(1, SeqCst) == 1 {
            *self.done.lock().unwrap() = true;
            self.all_done.notify_one();
        }
    }

    /// Waits for all items; an error when they take `limit`, which only a pool that hangs does.
    pub(super) fn wait_all(&self, limit: Duration) -> Result<(), String> {
        let done = self.done.lock().unwrap();
        let (done, _) = self
            .all_done
            .wait_timeout_while(done, limit, |done| !*done)
            .unwrap();
        if *done {
            return Ok(());
        }
        let left = self.left.load(SeqCst);
        Err(format!(
            "{left} of {} items have not ended after {limit:?}",
            self.items.len()
        ))
    }
}

impl Group {
    fn meet(&self) -> u64 {
        // Relaxed: the barrier orders every arrival before every return from it.
        self.last_arrival.fetch_max(now(), Relaxed);
        self.barrier.wait();
        self.last_arrival.load(Relaxed) // Relaxed: see above.
    }
}

fn groups(items: &[Item]) -> Vec<Group> {
    let meeting = items
        .iter()
        .filter(|item| matches!(item.wait, Wait::Meet(_)))
        .count();
    let group = || Group {
        barrier: Barrier::new(BARRIER_GROUP),
        last_arrival: AtomicU64::new(0),
    };
    (0..meeting / BARRIER_GROUP).map(|_| group()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::clock::MS;
    use super::super::plan::items;
    use super::super::spec::Work;
    use super::*;

    #[test]
    fn stamps_are_in_order_and_cover_the_wait() {
        let run = Run::new(items(Work::Lock, 1, 2), Vec::new());
        run.begin(now());
        run.execute(0);
        let slot = &run.slots[0];
        let times = [&slot.started, &slot.paused, &slot.due, &slot.ended].map(|stamp| stamp.get());
        assert!(
            times.is_sorted() && times[0] >= run.started_at(),
            "{times:?}"
        );
        assert!(times[2] - times[1] >= MS, "{times:?}");
    }

    #[test]
    fn all_of_a_group_go_on_when_the_last_has_come() {
        let run = Run::new(items(Work::Barrier, BARRIER_GROUP, 2), Vec::new());
        std::thread::scope(|scope| {
            for index in 0..BARRIER_GROUP {
                let run = &run;
                scope.spawn(move || run.execute(index));
            }
        });
        let last = run
            .slots
            .iter()
            .map(|slot| slot.paused.get())
            .max()
            .unwrap();
        assert!(run.slots.iter().all(|slot| slot.due.get() >= last));
        assert_eq!(run.wait_all(Duration::ZERO), Ok(()));
    }

    #[test]
    fn what_has_not_ended_is_counted() {
        let run = Run::new(items(Work::Cpu, 2, 2), Vec::new());
        run.execute(0);
        let error = run.wait_all(Duration::ZERO).unwrap_err();
        assert!(error.starts_with("1 of 2 items"), "{error}");
    }
}
