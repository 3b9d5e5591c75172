//! Pools of other libraries, set up as their documentation says.

use super::{Pool, Task};
use crate::bench::spec::PoolSpec;

struct Rayon(rayon::ThreadPool);

impl Pool for Rayon {
    fn submit(&self, _queue: usize, task: Task) {
        self.0.spawn(task);
    }
}

/// What people use for work that blocks.
struct TokioBlocking(tokio::runtime::Runtime);

impl Pool for TokioBlocking {
    fn submit(&self, _queue: usize, task: Task) {
        self.0.spawn_blocking(task);
    }
}

/// Closures on the runtime's own workers, which is what happens to people who forget that.
struct TokioSpawn(tokio::runtime::Runtime);

impl Pool for TokioSpawn {
    fn submit(&self, _queue: usize, task: Task) {
        self.0.spawn(async move { task() });
    }
}

pub(super) fn make(spec: PoolSpec, cpus: usize) -> Result<Box<dyn Pool>, String> {
    match spec {
        PoolSpec::Rayon => Ok(Box::new(Rayon(rayon(cpus)?))),
        PoolSpec::Tokio => Ok(Box::new(TokioBlocking(runtime(cpus)?))),
        _ => Ok(Box::new(TokioSpawn(runtime(cpus)?))),
    }
}

pub(in crate::bench) fn rayon(cpus: usize) -> Result<rayon::ThreadPool, String> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(cpus).build();
    pool.map_err(|e| format!("rayon: no pool: {e}"))
}

pub(in crate::bench) fn threadpool(cpus: usize) -> threadpool::ThreadPool {
    threadpool::ThreadPool::new(cpus)
}

pub(in crate::bench) fn runtime(cpus: usize) -> Result<tokio::runtime::Runtime, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cpus)
        .build();
    runtime.map_err(|e| format!("tokio: no runtime: {e}"))
}
