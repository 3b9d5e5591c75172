//! Two CPUs as two nodes of a machine.

use cmwq_os::{sched, thread};
use cmwq_policy::CpuMask;

use super::sysfs::Sysfs;
use super::threads::set_process_mask;

/// Runs `body` with two CPUs, of a node each, in a process whose machine is like that.
pub(crate) fn on_two_nodes(body: impl FnOnce([usize; 2])) {
    let mask = sched::affinity(thread::getpid()).unwrap();
    let mut cpus = mask.iter();
    let (Some(a), Some(b)) = (cpus.next(), cpus.next()) else {
        eprintln!("skipped: one CPU");
        return;
    };
    let both: CpuMask = [a, b].into_iter().collect();
    set_process_mask(&both);
    let sysfs = Sysfs::of_nodes(&[a, b]);
    sysfs.install();
    body([a, b]);
}
