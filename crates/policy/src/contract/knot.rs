//! Items that wait for each other. The wait that closes a circle finds the circle, through any
//! pools and queues, whatever else they do.
//!
//! The machine keeps one [`WaitGraph`], under a lock that comes before those of queues and pools.
//! Each execution that waits for items is in the graph while it waits, with what it waits for. Then
//! the pools are asked, one after the other, where the awaited items are.
//!
//! The pools go on meanwhile, and that does no harm. A circle is made of executions that are in the
//! graph, and none of them ends before it has left the graph, which takes the lock. An execution
//! that is about to go on is read as waiting for nothing, and then there is no circle. What looks
//! free may be taken a moment later by an execution: if that one ever waits, its own look sees it.
//!
//! | it waits for | what is | and ends only if |
//! | --- | --- | --- |
//! | an item, or the barrier behind it | executed, or behind an execution of it | that execution ends |
//! | | without a slot | one of the items that hold the slots ends |
//! | | behind older ones of an ordered queue that has changed pools | each execution of these ends |
//! | | in a pool that has all the threads that the program lets it have | one of its workers ends what it executes |
//! | everything that was queued | | each execution of it ends |
//! | a group of items | each item of it that is there by then | as above |
//! | any of several | one of them, if one needs nothing of this or what it needs ends | as above |
//!
//! Other items that have their slot get a worker. A frozen queue is not waited for in vain, nor is
//! a limit that nobody has chosen: that limit rises.
//!
//! An awaited item may come to wait for other things: a limit is lowered, an item joins a group.
//! Where that is known, somebody looks at once ([`relieve`](WaitGraph::relieve)). In any case a
//! wait that lasts is looked at again ([`look`](WaitGraph::look)).
//!
//! An execution that shuts the program down waits for everything except what waits for it. So it is
//! in nobody's way, and the graph knows it apart (`shutdown.rs`).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::need::{Need, Needs, blocked};
use super::node::{Node, Target, Until};
use super::{Machine, PwqFlush, PwqOf};
use crate::pool::Stuck;
use crate::tick::BUDGET_PART;
use crate::time::{MILLISECOND, Nanos, SECOND, Time};
use crate::worker::WorkerId;

/// A wait is looked at again when it has lasted for so long.
const LOOK_FIRST: Nanos = 100 * MILLISECOND;
/// And then this often.
const LOOK_AGAIN: Nanos = SECOND;
/// Two looks are at least so far apart, or so many times what the last one has cost.
const LOOK_GAP: Nanos = 10 * MILLISECOND;

/// Who waits for what.
#[derive(Debug)]
pub struct WaitGraph<M: Machine> {
    pub(super) waits: BTreeMap<Node, Wait<M>>,
    /// Of those, the ones that cannot give up.
    bound: BTreeSet<Node>,
    /// Those that shut down, each with what it has claimed that from.
    pub(super) shuts_down: BTreeSet<Node>,
    /// When each thread's wait is looked at again.
    looks: BTreeSet<(Time, Node)>,
}

/// What one execution waits for.
#[derive(Debug)]
pub(super) struct Wait<M: Machine> {
    targets: Vec<Target<M>>,
    until: Until,
    /// The last execution on the stack of its thread, which is the one that is in the call.
    top: Node,
    /// With its thread's: see [`WaitGraph::looks`].
    look_at: Time,
}

/// When to look again: as the graph said, unless that is too soon after a look at this time, which
/// has cost so much. `None`: somebody else was at the graph.
pub fn next_look(said: Option<Time>, now: Time, cost: Nanos) -> Time {
    let gap = LOOK_GAP.max(cost.saturating_mul(BUDGET_PART));
    said.unwrap_or(now).max(now.after(gap))
}

impl<M: Machine> Default for WaitGraph<M> {
    fn default() -> Self {
        WaitGraph {
            waits: BTreeMap::new(),
            bound: BTreeSet::new(),
            shuts_down: BTreeSet::new(),
            looks: BTreeSet::new(),
        }
    }
}

impl<M: Machine> WaitGraph<M> {
    /// These executions, all of one thread and the last one first, are about to wait for this.
    /// Refused if that never ends. Otherwise follow with [`end`](Self::end).
    pub fn begin(
        &mut self,
        m: &M,
        nodes: &[Node],
        until: Until,
        targets: &[Target<M>],
    ) -> Result<(), Stuck> {
        self.insert(m, nodes, until, targets);
        let stuck = nodes.first().is_some_and(|&node| self.is_stuck(m, node));
        if stuck {
            self.end(nodes);
            return Err(Stuck);
        }
        Ok(())
    }

