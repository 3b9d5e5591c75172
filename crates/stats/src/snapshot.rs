//! What is shown of a process at one moment. Pools and queues are looked at one by one.

use cmwq_policy::stats::{BUCKETS, Histogram};

use crate::wire::{Malformed, Value, record};

record! {
    /// A process.
    Snapshot {
        /// When this was written: `CLOCK_MONOTONIC`, in nanoseconds.
        at: u64,
        /// The abstract name of the socket that takes requests; empty if there is none.
        socket: String,
        /// CPUs that items can keep busy.
        cpus: u32,
        /// CPUs that it may use by its mask.
        allowed: u32,
        /// What its cgroups allow it of them, in thousandths of a CPU; 0: all.
        quota_milli_cpus: u64,
        /// Threads that could not be made.
        spawn_failures: u64,
        /// Why the last of them could not, in words; else empty.
        spawn_error: String,
        /// All queues that have a handle, the oldest first.
        queues: Vec<Queue>,
        /// All pools.
        pools: Vec<Pool>,
        /// How much time [`lately`](Self::lately) is about, in nanoseconds.
        lately_ns: u64,
        /// The functions whose items have had most CPU time in that time, the most first. Only
        /// items that have ended and took 50 us or more.
        lately: Vec<Lately>,
    }
}

record! {
    /// The CPU time that items of a function have had lately.
    Lately {
        /// The name of the function.
        item: String,
        /// The number of their queue.
        queue: u64,
        /// The name of that queue; empty if the queue has ended.
        queue_name: String,
        /// The number of the pool that executed them.
        pool: u32,
        /// How many have ended.
        items: u64,
        /// Their CPU time, in nanoseconds.
        cpu_ns: u64,
        /// The CPU time of the item that had most, in nanoseconds.
        most_ns: u64,
    }
}

record! {
    /// A queue.
    Queue {
        /// Its number in the process.
        id: u64,
        /// Its name, which others may have as well.
        name: String,
        /// `managed`, `fifo`, `percpu`, `unmanaged`, `ordered` or `bh`.
        kind: String,
        /// It can be changed from outside.
        sysfs: bool,
        /// It is frozen: no item begins.
        frozen: bool,
        /// The limit, also while the queue is frozen.
        max_active: u32,
        /// What each NUMA node is granted of it at least.
        min_active: u32,
        /// Nice value of its workers, on top of that of the process.
        nice: i32,
        /// CPUs that they may use, as a list; empty: all of the process.
        cpumask: String,
        /// What cuts those into pods; `default`: the scope of all queues.
        affinity_scope: String,
        /// Workers stay in the pod of whoever queued.
        affinity_strict: bool,
        /// The numbers of the pools that its items go to, or have gone to.
        pools: Vec<u32>,
        /// Items that hold a slot.
        active: u64,
        /// Items that are being executed.
        executing: u64,
        /// Items that wait for a slot, and barriers.
        inactive: u64,
        /// Items that have not begun, by what they lack.
        waits: Vec<WaitReason>,
        /// Items begun.
        started: u64,
        /// Items ended.
        completed: u64,
        /// Executions that kept a CPU for long.
        cpu_intensive: u64,
        /// Workers started because a CPU would idle or an item blocked.
        cm_wakeup: u64,
        /// Calls for the rescuer.
        mayday: u64,
        /// Items that the rescuer began.
        rescued: u64,
        /// How long items waited: how many per power of two, in nanoseconds.
        waited: Vec<u64>,
        /// The same of how long they ran.
        ran: Vec<u64>,
        /// The sum of the waiting times, in nanoseconds.
        waited_ns: u64,
        /// The sum of the running times, in nanoseconds.
        ran_ns: u64,
    }
}

record! {
    /// Why items wait.
    WaitReason {
        /// How many.
        items: u64,
        /// What they lack, in words.
        why: String,
    }
}

record! {
    /// A pool of workers.
    Pool {
        /// Its number in the process.
        id: u32,
        /// `managed`, `percpu`, `unmanaged` or `bh`.
        kind: String,
        /// CPUs of its workers, as a list.
        cpus: String,
        /// Nice value of its workers.
        nice: i32,
        /// Workers that it keeps runnable.
        target: u32,
        /// Threads.
        workers: u32,
        /// Of them, parked.
        idle: u32,
        /// Taken for runnable.
        running: u32,
        /// Items that no worker has taken and one may take.
        queued: u64,
        /// Starts after the report of an idle CPU.
        canary_starts: u64,
        /// Starts by the tick.
        tick_starts: u64,
        /// Workers that stepped back because they had to wait for a CPU.
        step_backs: u64,
        /// Workers that stepped back because others queued up at one lock.
        convoy_step_backs: u64,
        /// Workers that were brought to where items waited.
        repatriated: u64,
        /// The last decision of each sort about starting a worker.
        decisions: Vec<Decision>,
        /// What the workers execute.
        busy: Vec<Worker>,
    }
}

