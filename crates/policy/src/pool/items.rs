//! Items: queued, taken, ended; flush of everything.

use super::crew::Current;
use super::{Cx, Rule, WorkerPool};
use crate::action::Action;
use crate::colours::Flush;
use crate::probe::{broken, hit};
use crate::pwq::Drain;
use crate::sampling::{self, ItemReport};
use crate::stats::Stamp;
use crate::store::{Home, ItemKey, Store};
use crate::time::{Nanos, Time};
use crate::work::{QueuedFlags, WorkWord};
use crate::worker::{Execution, Wait, WorkerId};

/// How an item comes to a pool workqueue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queueing {
    /// The execution in another pool that must end before it begins.
    pub deferred: Option<Execution>,
    /// It goes where its current execution is, whatever the attributes of the queue are by now,
    /// unless nothing is in flight there any more.
    pub redirected: bool,
    /// It was left in the [inbox](super::Inbox), and was queued then: it goes where it went.
    pub left: Option<Stamp>,
    /// The CPU that it is queued on.
    pub home: u32,
}

/// The queue's attributes have changed: its items go to another pool workqueue now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retired;

/// For how long an item has run that began then, if its worker has not measured it.
pub(super) fn ran(now: Time, began: Time, report: &ItemReport) -> Nanos {
    report.ran.unwrap_or(now.since(began))
}

impl<S: Store> WorkerPool<S> {
    /// See [`queue`](Self::queue).
    pub(super) fn enqueue(
        &mut self,
        cx: &mut Cx<S>,
        work: S::Work,
        pwq: S::Pwq,
        how: Queueing,
    ) -> Option<()> {
        let state = cx.store.pwq(pwq);
        // A retired one that has emptied stays empty: its queue may have forgotten it. But for what
        // somebody was about to leave who had found it in use.
        let stays = how.left.is_some() || (how.redirected && state.nr_in_flight() > 0);
        if state.retired && !stays {
            return None;
        }
        hit!(ItemRedirectedRetired if cx.store.pwq(pwq).retired);
        self.count_in(cx, pwq);
        let colour = cx.store.pwq(pwq).colours.queued();
        // Never past items that already wait.
        let first = cx.store.pwq(pwq).inactive.is_empty() || broken!(WaitersOvertaken);
        let active = first && self.take_slot(cx, pwq);
        let flags = QueuedFlags {
            inactive: !active,
            linked: false,
            deferred: how.deferred.is_some(),
        };
        let word = WorkWord::queued(cx.store.pwq_addr(pwq), self.attrs.id, colour, flags);
        Self::write(cx, work, word, how);
        let queue = cx.store.info(pwq).queue;
        self.note_requeued(cx, work, Some(queue));
        if let Some(execution) = how.deferred {
            self.worklist.defer(work, execution);
        }
        match active {
            true => {
                cx.store.activated(work, pwq);
                self.push_series(cx, &[work]);
            }
            false => self
                .slots
                .with_inactive(cx, pwq, |s, list| list.push_back(s, work)),
        }
        Some(())
    }

    /// What the item itself says from now on.
    fn write(cx: &mut Cx<S>, work: S::Work, word: WorkWord, how: Queueing) {
        let stamp = how.left.unwrap_or(Stamp::of(cx.now));
        let is_new = cx.store.is_new(work);
        cx.store.set_word(work, word);
        cx.store.set_stamp(work, stamp);
        cx.store.set_home(work, Home::of(how.home, is_new));
    }

    pub(super) fn count_in(&mut self, cx: &mut Cx<S>, pwq: S::Pwq) {
        self.nr_in_flight += 1;
        let state = cx.store.pwq(pwq);
        state.nr_queued += 1;
        if state.drain == Drain::Orphaned && state.nr_in_flight() == 0 {
            // One of its own items, of another pool, queues on.
            hit!(OrphanRevived);
            cx.store.hold(pwq);
        }
    }

    /// From now on says `Drained`, or `Released` to an orphan, when nothing is in flight. True if
    /// nothing is.
    pub fn begin_drain(&mut self, cx: &mut Cx<S>, pwq: S::Pwq, drain: Drain) -> bool {
        let state = cx.store.pwq(pwq);
        let empty = state.nr_in_flight() == 0;
        // An orphan stays one: it may have been held, once.
        if state.drain != Drain::Orphaned {
            state.drain = drain;
            if drain == Drain::Orphaned && !empty {
                cx.store.hold(pwq);
            }
        }
        empty
    }