    /// As [`begin`](Self::begin) for all of this, of a thread that cannot do without: others may
    /// hold what it owns. Where it would wait for ever others give up instead: each that this names
    /// is to be told, and waits no more.
    pub fn begin_bound(
        &mut self,
        m: &M,
        nodes: &[Node],
        targets: &[Target<M>],
        mut gives_up: impl FnMut(Node),
    ) {
        self.insert(m, nodes, Until::All, targets);
        self.bound.extend(nodes);
        let Some(&first) = nodes.first() else { return };
        while let Some(node) = self
            .stuck(m, first)
            .into_iter()
            .find(|node| !self.bound.contains(node))
        {
            gives_up(self.remove_thread_of(node));
        }
    }

    /// A limit was lowered, or thawed, or a queue has changed pools: that may close a circle though
    /// no wait begins. Some give up then, as in [`begin_bound`](Self::begin_bound), until none is
    /// left.
    pub fn relieve(&mut self, m: &M, mut gives_up: impl FnMut(Node)) {
        m.take_in();
        while let Some(node) = self.one_stuck(m) {
            gives_up(self.remove_thread_of(node));
        }
    }

    /// One that waits for ever and may give up: of a circle, rather than one that waits for it.
    fn one_stuck(&self, m: &M) -> Option<Node> {
        let may = |node: &&Node| !self.bound.contains(node);
        let stuck = |node: &&Node| self.is_stuck(m, **node);
        let all: Vec<Node> = self
            .waits
            .keys()
            .filter(may)
            .filter(stuck)
            .copied()
            .collect();
        let in_circle = all.iter().find(|node| self.is_in_circle(m, **node));
        in_circle.or(all.first()).copied()
    }

    /// Whether it waits for itself, over others.
    fn is_in_circle(&self, m: &M, node: Node) -> bool {
        let reach = self.reach(m, node);
        let mut needs = reach.values().flatten();
        needs.any(|need| self.of_need(m, need).contains(&node))
    }

    fn insert(&mut self, m: &M, nodes: &[Node], until: Until, targets: &[Target<M>]) {
        let Some(&top) = nodes.first() else { return };
        // What is waited for is where it can be found.
        m.take_in();
        let look_at = m.now().after(LOOK_FIRST);
        self.looks.insert((look_at, top));
        for &node in nodes {
            let targets = targets.to_vec();
            let wait = Wait {
                targets,
                until,
                top,
                look_at,
            };
            self.waits.insert(node, wait);
        }
    }

    /// They wait no more.
    pub fn end(&mut self, nodes: &[Node]) {
        for node in nodes {
            if let Some(wait) = self.waits.remove(node) {
                self.looks.remove(&(wait.look_at, *node));
            }
            self.bound.remove(node);
            self.shuts_down.remove(node);
        }
    }

    /// All that the thread of this one stands for; the last of them.
    fn remove_thread_of(&mut self, node: Node) -> Node {
        let top = self.waits[&node].top;
        let of_thread = |(node, wait): (&Node, &Wait<M>)| (wait.top == top).then_some(*node);
        let nodes: Vec<Node> = self.waits.iter().filter_map(of_thread).collect();
        self.end(&nodes);
        top
    }

    /// Looks again at the wait whose turn it is, if it is time. When to look next, as long as items
    /// wait for slots or threads: without these, a circle is closed by a wait that begins.
    pub fn look(&mut self, m: &M, gives_up: impl FnMut(Node)) -> Time {
        let now = m.now();
        m.take_in();
        if let Some((_, node)) = self.looks.first().copied().filter(|(at, _)| *at <= now) {
            if self.is_stuck(m, node) {
                self.relieve(m, gives_up);
            }
            self.look_later(node, now.after(LOOK_AGAIN));
        }
        let first = self.looks.first().map(|(at, _)| *at);
        first.unwrap_or(now.after(LOOK_AGAIN))
    }

    /// If it still waits.
    fn look_later(&mut self, node: Node, at: Time) {
        if let Some(wait) = self.waits.get_mut(&node) {
            self.looks.remove(&(wait.look_at, node));
            wait.look_at = at;
            self.looks.insert((at, node));
        }
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.waits.is_empty()
    }

    fn is_stuck(&self, m: &M, node: Node) -> bool {
        self.stuck(m, node).contains(&node)
    }

