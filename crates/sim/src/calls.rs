//! The workqueue interface, as programs call it.

use cmwq_policy::contract::{self, Freezer, Machine as _};
use cmwq_policy::queue::{Attrs, Caller, Refused};
use cmwq_policy::{ItemKey, Nanos};

use crate::cpu::ThreadId;
use crate::machine::Machine;
use crate::program::{Answer, ItemId, QueueId};
use crate::trace::What;
use crate::waits::Pending;

/// One call. `Bool` and so on: what it answers.
///
/// A call that waits answers with a `Text` that [says so](Answer::is_deadlock) where that would never
/// end: called by the very item, for the queue of the item that calls, or where all threads that a pool
/// may have, or all slots of a queue, wait likewise. What it has done before it waited stays done.
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
    /// Lets go of the queue's last handle: as destroying it, but it is thawed; `Bool`: it has waited until
    /// nothing is left. Not so inside one of its own items, or where that would never end: then
    /// whoever ends the last item frees the queue. Once per queue; nobody but its own items calls
    /// anything of it afterwards.
    DropWorkqueue(QueueId),
    /// The program wants to end: from now on nothing is queued but by items. Waits until everything
    /// has ended but the caller's own item, at most for so many nanoseconds. `Text`: `3 ended, 1 queued,
    /// 2 running, 1 armed`: since it was called, and what is left.
    Shutdown(Nanos),
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
    Wait(Box<dyn Pending>),
}

impl Reply {
    pub(crate) fn wait(pending: impl Pending + 'static) -> Reply {
        Reply::Wait(Box::new(pending))
    }
}

impl Machine {
    pub(crate) fn call(&self, id: ThreadId, call: Call) -> Reply {
        match call {
            Call::FlushWork(item) => self.flush_work(id, item, contract::flush_item),
            Call::FlushDelayedWork(item) => self.flush_work(id, item, |m, work, barrier| {
                let admits = |queue| m.admission(queue).admits(m.caller(id, queue));
                contract::flush_delayed(m, work, barrier, admits)
            }),
            Call::FlushWorkqueue(queue) => self.flush_workqueue(id, queue),
            Call::DrainWorkqueue(queue) => self.drain_workqueue(id, queue),
            Call::DestroyWorkqueue(queue) => self.destroy_workqueue(id, queue),
            Call::DropWorkqueue(queue) => self.drop_workqueue(id, queue),
            Call::Shutdown(most) => self.shutdown(id, most),
            Call::CancelWorkSync(item) => self.disable_sync(id, item, true),
            Call::DisableWorkSync(item) => self.disable_sync(id, item, false),
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
            Call::FreezeBegin => self.change_freezer(Freezer::freeze),
            Call::Thaw => self.change_freezer(Freezer::thaw),
            Call::FreezeBusy => {
                return Answer::Bool(contract::is_freezing(self, self.with_handle()));
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
        match self.pwq_executed(id) {
            Some(pwq) if self.items.borrow().queue_of(pwq) == queue => Caller::SameQueue,
            Some(_) => Caller::Item,
            None => Caller::Outside,
        }
    }

    fn if_admitted(&self, id: ThreadId, queue: QueueId, act: impl FnOnce() -> bool) -> Answer {
        match self.admission(queue).admits(self.caller(id, queue)) {
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

    /// Queues that have a handle.
    fn with_handle(&self) -> Vec<QueueId> {
        let queues = self.queues.borrow();
        let all = (0..).map(QueueId).zip(queues.iter());
        let kept = all.filter(|(_, queue)| !queue.dropped.get());
        kept.map(|(id, _)| id).collect()
    }

    fn change_freezer(&self, change: impl FnOnce(&mut Freezer, &Machine, Vec<QueueId>)) {
        let mut freezer = self.freezer.get();
        change(&mut freezer, self, self.with_handle());
        self.freezer.set(freezer);
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

    /// Whether the item's timer is armed.
    pub fn is_armed(&self, item: ItemId) -> bool {
        let addr = self.key(item).addr;
        self.timers.borrow().is_armed(addr)
    }
}

fn name_of(refused: Refused) -> &'static str {
    match refused {
        Refused::Draining => "draining",
        Refused::Destroying => "destroying",
        Refused::ShutDown => "shut down",
    }
}
