//! What the items do, and the lower bound of the time that any pool needs for them.

use super::clock::{MS, US};
use super::spec::{BARRIER_GROUP, Work};

const BURST: usize = 24;
const BURST_EVERY: u64 = 20 * MS;
/// Time of a block item that runs alone.
const BLOCK_ALONE: u64 = 6 * MS;
/// Under the shared mutex, one item of `lock`.
const LOCK_HOLD: u64 = MS;
/// Items of `pipe` among which the order of the deliveries is changed.
const PIPE_WINDOW: usize = 120;
/// When the first byte of `pipe` is delivered: as long as a block item's first half.
const FIRST_DELIVERY: u64 = 5 * MS + 500 * US;

/// What an item waits for between its two stretches of computing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// Nothing: the item only computes.
    None,
    Sleep(u64),
    /// One byte from the item's own pipe, written at this time of the run.
    Pipe(u64),
    /// The shared mutex, then a sleep of this length while holding it.
    Lock(u64),
    /// All the others of this group.
    Meet(usize),
}

/// One item: where and when it is queued, and what it does. Times in ns; `arrival` counts from the
/// start of the run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    pub(super) queue: usize,
    pub(super) arrival: u64,
    pub(super) before: u64,
    pub(super) wait: Wait,
    pub(super) after: u64,
}

impl Item {
    fn new(before: u64, wait: Wait, after: u64) -> Item {
        Item {
            queue: 0,
            arrival: 0,
            before,
            wait,
            after,
        }
    }

    fn cpu(&self) -> u64 {
        self.before + self.after
    }

    /// Time the item needs when it is alone, counted from its start.
    fn alone(&self) -> u64 {
        match self.wait {
            Wait::None | Wait::Meet(_) | Wait::Pipe(_) => self.cpu(),
            Wait::Sleep(ns) | Wait::Lock(ns) => self.cpu() + ns,
        }
    }
}

/// The items of `work`, in the order in which they are queued. `count` is what [`Work::items`]
/// returned.
pub(super) fn items(work: Work, count: usize, cpus: usize) -> Vec<Item> {
    if work == Work::Asleep {
        return asleep(count);
    }
    (0..count).map(|i| item(work, i, count, cpus)).collect()
}

fn block() -> Item {
    Item::new(500 * US, Wait::Sleep(5 * MS), 500 * US)
}

fn compute(ns: u64) -> Item {
    Item::new(ns, Wait::None, 0)
}

fn item(work: Work, i: usize, count: usize, cpus: usize) -> Item {
    match work {
        Work::Block => block(),
        Work::Cpu => compute(3 * MS),
        Work::Mixed | Work::Foreign if i.is_multiple_of(3) => compute(3 * MS),
        Work::Mixed | Work::Foreign => block(),
        Work::Burst => Item {
            arrival: (i / BURST) as u64 * BURST_EVERY,
            ..block()
        },
        Work::Pipe => Item::new(500 * US, Wait::Pipe(delivery(i, count, cpus)), 500 * US),
        Work::Lock => Item::new(300 * US, Wait::Lock(LOCK_HOLD), 300 * US),
        Work::Barrier => Item::new(500 * US, Wait::Meet(i / BARRIER_GROUP), 500 * US),
        Work::Long => compute(1_000 * MS),
        Work::Multi => Item {
            queue: i % work.queues(),
            ..compute(3 * MS)
        },
        Work::Asleep => unreachable!("made as a whole"),
    }
}

/// Sleepers in front, so that the computing items find all workers blocked.
fn asleep(count: usize) -> Vec<Item> {
    let sleepers = (0..count).map(|_| Item::new(0, Wait::Sleep(8_000 * MS), 0));
    let computing = (0..count.div_ceil(5)).map(|_| compute(3 * MS));
    sleepers.chain(computing).collect()
}

/// When the byte of pipe `i` is delivered. The deliveries are evenly spread over most of the time
/// that the CPUs need, so that a pool that never leaves a CPU idle can just saturate them. They are
/// not in the order of the items: in each window every other item gets its byte soon, and those
/// between late, the first of them last. A pool of few threads is then all blocked while there is
/// work to do; were they in order, it would wait once and find every later byte delivered.
fn delivery(i: usize, count: usize, cpus: usize) -> u64 {
    let first = i / PIPE_WINDOW * PIPE_WINDOW;
    let (place, window) = (i - first, PIPE_WINDOW.min(count - first));
    let turn = if place.is_multiple_of(2) {
        place / 2
    } else {
        window - 1 - place / 2
    };
    let computing = count as u64 * MS / cpus as u64;
    // The rest of the time is left to what a pool has then begun and not ended.
    let last = (computing / 10 * 9).max(FIRST_DELIVERY);
    let gaps = (count as u64 - 1).max(1);
    FIRST_DELIVERY + (last - FIRST_DELIVERY) * (first + turn) as u64 / gaps
}

/// No pool can finish `items` sooner than this, in ns, on `cpus` CPUs that are its own.
pub(super) fn bound(work: Work, items: &[Item], cpus: usize) -> u64 {
    let computing = cpu_time(items).div_ceil(cpus as u64);
    match work {
        Work::Burst => burst_bound(items, cpus),
        Work::Pipe => items.iter().map(pipe_end).fold(computing, u64::max),
        // Every hold follows the one before; the first and the last half of some item stick out.
        Work::Lock => computing.max(items.len() as u64 * LOCK_HOLD) + 600 * US,
        _ => items.iter().map(Item::alone).fold(computing, u64::max),
    }
}

