//! Ordered and FIFO queues, non-reentrancy, disabled items: what holds when an item begins.

use std::collections::BTreeMap;

use cmwq_policy::queue::Kind;
use cmwq_sim::{ItemId, Line, Machine, QueueId};

use super::{Books, Checked, Running, ensure};

/// The items of ordered queues, in the order in which they were queued.
#[derive(Default)]
pub(super) struct Order {
    waiting: BTreeMap<QueueId, Vec<ItemId>>,
    fifo: BTreeMap<QueueId, Vec<InOrder>>,
}

/// An item of a FIFO queue that waits.
struct InOrder {
    item: ItemId,
    /// How often others had taken it back when it was queued.
    disturbed: u64,
    /// It waited for its own end then, so others may begin before it.
    waited: bool,
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
        rows.for_each(|row| row.retain(|i| i.item != item));
        let in_order = machine.queue_kind(queue) == Kind::Fifo;
        if in_order && waits_in(machine, queue, item) {
            let disturbed = self.ledger.of(item).disturbed;
            // Whose last item it was may still be about to tell the pool of its end.
            let waited = self.running(item).is_some() || self.counts.was_last(item);
            let row = self.order.fifo.entry(queue).or_default();
            row.push(InOrder {
                item,
                disturbed,
                waited,
            });
        }
    }

    fn check_fifo(&mut self, machine: &Machine, new: &Running) -> Checked {
        let item = new.execution.item;
        let row = self.order.fifo.entry(new.queue).or_default();
        let Some(at) = row.iter().position(|i| i.item == item) else {
            return Ok(());
        };
        let ledger = &self.ledger;
        // One that was taken back and waits again is behind others. What was queued before the
        // attributes changed is of another pool workqueue.
        let is_older = |i: &InOrder| {
            let undisturbed = ledger.of(i.item).disturbed == i.disturbed;
            undisturbed && !i.waited && machine.item_view(i.item).pwq == Some(new.pwq)
        };
        let first = &row[..at];
        let overtaken = first.iter().find(|&i| is_older(i)).map(|i| i.item);
        row.remove(at);
        ensure!(
            overtaken.is_none(),
            FifoInOrder,
            "i{} of q{} begins before i{}",
            item.0,
            new.queue.0,
            overtaken.map_or(0, |i| i.0)
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
