//! Items that a worker is dealt: it goes from one to the next without the pool's lock.
//!
//! While one worker serves brief items, the end of one leads to the next that waits, and to nothing
//! else that is in a hurry. So the pool deals that worker some of them: the first of the worklist,
//! or where that is empty of those that were left in the [inbox](super::inbox). As long as its
//! items turn out brief, the worker goes on by itself, and notes when each ended.
//!
//! When it has begun all of them and no event has come since, it is dealt more of what was left
//! meanwhile. That takes the lock, and none of what an event takes: the pool is as it was.
//!
//! Nothing of this is seen. The first act of every event is to [recall](WorkerPool::recall) what
//! was dealt: the pool learns how far the worker has come, and the rest is where it was. So events
//! find the pool as if the worker had told of each item.
//!
//! An item that was left, dealt and is not begun is pending and owned, as in the inbox. Once it is
//! begun it has the slot of the one before, of the same pool workqueue. A listed one has its own.
//! The words of the protocol are in the README of the engine's pools.

use super::crew::Current;
use super::dealt::{Dealer, Dealt, MOST_DEALT, Recalled};
use super::inbox::Inbox;
use super::{Cx, WorkerPool, slots};
use crate::action::Action;
use crate::probe::hit;
use crate::pwq::Drain;
use crate::store::{ItemKey, SharedLimit, Store};
use crate::time::{Nanos, Time};
use crate::work::QueuedFlags;
use crate::worker::WorkerId;

/// How many items are dealt. Who recalls some that are not begun has moved them twice for nothing:
/// so next time they are half as many, and twice as many where all were begun.
#[derive(Clone, Copy, Debug)]
pub(super) struct Portion {
    most: usize,
    dealt: usize,
}

impl Default for Portion {
    fn default() -> Self {
        Portion {
            most: MOST_DEALT,
            dealt: 0,
        }
    }
}

impl Portion {
    /// All were begun: how many more may be dealt.
    fn all_begun(&mut self) -> usize {
        if self.dealt > 0 {
            self.most = (2 * self.most).min(MOST_DEALT);
        }
        self.most
    }

    /// So many of them were begun when they were recalled, if any were dealt.
    fn recalled(&mut self, begun: usize) {
        self.most = match core::mem::take(&mut self.dealt) {
            0 => self.most,
            dealt if begun == dealt => (2 * self.most).min(MOST_DEALT),
            _ => (self.most / 2).max(1),
        };
    }
}

/// How far a worker has come by itself.
#[derive(Clone, Copy)]
struct Progress {
    /// Items that have ended, and that have begun.
    count: u32,
    /// Those of them that were listed.
    listed: u32,
    /// A flush may be over.
    flushed: bool,
    /// The item that it executes, with its colour, and when that began.
    key: ItemKey,
    colour: u8,
    began: Time,
}

impl<S: Store> WorkerPool<S> {
    /// Deals the worker, which has just gone on to an item of this pool workqueue, what waits
    /// behind that.
    pub(super) fn deal<I: Inbox<S>>(&mut self, cx: &mut Cx<S>, inbox: &mut I, to: Dealer<S::Pwq>) {
        if self.may_deal(cx, to.pwq) {
            let mut room = self.portion.most;
            self.portion.dealt = inbox.deal(to, |inbox| {
                room = room.checked_sub(1)?;
                self.next_to_deal(cx, inbox, to)
            });
            hit!(ItemsDealt if self.portion.dealt > 0);
        }
    }

    /// The worker has begun all that it was dealt, and no event has come since: it serves on, and
    /// is dealt more.
    pub fn deal_more<I: Inbox<S>>(&mut self, cx: &mut Cx<S>, inbox: &mut I, to: Dealer<S::Pwq>) {
        let mut room = self.portion.all_begun();
        let more = inbox.deal_more(|inbox| {
            room = room.checked_sub(1)?;
            self.next_to_deal(cx, inbox, to)
        });
        self.portion.dealt += more;
        hit!(MoreDealt if more > 0);
        self.brief.moved(to.worker, cx.now);
        if let Some(until) = self.brief.served_until().filter(|_| more > 0) {
            inbox.open(until);
        }
    }

    /// Whether nobody is in a hurry for the end of an item of this pool workqueue but who waits for
    /// its own.
    fn may_deal(&self, cx: &mut Cx<S>, pwq: S::Pwq) -> bool {
        let state = cx.store.pwq(pwq);
        let is_quiet = state.drain == Drain::No && !state.retired && !state.flags.plugged;
        let is_ours = |cx: &mut Cx<S>| {
            let limit = cx.store.limit(pwq);
            !slots::limit_now(cx, pwq).waiting()
                || limit.with_waiters(|waiters| waiters.is_alone(pwq))
        };
        is_quiet
            && self.drain_watchers == 0
            && !self.worklist.has_homes()
            && self.open_until(cx.now).is_some()
            && is_ours(cx)
            && !self.too_many_run(cx)
    }

