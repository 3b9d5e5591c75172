//! Items that would join a convoy wait aside. Each kind has a lane of its own, so other kinds do
//! not wait for it.
//!
//! A kind gets a lane when a look sees its executions queue up at one lock (`crate::growth`). While
//! the kind is held back, items that a worker could take are listed in the lane and not on the
//! worklist. Workers take in turns from the worklist and from lanes that have room. The pool needs
//! workers for what is ready in either.
//!
//! Barriers whose item was taken back are of no kind, and stay on the worklist. Rescuers and claims
//! take an item of a lane as any other, and it counts for the lane as well.

use alloc::vec::Vec;

use super::Worklist;
use crate::growth::{Crowd, GrowthStats, Holding};
use crate::list::List;
use crate::probe::hit;
use crate::store::{PwqInfo, Store};
use crate::time::Time;
use crate::worker::WorkerId;

use crate::pool::Cx;
use crate::pool::crew::{Crew, Worker};

/// So many kinds are watched at one time.
pub(in crate::pool) const MAX_LANES: usize = 8;

/// Items of one queue that have one function. All items of a FIFO queue are of one kind, as
/// otherwise they would overtake those that are held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pool) struct Kind {
    queue: u64,
    pub(super) func: u64,
}

impl Kind {
    /// Of an item of that pool workqueue, with this function.
    fn of(pwq: &PwqInfo, func: u64) -> Self {
        let PwqInfo { queue, fifo, .. } = *pwq;
        let func = if fifo { 0 } else { func };
        Kind { queue, func }
    }
}

/// A kind whose executions queue up at one lock, or lately did.
#[cfg_attr(test, derive(Debug))]
pub(in crate::pool) struct Lane<S: Store> {
    pub(in crate::pool) kind: Kind,
    pub(in crate::pool) crowd: Crowd,
    /// Series of this kind that no worker has taken, if they are held back.
    pub(in crate::pool) list: List<S>,
    /// So many of them that are not deferred.
    pub(in crate::pool) waiting: usize,
    /// Executions of this kind.
    pub(in crate::pool) busy: u32,
    /// How many may begin at this moment.
    room: u32,
    /// They are held back: listed here.
    pub(in crate::pool) aside: bool,
    /// How many have overtaken the first of the list.
    overtaken: u32,
}

impl<S: Store> Lane<S> {
    /// Of a kind of which so many are executed, and the last one has ended then; none is held back.
    pub(super) fn new(kind: Kind, busy: u32, ended: Option<Time>) -> Self {
        let mut crowd = Crowd::default();
        ended.into_iter().for_each(|at| crowd.completed(at));
        Lane {
            kind,
            crowd,
            list: List::new(),
            waiting: 0,
            busy,
            room: u32::MAX,
            aside: false,
            overtaken: 0,
        }
    }

    /// Items that may begin.
    fn nr_ready(&self) -> usize {
        self.waiting.min(self.room as usize)
    }
}

impl<S: Store> Worklist<S> {
    pub(in crate::pool) fn lanes(&self) -> &[Lane<S>] {
        &self.lanes
    }

    /// The kind of a listed item.
    fn kind_of(&self, cx: &Cx<S>, work: S::Work) -> Kind {
        let pwq = cx.store.pwq_of(work).expect("a listed item is queued");
        Kind::of(&cx.store.info(pwq), cx.store.key(work).func)
    }

    /// The kind of the item that this worker executes.
    pub(super) fn kind_executed(cx: &Cx<S>, worker: &Worker<S>) -> Option<Kind> {
        let current = worker.current.as_ref()?;
        (!current.barrier).then(|| Kind::of(&cx.store.info(current.pwq), current.key.func))
    }

    fn lane(&mut self, kind: Option<Kind>) -> Option<&mut Lane<S>> {
        self.lanes.iter_mut().find(|lane| Some(lane.kind) == kind)
    }

