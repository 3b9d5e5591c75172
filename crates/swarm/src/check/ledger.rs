//! The ledger of items: what was accepted, taken back, begun.

use cmwq_policy::Time;
use cmwq_sim::{Execution, ItemId, ItemView, Machine};

use super::{Books, Checked, ensure};

/// One item.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entry {
    /// Queueings that were accepted.
    accepted: u64,
    /// Of those, taken back.
    taken: u64,
    /// Executions begun.
    pub(super) started: u32,
    /// The number of the last one that has ended.
    pub(super) ended: u32,
    /// How often it was disabled more than enabled.
    pub(super) depth: u32,
    /// Calls that may have taken an instance off its queue.
    pub(super) disturbed: u64,
    /// Since when it is seen to wait for nothing but a worker, and what had happened to it then.
    waits: Option<(Time, u64)>,
}

/// All items of the program, and how many executions have ended.
pub(super) struct Ledger(Vec<Entry>, u64);

impl Ledger {
    pub(super) fn new(items: usize) -> Ledger {
        Ledger(vec![Entry::default(); items], 0)
    }

    pub(super) fn of(&self, item: ItemId) -> &Entry {
        &self.0[item.0 as usize]
    }

    pub(super) fn of_mut(&mut self, item: ItemId) -> &mut Entry {
        &mut self.0[item.0 as usize]
    }

    pub(super) fn items(&self) -> impl Iterator<Item = ItemId> + use<> {
        (0..self.0.len() as u32).map(ItemId)
    }

    /// Items begun.
    pub(super) fn started(&self) -> u64 {
        self.0.iter().map(|e| u64::from(e.started)).sum()
    }

    /// Executions that are over.
    pub(super) fn all_ended(&self) -> u64 {
        self.1
    }

    pub(super) fn accepted(&mut self, item: ItemId) -> Checked {
        self.of_mut(item).accepted += 1;
        Ok(())
    }

    /// A call has answered that it took a pending instance back.
    pub(super) fn taken(&mut self, item: ItemId) -> Checked {
        let entry = self.of_mut(item);
        entry.taken += 1;
        let owed = entry.owed();
        ensure!(
            owed >= 0,
            NothingRunTwice,
            "i{} was taken back though nothing of it was pending",
            item.0
        );
        Ok(())
    }

    pub(super) fn starts(&mut self, execution: Execution) -> Checked {
        let entry = self.of_mut(execution.item);
        entry.started = execution.number;
        let owed = entry.owed();
        ensure!(
            owed >= 0,
            NothingRunTwice,
            "i{}#{} begins, but was queued {} times less {} taken back",
            execution.item.0,
            execution.number,
            entry.accepted,
            entry.taken
        );
        Ok(())
    }

    pub(super) fn ends(&mut self, execution: Execution) {
        self.of_mut(execution.item).ended = execution.number;
        self.1 += 1;
    }
}

impl Entry {
    /// Instances that have still to begin, or were dropped with a destroyed or drained queue.
    pub(super) fn owed(&self) -> i64 {
        self.accepted as i64 - self.taken as i64 - i64::from(self.started)
    }
}

impl Books {
    /// Since when this item is seen to wait for nothing but a worker.
    pub(super) fn waits_since(&self, item: ItemId) -> Option<Time> {
        self.ledger.of(item).waits.map(|(since, _)| since)
    }

    fn note_waiting(&mut self, machine: &Machine, item: ItemId, view: &ItemView) {
        let flags = view.word.flags();
        let takeable = view.pwq.is_some() && !flags.inactive && !flags.deferred;
        let free = takeable && self.running(item).is_none();
        let entry = self.ledger.of_mut(item);
        let history = entry.accepted + entry.disturbed;
        let same = entry.waits.filter(|&(_, then)| then == history);
        entry.waits = free.then(|| same.unwrap_or((machine.now(), history)));
    }

    /// A pending item has exactly one reference, and is somewhere.
    pub(super) fn check_items(&mut self, machine: &Machine) -> Checked {
        for item in self.ledger.items() {
            let view = machine.item_view(item);
            self.note_waiting(machine, item, &view);
            let pending = view.word.is_pending();
            ensure!(
                view.references == u32::from(pending),
                NothingLost,
                "i{} has {} references, pending: {pending}",
                item.0,
                view.references
            );
            let somewhere = !pending || view.pwq.is_some() || machine.is_armed(item);
            ensure!(
                somewhere,
                NothingLost,
                "i{} is pending, but neither queued nor armed",
                item.0
            );
            let depth = self.ledger.of(item).depth;
            ensure!(
                u32::from(view.word.disable_depth()) == depth || pending,
                DisabledDoesNotRun,
                "i{} is disabled {} times, not {depth}",
                item.0,
                view.word.disable_depth()
            );
        }
        Ok(())
    }
}