record! {
    /// A decision about starting a worker, the last one of its sort.
    Decision {
        /// How long ago, in nanoseconds.
        ago: u64,
        /// How often it was decided so.
        times: u64,
        /// What asked, in words.
        cause: String,
        /// What was decided, in words.
        outcome: String,
        /// Workers that counted as runnable.
        running: u32,
        /// Items that waited for a worker and had none on its way.
        spare: u32,
    }
}

record! {
    /// A thread that executes an item.
    Worker {
        /// The thread, 0 if it was not there yet.
        tid: i32,
        /// The number of the queue of the item.
        queue: u64,
        /// The name of that queue.
        queue_name: String,
        /// The name of the item's function.
        item: String,
        /// For how long, in nanoseconds.
        since: u64,
        /// What the item says of itself, else empty.
        desc: String,
        /// What the item waits for in a call of the library, else empty.
        awaits: String,
        /// Where the thread is, if that was asked for.
        place: String,
    }
}

impl Snapshot {
    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.put(&mut out);
        out
    }

    /// From bytes that may be anything.
    ///
    /// # Errors
    /// If they are not exactly one snapshot.
    pub fn decode(mut bytes: &[u8]) -> Result<Snapshot, Malformed> {
        let snapshot = Snapshot::take(&mut bytes)?;
        match bytes.is_empty() {
            true => Ok(snapshot),
            false => Err(Malformed::Long),
        }
    }
}

/// The upper end of the bucket in which this many percent of the times end, in nanoseconds.
/// Counts that are no histogram have none.
fn percentile(counts: &[u64], percent: u64) -> Option<u64> {
    // A hostile page may have counts whose sum is too large to multiply.
    let counts = <[u64; BUCKETS]>::try_from(counts).ok()?;
    let bounded = counts.map(|count| count.min(u64::MAX / 100 / BUCKETS as u64));
    Histogram(bounded).percentile(percent)
}

impl Queue {
    /// The upper end of the bucket in which this many percent of the waits end, in nanoseconds: at
    /// most twice the true time. 2^([`BUCKETS`] - 1): longer than half of that. `None` before the
    /// first.
    pub fn waited(&self, percent: u64) -> Option<u64> {
        percentile(&self.waited, percent)
    }

    /// The same of how long they ran.
    pub fn ran(&self, percent: u64) -> Option<u64> {
        percentile(&self.ran, percent)
    }

    /// Items that have not begun.
    pub fn waiting(&self) -> u64 {
        self.waits
            .iter()
            .fold(0, |sum, wait| sum.saturating_add(wait.items))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::MAX_TEXT;
    use proptest::prelude::*;

    fn example() -> Snapshot {
        Snapshot {
            at: 7,
            socket: "s".repeat(2 * MAX_TEXT),
            queues: vec![Queue {
                id: 3,
                name: "größe".into(),
                waits: vec![WaitReason {
                    items: 2,
                    why: "limit".into(),
                }],
                ..Queue::default()
            }],
            pools: vec![Pool {
                busy: vec![Worker {
                    tid: -1,
                    ..Worker::default()
                }],
                ..Pool::default()
            }],
            ..Snapshot::default()
        }
    }

    #[test]
    fn what_is_written_is_read_but_for_texts_that_are_too_long() {
        let read = Snapshot::decode(&example().encode()).unwrap();
        let socket = "s".repeat(MAX_TEXT);
        assert_eq!(
            read,
            Snapshot {
                socket,
                ..example()
            }
        );
    }

    #[test]
    fn each_length_but_its_own_is_an_error() {
        let bytes = example().encode();
        for len in 0..bytes.len() {
            assert!(Snapshot::decode(&bytes[..len]).is_err(), "{len}");
        }
        let longer = [bytes, vec![0]].concat();
        assert_eq!(Snapshot::decode(&longer), Err(Malformed::Long));
    }

    #[test]
    fn counts_that_are_no_histogram_have_no_percentiles() {
        let with = |waited| Queue {
            waited,
            ..Queue::default()
        };
        assert_eq!(with(vec![1, 2]).waited(50), None);
        assert_eq!(with(vec![0; BUCKETS]).waited(50), None);
        assert!(with(vec![u64::MAX; BUCKETS]).waited(99).is_some());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = Snapshot::decode(&bytes);
        }

        #[test]
        fn one_wrong_byte_makes_no_panic(at: prop::sample::Index, byte: u8) {
            let mut bytes = example().encode();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            if let Ok(read) = Snapshot::decode(&bytes) {
                prop_assert_eq!(read.encode(), bytes);
            }
        }
    }
}