    /// The lane of this item, the head of a series of the pool: where it is, or would be if it is
    /// on no worker's list. `None`: the worklist.
    pub(in crate::pool) fn lane_of(&self, cx: &Cx<S>, head: S::Work) -> Option<usize> {
        if self.lanes.is_empty() {
            return None;
        }
        if cx.store.word(head).flags().inactive {
            return None;
        }
        let kind = self.kind_of(cx, head);
        self.lanes
            .iter()
            .position(|lane| lane.aside && lane.kind == kind)
    }

    /// The list that this is the index of.
    pub(in crate::pool) fn list_at(&mut self, lane: Option<usize>) -> &mut List<S> {
        match lane {
            None => &mut self.list,
            Some(at) => &mut self.lanes[at].list,
        }
    }

    /// All lists of entries that no worker has taken.
    pub(in crate::pool) fn lists(&self) -> impl Iterator<Item = &List<S>> {
        let lanes = self.lanes.iter().map(|lane| &lane.list);
        core::iter::once(&self.list).chain(lanes)
    }

    /// The first entries of all series that no worker has taken, deferred ones included.
    pub(in crate::pool) fn heads<'a>(
        &'a self,
        cx: &'a Cx<S>,
    ) -> impl Iterator<Item = S::Work> + 'a {
        let behind = |&work: &S::Work| self.behind_series(cx, work);
        self.lists()
            .flat_map(move |list| core::iter::successors(list.first(), behind))
    }

    /// Lists a series, which is in no list, at the end or at the front of where it belongs.
    pub(in crate::pool) fn list_series(&mut self, cx: &mut Cx<S>, series: &[S::Work], front: bool) {
        let Some(&head) = series.first() else { return };
        let lane = self.lane_of(cx, head);
        let deferred = cx.store.word(head).flags().deferred;
        match lane {
            Some(at) => self.lanes[at].waiting += usize::from(!deferred),
            None => self.held += series.len() - 1 + usize::from(deferred),
        }
        let list = self.list_at(lane);
        match front {
            true => series
                .iter()
                .rev()
                .for_each(|&work| list.push_front(cx.store, work)),
            false => series
                .iter()
                .for_each(|&work| list.push_back(cx.store, work)),
        }
    }

    /// Takes a series out of where [`lane_of`](Self::lane_of) says.
    pub(in crate::pool) fn unlist_series(&mut self, cx: &mut Cx<S>, series: &[S::Work]) {
        let Some(&head) = series.first() else { return };
        let lane = self.lane_of(cx, head);
        let deferred = cx.store.word(head).flags().deferred;
        match lane {
            Some(at) => self.lanes[at].waiting -= usize::from(!deferred),
            None => self.held -= series.len() - 1 + usize::from(deferred),
        }
        let list = self.list_at(lane);
        series.iter().for_each(|&work| list.remove(cx.store, work));
    }

    /// Items that no worker has taken, of kinds that are held back.
    pub(in crate::pool) fn nr_aside(&self) -> usize {
        self.lanes.iter().map(|lane| lane.waiting).sum()
    }

    /// Items that a worker may take now.
    pub(in crate::pool) fn nr_ready(&self) -> usize {
        let lanes: usize = self.lanes.iter().map(Lane::nr_ready).sum();
        self.nr_free() + lanes
    }

    /// Those of the worklist.
    pub(in crate::pool) fn nr_free(&self) -> usize {
        self.list.len() - self.held
    }

    /// Finds out again which lanes have room: time has passed, or an item has begun or ended.
    pub(in crate::pool) fn look_for_room(&mut self, now: Time) {
        for lane in &mut self.lanes {
            lane.room = lane.crowd.room(now, lane.busy);
        }
    }

    /// The next item to take: of a lane and of the worklist in turns, where both have one.
    pub(in crate::pool) fn next_ready(&mut self, cx: &Cx<S>) -> Option<S::Work> {
        self.look_for_room(cx.now);
        let Some(at) = self.lanes.iter().position(|lane| lane.nr_ready() > 0) else {
            return self.next_free(cx);
        };
        self.lane_turn = !self.lane_turn && self.nr_free() > 0;
        if self.lane_turn {
            return self.next_free(cx);
        }
        self.take_from_lane(cx, at)
    }

    fn take_from_lane(&mut self, cx: &Cx<S>, at: usize) -> Option<S::Work> {
        hit!(LaneTaken);
        let first = self.free_from(cx, self.lanes[at].list.first())?;
        let choice = self.choose_from(cx, first, self.lanes[at].overtaken);
        // Another lane comes first the next time.
        let mut lane = self.lanes.remove(at);
        lane.crowd.started(cx.now, lane.busy);
        lane.overtaken = choice.overtaken;
        self.lanes.push(lane);
        Some(choice.work)
    }

    /// Whether reports of idle CPUs are of use for what is ready, where a worker is `missing` or
    /// not.
    pub(in crate::pool) fn lanes_want(&self, now: Time, missing: bool) -> bool {
        let wants = |lane: &Lane<S>| {
            lane.nr_ready() > 0 && lane.crowd.wants_reports(now, lane.busy, missing)
        };
        self.nr_free() > 0 || self.lanes.iter().any(wants)
    }

    /// Whether looks should be at as many as can be.
    pub(in crate::pool) fn holds_back(&self) -> bool {
        self.lanes.iter().any(|lane| lane.aside)
    }

    /// When an item that is held back may begin, so that somebody sees to it.
    pub(in crate::pool) fn lanes_wake_at(&self, now: Time) -> Option<Time> {
        let waiting = self.lanes.iter().filter(|lane| lane.waiting > 0);
        waiting.filter_map(|lane| lane.crowd.wakes_at(now)).min()
    }

    /// Why items are held back, if some are: of all kinds together.
    pub(in crate::pool) fn holding(&self, now: Time) -> Holding {
        let holdings = self.lanes.iter().map(|lane| lane.crowd.holding(now));
        holdings.fold(Holding::No, Holding::and)
    }

    /// Whether the next item of this queue, or this item, is held back.
    pub(in crate::pool) fn is_held_back(
        &self,
        queue: u64,
        work: Option<S::Work>,
        cx: &Cx<S>,
    ) -> bool {
        let lane = match work {
            Some(work) => self.lane_of(cx, work).map(|at| &self.lanes[at]),
            None => self.lanes.iter().find(|lane| lane.kind.queue == queue),
        };
        lane.is_some_and(|lane| lane.aside && lane.room == 0)
    }

    /// Counts of all lanes that there have been.
    pub(in crate::pool) fn growth_stats(&self) -> GrowthStats {
        let lanes = self.lanes.iter().map(|lane| lane.crowd.stats());
        lanes.fold(self.past, GrowthStats::and)
    }

    /// This worker has begun an item.
    pub(in crate::pool) fn note_begun(&mut self, cx: &Cx<S>, worker: &Worker<S>) {
        if !self.lanes.is_empty() {
            let kind = Self::kind_executed(cx, worker);
            if let Some(lane) = self.lane(kind) {
                lane.busy += 1;
            }
        }
    }

    /// It is about to leave it.
    pub(in crate::pool) fn note_ended(&mut self, cx: &Cx<S>, worker: &Worker<S>) {
        if self.lanes.is_empty() {
            return;
        }
        let (kind, futex) = (Self::kind_executed(cx, worker), worker.futex);
        if let Some(lane) = self.lane(kind) {
            lane.busy -= 1;
            if futex.is_some() && futex == lane.crowd.lock() {
                lane.crowd.passed(cx.now);
            }
            lane.crowd.completed(cx.now);
        }
    }

    /// An item of this pool workqueue, with this function, has ended then.
    #[inline]
    pub(in crate::pool) fn note_over(&mut self, cx: &Cx<S>, at: Time, (pwq, func): (S::Pwq, u64)) {
        self.last_ended = Some((Kind::of(&cx.store.info(pwq), func), at));
    }

    /// Lists are where the crowds want them, and kinds that were none for long are forgotten.
    pub(super) fn settle_lanes(&mut self, cx: &mut Cx<S>) {
        for at in (0..self.lanes.len()).rev() {
            let holds = self.lanes[at].crowd.has_hold();
            match (holds, self.lanes[at].aside) {
                (true, false) => self.set_aside(cx, at),
                (false, true) => self.put_back(cx, at),
                _ => {}
            }
            if self.lanes[at].crowd.is_over(cx.now) {
                self.close_lane(at);
            }
        }
        self.look_for_room(cx.now);
    }

    fn close_lane(&mut self, at: usize) {
        let lane = self.lanes.swap_remove(at);
        self.past = self.past.and(lane.crowd.stats());
    }

    /// What waits of this kind goes to its lane.
    fn set_aside(&mut self, cx: &mut Cx<S>, at: usize) {
        hit!(LaneHolds);
        self.lanes[at].aside = true;
        let mut next = self.list.first();
        while let Some(head) = next {
            next = self.behind_series(cx, head);
            self.send_to_lane(cx, head);
        }
    }

    /// A series of the worklist goes to the lane of its kind, if that is held back.
    fn send_to_lane(&mut self, cx: &mut Cx<S>, head: S::Work) {
        let Some(at) = self.lane_of(cx, head) else {
            return;
        };
        let series = self.series(cx, head);
        let deferred = cx.store.word(head).flags().deferred;
        self.held -= series.len() - 1 + usize::from(deferred);
        self.lanes[at].waiting += usize::from(!deferred);
        for &work in &series {
            self.list.remove(cx.store, work);
            self.lanes[at].list.push_back(cx.store, work);
        }
    }

    /// What waits of this kind goes back to the worklist: before what is there, which has not
    /// waited as long.
    fn put_back(&mut self, cx: &mut Cx<S>, at: usize) {
        let lane = &mut self.lanes[at];
        let mut list = core::mem::take(&mut lane.list);
        let entries: Vec<S::Work> = list.iter(cx.store).collect();
        self.held += entries.len() - lane.waiting;
        (lane.waiting, lane.aside) = (0, false);
        for &work in entries.iter().rev() {
            list.remove(cx.store, work);
            self.list.push_front(cx.store, work);
        }
    }

    /// Nothing is held back any more, and what was seen is forgotten.
    pub(in crate::pool) fn forget_crowds(&mut self, cx: &mut Cx<S>) {
        for at in (0..self.lanes.len()).rev() {
            if self.lanes[at].aside {
                self.put_back(cx, at);
            }
            self.close_lane(at);
        }
    }

    /// Lanes are as their items say.
    pub(in crate::pool) fn lanes_are_right(&self, store: &mut S, crew: &Crew<S>) {
        let mut out = crate::action::Actions::default();
        let cx = Cx {
            store,
            now: Time(0),
            cpu: 0,
            out: &mut out,
        };
        let mut head = self.list.first();
        while let Some(work) = head {
            assert_eq!(self.lane_of(&cx, work), None, "{work:?} belongs in a lane");
            head = self.behind_series(&cx, work);
        }
        for (at, lane) in self.lanes.iter().enumerate() {
            let executes =
                |id: &WorkerId| Self::kind_executed(&cx, crew.get(*id)) == Some(lane.kind);
            let busy = crew.ids().filter(executes).count() as u32;
            assert_eq!(lane.busy, busy, "executions of a kind");
            let (mut series, mut head) = (0, lane.list.first());
            while let Some(work) = head {
                assert_eq!(self.lane_of(&cx, work), Some(at), "{work:?} is in a lane");
                series += usize::from(!cx.store.word(work).flags().deferred);
                head = self.behind_series(&cx, work);
            }
            assert_eq!(lane.waiting, series, "series in a lane");
            assert!(lane.aside || lane.list.is_empty());
        }
    }
}
