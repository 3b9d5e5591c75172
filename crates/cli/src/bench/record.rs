//! When each item was queued, ran, waited and ended: slots made beforehand, written without a lock.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::stats::{peak_overlap, percentile};

/// A time on the monotonic clock, 0 while not yet known. One thread writes it.
#[derive(Debug, Default)]
pub(super) struct Stamp(AtomicU64);

impl Stamp {
    pub(super) fn set(&self, ns: u64) {
        // Relaxed: read only after the run's latch, which orders all stamps before the reader.
        self.0.store(ns, Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        // Relaxed: see `set`.
        self.0.load(Relaxed)
    }
}

/// The times of one item.
#[derive(Debug, Default)]
pub(super) struct Slot {
    pub(super) queued: Stamp,
    pub(super) started: Stamp,
    /// End of the first stretch of computing; 0 for an item without a wait.
    pub(super) paused: Stamp,
    /// When the wait was due to end: what the item waited for had happened.
    pub(super) due: Stamp,
    pub(super) ended: Stamp,
}

impl Slot {
    fn running_time(&self) -> u64 {
        self.ended.get() - self.started.get()
    }

    fn sojourn(&self) -> u64 {
        self.ended.get() - self.queued.get()
    }

    /// When the item was able to run, whether or not it had a CPU: from its start to its wait, and
    /// from the moment its wait was due to end to its end. A wait that was over before it began
    /// leaves no gap. A thread that has been woken for an item but has not got to its first
    /// instruction is not counted: the item has not started.
    fn able(&self) -> [(u64, u64); 2] {
        let (started, ended) = (self.started.get(), self.ended.get());
        match self.paused.get() {
            0 => [(started, ended), (ended, ended)],
            paused => [
                (started, paused),
                (self.due.get().clamp(paused, ended), ended),
            ],
        }
    }
}

/// Figures over all items of a run. Times in ns.
#[derive(Debug)]
pub(super) struct Summary {
    pub(super) last_started: u64,
    pub(super) last_ended: u64,
    pub(super) item_p50: u64,
    pub(super) item_p99: u64,
    pub(super) sojourn_p99: u64,
    /// Most items that were able to run at one moment.
    pub(super) peak_runnable: usize,
}

/// Sums up a run that has ended.
pub(super) fn summarize(slots: &[Slot]) -> Summary {
    let mut running: Vec<u64> = slots.iter().map(Slot::running_time).collect();
    let mut sojourn: Vec<u64> = slots.iter().map(Slot::sojourn).collect();
    let able: Vec<(u64, u64)> = slots.iter().flat_map(Slot::able).collect();
    Summary {
        last_started: latest(slots, |slot| &slot.started),
        last_ended: latest(slots, |slot| &slot.ended),
        item_p50: percentile(&mut running, 50),
        item_p99: percentile(&mut running, 99),
        sojourn_p99: percentile(&mut sojourn, 99),
        peak_runnable: peak_overlap(&able),
    }
}

fn latest(slots: &[Slot], stamp: impl Fn(&Slot) -> &Stamp) -> u64 {
    slots
        .iter()
        .map(|slot| stamp(slot).get())
        .max()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(queued: u64, started: u64, paused: u64, due: u64, ended: u64) -> Slot {
        let slot = Slot::default();
        slot.queued.set(queued);
        slot.started.set(started);
        slot.paused.set(paused);
        slot.due.set(due);
        slot.ended.set(ended);
        slot
    }

    #[test]
    fn waiting_items_are_not_runnable() {
        // The second runs wholly inside the first one's wait; the third overlaps it.
        let slots = [
            slot(1, 10, 20, 50, 60),
            slot(1, 20, 0, 0, 50),
            slot(1, 30, 0, 0, 40),
        ];
        let summary = summarize(&slots);
        assert_eq!(summary.peak_runnable, 2);
        assert_eq!((summary.last_started, summary.last_ended), (30, 60));
        assert_eq!((summary.item_p50, summary.item_p99), (30, 50));
        assert_eq!(summary.sojourn_p99, 59);
    }

    #[test]
    fn a_wait_over_before_it_began_leaves_no_gap() {
        assert_eq!(slot(1, 10, 20, 5, 60).able(), [(10, 20), (20, 60)]);
    }

    #[test]
    fn a_late_wake_up_counts_as_runnable_from_when_it_was_due() {
        assert_eq!(slot(1, 10, 20, 30, 60).able()[1], (30, 60));
    }
}
