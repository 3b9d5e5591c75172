//! Rescuers: the thread of a queue that carries it forward where no worker can be made.

use cmwq_policy::{Store, WorkerPool};

use crate::api::names::{PoolId, PwqId, QueueId, WorkerRef};
use crate::cpu::ThreadId;
use crate::machine::Machine;
use crate::state::store::Items;
use crate::state::worker::{Rescuer, Worker};
use crate::threads::NewThread;

/// Kernel `RESCUER_NICE_LEVEL`.
const RESCUER_NICE: i8 = -20;

impl Machine {
    pub(crate) fn create_rescuer(&self, queue: QueueId) -> ThreadId {
        self.create(NewThread {
            name: format!("rescuer/{}", self.queue(queue).spec.name),
            allowed: self.topology().all(),
            nice: RESCUER_NICE,
            idle_class: false,
            footprint: self.options.costs.worker_footprint,
            program: None,
            worker: Some(Worker::rescuer(queue, RESCUER_NICE, self.now())),
        })
    }

    /// A pool cannot make the worker that items of this pwq wait for.
    pub(crate) fn call_rescuer(&self, queue: QueueId, pwq: PwqId) {
        let queue = self.queue(queue);
        queue.maydays.borrow_mut().push_back(pwq);
        let rescuer = queue.rescuer.get();
        self.unpark(rescuer.expect("only queues with a rescuer call"));
    }

    /// One step of a rescuer: to the pool that calls, from item to item there, away from it.
    pub(crate) fn rescue(&self, id: ThreadId, rescuer: Rescuer) {
        match rescuer.pwq {
            Some(pwq) => self.rescue_next(id, rescuer, pwq),
            None => match self.next_mayday(rescuer.queue) {
                Some(pwq) => self.attach(id, pwq),
                None => self.park(id),
            },
        }
    }

    fn next_mayday(&self, queue: QueueId) -> Option<PwqId> {
        self.queue(queue).maydays.borrow_mut().pop_front()
    }

    /// To the pool of this pwq, unless too many rescuers are there.
    fn attach(&self, id: ThreadId, pwq: PwqId) {
        let pool = PoolId(self.items.borrow().info(pwq).pool);
        let Some(worker) = self.in_pool(pool, |core, cx| core.rescuer_attach(cx, pwq)) else {
            return;
        };
        self.settle_in(id, Some((WorkerRef { pool, id: worker }, pwq)));
        self.pool(pool).enter(worker, id);
        self.pin(id, self.pool_cpus(pool));
    }

    fn settle_in(&self, id: ThreadId, place: Option<(WorkerRef, PwqId)>) {
        self.worker(id, |w| {
            w.who = place.map(|(who, _)| who);
            let rescuer = w.rescuer.as_mut().expect("a rescuer");
            (rescuer.pwq, rescuer.done) = (place.map(|(_, pwq)| pwq), 0);
        });
    }

    fn rescue_next(&self, id: ThreadId, rescuer: Rescuer, pwq: PwqId) {
        let patient = self.queue(rescuer.queue).maydays.borrow().is_empty();
        let ended = self.worker(id, Worker::take_report);
        let who = self.worker_of(id).expect("it is in a pool");
        let next = self.in_pool(who.pool, |core, cx| {
            if let Some(report) = ended {
                core.item_ended(cx, who.id, report);
            }
            core.rescuer_next(cx, who.id, rescuer.done, patient)
        });
        match next {
            Some((item, from)) => {
                self.worker(id, |w| w.rescuer.as_mut().expect("a rescuer").done += 1);
                self.begin(id, item, from, self.now());
            }
            None => {
                let over = WorkerPool::<Items>::is_turn_over(rescuer.done, patient);
                self.detach(id, who);
                if self.in_pool(who.pool, |core, cx| core.rescuer_detach(cx, who.id, over)) {
                    self.queue(rescuer.queue)
                        .maydays
                        .borrow_mut()
                        .push_back(pwq);
                }
            }
        }
    }

    fn detach(&self, id: ThreadId, who: WorkerRef) {
        self.pool(who.pool).forget(who.id, id);
        self.settle_in(id, None);
        self.pin(id, self.topology().all());
    }

    /// Whether a thread is a rescuer.
    pub fn is_rescuer(&self, id: ThreadId) -> bool {
        self.frame(id, |f| {
            f.worker.as_ref().is_some_and(|w| w.rescuer.is_some())
        })
    }
}
