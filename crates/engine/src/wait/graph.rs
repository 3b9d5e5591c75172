//! Waits of items as all others see them. A wait that closes a circle is refused
//! (`cmwq_policy::contract::WaitGraph`).

use std::sync::atomic::Ordering::SeqCst;

use cmwq_policy::Time;
use cmwq_policy::contract::{Later, Node, Target, Until};
use cmwq_policy::pool::Stuck;

use super::this_worker::{OnDrop, ThisWorker};
use crate::engine::{Engine, Real};
use crate::pool::Pool;

impl ThisWorker {
    /// Runs `wait`, for the end of these, unless that would never come: they wait for the calling
    /// item. They stay in memory until this returns.
    pub(crate) fn in_graph<R>(
        self,
        until: Until,
        targets: &[Target<Real>],
        wait: impl FnOnce() -> R,
    ) -> Result<R, Stuck> {
        let engine = self.pool().engine();
        let nodes = self.nodes();
        let mut graph = engine.waits().lock().expect("the core does not panic");
        self.begins();
        graph.0.begin(&Real(engine), &nodes, until, targets)?;
        drop(graph);
        Ok(self.while_in_graph(&nodes, wait))
    }

    /// The same for a wait that cannot be given up: others whose waits are in its way fail instead.
    pub(crate) fn bound_in_graph<R>(self, targets: &[Target<Real>], wait: impl FnOnce() -> R) -> R {
        let engine = self.pool().engine();
        let nodes = self.nodes();
        let mut graph = engine.waits().lock().expect("the core does not panic");
        self.begins();
        let gives_up = |node| give_up(engine, node);
        graph
            .0
            .begin_bound(&Real(engine), &nodes, targets, gives_up);
        drop(graph);
        self.while_in_graph(&nodes, wait)
    }

    /// Runs `wait`, for the end of everything that is not
    /// later (`WaitGraph::later`) than the calling item.
    pub(crate) fn shutting_down<R>(self, wait: impl FnOnce() -> R) -> R {
        let nodes = self.nodes();
        let graph = self.pool().engine().waits().lock();
        graph
            .expect("the core does not panic")
            .0
            .begin_shutdown(&nodes);
        self.while_in_graph(&nodes, wait)
    }

    /// Under the lock of the graph: whoever is told to give up is in it. Not told under the lock of
    /// the pool, which guards `wait_failed`: the wait may not have begun there.
    fn begins(self) {
        self.slot.wait_failed.store(false, SeqCst);
        self.slot.gave_up.store(false, SeqCst);
    }

    /// All that the calling thread stands for, the last first.
    fn nodes(self) -> Vec<Node> {
        let node = |worker: ThisWorker| Node {
            pool: worker.pool().id(),
            worker: worker.slot.id,
        };
        self.stack().map(node).collect()
    }

    fn while_in_graph<R>(self, nodes: &[Node], wait: impl FnOnce() -> R) -> R {
        let engine = self.pool().engine();
        // Not in a child that was forked meanwhile: somebody who is not there may hold the lock.
        let _end = OnDrop(|| {
            if engine.is_ours() {
                let graph = engine.waits().lock();
                graph.expect("the core does not panic").0.end(nodes);
            }
        });
        wait()
    }
}

/// The wait of this execution, which is in the graph, fails.
fn give_up(engine: &'static Engine, node: Node) {
    let pool = engine.pool(node.pool).expect("the pool exists");
    let slot = pool.slot(node.worker);
    slot.gave_up.store(true, SeqCst);
    slot.unpark();
    // It may wait for any of them.
    engine.pools().for_each(Pool::announce_progress);
}

/// A limit or a queue has changed: waits that would never end from now on fail. Called without any
/// lock.
pub(crate) fn relieve(engine: &'static Engine) {
    let mut graph = engine.waits().lock().expect("the core does not panic");
    if !graph.0.is_empty() {
        graph.0.relieve(&Real(engine), |node| give_up(engine, node));
    }
}

/// What of this pool ends only after the items that shut the program down.
pub(crate) fn later(pool: &'static Pool) -> Later {
    let engine = pool.engine();
    let graph = engine.waits().lock().expect("the core does not panic");
    graph.0.later(&Real(engine), pool.id())
}

/// One wait that lasts is looked at again, if it is time; when to do so next. `None`: somebody
/// begins or ends a wait at this moment, perhaps at nice 19. Not waited for. Called without any
/// lock.
pub(crate) fn look(engine: &'static Engine) -> Option<Time> {
    let mut graph = engine.waits().try_lock().ok()?;
    let gives_up = |node| give_up(engine, node);
    Some(graph.0.look(&Real(engine), gives_up))
}
