//! What threads and items do: random acts over the whole interface.

use std::collections::VecDeque;
use std::rc::Rc;

use cmwq_policy::Rule;
use cmwq_policy::stacking::Stacking;
use cmwq_policy::time::MILLISECOND;
use cmwq_sim::{Act, Answer, Call, Completion, ItemId, Program, ProgramCx, QueueId};

use crate::plan::Feature;
use crate::random::{Random, one_in, time};
use crate::taste::Doing;
use crate::world::{World, delay};

/// Items that one thread has disabled at one time, at most.
const DISABLED: usize = 3;
/// Items that one looks at for one to join, at most.
const TRIES: u32 = 6;

/// A thread, or one execution of an item.
pub struct Walk {
    world: Rc<World>,
    random: Random,
    /// The item that it is.
    item: Option<ItemId>,
    /// What an item still does.
    left: u64,
    /// Items that it has disabled.
    disabled: Vec<ItemId>,
    /// What it does before anything else is drawn.
    planned: VecDeque<Act>,
}

impl Walk {
    /// A thread of the program: walks until it is told to stop.
    pub fn thread(world: Rc<World>, random: Random) -> Walk {
        Walk {
            world,
            random,
            item: None,
            left: u64::MAX,
            disabled: Vec::new(),
            planned: VecDeque::new(),
        }
    }

    /// An execution of this item.
    pub fn item(world: Rc<World>, item: ItemId, mut random: Random) -> Walk {
        let left = world.taste.steps(&mut random);
        Walk {
            item: Some(item),
            left,
            ..Walk::thread(world, random)
        }
    }

    fn any_item(&mut self) -> ItemId {
        ItemId(self.random.below(u64::from(self.world.plan.items)) as u32)
    }

    fn any_place(&mut self) -> usize {
        self.random.below(u64::from(self.world.plan.queues)) as usize
    }

    fn any_queue(&mut self) -> QueueId {
        let at = self.any_place();
        self.world.queues.borrow()[at]
    }

    /// Many flushers meet at one queue, and each flush is for one item more.
    fn queue_and_flush(&mut self) -> Call {
        let queue = self.world.queues.borrow()[0];
        let item = self.any_item();
        let flush = Act::Call(Call::FlushWorkqueue(queue));
        self.planned.push_back(flush);
        match self.world.home(item) {
            Some(1..) => Call::WorkBusy(item),
            _ => Call::QueueWork {
                queue,
                cpu: None,
                item,
            },
        }
    }

    /// Where an item goes.
    fn queue_for(&mut self, item: ItemId) -> QueueId {
        let at = self.world.home(item);
        let at = at.unwrap_or_else(|| self.any_place());
        self.world.queues.borrow()[at]
    }

    fn cpu(&mut self) -> Option<usize> {
        let cpus = u64::from(self.world.plan.cpus);
        one_in(&mut self.random, 3).then(|| self.random.below(cpus) as usize)
    }

    /// An item for a doing, and where it would be queued.
    fn target(&mut self) -> (ItemId, QueueId, Option<usize>) {
        let item = match self.item.filter(|_| self.world.plan.has(Feature::Requeue)) {
            Some(own) if one_in(&mut self.random, 2) => own,
            _ => self.any_item(),
        };
        (item, self.queue_for(item), self.cpu())
    }

    /// Whether it may sleep: items of BH queues may not.
    fn may_sleep(&self, cx: &ProgramCx<'_>) -> bool {
        let rule = cx.worker().map(|who| cx.machine().pool_rule(who.pool));
        rule != Some(Rule::Bh)
    }

