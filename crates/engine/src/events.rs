//! Events of pools: the core decides under the pool's lock; what it asks for is carried out here,
//! with no pool held.

use std::ptr::NonNull;

use cmwq_os::clock;
use cmwq_policy::pool::{Step, TURN};
use cmwq_policy::{Action, Cx, ItemReport, Nanos, Time, WorkerPool, contract};

use crate::engine::Real;
use crate::item::Header;
use crate::pool::{Asked, Before, News, Pool, PoolActions, Slot, View};
use crate::queue::pwq::{Items, PwqRef, queue_of, unhold};
use crate::turns;

/// What has followed an event.
#[derive(Default)]
struct Then {
    /// A look at the workers was asked for, which the caller sees to.
    inspect: bool,
    /// The caller has waited, or done something.
    later: bool,
}

impl Pool {
    /// Runs one event of the core under the pool's lock, then carries out what it asked for. The
    /// event sees everything that was queued before.
    pub(crate) fn with<R>(
        &'static self,
        event: impl FnOnce(&mut WorkerPool<Items>, &mut Cx<Items>) -> R,
    ) -> R {
        self.with_at(clock::now(), event)
    }

    /// As [`with`](Self::with), for a caller that has just read the clock.
    pub(crate) fn with_at<R>(
        &'static self,
        now: Time,
        event: impl FnOnce(&mut WorkerPool<Items>, &mut Cx<Items>) -> R,
    ) -> R {
        let (mut event, mut before) = (Some(event), Before::default());
        loop {
            let (result, then) = self.once(now, |core, cx, inbox| {
                if !inbox.has_seen(&mut before) {
                    core.take_in_left(cx, inbox, TURN);
                }
                // If they are many, not all under one hold of the lock.
                let event = inbox.has_seen(&mut before).then(|| event.take()).flatten();
                (event.map(|event| event(core, cx)), false)
            });
            if then.inspect {
                self.request_inspect();
            }
            if let Some(result) = result {
                return result;
            }
        }
    }

    /// Runs an event about workers. What was left in the inbox is taken in only if nothing else
    /// waits.
    pub(crate) fn with_workers<R>(
        &'static self,
        now: Time,
        event: impl FnOnce(&mut WorkerPool<Items>, &mut Cx<Items>) -> R,
    ) -> R {
        let (result, inspect) = self.with_inspect(now, event);
        if inspect {
            self.request_inspect();
        }
        result
    }

    /// The same. Tells the caller whether a look at the workers was asked for.
    pub(crate) fn with_inspect<R>(
        &'static self,
        now: Time,
        event: impl FnOnce(&mut WorkerPool<Items>, &mut Cx<Items>) -> R,
    ) -> (R, bool) {
        let (result, then) = self.once(now, |core, cx, inbox| {
            core.take_in_some(cx, inbox);
            let result = event(core, cx);
            core.start_for_left(cx, inbox);
            (result, false)
        });
        (result, then.inspect)
    }

    /// The worker has ended its item, if it reports of one, and asks for its next step. What was
    /// left in the inbox is taken in only if there is nothing else. Tells whether it has become
    /// later than `now`.
    pub(crate) fn worker_asks(
        &'static self,
        now: Time,
        slot: &'static Slot,
        ended: Option<ItemReport>,
    ) -> (Step<NonNull<Header>, PwqRef>, bool) {
        // One without a hand is not dealt anything.
        if self.inbox().is_open() {
            slot.make_hand();
        }
        let ((step, has_dealt), then) = self.once_beside(now, |core, cx, inbox| {
            let before = inbox.published();
            inbox.asked_by(slot);
            core.waited(inbox.waited());
            let (step, stays) = match ended {
                Some(report) => core.ended_beside(cx, (inbox, &before), slot.id, report),
                None => (core.next_beside(cx, (inbox, &before), slot.id), false),
            };
            ((step, inbox.has_dealt()), stays)
        });
        if then.inspect {
            self.request_inspect();
        }
        // To deal takes longer than an item does.
        (step, then.later || has_dealt || ended.is_none())
    }

    /// The worker tells the pool what it has taken of the row, before it takes the next one. For
    /// how long somebody else had the pool.
    pub(crate) fn worker_tells(&'static self, now: Time, slot: &'static Slot) -> Nanos {
        self.drop_old_reports();
        let (waited, then) = self.once_beside(now, |core, cx, inbox| {
            let (before, waited) = (inbox.published(), inbox.waited());
            inbox.asked_by(slot);
            core.waited(waited);
            let stays = core.tells(cx, (inbox, &before), slot.id);
            (waited, stays)
        });
        if then.inspect {
            self.request_inspect();
        }
        waited
    }

    /// One hold of the lock, and what follows.
    fn once<R>(
        &'static self,
        now: Time,
        event: impl FnOnce(&mut WorkerPool<Items>, &mut Cx<Items>, &mut View) -> (R, bool),
    ) -> (R, Then) {
        self.once_beside(now, |core, cx, inbox| {
            core.recall(cx, inbox, None);
            event(core, cx, inbox)
        })
    }

