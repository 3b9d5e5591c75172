//! The workqueue interface, as programs call it.

use cmwq_policy::contract::{self, Machine as _, PwqFlush};
use cmwq_policy::queue::{Attrs, Caller, Gate as Admission, Refused};
use cmwq_policy::{ItemKey, Nanos};

use crate::cpu::ThreadId;
use crate::machine::{Machine, Sleep};
use crate::program::{Act, Answer, Gate, ItemId, QueueId};
use crate::store::PwqId;
use crate::trace::What;

/// One call. `Bool` and so on: what it answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Queues an item; `Bool`: this call did. `Text`: the queue refuses, and why.
    QueueWork {
        /// The queue.
        queue: QueueId,
        /// The CPU to run it on, or near; `None`: the caller's.
        cpu: Option<usize>,
        /// The item.
        item: ItemId,
    },
    /// The same on a CPU of this node: the caller's, or else the first.
    QueueWorkNode(u32, QueueId, ItemId),
    /// The same after so many nanoseconds, unless it is pending.
    QueueDelayedWork(QueueId, Option<usize>, ItemId, Nanos),
    /// Queues an item after so many nanoseconds, whatever was planned; `Bool`: it was pending.
    ModDelayedWork(QueueId, Option<usize>, ItemId, Nanos),
    /// Waits for the last queued instance of the item; `Bool`: there was one.
    FlushWork(ItemId),
    /// The same, after queueing it at once if its timer is armed.
    FlushDelayedWork(ItemId),
    /// Waits until everything queued so far has ended; `Void`.
    FlushWorkqueue(QueueId),
    /// Waits until nothing is queued any more, and admits only what the queue's own items queue;
    /// `Void`.
    DrainWorkqueue(QueueId),
    /// Drains the queue for ever, without its armed items; `Void`.
    DestroyWorkqueue(QueueId),
    /// Takes a pending item off its queue or timer; `Bool`: it was pending.
    CancelWork(ItemId),
    /// The same, then waits until it does not run.
    CancelWorkSync(ItemId),
    /// Cancels the item, and refuses it until it is enabled as often; `Bool`: it was pending.
    DisableWork(ItemId),
    /// The same, then waits until it does not run.
    DisableWorkSync(ItemId),
    /// Takes a disable back; `Bool`: the item may be queued now.
    EnableWork(ItemId),
    /// The same, and queues the item if it may be; `Bool`: it may.
    EnableAndQueueWork(QueueId, ItemId),
    /// Changes the queue's limit; `Bool`: it has one to change.
    SetMaxActive(QueueId, u32),
    /// Changes what each node is granted at least; `Bool`: the queue is limited by node.
    SetMinActive(QueueId, u32),
    /// Changes the queue's attributes; `Bool`: they can be changed.
    ApplyAttrs(QueueId, Attrs),
    /// New items of freezable queues wait from now on; `Void`.
    FreezeBegin,
    /// Whether items that freezable queues began before still go on; `Bool`.
    FreezeBusy,
    /// Freezable queues go on; `Void`.
    Thaw,
    /// Whether the item is queued or armed; `Bool`.
    WorkPending(ItemId),
    /// What the item does, `Text`: `idle`, `pending`, `running` or `pending+running`.
    WorkBusy(ItemId),
    /// Whether items of the queue wait for a slot; of a per-CPU queue, on this CPU or, if `None`,
    /// on the caller's; `Bool`.
    Congested(QueueId, Option<usize>),
    /// Whether anything waits for the slot or the worker of the item that the caller executes;
    /// `Bool`.
    OthersWaiting,
    /// Initialises the item anew, whatever it does; `Void`.
    InitWork(ItemId),
    /// Gives the item another function; `Void`.
    SetFunc(ItemId, u64),
    /// The first item now is where the second one was, with this function; `Void`.
    ReuseMemory(ItemId, ItemId, u64),
}

/// How a call goes on.
pub(crate) enum Reply {
    Done(Answer),
    Wait(Pending),
}

/// What a thread waits for in a call: asked whenever a flush, a drain or a barrier has moved on.
pub(crate) type Pending = Box<dyn FnMut(&Machine) -> Option<Answer>>;

impl Machine {
    pub(crate) fn call(&self, id: ThreadId, call: Call) -> Reply {
        match call {
            Call::FlushWork(item) => self.flush_work(item, contract::flush_item),
            Call::FlushDelayedWork(item) => self.flush_work(item, contract::flush_delayed),
            Call::FlushWorkqueue(queue) => self.flush_workqueue(queue),
            Call::DrainWorkqueue(queue) => self.drain_workqueue(queue),
            Call::DestroyWorkqueue(queue) => self.destroy_workqueue(queue),
            Call::CancelWorkSync(item) => self.disable_sync(item, true),
            Call::DisableWorkSync(item) => self.disable_sync(item, false),
            call => Reply::Done(self.call_at_once(id, call)),
        }
    }

