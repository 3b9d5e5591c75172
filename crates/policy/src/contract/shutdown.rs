//! The end of a program that wants its items done.
//!
//! An item may call for it. Then what can end only after that item is not waited for: the items
//! that the caller is in the middle of, items that wait for one of those, and items that begin only
//! when one of these has ended.

use alloc::collections::BTreeSet;

use super::need::{Needs, need};
use super::{Machine, Node, WaitGraph};

/// How much of what is in flight in a pool ends only after an item that shuts the program down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Later {
    /// Items that are executed.
    pub running: u64,
    /// Items that have not begun.
    pub queued: u64,
    /// Barriers, each behind an item.
    pub barriers: u64,
}

impl Later {
    /// All of that.
    pub fn in_flight(self) -> u64 {
        self.running + self.queued + self.barriers
    }
}

impl<M: Machine> WaitGraph<M> {
    /// These executions, all of one thread, shut the program down. Follow with [`end`](Self::end).
    pub fn begin_shutdown(&mut self, nodes: &[Node]) {
        self.shuts_down.extend(nodes);
    }

    /// Whether an execution shuts the program down: it looks again when another begins to wait.
    pub fn is_shutting_down(&self) -> bool {
        !self.shuts_down.is_empty()
    }

    /// The executions that end only after one that shuts down: these, and who waits for them.
    pub fn behind_shutdown(&self, m: &M) -> BTreeSet<Node> {
        let waits = self.waits.keys().copied();
        let others = waits.filter(|node| !self.shuts_down.contains(node));
        let needs: Needs<M> = others.map(|node| (node, self.needs(m, node))).collect();
        self.stuck_of(m, &needs, &self.shuts_down)
    }

    /// What of this pool a shutdown does not wait for that an item has called for.
    pub fn later(&self, m: &M, pool: u32) -> Later {
        let never = self.behind_shutdown(m);
        let mut later = Later {
            running: never.iter().filter(|node| node.pool == pool).count() as u64,
            ..Later::default()
        };
        for held in m.with_pool(pool, |core, cx| core.held(cx)) {
            let mut needs = held.behind.into_iter().flatten();
            let is_behind = |behind| {
                let need = need(m, pool, behind);
                need.is_some_and(|need| self.holds(m, &need, &never))
            };
            if needs.any(is_behind) {
                later.queued += held.items;
                later.barriers += held.barriers;
            }
        }
        later
    }
}