    /// The next item that waits, if it can be dealt.
    fn next_to_deal(
        &mut self,
        cx: &mut Cx<S>,
        inbox: &mut impl Inbox<S>,
        to: Dealer<S::Pwq>,
    ) -> Option<Dealt<S::Work>> {
        let pwq = to.pwq;
        match self.worklist.list().first() {
            Some(work) => self.next_listed(cx, work, to),
            None if self.nr_queued() > 0 || !cx.store.pwq(pwq).inactive.is_empty() => None,
            None => {
                let left = inbox.first()?;
                let key = cx.store.key(left.work);
                let fits = left.pwq == pwq && self.is_free_for(to.worker, &key);
                fits.then(|| inbox.take())?.map(|left| Dealt {
                    work: left.work,
                    key,
                    stamp: left.stamp,
                    listed: None,
                })
            }
        }
    }

    /// Whether nobody but this worker executes it, which comes to it later.
    fn is_free_for(&self, id: WorkerId, key: &ItemKey) -> bool {
        self.who_executes(key).is_none_or(|busy| busy == id)
    }

    fn next_listed(
        &mut self,
        cx: &mut Cx<S>,
        work: S::Work,
        to: Dealer<S::Pwq>,
    ) -> Option<Dealt<S::Work>> {
        let is_plain = cx.store.word(work).flags() == QueuedFlags::default();
        let key = cx.store.key(work);
        let (its, colour) = cx.store.queued_as(work)?;
        if !is_plain || its != to.pwq || !self.is_free_for(to.worker, &key) {
            return None;
        }
        self.worklist.unlist_series(cx, &[work]);
        Some(Dealt {
            work,
            key,
            stamp: cx.store.stamp(work),
            listed: Some(colour),
        })
    }

    /// What was dealt and is not begun is where it was, and the pool knows what the worker has
    /// done. The first act of every event, whose time may be before that of the worker's last step.
    pub fn recall(&mut self, cx: &mut Cx<S>, inbox: &mut impl Inbox<S>) {
        let mut progress: Option<(Dealer<S::Pwq>, Progress)> = None;
        inbox.recall(|dealer, what| match what {
            Recalled::Begun { item, at, ran } => {
                let before = progress.map_or_else(|| self.progress(dealer.worker), |(_, p)| p);
                let step = self.note_step(cx, dealer, before, (&item, at, ran));
                progress = Some((dealer, step));
            }
            Recalled::Rest(item) => self.worklist.list_series(cx, &[item.work], true),
        });
        let begun = progress.map_or(0, |(_, progress)| progress.count);
        self.portion.recalled(begun as usize);
        if let Some((dealer, progress)) = progress {
            hit!(WorkerWentOn);
            self.note_progress(cx, dealer, progress);
        }
    }

    /// Of a worker of which nothing was heard since it was dealt something.
    fn progress(&self, id: WorkerId) -> Progress {
        let worker = self.crew.get(id);
        let current = worker.current.as_ref().expect("it executes an item");
        Progress {
            count: 0,
            listed: 0,
            flushed: false,
            key: current.key,
            colour: current.colour,
            began: worker.began,
        }
    }

    /// The item has ended that it was at, and it has begun this one.
    fn note_step(
        &mut self,
        cx: &mut Cx<S>,
        dealer: Dealer<S::Pwq>,
        before: Progress,
        (item, at, ran): (&Dealt<S::Work>, Time, Nanos),
    ) -> Progress {
        self.brief.moved(dealer.worker, at);
        self.brief.ended(ran, true);
        self.worklist.note_over(at, before.key.func);
        let state = cx.store.pwq(dealer.pwq);
        state.stats.note_ran(ran);
        state.stats.note_waited(item.stamp.age(at));
        // In before out: a flush that waits for both is not told of the first.
        let colour = item.listed.unwrap_or_else(|| {
            state.nr_queued += 1;
            state.colours.queued()
        });
        Progress {
            count: before.count + 1,
            listed: before.listed + u32::from(item.listed.is_some()),
            flushed: state.colours.ended(before.colour) || before.flushed,
            key: item.key,
            colour,
            began: at,
        }
    }

    fn note_progress(&mut self, cx: &mut Cx<S>, dealer: Dealer<S::Pwq>, progress: Progress) {
        let Dealer { worker: id, pwq } = dealer;
        let (count, at) = (u64::from(progress.count), progress.began);
        self.stats.started += count;
        self.stats.completed += count;
        self.nr_in_flight -= u64::from(progress.listed);
        self.moved = self.moved.max(at);
        self.dog.progressed(at);
        self.estimate.begin_anew(at);
        cx.store.pwq(pwq).moved = at;
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
