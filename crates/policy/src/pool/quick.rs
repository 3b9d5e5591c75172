//! The quick way of an item, where nothing but the item is going on in its pool.
//!
//! Most items come and go while as many workers run as should, and nobody of them waits, is
//! presumed asleep or is held back. Two ways are shorter then:
//!
//! * after an event ([`conclude`](WorkerPool::conclude)): as many run as before, enough of them,
//!   and the tokens are those that are due. So nobody is started and nothing is settled;
//! * from item to item ([`ended`](WorkerPool::ended)): the worker begins the next item without
//!   having been between the two.
//!
//! Neither decides anything. Each is taken only where the long way is known to come to the same,
//! and leaves the pool as that would: `tests/quick.rs` lets the same events happen to two machines,
//! of which one never takes a quick way, and compares all that can be seen of them.

use super::brief::Brief;
use super::items;
use super::start::{Asks, Start};
use super::worklist::{Choice, NEAR_WINDOW};
use super::{Cx, ItemReport, Rule, Step, WorkerPool};
use crate::probe::hit;
use crate::sampling;
use crate::store::{ItemKey, Store};
use crate::time::{Nanos, Time};
use crate::worker::{State, WorkerId};

/// What a worker needs to know to go on.
pub(super) struct WayOn<W> {
    choice: Choice<W>,
    /// Of what it goes on to, which may be queued for the first time.
    pub(super) key: ItemKey,
    pub(super) is_new: bool,
    ran: Nanos,
    brief: Brief,
}

/// What came out of the inbox right before a worker asks.
#[derive(Clone, Copy, Default)]
pub(super) struct Fed {
    /// Items were taken in.
    pub(super) some: bool,
    /// Others wait there.
    pub(super) more: bool,
    /// Items are so short that it does not matter which of them is near.
    pub(super) any: bool,
}

impl<S: Store> WorkerPool<S> {
    /// The worker has ended its item and asks for its next step: as
    /// [`item_ended`](Self::item_ended), and [`next`](Self::next) after that.
    pub fn ended(
        &mut self,
        cx: &mut Cx<S>,
        id: WorkerId,
        report: ItemReport,
    ) -> Step<S::Work, S::Pwq> {
        let way = self.way_on(cx, id, &report, Fed::default());
        self.goes_on_or_asks(cx, id, report, (way, Fed::default()))
    }

    /// The same, of a pool with an [inbox](super::inbox), by the quick way if there is one.
    pub(super) fn goes_on_or_asks(
        &mut self,
        cx: &mut Cx<S>,
        id: WorkerId,
        report: ItemReport,
        (way, fed): (Option<WayOn<S::Work>>, Fed),
    ) -> Step<S::Work, S::Pwq> {
        let Some(way) = way else {
            self.end_item(cx, id, report, fed.more);
            if fed.some {
                self.conclude(cx);
            }
            return self.next(cx, id);
        };
        hit!(WorkerGoesOn);
        let (work, pwq) = self.go_on(cx, id, &report, way);
        self.conclude(cx);
        Step::Run(work, pwq)
    }

    /// How the worker goes on, if there is nothing else to be done than that.
    pub(super) fn way_on(
        &self,
        cx: &mut Cx<S>,
        id: WorkerId,
        report: &ItemReport,
        fed: Fed,
    ) -> Option<WayOn<S::Work>> {
        let worker = self.crew.get(id);
        let current = worker.current.as_ref()?;
        let is_wanted = self.waits_for_workers(cx.now, Asks::Worker(State::Between));
        if !is_wanted || !self.has_nothing_else(cx, id, report) {
            return None;
        }
        // What comes free for those who wait may be nearer, if it is looked at.
        let near = self.worklist.has_homes() && self.worklist.list().len() <= NEAR_WINDOW;
        if near && !fed.any && super::slots::limit_now(cx, current.pwq).waiting() {
            return None;
        }
        let choice = self.worklist.choose_free(cx)?;
        let is_its = |busy| busy == id;
        let key = cx.store.key(choice.work);
        let may_begin = self.who_executes(&key).is_none_or(is_its);
        let (next, flags) = (
            cx.store.pwq_of(choice.work)?,
            cx.store.word(choice.work).flags(),
        );
        let is_single = !flags.linked && !flags.inactive;
        if !may_begin || !is_single || cx.store.pwq(next).flags.cpu_intensive {
            return None;
        }
        let ran = items::ran(cx.now, worker.began, report);
        let brief = self.brief_after(cx.now, id, (ran, report.lingered), fed.more);
        let others_serve = self.attrs.rule == Rule::Managed && brief.is_served_without(id, cx.now);
        (!others_serve).then_some(WayOn {
            key,
            is_new: cx.store.home(choice.work).is_new(),
            choice,
            ran,
            brief,
        })
    }

