//! What an exact limit costs beside one of which each node has its part: two CPUs, each a node in a
//! description of the machine that says so, queue empty items on their own side at the same time.
//!
//! Prints nanoseconds for each item and the ratio, round by round in turns, and the median.

#[path = "../tests/common/sysfs.rs"]
mod sysfs;

use std::sync::Barrier;
use std::time::Instant;

use cmwq::{Work, Workqueue};
use cmwq_os::{sched, thread};
use cmwq_policy::CpuMask;

const ITEMS: usize = 20_000;
const ROUNDS: usize = 15;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mask = sched::affinity(thread::getpid())?;
    let cpus: Vec<usize> = mask.iter().take(2).collect();
    let two: CpuMask = cpus.iter().copied().collect();
    if cpus.len() < 2 {
        return Err("two CPUs are needed".into());
    }
    sched::set_affinity(thread::getpid(), &two)?;
    let nodes = sysfs::Sysfs::of_nodes(&cpus);
    nodes.install();
    let queue = |name| Workqueue::builder(name).unmanaged();
    let parts = queue("parts").max_active(2048).build()?;
    let exact = queue("exact").max_active_exact(2048).build()?;
    let mut ratios = Vec::new();
    for _ in 0..ROUNDS {
        let [of_parts, of_exact] = [&parts, &exact].map(|queue| round(queue, &cpus));
        println!(
            "{of_parts:.0} ns, exact {of_exact:.0} ns: {:.3}",
            of_exact / of_parts
        );
        ratios.push(of_exact / of_parts);
    }
    ratios.sort_by(f64::total_cmp);
    println!("median {:.3}", ratios[ROUNDS / 2]);
    Ok(())
}

/// Nanoseconds for each item of one CPU.
fn round(queue: &Workqueue, cpus: &[usize]) -> f64 {
    let begin = Barrier::new(cpus.len());
    let each = std::thread::scope(|scope| {
        let one = |&cpu: &usize| {
            let begin = &begin;
            scope.spawn(move || on(cpu, queue, begin))
        };
        let threads: Vec<_> = cpus.iter().map(one).collect();
        let times = threads
            .into_iter()
            .map(|thread| thread.join().expect("it counts"));
        times.sum::<f64>() / cpus.len() as f64
    });
    queue.flush().expect("nothing is refused");
    each
}

fn on(cpu: usize, queue: &Workqueue, begin: &Barrier) -> f64 {
    let only: CpuMask = [cpu].into_iter().collect();
    sched::set_affinity(thread::gettid(), &only).expect("the CPU is there");
    let items: Vec<Work> = (0..500).map(|_| Work::new(|| ())).collect();
    begin.wait();
    let begun = Instant::now();
    for _ in 0..ITEMS / items.len() {
        for item in &items {
            let _ = queue.queue_on(cpu, item);
        }
        items.iter().for_each(|item| drop(item.flush()));
    }
    begun.elapsed().as_nanos() as f64 / ITEMS as f64
}
