//! The row: items of a FIFO queue of which several workers take the first, one after the other.
//!
//! Of such a queue no worker may be dealt items while another one runs: those behind the first
//! would be overtaken. So they stand in a row that these workers share. Each takes the first one of
//! it when it has ended an item, without the pool's lock, and notes that in its hand. So when an
//! item begins, all before it have begun.
//!
//! What is in the row is older than all other items of its pool workqueue that wait. So as long as
//! any is in there, a worker that asks goes on to the first of those, or else recalls everything,
//! as does whoever else might begin an item. Only new items are put there: nobody knows who takes
//! one, and somebody may be at the last execution of one that is not.

use super::super::dealt::{Dealer, Ended};
use super::super::inbox::Inbox;
use super::super::{Cx, Published, WorkerPool, items};
use crate::probe::hit;
use crate::sampling::ItemReport;
use crate::store::Store;
use crate::time::{MILLISECOND, Nanos};
use crate::work::WorkWord;
use crate::worker::WorkerId;

/// For one item that a worker could be dealt, so many may wait in the row.
const ROW_PART: usize = 8;
/// There is no row for so long after somebody could not go on in it: at first, and at most.
const ROW_PAUSE: Nanos = MILLISECOND;
const ROW_PAUSE_MOST: Nanos = 128 * MILLISECOND;

impl<S: Store> WorkerPool<S> {
    /// Whether items of this pool workqueue are put into the row instead of hands.
    pub(in crate::pool) fn is_for_row(
        &self,
        cx: &Cx<S>,
        inbox: &impl Inbox<S>,
        pwq: S::Pwq,
    ) -> bool {
        cx.store.info(pwq).fifo && (self.nr_running() > 1 || inbox.is_out())
    }

    /// A worker that has ended an item could not go on in the row: it had another queue's, or steps
    /// back, or more is to be done. So everything is recalled, and there is no row for a while.
    /// Where that comes often, to line up and recall would cost more than a lock for each item: if
    /// the row has not lasted for as long as the pause before it, the next pause is twice as long.
    pub(super) fn pause_row(&mut self, cx: &Cx<S>) {
        let (until, pause) = self.dealing.row_pause;
        let next = match cx.now.since(until) > pause {
            true => ROW_PAUSE,
            false => (2 * pause).min(ROW_PAUSE_MOST),
        };
        self.dealing.row_pause = (cx.now.after(next), next);
    }

    /// The worker's hand is out, for what it takes of the row, and that is filled up.
    pub(super) fn deal_in_row(
        &mut self,
        cx: &mut Cx<S>,
        inbox: &mut impl Inbox<S>,
        to: Dealer<S::Pwq>,
    ) {
        if cx.now < self.dealing.row_pause.0 {
            return;
        }
        if inbox.row().is_some_and(|(pwq, _)| pwq != to.pwq) {
            // Nothing waits in it: else it was recalled. Others may take of it until it is.
            self.pause_row(cx);
            self.recall(cx, inbox, None);
            self.conclude(cx);
        }
        let before = inbox.row();
        inbox.deal(to, |_| None);
        let in_time = self.brief.in_time() * self.nr_running() as usize;
        let most = in_time.min(ROW_PART * self.dealing.most);
        // To touch it takes it from who is about to begin an item.
        if before.is_some_and(|(_, waiting)| waiting > most - most / 4) {
            return;
        }
        if before.is_some() {
            // Workers have gone through it since it was lined up.
            self.dealing.came_to(1, 1);
        }
        let more = inbox.line_up(to.pwq, most, |inbox| self.next_to_deal(cx, inbox, to));
        hit!(RowLinedUp if more > 0);
    }

    /// The worker has ended an item of the row, and tells what it has taken before it takes the
    /// next one. Nothing of others is recalled for that. If more is to be done than to go on, or if
    /// the worker is to step back, its hand stays recalled: so it asks. Tells whether nothing is to
    /// be published.
    pub fn tells(
        &mut self,
        cx: &mut Cx<S>,
        (inbox, before): (&mut impl Inbox<S>, &Published),
        id: WorkerId,
    ) -> bool {
        let own = self.crew.get(id).current.as_ref().map(|item| item.pwq);
        // Somebody may have recalled everything since. Then it asks.
        let is_there = inbox.row().is_some() && self.dealing.fifo.is_none();
        let Some(pwq) = own.filter(|_| is_there) else {
            return false;
        };
        self.recall(cx, inbox, Some(id));
        self.brief.moved(id, cx.now);
        self.conclude(cx);
        let goes_on = self.has_nothing_else(cx, id, &ItemReport::default())
            && !self.is_served_without(id, cx.now);
        match goes_on {
            true => self.stays_in_row(cx, (inbox, before), (id, pwq)),
            false => false,
        }
    }

    /// The worker may take more of the row. Tells whether nothing is to be published.
    pub(in crate::pool) fn stays_in_row(
        &mut self,
        cx: &mut Cx<S>,
        (inbox, before): (&mut impl Inbox<S>, &Published),
        (id, pwq): (WorkerId, S::Pwq),
    ) -> bool {
        self.others_act();
        if before.open.is_some() {
            self.deal(cx, inbox, (id, pwq));
            self.start_for_left(cx, inbox);
        }
        self.is_as_published(cx, before)
    }

    /// The worker, whose hand was recalled, has ended an item, and goes on to the first one in the
    /// row, if nothing is to be done but that.
    pub(in crate::pool) fn goes_on_in_row(
        &mut self,
        cx: &mut Cx<S>,
        (inbox, before): (&mut impl Inbox<S>, &Published),
        id: WorkerId,
        report: &ItemReport,
    ) -> Option<(S::Work, S::Pwq)> {
        let worker = self.crew.get(id);
        let pwq = worker.current.as_ref()?.pwq;
        let ran = items::ran(cx.now, worker.began, report);
        inbox
            .row()
            .filter(|&(row, waiting)| row == pwq && waiting > 0)?;
        self.brief.moved(id, cx.now);
        let may = before.open.is_some()
            && self.has_nothing_else(cx, id, report)
            && self.may_deal(cx, (id, pwq)).is_some()
            && !self
                .brief_after(cx.now, id, (ran, report.lingered), true)
                .is_served_without(id, cx.now);
        let item = may.then(|| inbox.take_of_row()).flatten()?;
        hit!(RowGoesOn);
        let ended = Ended {
            at: cx.now,
            ran,
            lingered: report.lingered,
        };
        let mut progress = self.progress(id, pwq);
        self.note_step(cx, &mut progress, (&item, &ended));
        if item.was.takes_slot_over() {
            cx.store.activated(item.work, pwq);
        }
        let word = WorkWord::off_queue(self.attrs.id);
        cx.store.set_begun(item.work, pwq, word);
        self.note_progress(cx, &progress);
        self.take_report_of(cx, id, report);
        self.conclude(cx);
        Some((item.work, pwq))
    }
}