    /// Of those that this one waits for, itself included, who never goes on.
    fn stuck(&self, m: &M, node: Node) -> BTreeSet<Node> {
        self.stuck_of(m, &self.reach(m, node), &BTreeSet::new())
    }

    /// Of these, each with what it needs, who never goes on, if `never` do not: with them.
    pub(super) fn stuck_of(
        &self,
        m: &M,
        needs: &Needs<M>,
        never: &BTreeSet<Node>,
    ) -> BTreeSet<Node> {
        let mut stuck: BTreeSet<Node> = needs.keys().chain(never).copied().collect();
        // Whoever is not known to go on is stuck: the fewest are struck off.
        while let Some((goes_on, _)) = needs.iter().find(|(node, needs)| {
            stuck.contains(node) && needs.iter().all(|need| !self.holds(m, need, &stuck))
        }) {
            stuck.remove(goes_on);
        }
        stuck
    }

    /// What this one needs, and those that it needs, and so on, as far as they wait.
    fn reach(&self, m: &M, from: Node) -> Needs<M> {
        let mut needs = BTreeMap::new();
        let mut open = alloc::vec![from];
        while let Some(node) = open.pop() {
            if needs.contains_key(&node) {
                continue;
            }
            let own = self.needs(m, node);
            open.extend(own.iter().flat_map(|need| self.of_need(m, need)));
            needs.insert(node, own);
        }
        needs
    }

    /// Those in the graph that have a part in this.
    fn of_need(&self, m: &M, need: &Need<PwqOf<M>>) -> Vec<Node> {
        match *need {
            Need::Any(ref ways) => {
                let needs = ways.iter().flatten();
                needs.flat_map(|need| self.of_need(m, need)).collect()
            }
            Need::End(node) => {
                let is_known = self.waits.contains_key(&node) || self.shuts_down.contains(&node);
                is_known.then_some(node).into_iter().collect()
            }
            Need::Slot(pwq) => {
                let holders = self.holders(m, pwq).map(|(node, _)| node);
                holders.chain(self.of_full_pools(m)).collect()
            }
            Need::Unplug(pwq) => self.of_queue(m, pwq).collect(),
            Need::Thread(pool) => self.of_pool(pool).collect(),
        }
    }

    /// Does this keep a wait from going on, if these never do?
    pub(super) fn holds(&self, m: &M, need: &Need<PwqOf<M>>, stuck: &BTreeSet<Node>) -> bool {
        match *need {
            Need::Any(ref ways) => {
                let holds = |needs: &Vec<_>| needs.iter().any(|need| self.holds(m, need, stuck));
                ways.iter().all(holds)
            }
            Need::End(node) => stuck.contains(&node),
            Need::Unplug(pwq) => self.of_queue(m, pwq).any(|node| stuck.contains(&node)),
            Need::Thread(pool) => {
                m.with_pool(pool, |core, _| core.are_all_threads(of(stuck, pool)))
            }
            Need::Slot(pwq) => {
                let holders = self.holders(m, pwq);
                let begun: u32 = holders
                    .filter(|(node, _)| stuck.contains(node))
                    .map(|(_, slots)| slots)
                    .sum();
                let held = begun + not_begun(m, pwq, stuck);
                m.with_pool(m.info(pwq).pool, |core, cx| {
                    core.are_all_slots(cx, pwq, held)
                })
            }
        }
    }

    pub(super) fn needs(&self, m: &M, node: Node) -> Vec<Need<PwqOf<M>>> {
        let Some(wait) = self.waits.get(&node) else {
            return Vec::new();
        };
        let ways = wait.targets.iter().map(|target| self.needs_of(m, target));
        match wait.until {
            Until::All => ways.flatten().collect(),
            Until::Any => self.any_of(m, ways).into_iter().collect(),
        }
    }

    /// What has to happen for one of these ways. Nothing if nobody in the graph has a part in one,
    /// and then the others are not asked for: there may be thousands.
    fn any_of(
        &self,
        m: &M,
        ways: impl Iterator<Item = Vec<Need<PwqOf<M>>>>,
    ) -> Option<Need<PwqOf<M>>> {
        let mut known = Vec::new();
        for needs in ways {
            if needs.iter().all(|need| self.of_need(m, need).is_empty()) {
                return None;
            }
            // Thousands may wait for the same.
            if !known.contains(&needs) {
                known.push(needs);
            }
        }
        (!known.is_empty()).then_some(Need::Any(known))
    }