    /// From now on says `Drained` after each item: somebody waits for the pool as a whole. Said
    /// once by each who waits, and taken back.
    pub fn watch_drain(&mut self, watched: bool) {
        self.drain_watchers = match watched {
            true => self.drain_watchers + 1,
            false => self.drain_watchers.saturating_sub(1),
        };
    }

    /// Starts a flush of everything queued through `pwq` so far.
    pub fn begin_flush(&mut self, cx: &mut Cx<S>, pwq: S::Pwq) -> Flush {
        cx.store.pwq(pwq).colours.begin_flush()
    }

    /// Whether the flush with this ticket is over.
    pub fn is_flushed(&mut self, cx: &mut Cx<S>, pwq: S::Pwq, ticket: u64) -> bool {
        cx.store.pwq(pwq).colours.is_done(ticket)
    }

    /// The worker has ended its item. Follow with [`next`](Self::next) before letting the pool go.
    pub fn item_ended(&mut self, cx: &mut Cx<S>, id: WorkerId, report: ItemReport) {
        self.end_item(cx, id, report, false);
    }

    /// The same, while `more` items wait than are listed.
    pub(super) fn end_item(
        &mut self,
        cx: &mut Cx<S>,
        id: WorkerId,
        report: ItemReport,
        more: bool,
    ) {
        let more_could = self.more_could_run();
        self.worklist.note_ended(cx, self.crew.get(id));
        self.forget_sleep(id, report);
        let execution = self.execution_of(id);
        let ended = self.crew.end(id);
        if !ended.barrier {
            let ran = ran(cx.now, self.crew.get(id).began, &report);
            self.brief.moved(id, cx.now);
            let others_wait = self.nr_unattended() > 0 || more;
            let none_listed = self.worklist.nr_ready() == 0 && self.slots.nr_inactive() == 0;
            match report.lingered || (none_listed && !more) {
                true => self.brief.last_ended(ran, more_could),
                false => self.brief.ended(ran, others_wait, more_could),
            }
            self.item_is_over(cx, &ended, ran);
        }
        self.count_out(cx, ended.pwq, ended.colour);
        self.fail_at_limit(cx, ended.pwq);
        if let Some(pool) = ended.deferred_to {
            self.push(cx, Action::Undefer { pool, execution });
        }
        self.take_report_of(cx, id, &report);
    }

    /// This item, no barrier, has run for so long.
    pub(super) fn item_is_over(&mut self, cx: &mut Cx<S>, ended: &Current<S::Pwq>, ran: Nanos) {
        let pwq = ended.pwq;
        self.stats.completed += 1;
        self.moved = cx.now;
        self.worklist.note_over(cx, cx.now, (pwq, ended.key.func));
        self.estimate.begin_anew(cx.now);
        let state = cx.store.pwq(pwq);
        state.moved = cx.now;
        state.stats.note_ran(ran);
        self.put_slot(cx, pwq);
    }

    /// What the worker has found while it was at its item.
    pub(super) fn take_report_of(&mut self, cx: &Cx<S>, id: WorkerId, report: &ItemReport) {
        self.turn.items += 1;
        let most = self.most_crowded();
        let worker = self.crew.get_mut(id);
        worker.asks = sampling::ask_for_others(report, cx.now, worker.asks_after);
        worker.crowded = match report.foreign {
            // It cannot ask for its processes: the estimate is all there is.
            true => most,
            false => worker.crowded.min(most - 1),
        };
    }

    /// Begins the next item that this worker may execute: of its own list first, then of the pool.
    pub(super) fn take_item(&mut self, cx: &mut Cx<S>, id: WorkerId) -> Option<(S::Work, S::Pwq)> {
        let own = self.crew.get_mut(id).scheduled.pop_front(cx.store);
        let work = own.or_else(|| self.take_from_worklist(cx, id))?;
        Some(self.execute(cx, id, work))
    }

    /// The worker begins this item, which is in no list any more.
    pub(super) fn execute(
        &mut self,
        cx: &mut Cx<S>,
        id: WorkerId,
        work: S::Work,
    ) -> (S::Work, S::Pwq) {
        let current = self.as_current(cx, work);
        let pwq = current.pwq;
        let is_item = !current.barrier;
        self.crew.begin(id, current);
        self.worklist.note_begun(cx, self.crew.get(id));
        match is_item {
            true => self.begins(cx, id, work, pwq),
            false => self.moves(cx, id, work),
        }
        let hog = cx.store.pwq(pwq).flags.cpu_intensive && self.attrs.rule == Rule::PerCpu;
        if hog || self.crew.get(id).rescues.is_some() {
            self.crew.uncount(id);
            self.brief.left(id);
        }
        self.estimate.begun(self.crew.counts().presumable());
        (work, pwq)
    }

