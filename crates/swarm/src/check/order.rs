//! Ordered queues, non-reentrancy, disabled items: what holds when an item begins.

use std::collections::BTreeMap;

use cmwq_policy::queue::Kind;
use cmwq_sim::{ItemId, Line, Machine, QueueId};

use super::{Books, Checked, Running, ensure};

/// The items of ordered queues, in the order in which they were queued.
#[derive(Default)]
pub(super) struct Order {
    waiting: BTreeMap<QueueId, Vec<ItemId>>,
}

impl Order {
    /// The item was queued there just now, behind all others.
    pub(super) fn queued(&mut self, queue: QueueId, item: ItemId) {
        self.waiting
            .values_mut()
            .for_each(|w| w.retain(|&i| i != item));
        self.waiting.entry(queue).or_default().push(item);
    }
}

impl Books {
    /// What must hold when this begins.
    pub(super) fn check_start(&mut self, machine: &Machine, new: &Running) -> Checked {
        let item = new.execution.item;
        let twice = self.running(item).map(|r| r.execution.number);
        ensure!(
            twice.is_none(),
            NonReentrant,
            "i{}#{} begins while #{} runs",
            item.0,
            new.execution.number,
            twice.unwrap_or(0)
        );
        let depth = self.ledger.of(item).depth;
        ensure!(
            depth == 0,
            DisabledDoesNotRun,
            "i{} begins, disabled {depth} times",
            item.0
        );
        match machine.queue_kind(new.queue) {
            Kind::Ordered => self.check_order(machine, new),
            _ => Ok(()),
        }
    }

    fn check_order(&mut self, machine: &Machine, new: &Running) -> Checked {
        let item = new.execution.item;
        let other = self.running.iter().find(|r| r.queue == new.queue);
        ensure!(
            other.is_none(),
            OrderedInOrderAndAlone,
            "i{} of q{} begins while i{} runs",
            item.0,
            new.queue.0,
            other.map_or(0, |r| r.execution.item.0)
        );
        let waiting = self.order.waiting.entry(new.queue).or_default();
        // Those that were taken back are still in the list.
        let queued = |i: ItemId| {
            let pwq = machine.item_view(i).pwq;
            pwq.is_some_and(|pwq| machine.pwq_view(pwq).queue == new.queue)
        };
        waiting.retain(|&i| i == item || queued(i));
        let first = (!waiting.is_empty()).then(|| waiting.remove(0));
        ensure!(
            first == Some(item),
            OrderedInOrderAndAlone,
            "i{} of q{} begins before {first:?}",
            item.0,
            new.queue.0
        );
        Ok(())
    }

    /// It runs on a CPU of its pool; that of a queue that was always strict, in its pod.
    pub(super) fn check_place(&self, machine: &Machine, line: &Line, new: &Running) -> Checked {
        let relaxed = self.calls.relaxed.contains(&new.queue);
        let cpus = match machine.was_made_strict(new.queue) && !relaxed {
            true => machine.pool_pod(new.pool),
            false => machine.pool_cpus(new.pool),
        };
        // What an item has left behind may be found some items later.
        let left = self.terms.leaves && machine.allowed(new.thread) != machine.pool_cpus(new.pool);
        let free = left || cpus.and(&machine.online_cpus()).is_empty();
        ensure!(
            free || cpus.contains(line.cpu),
            RunsWhereAllowed,
            "i{} runs on CPU {}, its pool on {cpus}",
            new.execution.item.0,
            line.cpu
        );
        Ok(())
    }
}
