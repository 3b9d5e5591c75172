//! Events of pools: the core decides under the pool's lock; what it asks for is carried out here,
//! with no pool held.

use cmwq_os::clock;
use cmwq_policy::{Action, Cx, Time, WorkerPool, contract};

use crate::engine::Real;
use crate::pool::{News, Pool, PoolActions};
use crate::queue::pwq::Items;
use crate::queue::pwq::{queue_of, unhold};
use crate::turns;

impl Pool {
    /// Runs one event of the core under the pool's lock, then carries out what it asked for.
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
        let (result, inspect) = self.with_inspect(now, event);
        if inspect {
            self.request_inspect();
        }
        result
    }

    /// As [`with_at`](Self::with_at). Tells the caller whether a look at the workers was asked for.
    pub(crate) fn with_inspect<R>(
        &'static self,
        now: Time,
        event: impl FnOnce(&mut WorkerPool<Items>, &mut Cx<Items>) -> R,
    ) -> (R, bool) {
        let mut actions = PoolActions::default();
        let (result, news) = self.run(now, &mut actions, event);
        // As after most items.
        if actions.is_empty() && news == News::default() {
            return (result, false);
        }
        self.carry_out(&actions, news);
        let inspect = actions.iter().any(|action| action == Action::Inspect);
        (result, inspect)
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

    /// Wakes and asks, with the lock dropped. Every action stays valid however late it comes.
    fn carry_out(&'static self, actions: &PoolActions, news: News) {
        for action in actions.iter() {
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
}
