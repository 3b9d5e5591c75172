//! No CPU idles while items wait that may run there.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use cmwq::Workqueue;
use cmwq_os::{clock, sched};
use cmwq_policy::CpuMask;

use crate::checks::Outcome;
use crate::ran::on_cpu;

/// What reaches its aim takes a fraction of a second. This is for what does not.
const LIMIT: Duration = Duration::from_secs(20);
/// CPU time that each item takes at least.
const LEAST: Duration = Duration::from_millis(2);

struct Fire {
    /// Of each CPU, whether an item ran there.
    used: Vec<AtomicBool>,
    aim: CpuMask,
    until: Instant,
}

impl Fire {
    fn used(&self) -> CpuMask {
        let cpus = self.used.iter().enumerate();
        let used = cpus.filter(|(_, used)| used.load(SeqCst));
        used.map(|(cpu, _)| cpu).collect()
    }

    fn is_over(&self) -> bool {
        self.used().and(&self.aim) == self.aim || Instant::now() > self.until
    }

    /// An item: computes until every CPU that is to be used has been.
    fn burn(&self) {
        let begin = clock::thread_cpu();
        while clock::thread_cpu().saturating_sub(begin) < LEAST.as_nanos() as u64 || !self.is_over()
        {
            self.used[sched::current_cpu()].store(true, SeqCst);
        }
    }
}

/// From one CPU, twice as many items as the machine has CPUs, none of which ends before all the
/// CPUs that they may use are used. Tells which were used.
pub(crate) fn burn(queue: &Workqueue, from: usize, aim: &CpuMask) -> Outcome {
    let cpus = std::thread::available_parallelism()
        .expect("it is known")
        .get();
    let fire = Arc::new(Fire {
        used: (0..cpus).map(|_| AtomicBool::new(false)).collect(),
        aim: *aim,
        until: Instant::now() + LIMIT,
    });
    on_cpu(from, || {
        let items = (0..2 * cpus).map(|_| fire.clone());
        let items: Vec<_> = items.map(|fire| queue.spawn(move || fire.burn())).collect();
        items
            .into_iter()
            .for_each(|item| item.join().expect("it does not panic"));
    });
    let used = fire.used();
    match used == *aim {
        true => Ok(format!("from CPU {from} on {used}")),
        false => Err(format!("from CPU {from} on {used}, not {aim}")),
    }
}
