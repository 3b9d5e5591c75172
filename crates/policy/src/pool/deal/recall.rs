//! What was dealt comes back, and the pool learns how far its workers have come.

use super::super::brief::LATE;
use super::super::crew::Current;
use super::super::dealt::{Dealt, Ended, Recalled, Was};
use super::super::inbox::Inbox;
use super::super::{Cx, Published, WorkerPool};
use super::plain_flags;
use crate::action::Action;
use crate::list::List;
use crate::probe::{broken, hit};
use crate::store::{ItemKey, Store};
use crate::time::Time;
use crate::work::WorkWord;
use crate::worker::WorkerId;

/// Whether items wait in the row, which are older than all others of their pool workqueue.
pub(super) fn waits_in_row<S: Store>(inbox: &impl Inbox<S>) -> bool {
    inbox.row().is_some_and(|(_, waiting)| waiting > 0)
}

/// How far a worker has come by itself.
pub(super) struct Progress<P> {
    /// Which worker, and of which pool workqueue its items are.
    of: (WorkerId, P),
    /// Items that have ended, and that have begun.
    count: u32,
    /// Those of them that were counted in, that had a slot, and that are far.
    counted: u32,
    listed: u32,
    far: u32,
    /// A flush may be over.
    flushed: bool,
    /// More could have run meanwhile.
    more_could: bool,
    /// Items wait for a slot that are in nobody's hand any more, and for which nobody has asked.
    waits: bool,
    /// Its last item has ended, and it [lingers](super::super::may_linger).
    lingers: bool,
    /// The item that it executes, with its colour, and when that began.
    key: ItemKey,
    colour: u8,
    began: Time,
    /// The function of the one before it.
    over: u64,
}

impl<S: Store> WorkerPool<S> {
    /// What was dealt to this worker, or to all, and is not begun is where it was, and the pool
    /// knows what they have done. To recall all is the first act of every event, whose time may be
    /// before that of a worker's last step. Exceptions are [`ended_beside`](Self::ended_beside),
    /// [`next_beside`](Self::next_beside), [`tells`](Self::tells), [`crowded`](Self::crowded) and
    /// [`activate`](Self::activate).
    pub fn recall(&mut self, cx: &mut Cx<S>, inbox: &mut impl Inbox<S>, of: Option<WorkerId>) {
        let mut hand: Option<Progress<S::Pwq>> = None;
        let (mut all, mut begun) = (0, 0);
        let mut row_waits = None;
        let stays_out = |id: &WorkerId| of.is_some_and(|of| of != *id);
        self.dealing.fifo = self.dealing.fifo.filter(stays_out);
        inbox.recall(of, |dealer, what| match what {
            Recalled::Hand { dealt, lingers } => {
                self.crew.get_mut(dealer.worker).recalled_at = None;
                self.dealing.alone -= u32::from(dealer.alone);
                all += if dealer.in_row { 0 } else { dealt };
                let next = Progress {
                    lingers,
                    ..self.progress(dealer.worker, dealer.pwq)
                };
                if let Some(before) = hand.replace(next) {
                    self.note_progress(cx, &before);
                }
            }
            Recalled::Begun { item, before } => {
                begun += usize::from(!dealer.in_row);
                let progress = hand.as_mut().expect("it comes first");
                self.note_step(cx, progress, (item, before));
            }
            Recalled::Rest(item) => {
                let waits = self.put_back(cx, dealer.pwq, &item);
                hand.as_mut().expect("it comes first").waits |= waits;
            }
            Recalled::InRow(item) => {
                all += 1;
                if item.was != Was::Left && self.put_back(cx, dealer.pwq, &item) {
                    row_waits = Some(dealer.pwq);
                }
            }
        });
        if let Some(last) = &hand {
            self.note_progress(cx, last);
        }
        if let Some(pwq) = row_waits {
            self.take_slots(cx, pwq);
        }
        self.dealing.came_to(all, begun);
    }

    /// The item was dealt, and is not begun. True if it waits for a slot, and none has meanwhile.
    fn put_back(&mut self, cx: &mut Cx<S>, pwq: S::Pwq, item: &Dealt<S::Work>) -> bool {
        let colour = item.was.colour().expect("the inbox has the others again");
        let inactive = item.was == Was::Inactive(colour);
        let addr = cx.store.pwq_addr(pwq);
        let word = WorkWord::queued(addr, self.attrs.id, colour, plain_flags(inactive));
        cx.store.set_dealt(item.work, word);
        self.dealing.left_hand(item.was);
        if inactive {
            let none_waits = cx.store.pwq(pwq).inactive.is_empty();
            let back = |s: &mut S, list: &mut List<S>| list.push_front(s, item.work);
            self.slots.with_inactive(cx, pwq, back);
            return none_waits;
        }
        self.worklist.list_series(cx, &[item.work], true);
        false
    }

    /// Before a worker asks: what others were dealt is recalled if it has waited for long, if
    /// nothing more is dealt, or if any of it is of a FIFO queue.
    pub(in crate::pool) fn recall_others(
        &mut self,
        cx: &mut Cx<S>,
        (inbox, before): (&mut impl Inbox<S>, &Published),
        id: WorkerId,
    ) {
        self.dealing.several = inbox.is_out_beside(id);
        if !self.dealing.several {
            return;
        }
        let fifo = self.dealing.fifo.is_some() && !broken!(FifoOvertaken);
        let row = waits_in_row(inbox);
        if row && self.crew.get(id).current.is_some() {
            self.pause_row(cx);
        }
        if before.open.is_none() || fifo || row {
            return self.recall(cx, inbox, None);
        }
        if cx.now.since(self.dealing.looked) < LATE {
            return;
        }
        self.dealing.looked = cx.now;
        for id in self.crew.ids() {
            let at = self.crew.get(id).recalled_at;
            if at.is_some_and(|at| cx.now >= at) {
                hit!(LateRecalled);
                self.recall(cx, inbox, Some(id));
            }
        }
    }

