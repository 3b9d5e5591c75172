//! Calls that wait: for a barrier, a flush, a drain. An item that waits for items of its own pool
//! says so to the pool, which may refuse, or let the wait fail later, where nobody could ever begin
//! them.

use std::rc::Rc;

use cmwq_policy::contract::{self, Machine as _, Node, PwqFlush, Target, Until};
use cmwq_policy::queue::Intake;
use cmwq_policy::worker::Wait;

use crate::api::act::{Act, Answer};
use crate::api::names::{ItemId, Latch, PwqId, QueueId, WorkerRef};
use crate::cpu::ThreadId;
use crate::machine::{Machine, Program, ProgramCx};
use crate::state::pending::{Awaited, ForBarrier, ForDrain, ForFlush, Pending, Reply};
use crate::state::thread::Sleep;

/// Flushes by which a drain finds its queue not empty, though nothing has happened in between.
const MAX_LOOKS: u32 = 1000;

impl ForBarrier {
    fn look(&self, m: &Machine) -> Result<Answer, Awaited> {
        if !m.is_open(self.latch) {
            return Err(Some(Wait::Items(self.pwq)));
        }
        self.end(m);
        Ok(Answer::Bool(self.answer))
    }

    fn end(&self, m: &Machine) {
        // The pwq was kept for us.
        m.items.borrow_mut().let_go(self.pwq);
        if let Some(item) = self.enables {
            contract::enable(m, item);
        }
    }
}

impl ForFlush {
    fn begin(m: &Machine, queue: QueueId) -> ForFlush {
        ForFlush(contract::begin_flush(m, queue))
    }

    fn look(&mut self, m: &Machine) -> Result<Answer, Awaited> {
        self.0.retain_mut(|part| !m.is_flushed(part));
        match self.0.first() {
            Some(part) => Err(Some(Wait::Flush(part.pwq))),
            None => Ok(Answer::Void),
        }
    }

    fn target(&self) -> Option<Target<Machine>> {
        self.0.first().map(|&part| Target::Flush(part))
    }
}

impl ForDrain {
    fn look(&mut self, m: &Machine) -> Result<Answer, Awaited> {
        for _ in 0..MAX_LOOKS {
            self.flush.look(m)?;
            if contract::is_drained(m, self.queue) {
                m.count_drainer(self.queue, false);
                return Ok(Answer::Void);
            }
            self.flush = ForFlush::begin(m, self.queue);
        }
        let queue = self.queue.0;
        panic!("q{queue} is flushed again and again, and never empty");
    }
}

impl Pending {
    /// The answer, if it is over; else what it waits for.
    fn look(&mut self, m: &Machine) -> Result<Answer, Awaited> {
        match self {
            Pending::Barrier(wait) => wait.look(m),
            Pending::Flush(wait) => wait.look(m),
            Pending::Drain(wait) => wait.look(m),
            Pending::Dropped(wait) => wait.look(m),
            Pending::All(wait) => wait.look(m),
        }
    }

    /// What has to end for that.
    fn target(&self) -> Option<Target<Machine>> {
        match *self {
            Pending::Barrier(ForBarrier { barrier, item, .. }) => {
                Some(Target::Barrier { barrier, item })
            }
            Pending::Flush(ref flush) | Pending::Drain(ForDrain { ref flush, .. }) => {
                flush.target()
            }
            Pending::Dropped(_) | Pending::All(_) => None,
        }
    }

    /// It will never be over, and is not waited for any more. The answer, if it is none of a
    /// deadlock.
    fn give_up(&self, m: &Machine) -> Option<Answer> {
        match self {
            Pending::Barrier(wait) => wait.end(m),
            Pending::Flush(_) => {}
            Pending::Drain(wait) => m.count_drainer(wait.queue, false),
            Pending::Dropped(wait) => {
                m.orphan(wait.0);
                return Some(Answer::Bool(false));
            }
            Pending::All(_) => unreachable!("it has a deadline"),
        }
        None
    }
}

fn node(who: WorkerRef) -> Node {
    Node {
        pool: who.pool.0,
        worker: who.id,
    }
}

