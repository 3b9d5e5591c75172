//! Closures, given to pools the way their users give them.

use std::hint::black_box;

use cmwq::{Workqueue, WorkqueueBuilder};

use super::super::engine::Engine;
use super::args::Contender;
use super::load::{Answer, Load};
use super::tally;

/// A pool that takes closures. Not a boxed one: then every pool would pay for a box.
trait Spawn: Sync + 'static {
    fn spawn(&self, body: impl FnOnce() + Send + 'static);

    fn engine(&self) -> Option<Engine> {
        None
    }
}

impl Spawn for Workqueue {
    fn spawn(&self, body: impl FnOnce() + Send + 'static) {
        drop(Workqueue::spawn(self, body));
    }

    fn engine(&self) -> Option<Engine> {
        Some(Engine::now())
    }
}

impl<P: Spawn> Load for P {
    fn fill(&'static self, from: usize, count: usize) {
        (from..from + count).for_each(|index| self.spawn(move || empty(index)));
    }

    fn fill_inside(&'static self, count: usize) {
        self.spawn(move || self.fill(0, count));
    }

    fn chain(&'static self, count: usize) {
        self.spawn(move || link(self, count));
    }

    fn ask(&'static self, answer: &'static Answer) {
        self.spawn(move || answer.give());
    }

    fn engine(&self) -> Option<Engine> {
        Spawn::engine(self)
    }
}

fn empty(index: usize) {
    black_box(index);
    tally::item();
}

fn link(pool: &'static impl Spawn, left: usize) {
    tally::item();
    if left > 1 {
        pool.spawn(move || link(pool, left - 1));
    }
}

/// The pool, for closures.
pub(super) fn start(contender: Contender, cpus: usize) -> Result<&'static dyn Load, String> {
    match contender {
        #[cfg(feature = "peers")]
        Contender::Rayon | Contender::Tokio | Contender::Threadpool => {
            peers::start(contender, cpus)
        }
        Contender::Cmwq | Contender::CmwqWork => {
            let _ = cpus;
            Ok(Box::leak(Box::new(queue()?)))
        }
        Contender::CmwqFifo => Ok(Box::leak(Box::new(made(builder().fifo())?))),
    }
}

/// Nothing is tuned.
pub(super) fn queue() -> Result<Workqueue, String> {
    made(builder())
}

fn builder() -> WorkqueueBuilder {
    Workqueue::builder("items")
}

fn made(builder: WorkqueueBuilder) -> Result<Workqueue, String> {
    let queue = builder.build();
    queue.map_err(|e| format!("cmwq: no queue: {e}"))
}

#[cfg(feature = "peers")]
mod peers {
    use super::{Contender, Load, Spawn};
    use crate::bench::pools::peers::{rayon, runtime, threadpool};

    impl Spawn for ::rayon::ThreadPool {
        fn spawn(&self, body: impl FnOnce() + Send + 'static) {
            ::rayon::ThreadPool::spawn(self, body);
        }
    }

    impl Spawn for ::tokio::runtime::Runtime {
        fn spawn(&self, body: impl FnOnce() + Send + 'static) {
            drop(self.spawn_blocking(body));
        }
    }

    impl Spawn for ::threadpool::ThreadPool {
        fn spawn(&self, body: impl FnOnce() + Send + 'static) {
            self.execute(body);
        }
    }

    pub(super) fn start(contender: Contender, cpus: usize) -> Result<&'static dyn Load, String> {
        match contender {
            Contender::Rayon => rayon(cpus).map(leak),
            Contender::Tokio => runtime(cpus).map(leak),
            _ => Ok(leak(threadpool(cpus))),
        }
    }

    fn leak(pool: impl Load + 'static) -> &'static dyn Load {
        Box::leak(Box::new(pool))
    }
}