/// CPU time of all items together.
pub(super) fn cpu_time(items: &[Item]) -> u64 {
    items.iter().map(Item::cpu).sum()
}

/// Time of the items one after the other: what a pool of one thread needs.
pub(super) fn serial_time(items: &[Item]) -> u64 {
    let waits = items.iter().map(pipe_end).max().unwrap_or(0);
    let arrivals = items.last().map_or(0, |item| item.arrival);
    items.iter().map(Item::alone).sum::<u64>() + waits + arrivals
}

fn pipe_end(item: &Item) -> u64 {
    match item.wait {
        Wait::Pipe(due) => due + item.after,
        _ => 0,
    }
}

/// What arrives from burst k on cannot begin before burst k arrives, for every k.
fn burst_bound(items: &[Item], cpus: usize) -> u64 {
    let last = items.last().map_or(0, |item| item.arrival);
    (0..items.len())
        .step_by(BURST)
        .map(|first| items[first].arrival + cpu_time(&items[first..]).div_ceil(cpus as u64))
        .fold(last + BLOCK_ALONE, u64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound_us(work: Work, count: usize, cpus: usize) -> u64 {
        bound(work, &items(work, count, cpus), cpus) / US
    }

    #[test]
    fn bounds_of_computing_and_sleeping() {
        assert_eq!(bound_us(Work::Block, 600, 2), 300_000);
        assert_eq!(bound_us(Work::Block, 1, 2), 6_000);
        assert_eq!(bound_us(Work::Cpu, 600, 2), 900_000);
        assert_eq!(bound_us(Work::Cpu, 1, 2), 3_000);
        // 200 items of 3 ms and 400 of 1 ms, on 2 CPUs.
        assert_eq!(bound_us(Work::Mixed, 600, 2), 500_000);
        assert_eq!(bound_us(Work::Foreign, 600, 2), 500_000);
        assert_eq!(bound_us(Work::Multi, 600, 4), 450_000);
        assert_eq!(bound_us(Work::Long, 8, 2), 4_000_000);
        assert_eq!(bound_us(Work::Long, 8, 16), 1_000_000);
    }

    #[test]
    fn bound_of_burst() {
        // One burst: 24 ms of CPU on 2 CPUs; on 8 CPUs the time of one item decides.
        assert_eq!(bound_us(Work::Burst, 24, 2), 12_000);
        assert_eq!(bound_us(Work::Burst, 24, 8), 6_000);
        // 25 bursts: the last arrives at 480 ms.
        assert_eq!(bound_us(Work::Burst, 600, 2), 492_000);
        // One CPU cannot keep up: all 600 ms of CPU from the first arrival on.
        assert_eq!(bound_us(Work::Burst, 600, 1), 600_000);
        // A last burst of one item: 40 ms + 6 ms.
        assert_eq!(bound_us(Work::Burst, 49, 2), 46_000);
    }

    #[test]
    fn bound_of_pipe() {
        // The last byte comes at 270 ms: the computing decides.
        assert_eq!(bound_us(Work::Pipe, 600, 2), 300_000);
        // Few items: the first delivery decides, 5.5 ms + 0.5 ms.
        assert_eq!(bound_us(Work::Pipe, 2, 2), 6_000);
        assert_eq!(bound_us(Work::Pipe, 1, 2), 6_000);
    }

    #[test]
    fn deliveries_are_a_permutation_of_even_steps() {
        for count in [1, 2, 7, 60, 119, 600, 601] {
            let mut due: Vec<u64> = (0..count).map(|i| delivery(i, count, 2)).collect();
            due.sort_unstable();
            let last = (count as u64 * 450 * US).max(FIRST_DELIVERY);
            let step = |i: usize| (last - FIRST_DELIVERY) * i as u64 / (count as u64 - 1).max(1);
            assert!(
                (0..count).all(|i| due[i] == FIRST_DELIVERY + step(i)),
                "{count}: {due:?}"
            );
        }
        // First soon, second last of its window, third soon.
        let (first, second, third) = (
            delivery(0, 600, 2),
            delivery(1, 600, 2),
            delivery(2, 600, 2),
        );
        assert!(first < third && third < delivery(119, 600, 2) && delivery(119, 600, 2) < second);
        assert!(second < delivery(120, 600, 2));
    }

    #[test]
    fn bounds_of_lock_and_barrier() {
        assert_eq!(bound_us(Work::Lock, 600, 2), 600_600);
        assert_eq!(bound_us(Work::Lock, 1, 2), 1_600);
        assert_eq!(bound_us(Work::Barrier, 640, 2), 320_000);
        assert_eq!(bound_us(Work::Barrier, 64, 128), 1_000);
    }

    #[test]
    fn asleep_is_bound_by_the_sleepers() {
        let all = items(Work::Asleep, 1_000, 2);
        assert_eq!(all.len(), 1_200);
        assert_eq!(bound(Work::Asleep, &all, 2), 8_000 * MS);
        assert_eq!(cpu_time(&all), 600 * MS);
    }

    #[test]
    fn multi_uses_all_queues() {
        let queues: Vec<usize> = items(Work::Multi, 9, 2)
            .iter()
            .map(|item| item.queue)
            .collect();
        assert_eq!(queues, [0, 1, 2, 3, 4, 5, 6, 7, 0]);
    }
}
