//! A look at workers from outside: which pools, which of their workers, and what follows. One text
//! for the tick's thread of a process and for that of a simulated one.

use alloc::vec::Vec;

use super::Machine;
use crate::pool::{Glance, MAX_SCAN, Seen, SeenState};
use crate::tick::Round;
use crate::worker::WorkerId;

/// A machine whose workers can be seen from outside.
pub trait Lookout: Machine {
    /// The numbers of its pools. More may be made meanwhile.
    fn pools(&self) -> impl Iterator<Item = u32>;
    /// [`WorkerPool::at_a_glance`](crate::WorkerPool::at_a_glance), of this pool.
    fn at_a_glance(&self, pool: u32) -> Glance;
    /// Whether somebody has [asked](crate::Action::Inspect) for a look at this pool since this was
    /// called last.
    fn take_asked(&self, pool: u32) -> bool;
    /// What a worker is at; `None`: it has no thread, or somebody else looks at it right now. Of a
    /// process tree that stands for it, so many threads that run are enough.
    fn see(&self, pool: u32, worker: WorkerId, threads: u32) -> Option<SeenState>;
    /// A worker was seen: does its item keep the CPU? Asked before the pool hears of it.
    fn watch_item(&self, pool: u32, seen: &Seen);
    /// Items of the pool wait: does its worklist stand still, and is there room for more threads?
    fn watch_worklist(&self, pool: u32);
}

/// What came of a look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// A worker was missing.
    pub missing: bool,
    /// It has paid: one was started, or a pool has given back tokens that another one lacks.
    pub paid: bool,
    /// So many workers were looked at.
    pub workers: u64,
}

impl Looked {
    fn add(&mut self, more: Looked) {
        self.missing |= more.missing;
        self.paid |= more.paid;
        self.workers += more.workers;
    }
}

/// Looks at the workers of one pool that its core wants to be looked at, with the pool let go, and
/// tells it.
pub fn look<M: Lookout>(m: &M, pool: u32) -> Looked {
    let plan = m.with_workers(pool, |core, _| core.plan_scan());
    let mut seen = Vec::with_capacity(MAX_SCAN);
    let (mut runnable, mut complete) = (0, true);
    for (worker, item) in plan.iter() {
        if runnable >= plan.enough {
            complete = false;
            break;
        }
        let Some(state) = m.see(pool, worker, plan.threads) else {
            continue;
        };
        runnable += state.running();
        let found = Seen {
            worker,
            item,
            state,
        };
        m.watch_item(pool, &found);
        seen.push(found);
    }
    let shortage = m.with_workers(pool, |core, cx| core.scanned(cx, &seen, complete));
    Looked {
        missing: shortage.missing,
        paid: shortage.ended,
        workers: seen.len() as u64,
    }
}

/// Looks at the pools whose turn it is in this round.
pub fn look_round<M: Lookout>(m: &M, round: Round) -> Looked {
    let mut looked = Looked::default();
    for pool in m.pools() {
        let asked = m.take_asked(pool);
        let glance = m.at_a_glance(pool);
        let early = glance.look_at.is_some_and(|at| at <= m.now());
        let backlog = glance.news && m.with_workers(pool, |core, cx| core.ticked(cx));
        if round.looks_at(asked, early, backlog) {
            looked.add(look(m, pool));
        }
        if backlog {
            m.with_workers(pool, |core, cx| core.call_rescuers(cx));
            m.watch_worklist(pool);
        }
    }
    if looked.missing {
        looked.add(look_for_tokens(m));
    }
    looked
}

/// Tokens may be held by pools that have no backlog, for workers that sleep.
fn look_for_tokens<M: Lookout>(m: &M) -> Looked {
    let mut looked = Looked::default();
    for pool in m.pools() {
        let holds = || m.with_workers(pool, |core, _| core.holds_tokens());
        if holds() {
            looked.add(look(m, pool));
            looked.paid |= !holds();
        }
    }
    looked
}
