//! The pools that are measured, behind the one thing they have in common.

mod cmwq;
mod fixed;
#[cfg(feature = "peers")]
pub(super) mod peers;

use super::engine::Engine;
use super::spec::{PoolSpec, Work};

/// What a pool runs.
pub(super) type Task = Box<dyn FnOnce() + Send>;

/// A pool of threads.
pub(super) trait Pool {
    /// Runs `task` some time; `queue` is 0 except for work over several queues.
    fn submit(&self, queue: usize, task: Task);

    /// What the pool knows about itself after the run.
    fn engine(&self) -> Option<Engine> {
        None
    }
}

/// Makes the pool `spec`, which [`PoolSpec::check`] has let through, on `cpus` CPUs.
pub(super) fn make(spec: PoolSpec, work: Work, cpus: usize) -> Result<Box<dyn Pool>, String> {
    match spec {
        PoolSpec::Cmwq => cmwq::CmwqPool::start(work).map(|pool| Box::new(pool) as Box<dyn Pool>),
        PoolSpec::Fixed(n) => {
            fixed::FixedPool::start(n).map(|pool| Box::new(pool) as Box<dyn Pool>)
        }
        PoolSpec::Sweep => Err("sweep is several pools".to_owned()),
        PoolSpec::Rayon | PoolSpec::Tokio | PoolSpec::TokioSpawn => make_peer(spec, cpus),
    }
}

#[cfg(feature = "peers")]
fn make_peer(spec: PoolSpec, cpus: usize) -> Result<Box<dyn Pool>, String> {
    peers::make(spec, cpus)
}

#[cfg(not(feature = "peers"))]
fn make_peer(spec: PoolSpec, cpus: usize) -> Result<Box<dyn Pool>, String> {
    Err(format!("pool {spec} for {cpus} CPUs is not in this binary"))
}