    /// Before an item of this pool workqueue gets a slot, and is listed: what workers were dealt is
    /// recalled unless several were. It is recalled, too, if an item in a hand may come first, of a
    /// FIFO queue or as nothing else waits; if the worker of a hand goes by it that nothing is
    /// listed; and if nobody has been heard of for so long that all would count as late.
    pub(in crate::pool) fn recall_for_turn(
        &mut self,
        cx: &mut Cx<S>,
        inbox: &mut impl Inbox<S>,
        pwq: S::Pwq,
    ) {
        let none_waits = cx.store.pwq(pwq).inactive.is_empty();
        let comes_first = self.dealing.fifo.is_some()
            || self.dealing.alone > 0
            || waits_in_row(inbox)
            || (self.dealing.inactive > 0 && none_waits);
        if !self.dealing.several || comes_first || self.brief.is_late(cx.now) {
            self.recall(cx, inbox, None);
        }
    }

    /// Whether items are in hands for which a slot may be free, or is about to be: this worker's
    /// own goes to nobody else.
    pub(in crate::pool) fn slots_may_wait(&self, cx: &mut Cx<S>, id: WorkerId) -> bool {
        self.dealing.inactive > 0 && !self.waits_behind(cx, id)
    }

    /// Others were started: the pool is not as it was when items were dealt.
    pub(in crate::pool) fn others_act(&mut self) {
        self.dealing.several = true;
    }

    /// Of a worker of which nothing was heard since it was dealt items.
    pub(super) fn progress(&self, id: WorkerId, pwq: S::Pwq) -> Progress<S::Pwq> {
        let worker = self.crew.get(id);
        let current = worker.current.as_ref().expect("it executes an item");
        Progress {
            of: (id, pwq),
            count: 0,
            counted: 0,
            listed: 0,
            far: 0,
            flushed: false,
            more_could: self.more_could_run(),
            waits: false,
            lingers: false,
            key: current.key,
            colour: current.colour,
            began: worker.began,
            over: current.key.func,
        }
    }

    /// The item has ended that it was at, and it has begun this one. Compiled into the loop over
    /// the steps, which saves 1 ns of an item.
    #[inline(always)]
    pub(super) fn note_step(
        &mut self,
        cx: &mut Cx<S>,
        progress: &mut Progress<S::Pwq>,
        (item, before): (&Dealt<S::Work>, &Ended),
    ) {
        self.dealing.left_hand(item.was);
        let Ended { at, ran, lingered } = *before;
        match lingered {
            true => self.brief.last_ended(ran, progress.more_could),
            false => self.brief.ended(ran, true, progress.more_could),
        }
        let state = cx.store.pwq(progress.of.1);
        state.stats.note_ran(ran);
        state.stats.note_waited(item.stamp.age(at));
        // In before out: a flush that waits for both is not told of the first.
        let (colour, flushed) = match item.was.colour() {
            Some(colour) => (colour, state.colours.ended(progress.colour)),
            None => {
                state.nr_queued += 1;
                state.colours.queued_for(progress.colour)
            }
        };
        progress.count += 1;
        progress.counted += u32::from(item.was != Was::Left);
        progress.listed += u32::from(!item.was.takes_slot_over());
        progress.far += u32::from(item.far);
        progress.flushed |= flushed;
        progress.over = progress.key.func;
        progress.key = item.key;
        progress.colour = colour;
        progress.began = at;
    }

    pub(super) fn note_progress(&mut self, cx: &mut Cx<S>, progress: &Progress<S::Pwq>) {
        if progress.count > 0 {
            self.note_steps(cx, progress);
        }
        // It has not been at its item for as long as it seems, unless others have its CPU.
        if progress.lingers && cx.now.since(progress.began) < 2 * LATE {
            self.brief.moved(progress.of.0, cx.now);
        }
        if progress.waits {
            self.take_slots(cx, progress.of.1);
        }
    }

    fn note_steps(&mut self, cx: &mut Cx<S>, progress: &Progress<S::Pwq>) {
        hit!(WorkerWentOn);
        let (id, pwq) = progress.of;
        let (count, at) = (u64::from(progress.count), progress.began);
        self.worklist.note_over(cx, at, (pwq, progress.over));
        self.brief.moved(id, at);
        self.stats.started += count;
        self.stats.completed += count;
        self.stats.far += u64::from(progress.far);
        self.nr_in_flight -= u64::from(progress.counted);
        // Another one may be known to have begun an item since.
        self.moved = self.moved.max(at);
        self.dog.progressed(self.moved);
        self.estimate.begin_anew(self.moved);
        let state = cx.store.pwq(pwq);
        state.moved = state.moved.max(at);
        let next = Current {
            key: progress.key,
            pwq,
            colour: progress.colour,
            barrier: false,
            deferred_to: None,
            requeued_to: None,
        };
        self.crew.went_on(id, next, progress.count);
        let most = self.most_crowded();
        let worker = self.crew.get_mut(id);
        worker.began = at;
        worker.crowded = worker.crowded.min(most - 1);
        self.put_slots(cx, pwq, progress.listed);
        if progress.flushed {
            self.flush_moved(pwq);
            self.push(cx, Action::Flushed(pwq));
        }
    }
}
