//! Which kinds queue up at a lock, as a look at the workers has seen it.

use alloc::vec::Vec;

use super::Worklist;
use super::lanes::{Kind, Lane, MAX_LANES};
use crate::growth::Look;
use crate::probe::hit;
use crate::store::Store;
use crate::worker::WorkerId;

use crate::pool::Cx;
use crate::pool::crew::Crew;
use crate::pool::seen::{Seen, SeenState};

/// Of so many that waited it has to be seen what they do now: a single one may have the lock. Often
/// no more of the known sleepers are looked at.
const LEAST_SEEN: usize = 2;

impl<S: Store> Worklist<S> {
    /// Takes in what a whole look saw, before it is noted of the workers: whose executions queue up
    /// at a lock. True if somebody's do.
    pub(in crate::pool) fn look_for_crowds<'s>(
        &mut self,
        cx: &mut Cx<S>,
        crew: &Crew<S>,
        seen: &'s [Seen],
        target: u32,
    ) -> bool {
        let kind_seen = |one: &'s Seen| {
            let worker = crew.get(one.worker);
            let kind = Self::kind_executed(cx, worker).filter(|_| worker.is_at(one.item));
            Some((kind?, one))
        };
        let seen: Vec<(Kind, &Seen)> = seen.iter().filter_map(kind_seen).collect();
        self.open_lanes(cx, crew, &seen);
        let mut is_crowded = false;
        for at in 0..self.lanes.len() {
            let kind = self.lanes[at].kind;
            let of_kind: Vec<&Seen> = of_kind(&seen, kind).collect();
            // Of those that run nobody happened to be looked at: that says nothing.
            if of_kind.is_empty() && self.lanes[at].busy > 0 {
                continue;
            }
            let crowd = &mut self.lanes[at].crowd;
            let look = Self::estimate(cx, crew, kind, &of_kind, crowd.lock());
            crowd.looked(cx.now, look, target);
            is_crowded |= look.is_crowd() && !crowd.opens_at_once();
        }
        self.settle_lanes(cx);
        is_crowded
    }

    /// Whether this worker was seen in the item that it executes, and others of its kind were seen
    /// to queue up.
    pub(in crate::pool) fn is_of_crowd(&self, cx: &Cx<S>, crew: &Crew<S>, one: &Seen) -> bool {
        let worker = crew.get(one.worker);
        let kind = Self::kind_executed(cx, worker);
        worker.is_at(one.item) && self.lanes.iter().any(|lane| Some(lane.kind) == kind)
    }

    /// Kinds of which two were seen at one lock are watched from now on.
    fn open_lanes(&mut self, cx: &Cx<S>, crew: &Crew<S>, seen: &[(Kind, &Seen)]) {
        for &(kind, _) in seen {
            let known = self.lanes.iter().any(|lane| lane.kind == kind);
            if known || self.lanes.len() >= MAX_LANES {
                continue;
            }
            let of_kind: Vec<&Seen> = of_kind(seen, kind).collect();
            if !Self::estimate(cx, crew, kind, &of_kind, None).is_crowd() {
                continue;
            }
            hit!(LaneOpened);
            let executes = |id: &WorkerId| Self::kind_executed(cx, crew.get(*id)) == Some(kind);
            let busy = crew.ids().filter(executes).count() as u32;
            // What has just ended shows from the first look on that the crowd moves.
            let ended = self.last_ended.filter(|(of, _)| *of == kind);
            self.lanes
                .push(Lane::new(kind, busy, ended.map(|(_, at)| at)));
        }
    }

    /// How many executions of this kind sleep, and how many wait at one futex address. Only some
    /// were looked at: the same parts are taken of those that are known to sleep, and of the
    /// others.
    fn estimate(
        cx: &Cx<S>,
        crew: &Crew<S>,
        kind: Kind,
        seen: &[&Seen],
        before: Option<u64>,
    ) -> Look {
        let lock = most_frequent(seen.iter().filter_map(|one| one.futex()));
        let asleep = |one: &Seen| matches!(one.state, SeenState::Asleep(_));
        let at_lock = |one: &Seen| lock.is_some() && one.futex() == lock;
        let executes = |id: &WorkerId| Self::kind_executed(cx, crew.get(*id)) == Some(kind);
        let mut known = [0; 2];
        for id in crew.ids().filter(executes) {
            known[usize::from(crew.is_known_asleep(id))] += 1;
        }
        let (left, stayed) = Self::went_on(crew, known, seen, before);
        Look {
            left,
            stayed,
            busy: known[0] + known[1],
            asleep: Self::about(crew, known, seen, asleep),
            crowd: Self::about(crew, known, seen, at_lock),
            lock,
        }
    }

    /// Of those that waited at this futex when they were last seen, in the same item: how many wait
    /// there no more, and how many do.
    fn went_on(crew: &Crew<S>, known: [u32; 2], seen: &[&Seen], before: Option<u64>) -> (u32, u32) {
        let waited = |one: &Seen| before.is_some() && crew.get(one.worker).waits_at == before;
        let left = |one: &Seen| waited(one) && is_elsewhere(one, before);
        let stayed = |one: &Seen| waited(one) && one.futex() == before;
        let told = |one: &&&Seen| left(one) || stayed(one);
        if seen.iter().filter(told).count() < LEAST_SEEN {
            return (0, 0);
        }
        let about = |is_one: &dyn Fn(&Seen) -> bool| Self::about(crew, known, seen, is_one);
        (about(&left), about(&stayed))
    }

    /// How many of these, so many not known and so many known to sleep, are of the sort.
    fn about(
        crew: &Crew<S>,
        known: [u32; 2],
        seen: &[&Seen],
        is_one: impl Fn(&Seen) -> bool,
    ) -> u32 {
        let among = |asleep: bool| {
            let of = seen
                .iter()
                .filter(|one| crew.is_known_asleep(one.worker) == asleep);
            let looked_at = of.clone().count() as u32;
            let ones = of.filter(|one| is_one(one)).count() as u32;
            (known[usize::from(asleep)] * ones)
                .checked_div(looked_at)
                .unwrap_or(0)
        };
        among(true) + among(false)
    }
}

/// It was seen, and does not wait there. Who sleeps where nobody can see says nothing.
fn is_elsewhere(one: &Seen, futex: Option<u64>) -> bool {
    match one.state {
        SeenState::Runnable | SeenState::Threads(_) => true,
        SeenState::Asleep(at) => at.is_some() && at != futex,
        SeenState::Stopped | SeenState::Unknown(_) => false,
    }
}

fn of_kind<'a>(seen: &'a [(Kind, &'a Seen)], kind: Kind) -> impl Iterator<Item = &'a Seen> {
    let same = move |(of, one): &(Kind, &'a Seen)| (*of == kind).then_some(*one);
    seen.iter().filter_map(same)
}

/// The address that more than half of these are, if one is (majority vote, Boyer and Moore);
/// otherwise one of them.
fn most_frequent(addresses: impl Iterator<Item = u64>) -> Option<u64> {
    let (mut candidate, mut votes) = (None, 0u32);
    for addr in addresses {
        match (votes, Some(addr) == candidate) {
            (0, _) => (candidate, votes) = (Some(addr), 1),
            (_, true) => votes += 1,
            (_, false) => votes -= 1,
        }
    }
    candidate
}