    fn call_at_once(&self, id: ThreadId, call: Call) -> Answer {
        match call {
            Call::QueueWork { queue, cpu, item } => self.queue_work(id, queue, cpu, item),
            Call::QueueWorkNode(node, queue, item) => {
                let cpu = self.cpu_on(node, self.sched().cpu_of(id));
                self.queue_work(id, queue, cpu, item)
            }
            Call::QueueDelayedWork(queue, cpu, item, delay) => {
                let queued = || contract::queue_delayed(self, queue, cpu, item, delay).is_ok();
                self.if_admitted(id, queue, queued)
            }
            Call::ModDelayedWork(queue, cpu, item, delay) => self.if_admitted(id, queue, || {
                contract::mod_delayed(self, queue, cpu, item, delay)
            }),
            Call::EnableAndQueueWork(queue, item) => {
                let enabled = contract::enable(self, item).enabled;
                if enabled {
                    self.queue_work(id, queue, None, item);
                }
                Answer::Bool(enabled)
            }
            Call::OthersWaiting => Answer::Bool(self.others_waiting(id)),
            Call::CancelWork(item) => Answer::Bool(contract::cancel(self, item)),
            Call::DisableWork(item) => Answer::Bool(contract::disable(self, item).was_pending),
            Call::EnableWork(item) => Answer::Bool(contract::enable(self, item).enabled),
            call => self.call_about_queue(call),
        }
    }

    fn call_about_queue(&self, call: Call) -> Answer {
        match call {
            Call::SetMaxActive(q, n) => return Answer::Bool(contract::set_max_active(self, q, n)),
            Call::SetMinActive(q, n) => return Answer::Bool(contract::set_min_active(self, q, n)),
            Call::ApplyAttrs(queue, attrs) => {
                let Ok(changed) = contract::apply_attrs(self, queue, attrs);
                return Answer::Bool(changed);
            }
            Call::FreezeBegin => self.freezables().for_each(|q| contract::freeze(self, q)),
            Call::Thaw => self.freezables().for_each(|q| contract::thaw(self, q)),
            Call::FreezeBusy => {
                let busy = self.freezables().any(|q| contract::is_active(self, q));
                return Answer::Bool(busy);
            }
            Call::WorkPending(item) => return Answer::Bool(self.word(item).is_pending()),
            Call::WorkBusy(item) => return Answer::Text(self.work_busy(item).to_owned()),
            Call::Congested(q, cpu) => return Answer::Bool(contract::is_congested(self, q, cpu)),
            call => self.change_item(call),
        }
        Answer::Void
    }

    fn change_item(&self, call: Call) {
        let mut items = self.items.borrow_mut();
        match call {
            Call::InitWork(item) => items.item_mut(item).word = cmwq_policy::work::WorkWord::NEW,
            Call::SetFunc(item, func) => items.item_mut(item).key.func = func,
            Call::ReuseMemory(item, of, func) => {
                let addr = items.item(of).key.addr;
                items.item_mut(item).key = ItemKey { addr, func };
            }
            other => unreachable!("{other:?} was answered before"),
        }
    }

    /// Whose call to a queue this is.
    fn caller(&self, id: ThreadId, queue: QueueId) -> Caller {
        match self.pwq_executed_by(id) {
            Some(pwq) if self.items.borrow().queue_of(pwq) == queue => Caller::SameQueue,
            Some(_) => Caller::Item,
            None => Caller::Outside,
        }
    }

    fn if_admitted(&self, id: ThreadId, queue: QueueId, act: impl FnOnce() -> bool) -> Answer {
        let admission = self.queue(queue).admission.get();
        match admission.admits(self.caller(id, queue)) {
            Ok(()) => Answer::Bool(act()),
            Err(refused) => Answer::Text(name_of(refused).to_owned()),
        }
    }

    fn queue_work(&self, id: ThreadId, queue: QueueId, cpu: Option<usize>, item: ItemId) -> Answer {
        let queued = || contract::queue(self, queue, cpu, item).is_ok();
        let answer = self.if_admitted(id, queue, queued);
        let queued = answer == Answer::Bool(true);
        self.note(id, What::Queued(queue, item, queued));
        answer
    }

    fn cpu_on(&self, node: u32, from: usize) -> Option<usize> {
        let cpus = self.topology().mask(|place| place.node == node);
        let local = cpus.contains(from).then_some(from);
        local.or_else(|| cpus.iter().next())
    }

    fn freezables(&self) -> impl Iterator<Item = QueueId> + use<> {
        let queues = self.queues.borrow();
        let freezable = |&at: &usize| queues[at].spec.freezable;
        let found: Vec<usize> = (0..queues.len()).filter(freezable).collect();
        found.into_iter().map(|at| QueueId(at as u32))
    }

    fn others_waiting(&self, id: ThreadId) -> bool {
        let who = self.worker_of(id).expect("only items ask that");
        self.in_pool(who.pool, |core, cx| core.others_waiting(cx, who.id))
    }

