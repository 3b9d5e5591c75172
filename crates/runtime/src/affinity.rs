//! What holds for the affinity of all queues (kernel: parameters of the module `workqueue`, and
//! `/sys/devices/virtual/workqueue/cpumask`).

use std::io;

use cmwq_engine::Process;
use cmwq_engine::error::AttrsError;
pub use cmwq_policy::affinity::Scope as AffinityScope;
use cmwq_policy::{CpuMask, MAX_CPUS};

/// The scope of queues that name none: [`CacheShard`](AffinityScope::CacheShard) unless the
/// environment variable `CMWQ_DEFAULT_AFFINITY_SCOPE` or [`set_default_affinity_scope`] says
/// otherwise (kernel `workqueue.default_affinity_scope`).
///
/// # Errors
/// If the system has no page left to tell a forked child by.
///
/// ```
/// assert_eq!(cmwq::default_affinity_scope()?, cmwq::AffinityScope::CacheShard);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn default_affinity_scope() -> io::Result<AffinityScope> {
    Ok(Process::get()?.default_scope())
}

/// Changes what cuts the CPUs into pods for queues that have not chosen, also those that there are:
/// what is queued from then on goes by it.
///
/// # Errors
/// If the system has no page left to tell a forked child by.
///
/// ```
/// cmwq::set_default_affinity_scope(cmwq::AffinityScope::Numa)?;
/// assert_eq!(cmwq::default_affinity_scope()?, cmwq::AffinityScope::Numa);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn set_default_affinity_scope(scope: AffinityScope) -> io::Result<()> {
    Process::get()?.set_default_scope(scope);
    Ok(())
}

/// The CPUs that queues may use at all, but for per-CPU and BH ones: all of the process unless
/// [`set_unbound_cpus`] says otherwise (kernel `wq_unbound_cpumask`).
///
/// # Errors
/// If the system has no page left to tell a forked child by.
///
/// ```
/// assert!(!cmwq::unbound_cpus()?.is_empty());
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn unbound_cpus() -> io::Result<Vec<usize>> {
    Ok(Process::get()?.unbound_cpus().iter().collect())
}

/// Changes which CPUs queues use. They leave the others to threads that must not be disturbed.
/// Counts for the queues that there are as well, for what is queued from then on. A queue whose own
/// CPUs are all outside uses these. Who queues from a CPU outside is served by the others in turn.
///
/// # Errors
/// [`AttrsError`] names a CPU that cannot be, or says that the machine has none of these. Nothing
/// is changed then.
///
/// ```
/// let all = cmwq::unbound_cpus()?;
/// cmwq::set_unbound_cpus(&all[..1])?;
/// assert!(cmwq::set_unbound_cpus(&[]).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn set_unbound_cpus(cpus: &[usize]) -> Result<(), AttrsError> {
    if let Some(&cpu) = cpus.iter().find(|&&cpu| cpu >= MAX_CPUS) {
        return Err(AttrsError::Cpu(cpu));
    }
    let mask: CpuMask = cpus.iter().copied().collect();
    let process = Process::get().map_err(|error| AttrsError::NoPool(error.to_string()))?;
    match process.set_unbound_cpus(mask) {
        true => Ok(()),
        false => Err(AttrsError::NoCpus),
    }
}