impl Machine {
    /// A barrier, and the latch that it opens.
    fn barrier(&self) -> (ItemId, Latch) {
        let latch = self.latch();
        let body = move |_| -> Box<dyn Program> {
            Box::new(move |cx: &mut ProgramCx<'_>, _| {
                cx.machine.open(latch);
                Act::End
            })
        };
        let item = self.add_item("barrier".to_owned(), Rc::new(body), true);
        (item, latch)
    }

    /// Waits for the item, unless it is the caller.
    pub(crate) fn flush_work(
        &self,
        id: ThreadId,
        item: ItemId,
        insert: impl Fn(&Machine, ItemId, ItemId) -> Option<PwqId>,
    ) -> Reply {
        if let Some(refused) = self.is_own_item(id, item) {
            return Reply::Done(refused);
        }
        let (barrier, latch) = self.barrier();
        match insert(self, item, barrier) {
            Some(pwq) => Reply::Wait(Pending::Barrier(ForBarrier {
                latch,
                barrier,
                item,
                pwq,
                answer: true,
                enables: None,
            })),
            None => Reply::Done(Answer::Bool(false)),
        }
    }

    /// Disables an item and waits until it does not run; `then_enable`: that is all.
    pub(crate) fn disable_sync(&self, id: ThreadId, item: ItemId, then_enable: bool) -> Reply {
        let answer = contract::disable(self, item).was_pending;
        let enables = then_enable.then_some(item);
        let enable = || enables.map(|item| contract::enable(self, item));
        if let Some(refused) = self.is_own_item(id, item) {
            enable();
            return Reply::Done(refused);
        }
        let (barrier, latch) = self.barrier();
        match contract::flush_item(self, item, barrier) {
            Some(pwq) => Reply::Wait(Pending::Barrier(ForBarrier {
                latch,
                barrier,
                item,
                pwq,
                answer,
                enables,
            })),
            None => {
                enable();
                Reply::Done(Answer::Bool(answer))
            }
        }
    }

    pub(crate) fn flush_workqueue(&self, id: ThreadId, queue: QueueId) -> Reply {
        match self.is_own_queue(id, queue) {
            Some(refused) => Reply::Done(refused),
            None => Reply::Wait(Pending::Flush(ForFlush::begin(self, queue))),
        }
    }

    pub(crate) fn drain_workqueue(&self, id: ThreadId, queue: QueueId) -> Reply {
        if let Some(refused) = self.is_own_queue(id, queue) {
            return Reply::Done(refused);
        }
        self.count_drainer(queue, true);
        let flush = ForFlush(Vec::new());
        Reply::Wait(Pending::Drain(ForDrain { queue, flush }))
    }

    pub(crate) fn destroy_workqueue(&self, id: ThreadId, queue: QueueId) -> Reply {
        self.close_workqueue(queue);
        self.drain_workqueue(id, queue)
    }

    /// From now on the queue admits its own items' alone. What is armed is dropped.
    pub(crate) fn close_workqueue(&self, queue: QueueId) {
        self.change_admission(queue, |now| Intake {
            destroying: true,
            ..now
        });
        let dropped = contract::cancel_timers(self, queue) as u64;
        self.timers_dropped.set(self.timers_dropped.get() + dropped);
    }

    fn is_flushed(&self, part: &mut PwqFlush<PwqId>) -> bool {
        let pool = part.pool;
        self.with_pool(pool, |core, cx| contract::flush_step(core, cx, part))
    }

    /// One more, or one less, drains the queue.
    fn count_drainer(&self, queue: QueueId, comes: bool) {
        let draining = self.with_queue(queue, |q| q.count_drainer(comes));
        self.change_admission(queue, |now| Intake { draining, ..now });
    }

    fn change_admission(&self, queue: QueueId, change: impl Fn(Intake) -> Intake) {
        let queue = self.queue(queue);
        queue.admission.set(change(queue.admission.get()));
    }

    /// The refusal, if the caller is the item that it would wait for.
    fn is_own_item(&self, id: ThreadId, item: ItemId) -> Option<Answer> {
        let own = self.execution_of(id)?.item;
        let queue = self.items.borrow().queue_of(self.pwq_executed(id)?);
        (own == item).then(|| self.deadlock(id, queue))
    }

    /// The refusal, if the caller is an item that waits for its own queue: for this very execution,
    /// or for its next one, which is pending there and begins when this one has ended.
    fn is_own_queue(&self, id: ThreadId, queue: QueueId) -> Option<Answer> {
        let who = self.worker_of(id)?;
        let own = self.items.borrow().queue_of(self.pwq_executed(id)?);
        let next = self.with_core(who.pool, |core| core.requeued_to(who.id));
        let waits = own == queue || next == Some(u64::from(queue.0));
        waits.then(|| self.deadlock(id, queue))
    }

    fn deadlock(&self, id: ThreadId, awaited: QueueId) -> Answer {
        let name = |queue: QueueId| self.queue(queue).spec.name.clone();
        let waiter = self.pwq_executed(id);
        let waiter = waiter.map(|pwq| self.items.borrow().queue_of(pwq));
        let (waiter, awaited) = (waiter.map(name).unwrap_or_default(), name(awaited));
        Answer::Text(format!("deadlock: {waiter} waits for {awaited}"))
    }

    /// The running thread sleeps until what it has called for is over, unless it is or never will
    /// be.
    pub(crate) fn wait_in_call(&self, id: ThreadId, mut pending: Pending) {
        match pending.look(self) {
            Ok(answer) => self.answer(id, answer),
            Err(on) if self.enters(id, &pending) && self.waits_on(id, on) => {
                self.calling.borrow_mut().insert(id);
                self.sleep(id, Sleep::Call(pending));
                if self.wait_graph.borrow().is_shutting_down() {
                    self.progress();
                }
            }
            Err(on) => {
                let refused = self.refuse(id, &pending, on);
                self.answer(id, refused);
            }
        }
    }

    /// The item of this thread waits for that from now on; false if that waits for the item.
    fn enters(&self, id: ThreadId, pending: &Pending) -> bool {
        let nodes = self.nodes(id);
        let target = pending.target().filter(|_| !nodes.is_empty());
        let Some(target) = target else {
            return true;
        };
        let mut graph = self.wait_graph.borrow_mut();
        graph.begin(self, &nodes, Until::All, &[target]).is_ok()
    }

    fn leaves(&self, id: ThreadId) {
        self.wait_graph.borrow_mut().end(&self.nodes(id));
    }

    /// All that the thread stands for.
    pub(crate) fn nodes(&self, id: ThreadId) -> Vec<Node> {
        let stack = self.frame(id, |f| f.stack());
        stack.into_iter().map(node).collect()
    }

    /// The calling thread waits for that from now on; false if nobody could ever do it.
    fn waits_on(&self, id: ThreadId, on: Awaited) -> bool {
        let Some(who) = self.executing_worker(id) else {
            return true;
        };
        let on = on.filter(|wait| self.info(wait.pwq()).pool == who.pool.0);
        let (before, failed) = self.set_awaited(id, on);
        let Some(wait) = on else {
            before.into_iter().for_each(|_| self.wait_over(who));
            return true;
        };
        let same = before == on;
        // A flush that has moved on is waited for anew.
        let told = same && matches!(wait, Wait::Items(_));
        let asks = || self.in_pool(who.pool, |core, cx| core.wait_on(cx, who.id, wait).is_ok());
        let may = !(same && failed) && (told || asks());
        if !may {
            self.set_awaited(id, None);
        }
        may
    }

    fn wait_over(&self, who: WorkerRef) {
        self.in_pool(who.pool, |core, _| core.wait_over(who.id));
    }

    fn refuse(&self, id: ThreadId, pending: &Pending, on: Awaited) -> Answer {
        self.leaves(id);
        let answer = pending.give_up(self);
        let wait = on.expect("only a wait for items can fail");
        let awaited = self.items.borrow().queue_of(wait.pwq());
        answer.unwrap_or_else(|| self.deadlock(id, awaited))
    }

    /// A flush, a drain or a barrier has moved on: those who wait in calls look again.
    pub(crate) fn progress(&self) {
        let calling: Vec<ThreadId> = self.calling.borrow().iter().copied().collect();
        calling.into_iter().for_each(|id| self.look_again(id));
    }

    /// Who waits in a call asks whether it is over.
    pub(crate) fn look_again(&self, id: ThreadId) {
        // What another one has called for, in the course of looking, may have ended its wait.
        let Some(mut pending) = self.take_pending(id) else {
            return;
        };
        match pending.look(self) {
            Ok(answer) => {
                let items = |wait: &Wait<PwqId>| matches!(wait, Wait::Items(_));
                let told = self
                    .executing_worker(id)
                    .zip(self.awaited(id).filter(items));
                told.into_iter().for_each(|(who, _)| self.wait_over(who));
                self.end_call(id, answer);
            }
            Err(on) if self.enters(id, &pending) && self.waits_on(id, on) => {
                self.frame(id, |f| f.sleep = Sleep::Call(pending));
            }
            Err(on) => {
                let refused = self.refuse(id, &pending, on);
                self.end_call(id, refused);
            }
        }
    }

    fn end_call(&self, id: ThreadId, answer: Answer) {
        self.leaves(id);
        self.calling.borrow_mut().remove(&id);
        self.answer(id, answer);
        self.wake(id);
    }

    fn take_pending(&self, id: ThreadId) -> Option<Pending> {
        self.frame(id, |f| {
            match std::mem::replace(&mut f.sleep, Sleep::Awake) {
                Sleep::Call(pending) => Some(pending),
                other => {
                    f.sleep = other;
                    None
                }
            }
        })
    }
}