    fn work_busy(&self, item: ItemId) -> &'static str {
        let busy = contract::busy(self, item);
        match (busy.pending, busy.running) {
            (false, false) => "idle",
            (true, false) => "pending",
            (false, true) => "running",
            (true, true) => "pending+running",
        }
    }

    /// A barrier, and the gate that it opens.
    fn barrier(&self) -> (ItemId, Gate) {
        let gate = self.gate();
        let body = move |_| -> Box<dyn crate::Program> {
            Box::new(move |cx: &mut crate::ProgramCx<'_>, _| {
                cx.open(gate);
                Act::End
            })
        };
        let mut items = self.items.borrow_mut();
        let item = items.add_item("barrier".to_owned(), std::rc::Rc::new(body), true);
        (item, gate)
    }

    fn flush_work(
        &self,
        item: ItemId,
        insert: impl Fn(&Machine, ItemId, ItemId) -> Option<PwqId>,
    ) -> Reply {
        let (barrier, gate) = self.barrier();
        match insert(self, item, barrier) {
            Some(pwq) => self.wait(move |m| m.is_reached(gate, pwq).then_some(Answer::Bool(true))),
            None => Reply::Done(Answer::Bool(false)),
        }
    }

    /// Whether the barrier that opens this gate was reached; then its pwq is not needed any more.
    fn is_reached(&self, gate: Gate, pwq: PwqId) -> bool {
        let open = self.is_open(gate);
        if open {
            self.items.borrow_mut().let_go(pwq);
        }
        open
    }

    /// Disables an item and waits until it does not run; `then_enable`: that is all.
    fn disable_sync(&self, item: ItemId, then_enable: bool) -> Reply {
        let was_pending = contract::disable(self, item).was_pending;
        let (barrier, gate) = self.barrier();
        let waits = contract::flush_item(self, item, barrier);
        self.wait(move |m| {
            let over = waits.is_none_or(|pwq| m.is_reached(gate, pwq));
            if over && then_enable {
                contract::enable(m, item);
            }
            over.then_some(Answer::Bool(was_pending))
        })
    }

    fn flush_workqueue(&self, queue: QueueId) -> Reply {
        let mut parts = contract::begin_flush(self, queue);
        self.wait(move |m| {
            parts.retain_mut(|part| !m.is_flushed(part));
            parts.is_empty().then_some(Answer::Void)
        })
    }

    fn is_flushed(&self, part: &mut PwqFlush<PwqId>) -> bool {
        let pool = part.pool;
        self.with_pool(pool, |core, cx| contract::flush_step(core, cx, part))
    }

    /// Flushes until there is nothing left.
    fn drain_workqueue(&self, queue: QueueId) -> Reply {
        self.count_drainer(queue, true);
        let mut parts = Vec::new();
        self.wait(move |m| {
            loop {
                parts.retain_mut(|part| !m.is_flushed(part));
                if !parts.is_empty() {
                    return None;
                }
                if contract::is_drained(m, queue) {
                    m.count_drainer(queue, false);
                    return Some(Answer::Void);
                }
                parts = contract::begin_flush(m, queue);
            }
        })
    }

    /// One more, or one less, drains the queue.
    fn count_drainer(&self, queue: QueueId, comes: bool) {
        let draining = self.with_queue(queue, |q| q.count_drainer(comes));
        self.change_admission(queue, |now| Admission { draining, ..now });
    }

    fn change_admission(&self, queue: QueueId, change: impl Fn(Admission) -> Admission) {
        let queue = self.queue(queue);
        queue.admission.set(change(queue.admission.get()));
    }

    fn destroy_workqueue(&self, queue: QueueId) -> Reply {
        self.change_admission(queue, |now| Admission {
            destroying: true,
            ..now
        });
        let dropped = contract::cancel_timers(self, queue) as u64;
        self.timers_dropped.set(self.timers_dropped.get() + dropped);
        self.drain_workqueue(queue)
    }

    fn wait(&self, mut over: impl FnMut(&Machine) -> Option<Answer> + 'static) -> Reply {
        match over(self) {
            Some(answer) => Reply::Done(answer),
            None => Reply::Wait(Box::new(over)),
        }
    }

    /// The running thread sleeps until what it has called for is over.
    pub(crate) fn wait_in_call(&self, id: ThreadId, pending: Pending) {
        self.calling.borrow_mut().insert(id);
        self.sleep(id, Sleep::Call(pending));
    }

    /// A flush, a drain or a barrier has moved on: those who wait in calls look again.
    pub(crate) fn progress(&self) {
        let calling: Vec<ThreadId> = self.calling.borrow().iter().copied().collect();
        calling.into_iter().for_each(|id| self.look_again(id));
    }

    fn look_again(&self, id: ThreadId) {
        // What another one has called for, in the course of looking, may have ended its wait.
        let Some(mut pending) = self.take_pending(id) else {
            return;
        };
        match pending(self) {
            Some(answer) => {
                self.calling.borrow_mut().remove(&id);
                self.answer(id, answer);
                self.wake(id);
            }
            None => self.frame(id, |f| f.sleep = Sleep::Call(pending)),
        }
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

    /// Whether the item's timer is armed.
    pub fn is_armed(&self, item: ItemId) -> bool {
        let addr = self.key(item).addr;
        self.timers.borrow().is_armed(&addr)
    }
}

fn name_of(refused: Refused) -> &'static str {
    match refused {
        Refused::Draining => "draining",
        Refused::Destroying => "destroying",
        Refused::ShutDown => "shut down",
    }
}