    fn act(&mut self, cx: &mut ProgramCx<'_>) -> Act {
        let doing = self.world.taste.draw(self.item.is_some(), &mut self.random);
        match doing {
            Doing::Burn => Act::Burn(time(&mut self.random)),
            Doing::BurnLong => Act::Burn(self.random.between(5, 60) * MILLISECOND),
            Doing::Sleep if self.may_sleep(cx) => self.hinted(|w| Act::Sleep(time(&mut w.random))),
            Doing::WaitAtLatch if self.may_sleep(cx) => self.hinted(Walk::wait_at_gate),
            Doing::Lock if self.may_sleep(cx) => self.hold_lock(),
            Doing::Semaphore if self.may_sleep(cx) => self.hold_semaphore(),
            Doing::Io if self.may_sleep(cx) => {
                let device = self.world.resources.device;
                self.hinted(|w| Act::Io(device, w.random.below(65_536)))
            }
            Doing::Submit => {
                let device = self.world.resources.device;
                Act::Submit(device, self.random.below(65_536), Completion::Nothing)
            }
            Doing::Interrupt => self.interrupt(),
            Doing::Touch => Act::Touch(self.world.resources.data, self.random.below(65_536)),
            Doing::Yield => Act::Yield,
            Doing::MakeLatch => {
                self.world.close_gate(cx.machine());
                Act::Burn(0)
            }
            Doing::OpenLatch => {
                let latch = self.world.take_latch();
                latch.into_iter().for_each(|latch| cx.open(latch));
                Act::Burn(0)
            }
            Doing::Destroy => {
                let at = self.any_place();
                let doomed = self.world.replace_queue(cx.machine(), at);
                Act::Call(Call::DestroyWorkqueue(doomed))
            }
            Doing::Drop => {
                let at = self.any_place();
                let dropped = self.world.replace_queue(cx.machine(), at);
                Act::Call(Call::DropWorkqueue(dropped))
            }
            Doing::Leave => self.leave_behind(cx),
            Doing::Sleep | Doing::WaitAtLatch | Doing::Lock | Doing::Semaphore | Doing::Io => {
                Act::Burn(1)
            }
            doing => self.call(cx, doing),
        }
    }

    /// Says before and after that this blocks, half of the time.
    fn hinted(&mut self, act: impl FnOnce(&mut Walk) -> Act) -> Act {
        let act = act(self);
        if !self.world.plan.has(Feature::Hints) || one_in(&mut self.random, 2) {
            return act;
        }
        self.planned.extend([act, Act::Hint(false)]);
        Act::Hint(true)
    }

    /// Holds one lock for a while, and waits for nothing else but time meanwhile.
    fn hold_lock(&mut self) -> Act {
        let locks = &self.world.resources.locks;
        let convoy = self.world.plan.has(Feature::Convoy);
        let lock = if convoy {
            locks[0]
        } else {
            self.random.one_of(locks)
        };
        let spent = match one_in(&mut self.random, 4) {
            true => Act::Sleep(time(&mut self.random)),
            false => Act::Burn(time(&mut self.random)),
        };
        self.planned.extend([spent, Act::Unlock(lock)]);
        Act::Lock(lock)
    }

    fn hold_semaphore(&mut self) -> Act {
        let semaphore = self.world.resources.semaphore;
        let spent = Act::Sleep(time(&mut self.random));
        self.planned.extend([spent, Act::Post(semaphore)]);
        Act::Take(semaphore)
    }

    /// A device queues an item when it is done.
    fn interrupt(&mut self) -> Act {
        let (item, queue, _) = self.target();
        let device = self.world.resources.device;
        let bytes = self.random.below(65_536);
        Act::Submit(device, bytes, Completion::Queue { queue, item })
    }

    fn wait_at_gate(&mut self) -> Act {
        let latch = self.world.closed_latch(&mut self.random);
        latch.map_or(Act::Burn(0), |latch| match one_in(&mut self.random, 8) {
            true => Act::SpinUntil(latch),
            false => Act::Wait(latch),
        })
    }

    fn call(&mut self, cx: &mut ProgramCx<'_>, doing: Doing) -> Act {
        let (item, queue, cpu) = self.target();
        let call = match doing {
            Doing::Queue => Call::QueueWork { queue, cpu, item },
            Doing::QueueOnNode => {
                let nodes = cx.machine().topology().cpus.iter().map(|p| p.node);
                let nodes = 1 + nodes.max().unwrap_or(0);
                let node = self.random.below(u64::from(nodes)) as u32;
                Call::QueueWorkNode(node, queue, item)
            }
            Doing::Delayed => Call::QueueDelayedWork(queue, cpu, item, delay(&mut self.random)),
            Doing::Modify => Call::ModDelayedWork(queue, cpu, item, delay(&mut self.random)),
            Doing::Cancel => Call::CancelWork(item),
            Doing::CancelSync => Call::CancelWorkSync(item),
            Doing::Disable | Doing::DisableSync => return self.disable(doing, item),
            Doing::Enable | Doing::EnableAndQueue => return self.enable(doing),
            Doing::FlushItem => Call::FlushWork(item),
            Doing::Join => {
                let (item, queue, cpu) = self.claimable(cx);
                self.join(item, queue, cpu)
            }
            Doing::FlushDelayed => Call::FlushDelayedWork(item),
            Doing::FlushQueue if self.world.plan.has(Feature::Flushers) => self.queue_and_flush(),
            Doing::FlushQueue => Call::FlushWorkqueue(self.any_queue()),
            Doing::Drain => Call::DrainWorkqueue(self.any_queue()),
            doing => return self.change(cx, doing, queue),
        };
        Act::Call(call)
    }

