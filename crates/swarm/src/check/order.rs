//! Ordered and FIFO queues, non-reentrancy, disabled items: what holds when an item begins.

use std::collections::BTreeMap;

use cmwq_policy::queue::Kind;
use cmwq_sim::{ItemId, Line, Machine, QueueId};

use super::{Books, Checked, Running, ensure};

/// The items of ordered queues, in the order in which they were queued.
#[derive(Default)]
pub(super) struct Order {
    waiting: BTreeMap<QueueId, Vec<ItemId>>,
    /// Those of FIFO queues that were not executed when they were queued, and how often others had
    /// taken them back then.
    fifo: BTreeMap<QueueId, Vec<(ItemId, u64)>>,
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

/// Whether the item waits in this queue.
fn waits_in(machine: &Machine, queue: QueueId, item: ItemId) -> bool {
    let pwq = machine.item_view(item).pwq;
    pwq.is_some_and(|pwq| machine.pwq_view(pwq).queue == queue)
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
            Kind::Fifo => self.check_fifo(machine, new),
            _ => Ok(()),
        }
    }

    /// A call has queued the item, or armed it.
    pub(super) fn note_queued(&mut self, machine: &Machine, queue: QueueId, item: ItemId) {
        let rows = self.order.fifo.values_mut();
        rows.for_each(|row| row.retain(|&(i, _)| i != item));
        let in_order = machine.queue_kind(queue) == Kind::Fifo;
        // It waits for its own end otherwise, and others may begin before that. Whose last item it
        // was may still be about to tell the pool of that end.
        let is_over = self.running(item).is_none() && !self.counts.was_last(item);
        if in_order && is_over && waits_in(machine, queue, item) {
            let row = self.order.fifo.entry(queue).or_default();
            row.push((item, self.ledger.of(item).disturbed));
        }
    }

    fn check_fifo(&mut self, machine: &Machine, new: &Running) -> Checked {
        let item = new.execution.item;
        let row = self.order.fifo.entry(new.queue).or_default();
        let Some(at) = row.iter().position(|&(i, _)| i == item) else {
            return Ok(());
        };
        let ledger = &self.ledger;
        // One that was taken back and waits again is behind others.
        let is_older = |&(i, disturbed): &(ItemId, u64)| ledger.of(i).disturbed == disturbed;
        let mut older = row.drain(..=at).take(at).filter(is_older);
        let overtaken = older.find(|&(i, _)| waits_in(machine, new.queue, i));
        ensure!(
            overtaken.is_none(),
            FifoInOrder,
            "i{} of q{} begins before i{}",
            item.0,
            new.queue.0,
            overtaken.map_or(0, |(i, _)| i.0)
        );
        Ok(())
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
        waiting.retain(|&i| i == item || waits_in(machine, new.queue, i));
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