    fn needs_of(&self, m: &M, target: &Target<M>) -> Vec<Need<PwqOf<M>>> {
        let mut needs = Vec::new();
        match *target {
            Target::Item(work) => needs.extend(blocked(m, work, None)),
            Target::Barrier { barrier, item } => needs.extend(blocked(m, barrier, Some(item))),
            Target::Flush(part) => self.flushed(m, &part, &mut needs),
            Target::Group(group) => {
                m.members(group, |work| needs.extend(blocked(m, work, None)));
            }
        }
        needs
    }

    /// Those in the graph that this flush waits for.
    fn flushed(&self, m: &M, part: &PwqFlush<PwqOf<M>>, needs: &mut Vec<Need<PwqOf<M>>>) {
        let (ticket, pool) = (part.ticket, part.pool);
        let of_pool = self.of_pool(pool);
        let covered: Vec<Node> = m.with_pool(pool, |core, cx| {
            let mut nodes: Vec<Node> = of_pool
                .filter(|node| core.is_flushed_with(cx, part.pwq, ticket, node.worker))
                .collect();
            let deferred = core.deferred_and_flushed(cx, part.pwq, ticket);
            nodes.extend(deferred.map(|execution| Node {
                pool: execution.pool,
                worker: execution.worker,
            }));
            nodes
        });
        needs.extend(covered.into_iter().map(Need::End));
        if m.with_pool(pool, |core, cx| {
            core.flush_needs_thread(cx, part.pwq, ticket)
        }) {
            needs.push(Need::Thread(pool));
        }
    }

    /// Those in the graph for whose workers items may wait that hold slots.
    fn of_full_pools(&self, m: &M) -> Vec<Node> {
        let is_full = |pool: &u32| m.with_pool(*pool, |core, _| core.has_all_threads());
        let full: BTreeSet<u32> = self.pools().into_iter().filter(is_full).collect();
        let of_full = self.nodes().filter(|node| full.contains(&node.pool));
        of_full.collect()
    }

    /// All that are known.
    fn nodes(&self) -> impl Iterator<Item = Node> + '_ {
        let waits = self.waits.keys();
        let others = self.shuts_down.iter();
        let others = others.filter(|node| !self.waits.contains_key(node));
        waits.chain(others).copied()
    }

    fn pools(&self) -> BTreeSet<u32> {
        self.nodes().map(|node| node.pool).collect()
    }

    fn of_pool(&self, pool: u32) -> impl Iterator<Item = Node> + '_ {
        self.nodes().filter(move |node| node.pool == pool)
    }

    /// Those in the graph that execute items of the same queue. While this pwq is plugged these are
    /// older.
    fn of_queue(&self, m: &M, pwq: PwqOf<M>) -> impl Iterator<Item = Node> + '_ {
        let queue = m.info(pwq).queue;
        let executes = |node: &Node| {
            let of = m.with_pool(node.pool, |core, _| core.executes_of(node.worker));
            of.is_some_and(|of| m.info(of).queue == queue)
        };
        let nodes: Vec<Node> = self.nodes().filter(executes).collect();
        nodes.into_iter()
    }

    /// Those in the graph that hold slots which this pwq could have, each with how many.
    fn holders(&self, m: &M, pwq: PwqOf<M>) -> impl Iterator<Item = (Node, u32)> {
        let mut holders = Vec::new();
        for pool in self.pools() {
            let of_pool = self.of_pool(pool);
            m.with_pool(pool, |core, cx| {
                let held = of_pool.map(|node| (node, core.slots_held(cx, node.worker, pwq)));
                holders.extend(held.filter(|(_, slots)| *slots > 0));
            });
        }
        holders.into_iter()
    }
}

/// Those of a pool.
fn of(nodes: &BTreeSet<Node>, pool: u32) -> impl Iterator<Item = WorkerId> + '_ {
    let nodes = nodes.iter().filter(move |node| node.pool == pool);
    nodes.map(|node| node.worker)
}

/// Slots that this pwq could have and that items hold which never begin, if these executions never
/// end.
fn not_begun<M: Machine>(m: &M, pwq: PwqOf<M>, stuck: &BTreeSet<Node>) -> u32 {
    let pools: BTreeSet<u32> = stuck.iter().map(|node| node.pool).collect();
    let of_pool = |pool: u32| {
        m.with_pool(pool, |core, cx| {
            match core.are_all_threads(of(stuck, pool)) {
                true => core.slots_not_begun(cx, pwq),
                false => 0,
            }
        })
    };
    pools.into_iter().map(of_pool).sum()
}