    /// A listed item as it is known while it is executed.
    pub(super) fn as_current(&self, cx: &Cx<S>, work: S::Work) -> Current<S::Pwq> {
        let (pwq, colour) = cx.store.queued_as(work).expect("a listed item is queued");
        Current {
            key: cx.store.key(work),
            pwq,
            colour,
            barrier: cx.store.word(work).flags().inactive,
            deferred_to: None,
            requeued_to: None,
        }
    }

    /// The worker, which is entered as its executor, begins this item, which is no barrier.
    pub(super) fn begins(&mut self, cx: &mut Cx<S>, id: WorkerId, work: S::Work, pwq: S::Pwq) {
        self.stats.started += 1;
        self.count_begun(cx, id, work, pwq);
        self.moves(cx, id, work);
    }

    fn moves(&mut self, cx: &mut Cx<S>, id: WorkerId, work: S::Work) {
        self.crew.get_mut(id).began = cx.now;
        self.dog.progressed(cx.now);
        self.moved = cx.now;
        self.brief.moved(id, cx.now);
        cx.store.set_word(work, WorkWord::off_queue(self.attrs.id));
    }

    fn count_begun(&self, cx: &mut Cx<S>, id: WorkerId, work: S::Work, pwq: S::Pwq) {
        let waited = cx.store.stamp(work).age(cx.now);
        let stats = &mut cx.store.pwq(pwq).stats;
        stats.note_waited(waited);
        stats.rescued += u64::from(self.crew.get(id).rescues.is_some());
    }

    /// The next item that no worker of this pool is executing. Items that are being executed go
    /// behind that execution, on its worker's own list: an item never runs twice at once.
    fn take_from_worklist(&mut self, cx: &mut Cx<S>, id: WorkerId) -> Option<S::Work> {
        while let Some(work) = self.worklist.next_ready(cx) {
            match self.who_executes(&cx.store.key(work)) {
                Some(busy) => self.schedule_series(cx, work, busy),
                None => {
                    self.stats.far += u64::from(self.worklist.is_far(cx, work));
                    self.schedule_series(cx, work, id);
                    return self.crew.get_mut(id).scheduled.pop_front(cx.store);
                }
            }
        }
        None
    }

    /// Who executes this item, which therefore goes to that worker.
    pub(super) fn who_executes(&self, key: &ItemKey) -> Option<WorkerId> {
        let busy = self.crew.executing(key);
        let claimed = |id| self.crew.get(id).claim.is_some();
        busy.filter(|_| !broken!(ReentrantInPool))
            .filter(|&id| !(broken!(ClaimNotBusy) && claimed(id)))
    }

    pub(super) fn count_out(&mut self, cx: &mut Cx<S>, pwq: S::Pwq, colour: u8) {
        self.nr_in_flight -= 1;
        let state = cx.store.pwq(pwq);
        let flushed = state.colours.ended(colour);
        let empty = state.nr_in_flight() == 0;
        let (drain, retired) = (state.drain, state.retired);
        if flushed {
            self.flush_moved(pwq);
            self.push(cx, Action::Flushed(pwq));
        }
        if empty && retired {
            cx.store.hold(pwq);
            self.push(cx, Action::Emptied(pwq));
        }
        match drain {
            Drain::Orphaned if empty => self.push(cx, Action::Released(pwq)),
            Drain::Awaited if empty => self.push(cx, Action::Drained(pwq)),
            _ if self.drain_watchers > 0 => self.push(cx, Action::Drained(pwq)),
            _ => {}
        }
    }

    /// Does anything wait for the slot or for the worker of this item, so that a long one should
    /// step aside?
    pub fn others_waiting(&self, cx: &mut Cx<S>, id: WorkerId) -> bool {
        let current = self.crew.get(id).current.as_ref();
        let pwq = current.expect("it executes an item").pwq;
        self.nr_unattended() > 0 || super::slots::limit_now(cx, pwq).waiting()
    }

    /// The execution that this worker is at.
    pub(super) fn execution_of(&self, id: WorkerId) -> Execution {
        Execution {
            pool: self.attrs.id,
            worker: id,
            seq: self.crew.get(id).item_seq,
        }
    }

    /// Is this worker in a wait for items of this queue?
    pub(super) fn waits_to_flush(&self, id: WorkerId, pwq: S::Pwq) -> bool {
        self.crew.get(id).waiting() == Some(Wait::Flush(pwq))
    }
}
