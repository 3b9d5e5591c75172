//! What must happen for a wait to go on.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::node::Node;
use super::{Machine, PwqOf, WorkOf};
use crate::pool::Behind;

/// One thing that must happen.
#[derive(PartialEq, Eq)]
pub(super) enum Need<P> {
    /// This execution ends.
    End(Node),
    /// One of those ends that hold a slot which this pwq could have.
    Slot(P),
    /// All of those end that execute items of this pwq's queue: it is plugged.
    Unplug(P),
    /// One of the workers of this pool ends what it executes.
    Thread(u32),
    /// All that is needed in one of these ways happens.
    Any(Vec<Vec<Need<P>>>),
}

/// What each of these needs.
pub(super) type Needs<M> = BTreeMap<Node, Vec<Need<PwqOf<M>>>>;

/// What an item, or a barrier behind this one, waits for.
pub(super) fn blocked<M: Machine>(
    m: &M,
    work: WorkOf<M>,
    behind: Option<WorkOf<M>>,
) -> impl Iterator<Item = Need<PwqOf<M>>> {
    let found = m.word(work).pool().map(|pool| {
        let behind = m.with_pool(pool, |core, cx| core.behind(cx, work, behind));
        behind.map(|one| one.and_then(|one| need(m, pool, one)))
    });
    found.into_iter().flatten().flatten()
}

/// What must happen, where something of this pool is behind that.
pub(super) fn need<M: Machine>(
    m: &M,
    pool: u32,
    behind: Behind<PwqOf<M>>,
) -> Option<Need<PwqOf<M>>> {
    match behind {
        Behind::Slot(pwq) => Some(Need::Slot(pwq)),
        Behind::Older(pwq) => Some(Need::Unplug(pwq)),
        Behind::Thread => Some(Need::Thread(pool)),
        Behind::Worker(worker) => Some(Need::End(Node { pool, worker })),
        Behind::Execution(execution) => {
            let goes_on = m.with_pool(execution.pool, |core, _| core.goes_on(execution));
            let (pool, worker) = (execution.pool, execution.worker);
            goes_on.then_some(Need::End(Node { pool, worker }))
        }
    }
}
