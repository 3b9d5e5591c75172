//! While items wait, as many run at once as there are CPUs that they may use.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::{Duration, Instant};

use cmwq::Workqueue;
use cmwq_os::{clock, sched};
use cmwq_policy::CpuMask;

use crate::checks::Outcome;
use crate::ran::on_cpu;

/// What reaches its aim takes a fraction of a second. This is for what does not.
const LIMIT: Duration = Duration::from_secs(20);
/// Where as many run as should, the emulated kernel may leave so many CPUs idle: one, beside one
/// that has two items. It is seen to do so for many seconds, because a canary looks at the idle CPU
/// each time the tick does, and that kernel, whose time runs slowly, takes the CPU for a busy one.
const LEFT: usize = 1;
/// CPU time that each item takes at least.
const LEAST: Duration = Duration::from_millis(2);

struct Fire {
    /// Of each CPU, whether an item ran there.
    used: Vec<AtomicBool>,
    /// Items that are executed, and the most there were.
    running: AtomicUsize,
    most: AtomicUsize,
    aim: CpuMask,
    begin: Instant,
}

impl Fire {
    fn used(&self) -> CpuMask {
        let cpus = self.used.iter().enumerate();
        let used = cpus.filter(|(_, used)| used.load(SeqCst));
        used.map(|(cpu, _)| cpu).collect()
    }

    /// As many have run at once as there are CPUs to be used.
    fn is_full(&self) -> bool {
        self.most.load(SeqCst) >= self.aim.count()
    }

    fn is_over(&self) -> bool {
        let everywhere = self.is_full() && self.used().and(&self.aim) == self.aim;
        everywhere || self.begin.elapsed() > LIMIT
    }

    /// An item: computes until as many have run as should, on every CPU that is to be used.
    fn burn(&self) {
        let running = self.running.fetch_add(1, SeqCst) + 1;
        self.most.fetch_max(running, SeqCst);
        let begin = clock::thread_cpu();
        while clock::thread_cpu().saturating_sub(begin) < LEAST.as_nanos() as u64 || !self.is_over()
        {
            self.used[sched::current_cpu()].store(true, SeqCst);
        }
        self.running.fetch_sub(1, SeqCst);
    }
}

/// From one CPU, twice as many items as the machine has CPUs, none of which ends before as many run
/// as there are CPUs that they may use. Tells on which CPUs that was.
pub(crate) fn burn(queue: &Workqueue, from: usize, aim: &CpuMask) -> Outcome {
    let cpus = std::thread::available_parallelism()
        .expect("it is known")
        .get();
    let fire = Arc::new(Fire {
        used: (0..cpus).map(|_| AtomicBool::new(false)).collect(),
        running: AtomicUsize::new(0),
        most: AtomicUsize::new(0),
        aim: *aim,
        begin: Instant::now(),
    });
    on_cpu(from, || {
        let items = (0..2 * cpus).map(|_| fire.clone());
        let items: Vec<_> = items.map(|fire| queue.spawn(move || fire.burn())).collect();
        items
            .into_iter()
            .for_each(|item| item.join().expect("it does not panic"));
    });
    let (used, most) = (fire.used(), fire.most.load(SeqCst));
    let said = format!("from CPU {from} {most} at once, on {used}");
    let inside = used.and(aim) == used;
    match fire.is_full() && inside {
        true if used == *aim => Ok(said),
        true if used.count() + LEFT >= aim.count() => {
            Ok(format!("{said}; the kernel left the other one idle"))
        }
        _ => Err(format!("{said}, not {} on {aim}", aim.count())),
    }
}