    /// An item for a join, rather one that may be claimed once it is queued.
    fn claimable(&mut self, cx: &ProgramCx<'_>) -> (ItemId, QueueId, Option<usize>) {
        let machine = cx.machine();
        let mut target = self.target();
        for _ in 0..TRIES {
            let (item, queue, _) = target;
            let claims = machine.stacking(queue) == Stacking::Claim;
            let busy = machine.item_view(item).word.is_pending();
            if claims && !busy && !machine.queue_kind(queue).is_per_cpu() {
                break;
            }
            target = self.target();
        }
        target
    }

    /// Joins the item: mostly one that is queued just before, so that no worker has begun it.
    fn join(&mut self, item: ItemId, queue: QueueId, cpu: Option<usize>) -> Call {
        if one_in(&mut self.random, 4) {
            return Call::Join(item);
        }
        self.planned.push_back(Act::Call(Call::Join(item)));
        Call::QueueWork { queue, cpu, item }
    }

    fn change(&mut self, cx: &mut ProgramCx<'_>, doing: Doing, queue: QueueId) -> Act {
        let call = match doing {
            Doing::Freeze => Call::FreezeBegin,
            Doing::Thaw => Call::Thaw,
            Doing::MaxActive => Call::SetMaxActive(queue, self.random.one_of(&[1, 1, 2, 4, 9])),
            Doing::MinActive => Call::SetMinActive(queue, self.random.below(5) as u32),
            Doing::Attrs => Call::ApplyAttrs(queue, self.world.attrs(&mut self.random)),
            _ => self.question(cx, queue),
        };
        Act::Call(call)
    }

    fn question(&mut self, cx: &mut ProgramCx<'_>, queue: QueueId) -> Call {
        let item = self.any_item();
        match self.random.below(6) {
            // Its disables are those of whoever made them: only one that has none is enabled here.
            5 if cx.machine().item_view(item).word.disable_depth() == 0 => Call::EnableWork(item),
            0 => Call::WorkPending(item),
            1 => Call::WorkBusy(item),
            2 => Call::FreezeBusy,
            3 if cx.execution().is_some() => Call::OthersWaiting,
            _ => Call::Congested(queue, None),
        }
    }

    fn disable(&mut self, doing: Doing, item: ItemId) -> Act {
        if self.disabled.len() >= DISABLED {
            return self.enable(Doing::Enable);
        }
        self.disabled.push(item);
        Act::Call(match doing {
            Doing::DisableSync => Call::DisableWorkSync(item),
            _ => Call::DisableWork(item),
        })
    }

    fn enable(&mut self, doing: Doing) -> Act {
        if self.disabled.is_empty() {
            return Act::Burn(0);
        }
        let item = self.disabled.remove(0);
        let queue = self.queue_for(item);
        Act::Call(match doing {
            Doing::EnableAndQueue => Call::EnableAndQueueWork(queue, item),
            _ => Call::EnableWork(item),
        })
    }

    /// It is told to stop: takes its disables back, then ends.
    fn wind_up(&mut self) -> Act {
        let item = self.disabled.pop();
        item.map_or(Act::End, |item| Act::Call(Call::EnableWork(item)))
    }

    /// An item waits for one of a queue further on, so that no two wait for each other.
    fn chain(&mut self, cx: &ProgramCx<'_>, own: ItemId) -> Option<Act> {
        let joins = self.world.plan.has(Feature::Claims) && one_in(&mut self.random, 2);
        let other = match joins {
            true => self.claimable(cx).0,
            false => self.any_item(),
        };
        let (from, to) = (self.world.home(own)?, self.world.home(other)?);
        let further = to > from && one_in(&mut self.random, if joins { 2 } else { 6 });
        if !further {
            return None;
        }
        // Not for a whole queue: somebody may queue this item there while it waits.
        Some(Act::Call(match self.random.below(4) {
            _ if joins => {
                let queue = self.queue_for(other);
                self.join(other, queue, None)
            }
            0 => Call::CancelWorkSync(other),
            1 => Call::FlushDelayedWork(other),
            _ => Call::FlushWork(other),
        }))
    }