    /// Whether nothing follows the end of the worker's item but that it begins a next one, if there
    /// is one.
    pub(super) fn has_nothing_else(
        &self,
        cx: &mut Cx<S>,
        id: WorkerId,
        report: &ItemReport,
    ) -> bool {
        let worker = self.crew.get(id);
        let asks = sampling::ask_for_others(report, cx.now, worker.asks_after);
        let tells = report.foreign || report.slept == Some(true);
        let current = worker.current.as_ref();
        let is_item = current.is_some_and(|item| !item.barrier && item.deferred_to.is_none());
        let is_plain = is_item && !tells && worker.is_plain() && self.is_plain(cx.now);
        is_plain && !(asks && self.too_many_run(cx)) && !self.gives_back(cx)
    }

    /// Whether who runs is known and paid for, nobody waits or is held back, and there is a
    /// reserve, or none can be made now and none is needed.
    fn is_plain(&self, now: Time) -> bool {
        let counts = self.crew.counts();
        self.manages()
            && self.may_go_quickly()
            && self.worklist.lanes().is_empty()
            && self.estimate.presumed() < counts.presumable()
            && self.estimate.tokens() == self.due_tokens()
            && counts.waiting + counts.rescuers_waiting == 0
            && (self.may_start_working() || !(self.more_could_run() || self.may_manage(now)))
    }

    /// What the items were like when this worker has ended one.
    pub(super) fn brief_after(
        &self,
        now: Time,
        id: WorkerId,
        (ran, lingered): (Nanos, bool),
        more: bool,
    ) -> Brief {
        let mut brief = self.brief;
        brief.moved(id, now);
        // It is about to take one of those that wait.
        let coming = self.crew.counts().on_their_way() as usize + 1;
        let others_wait = self.worklist.nr_ready() > coming || more;
        match lingered {
            true => brief.last_ended(ran, self.more_could_run()),
            false => brief.ended(ran, others_wait, self.more_could_run()),
        }
        brief
    }

    fn go_on(
        &mut self,
        cx: &mut Cx<S>,
        id: WorkerId,
        report: &ItemReport,
        way: WayOn<S::Work>,
    ) -> (S::Work, S::Pwq) {
        let work = way.choice.work;
        self.brief = way.brief;
        self.stats.far += u64::from(self.worklist.is_far(cx, work));
        self.worklist.take(cx, &way.choice);
        let next = self.as_current(cx, work);
        let pwq = next.pwq;
        let ended = self.crew.go_on(id, next);
        self.item_is_over(cx, &ended, way.ran);
        self.count_out(cx, ended.pwq, ended.colour);
        self.take_report_of(cx, id, report);
        self.begins(cx, id, work, pwq);
        (work, pwq)
    }

    /// What follows an event after which a worker may be needed.
    pub(super) fn conclude(&mut self, cx: &mut Cx<S>) {
        if !self.nothing_follows(cx) {
            self.settle_tokens(cx);
            self.kick(cx);
            self.settle(cx);
        }
        if cfg!(debug_assertions) {
            self.check();
        }
    }

    /// If all that would follow is that somebody notes how many wait, this does so.
    fn nothing_follows(&mut self, cx: &mut Cx<S>) -> bool {
        let presumable = self.crew.counts().presumable();
        let is_settled = self.manages()
            && self.may_go_quickly()
            && self.estimate.presumed() <= presumable
            && self.estimate.tokens() == self.due_tokens()
            && self.estimate.wanted() == 0
            && !self.is_news(cx)
            && self.needs_since.is_none()
            && self.worklist.lanes().is_empty();
        if !is_settled {
            return false;
        }
        let (running, spare) = (self.nr_running(), self.nr_unattended());
        self.look_at_budget(cx);
        if spare > 0 {
            if !self.plainly_enough_run(cx.now, running) {
                return false;
            }
            self.decisions
                .note(Start::EnoughRun, cx.now, running, spare);
        }
        hit!(NothingFollows);
        self.arming.update(spare, self.attrs.target);
        self.estimate.integrate(cx.now, running);
        true
    }

    /// Whether so many are enough although items wait, and nothing is to be found out for that.
    fn plainly_enough_run(&self, now: Time, running: u32) -> bool {
        match running >= self.attrs.target {
            true => !self.brief.is_late(now) && !self.may_borrow(running, Asks::Event),
            false => self.few_are_enough(now, 0) && self.may_start_working(),
        }
    }

    #[cfg(not(test))]
    fn may_go_quickly(&self) -> bool {
        true
    }
}

/// For the test that compares the ways.
#[cfg(test)]
impl<S: Store> WorkerPool<S> {
    pub(super) fn go_the_long_way(&mut self) {
        self.long_way = true;
    }

    fn may_go_quickly(&self) -> bool {
        !self.long_way
    }
}