    /// The same for an event that [recalls](Pool::run) what has to be recalled for it.
    fn once_beside<R>(
        &'static self,
        now: Time,
        event: impl FnOnce(&mut WorkerPool<Items>, &mut Cx<Items>, &mut View) -> (R, bool),
    ) -> (R, Then) {
        let (result, asked) = self.run(now, event);
        let mut then = Then::default();
        let mut left = self.see_to(asked, &mut then);
        // Turn after turn, not one inside the other: it may be a million items.
        while left {
            let (_, asked) = self.run(clock::now(), |core, cx, inbox| {
                core.recall(cx, inbox, None);
                core.take_in_left(cx, inbox, TURN);
                ((), false)
            });
            left = self.see_to(asked, &mut then);
        }
        (result, then)
    }

    /// Carries out what was asked for. True if the inbox is shut and items lie in it.
    fn see_to(&'static self, asked: Asked, then: &mut Then) -> bool {
        then.later |= asked.waited;
        // As after most items.
        if asked.actions.is_none() && asked.news == News::default() {
            return false;
        }
        let actions = asked.actions.unwrap_or_default();
        let News {
            wants,
            backlog,
            left,
            ..
        } = asked.news;
        self.carry_out(&actions, asked.news);
        then.inspect |= actions.iter().any(|action| action == Action::Inspect);
        then.later |= !actions.is_empty() || wants || backlog || left;
        left
    }

    /// So many were left that the pool is to see it.
    pub(crate) fn crowded(&'static self) {
        self.beside(|core, cx, inbox| core.crowded(cx, inbox));
    }

    /// It may be the turn of this pool workqueue.
    pub(crate) fn activate(&'static self, pwq: PwqRef) {
        self.beside(|core, cx, inbox| core.activate(cx, inbox, pwq));
    }

    /// Runs an event that recalls what has to be recalled for it, and takes nothing in.
    fn beside(
        &'static self,
        event: impl FnOnce(&mut WorkerPool<Items>, &mut Cx<Items>, &mut View),
    ) {
        let ((), then) = self.once_beside(clock::now(), |core, cx, inbox| {
            event(core, cx, inbox);
            ((), false)
        });
        if then.inspect {
            self.request_inspect();
        }
    }

    /// Takes in what was left before.
    pub(crate) fn take_in(&'static self) {
        self.with(|_, _| ());
    }

    /// Waits until `done` says so under the lock, outside of a worker. False at the deadline.
    pub(crate) fn wait_progress(
        &'static self,
        deadline: Option<Time>,
        mut done: impl FnMut(&mut WorkerPool<Items>, &mut Cx<Items>) -> bool,
    ) -> bool {
        loop {
            let seen = self.progress();
            if self.with(&mut done) {
                return true;
            }
            let left = deadline.map(|at| at.since(clock::now()));
            if left == Some(0) {
                return false;
            }
            self.wait_news(seen, left);
        }
    }

    /// Wakes and asks, with the lock dropped.
    fn carry_out(&'static self, actions: &PoolActions, news: News) {
        actions.iter().for_each(|action| self.act(action));
        if news.backlog {
            self.base().tick().arm();
        }
        if news.cull {
            self.base().tick().watch_idle();
        }
        if news.slots {
            self.base().tick().watch_slots();
        }
        if news.at_dfl {
            self.base().tick().watch_dfl();
        }
        if news.wants {
            self.base().canaries().arm_all();
        }
    }

    /// Every action stays valid however late it comes.
    fn act(&'static self, action: Action<PwqRef>) {
        match action {
            Action::Wake(id) => self.wake(id, None),
            Action::WakeNear(id, cpu) => self.wake(id, Some(cpu)),
            Action::FailWait(id) => {
                self.slot(id).unpark();
                self.announce_progress();
            }
            Action::Spawn(id) => self.request_spawn(id),
            Action::Inspect => {}
            Action::Flushed(_) | Action::Drained(_) => self.announce_progress(),
            Action::Released(pwq) => {
                unhold(pwq);
                // Somebody may wait for the pool as a whole.
                self.announce_progress();
            }
            Action::Activate(pwq) => turns::take(pwq, |pwq| {
                contract::activate(&Real(self.engine()), pwq);
                unhold(pwq);
            }),
            Action::Emptied(pwq) => {
                contract::pwq_emptied(&Real(self.engine()), queue_of(pwq), pwq);
                unhold(pwq);
            }
            Action::Spread(pwq) => {
                contract::spread(&Real(self.engine()), queue_of(pwq));
                unhold(pwq);
            }
            Action::Gather(pwq) => {
                contract::gather(&Real(self.engine()), queue_of(pwq));
                unhold(pwq);
            }
            Action::Undefer { pool, execution } => {
                let pool = self.engine().pool(pool).expect("the pool exists");
                pool.with(|core, cx| core.undefer(cx, execution));
            }
            Action::Mayday(pwq) => {
                // SAFETY: the queue is held.
                let queue = unsafe { queue_of(pwq).as_ref() };
                let rescuer = queue.rescuer();
                rescuer
                    .expect("only queues with a rescuer call it")
                    .call(pwq);
            }
        }
    }
}