    /// An item waits for itself, its own queue, or an item of which it is in the middle: all of
    /// that is refused. Other items of its queue it waits for in chains only: the policy does not
    /// see yet that a slot which is waited for is held by the waiting item's own next instance, or
    /// that who waits is a rescuer.
    fn wait_within(&mut self, cx: &ProgramCx<'_>, own: ItemId) -> Option<Act> {
        let pwq = cx.machine().pwq_executed(cx.thread())?;
        let queue = cx.machine().pwq_view(pwq).queue;
        let all = cx.machine().executions_of(cx.thread());
        let any = self.random.one_of(&all).item;
        Some(match self.random.below(8) {
            0 => Act::Call(Call::CancelWorkSync(own)),
            // Of those that it is in the middle of, if it was claimed.
            6 => Act::Call(Call::FlushWork(any)),
            7 => Act::Call(Call::Join(any)),
            1 if self.world.plan.has(Feature::Disable) => self.disable(Doing::DisableSync, own),
            2 => Act::Call(Call::FlushWorkqueue(queue)),
            3 => Act::Call(Call::DrainWorkqueue(queue)),
            4 => Act::Call(Call::FlushDelayedWork(own)),
            _ => Act::Call(Call::FlushWork(own)),
        })
    }

    /// An item drops the last handle of its own queue, and queues on there.
    fn drop_own(&mut self, cx: &ProgramCx<'_>, own: ItemId) -> Option<Act> {
        let pwq = cx.machine().pwq_executed(cx.thread())?;
        let queue = cx.machine().pwq_view(pwq).queue;
        let at = self
            .world
            .queues
            .borrow()
            .iter()
            .position(|&q| q == queue)?;
        self.world.replace_queue(cx.machine(), at);
        // No other item: those that wait for it may wait in this queue.
        let cpu = Some(self.random.below(u64::from(self.world.plan.cpus)) as usize);
        let waits = Act::Sleep(time(&mut self.random));
        let item = own;
        let queues = Act::Call(Call::QueueWork { queue, cpu, item });
        self.planned.extend([waits, queues]);
        Some(Act::Call(Call::DropWorkqueue(queue)))
    }

    /// What an item does as such, now and then.
    fn as_item(&mut self, cx: &ProgramCx<'_>, own: ItemId) -> Option<Act> {
        let plan = self.world.plan;
        if plan.has(Feature::ItemWaits) && one_in(&mut self.random, 3) {
            return self.wait_within(cx, own);
        }
        if plan.has(Feature::DropQueues) && one_in(&mut self.random, 40) {
            return self.drop_own(cx, own);
        }
        self.chain(cx, own)
    }

    /// An item changes its worker's thread, and goes on for a while.
    fn leave_behind(&mut self, cx: &mut ProgramCx<'_>) -> Act {
        if self.item.is_some() {
            match one_in(&mut self.random, 2) {
                true => drop(cx.set_nice(self.random.one_of(&[1, 7, 19]))),
                false => {
                    let mask = self.world.mask(&mut self.random);
                    mask.into_iter().for_each(|mask| cx.pin(mask));
                }
            }
        }
        match self.may_sleep(cx) && one_in(&mut self.random, 2) {
            true => Act::Sleep(time(&mut self.random)),
            false => Act::Burn(time(&mut self.random)),
        }
    }
}

impl Program for Walk {
    fn next(&mut self, cx: &mut ProgramCx<'_>, _: Option<Answer>) -> Act {
        if let Some(planned) = self.planned.pop_front() {
            return planned;
        }
        if self.left == 0 || self.world.stop.get() {
            return self.wind_up();
        }
        self.left -= 1;
        let own = self.item.filter(|_| self.may_sleep(cx));
        if let Some(act) = own.and_then(|own| self.as_item(cx, own)) {
            return act;
        }
        self.act(cx)
    }
}
