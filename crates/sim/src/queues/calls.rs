//! The workqueue interface, as programs call it.

use cmwq_policy::ItemKey;
use cmwq_policy::contract::{self, Freezer, Machine as _};
use cmwq_policy::queue::{Caller, Refused};

use crate::api::act::Answer;
use crate::api::call::Call;
use crate::api::names::{ItemId, QueueId};
use crate::api::trace::What;
use crate::cpu::ThreadId;
use crate::machine::Machine;
use crate::state::pending::Reply;

impl Machine {
    pub(crate) fn call(&self, id: ThreadId, call: Call) -> Reply {
        match call {
            Call::Join(item) => self.join(id, item),
            Call::FlushWork(item) => self.flush_work(id, item, contract::flush_item),
            Call::FlushDelayedWork(item) => self.flush_work(id, item, |m, work, barrier| {
                let admits = |queue| m.admission(queue).admits(|| m.caller(id, queue));
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
                contract::mod_delayed(self, queue, cpu, item, delay) == Some(true)
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
        match self.admission(queue).admits(|| self.caller(id, queue)) {
            Ok(()) => Answer::Bool(act()),
            Err(refused) => Answer::Text(name_of(refused).to_owned()),
        }
    }

    fn queue_work(&self, id: ThreadId, queue: QueueId, cpu: Option<usize>, item: ItemId) -> Answer {
        self.items.borrow_mut().item_mut(item).queued_on = self.current_cpu() as u32;
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
