//! What holds when a call returns.

use std::collections::{BTreeMap, BTreeSet};

use cmwq_sim::{Answer, Call, ItemId, Machine, QueueId, ThreadId};

use super::{Books, Checked, ensure};

/// An instance that has to be over when a flush returns.
#[derive(Clone, Copy, Debug)]
struct Target {
    item: ItemId,
    /// The number of its execution, unless it is taken back.
    number: u32,
    /// Executions that had begun when the call did.
    begun: u32,
    disturbed: u64,
}

/// The item that a call takes back.
fn item_of(call: &Call) -> Option<ItemId> {
    match *call {
        Call::CancelWorkSync(item) | Call::DisableWorkSync(item) => Some(item),
        _ => None,
    }
}

/// A call that goes on.
struct Pending {
    call: Call,
    targets: Vec<Target>,
    /// The item was disabled when it was called; it was pending then.
    disabled: bool,
    was_pending: bool,
    /// Items that had ended.
    ended: u64,
    /// Armed items that had been dropped.
    timers_dropped: u64,
}

/// The calls that go on.
#[derive(Default)]
pub(super) struct Calls {
    /// Of a thread that executes what it has joined, one in the middle of the other.
    pending: BTreeMap<ThreadId, Vec<Pending>>,
    /// Queues that were made not strict, perhaps for a while.
    pub(super) relaxed: BTreeSet<QueueId>,
    /// Queues without handles.
    pub(super) dropped: BTreeSet<QueueId>,
}

impl Books {
    /// A call begins.
    pub(super) fn called(&mut self, machine: &Machine, thread: ThreadId, call: &Call) -> Checked {
        let targets = self.targets(machine, call);
        let mut disabled = false;
        match *call {
            Call::ApplyAttrs(queue, attrs) if !attrs.strict => {
                self.calls.relaxed.insert(queue);
            }
            Call::Thaw => self.counts.frozen.clear(),
            Call::DropWorkqueue(queue) => {
                self.calls.dropped.insert(queue);
                self.counts.frozen.retain(|&q| q != queue);
            }
            Call::CancelWork(item) => self.ledger.of_mut(item).disturbed += 1,
            Call::ModDelayedWork(_, _, item, _) => {
                self.ledger.of_mut(item).disturbed += 1;
                disabled = self.ledger.of(item).depth > 0;
            }
            Call::CancelWorkSync(item) | Call::DisableWork(item) | Call::DisableWorkSync(item) => {
                let entry = self.ledger.of_mut(item);
                entry.disturbed += 1;
                entry.depth += 1;
            }
            _ => {}
        }
        let pending = Pending {
            call: call.clone(),
            targets,
            disabled,
            was_pending: item_of(call).is_some_and(|i| machine.item_view(i).word.is_pending()),
            ended: self.ledger.all_ended(),
            timers_dropped: machine.timers_dropped(),
        };
        self.calls.pending.entry(thread).or_default().push(pending);
        Ok(())
    }

    fn targets(&self, machine: &Machine, call: &Call) -> Vec<Target> {
        let of_queue = |queue| {
            let items = self.ledger.items();
            items
                .filter_map(|item| self.target(machine, item, Some(queue), false))
                .collect()
        };
        match *call {
            Call::FlushWorkqueue(queue) => of_queue(queue),
            Call::FlushWork(item) | Call::Join(item) => self
                .target(machine, item, None, false)
                .into_iter()
                .collect(),
            Call::FlushDelayedWork(item) => {
                self.target(machine, item, None, true).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// The last instance of the item that is queued (`armed`: or armed) or runs, in this queue or
    /// in any.
    fn target(
        &self,
        machine: &Machine,
        item: ItemId,
        queue: Option<QueueId>,
        armed: bool,
    ) -> Option<Target> {
        let fits = |of| queue.is_none_or(|queue| queue == of);
        let view = machine.item_view(item);
        let queued = view
            .pwq
            .is_some_and(|pwq| fits(machine.pwq_view(pwq).queue));
        let entry = self.ledger.of(item);
        let number = match self.running(item) {
            _ if queued || (armed && view.word.is_pending()) => entry.started + 1,
            Some(running) if fits(running.queue) => running.execution.number,
            _ => return None,
        };
        Some(Target {
            item,
            number,
            begun: entry.started,
            disturbed: entry.disturbed,
        })
    }

    /// The item that this thread joins now, if it does.
    pub(super) fn joined(&self, thread: ThreadId) -> Option<ItemId> {
        let pending = self.calls.pending.get(&thread)?.last()?;
        match pending.call {
            Call::Join(item) => Some(item),
            _ => None,
        }
    }

    /// A call is over.
    pub(super) fn returned(
        &mut self,
        machine: &Machine,
        thread: ThreadId,
        answer: &Answer,
    ) -> Checked {
        let pending = self.calls.pending.get_mut(&thread).and_then(Vec::pop);
        let pending = pending.expect("who is answered has called");
        if answer.is_deadlock() {
            return self.refused(&pending);
        }
        let yes = *answer == Answer::Bool(true);
        match pending.call {
            Call::QueueDelayedWork(_, _, item, _) if yes => self.ledger.accepted(item),
            Call::ModDelayedWork(_, _, item, _) => self.modified(item, answer, &pending),
            Call::CancelWork(item) if yes => self.ledger.taken(item),
            Call::DisableWork(item) => {
                self.take_back(item, yes)?;
                self.check_idle(machine, item, false)
            }
            Call::DisableWorkSync(item) => {
                self.take_back(item, yes)?;
                self.check_idle(machine, item, true)
            }
            Call::CancelWorkSync(item) => {
                self.enabled(item);
                self.take_back(item, yes)?;
                self.check_idle(machine, item, true)
            }
            Call::EnableWork(item) | Call::EnableAndQueueWork(_, item) => {
                self.enabled(item);
                Ok(())
            }
            Call::FreezeBegin => {
                self.freeze_begins(machine);
                Ok(())
            }
            Call::FlushWork(_) | Call::Join(_) => {
                self.check_had_to_wait(yes, &pending)?;
                self.check_flushed(machine, &pending)
            }
            Call::FlushWorkqueue(_) | Call::FlushDelayedWork(_) => {
                self.check_flushed(machine, &pending)
            }
            Call::DrainWorkqueue(queue) | Call::DestroyWorkqueue(queue) => {
                self.check_drained(machine, queue)
            }
            Call::DropWorkqueue(queue) if yes => self.check_drained(machine, queue),
            Call::Shutdown(_) => self.check_shut_down(machine, answer, pending.ended),
            _ => Ok(()),
        }
    }

    /// All that are freezable are frozen now, but those whose handle is gone.
    fn freeze_begins(&mut self, machine: &Machine) {
        let all = (0..machine.nr_queues() as u32).map(QueueId);
        let freezes = |q: &QueueId| machine.is_freezable(*q) && !self.calls.dropped.contains(q);
        self.counts.frozen = all.filter(freezes).collect();
    }

    /// A wait for one item says whether there was anything to wait for.
    fn check_had_to_wait(&self, said: bool, pending: &Pending) -> Checked {
        // A worker that is moved when its item ends says so when it has a CPU again.
        let may_be_late = self.terms.leaves && said;
        ensure!(
            may_be_late || said != pending.targets.is_empty(),
            FlushIsComplete,
            "{:?} says {said}, waiting for {:?}",
            pending.call,
            pending.targets
        );
        Ok(())
    }

    /// What has ended, and what is left, is said; barriers count as well.
    fn check_shut_down(&self, machine: &Machine, answer: &Answer, before: u64) -> Checked {
        let queued = |&item: &ItemId| machine.item_view(item).pwq.is_some();
        let left = [
            self.ledger.all_ended() - before,
            self.ledger.items().filter(queued).count() as u64,
            self.running.len() as u64,
            self.ledger.items().filter(|&i| machine.is_armed(i)).count() as u64,
        ];
        let Answer::Text(text) = answer else {
            panic!("shutdown answers a text, not {answer:?}");
        };
        let numbers = text.split_whitespace().filter_map(|word| word.parse().ok());
        let said: Vec<u64> = numbers.collect();
        // A worker that has no CPU when its item ends says so later: the item runs, as far as is
        // known.
        let sum = |numbers: &[u64]| numbers[..3].iter().sum::<u64>();
        let fits = said.len() == left.len() && sum(&said) >= sum(&left) && said[3] == left[3];
        ensure!(
            fits,
            NothingLost,
            "shutdown says `{text}`, but {left:?} have ended, are queued, run, are armed"
        );
        Ok(())
    }

    /// The call would wait for ever: it does not, and what it has done before waiting stays done.
    fn refused(&mut self, pending: &Pending) -> Checked {
        match pending.call {
            Call::CancelWorkSync(item) => {
                self.enabled(item);
                self.take_back(item, pending.was_pending)
            }
            Call::DisableWorkSync(item) => self.take_back(item, pending.was_pending),
            _ => Ok(()),
        }
    }

    fn modified(&mut self, item: ItemId, answer: &Answer, pending: &Pending) -> Checked {
        match answer {
            Answer::Bool(false) if !pending.disabled => self.ledger.accepted(item),
            _ => Ok(()),
        }
    }

    fn take_back(&mut self, item: ItemId, was_pending: bool) -> Checked {
        match was_pending {
            true => self.ledger.taken(item),
            false => Ok(()),
        }
    }

    fn enabled(&mut self, item: ItemId) {
        let depth = &mut self.ledger.of_mut(item).depth;
        *depth = depth.saturating_sub(1);
    }

    /// Nothing of the item is pending; `sync`: nor running.
    fn check_idle(&self, machine: &Machine, item: ItemId, sync: bool) -> Checked {
        let pending = machine.item_view(item).word.is_pending();
        ensure!(!pending, CancelSyncIsIdle, "i{} is pending", item.0);
        let runs = sync && self.running(item).is_some();
        ensure!(!runs, CancelSyncIsIdle, "i{} runs", item.0);
        Ok(())
    }

    fn check_flushed(&self, machine: &Machine, pending: &Pending) -> Checked {
        // What it hurries into a queue that is drained is dropped, and does not run. It waits for
        // the execution before that; somebody may have queued the item meanwhile.
        let drops = matches!(pending.call, Call::FlushDelayedWork(_))
            && machine.timers_dropped() > pending.timers_dropped;
        for target in &pending.targets {
            let entry = self.ledger.of(target.item);
            let dropped = drops && entry.ended >= target.begun;
            let over =
                dropped || entry.ended >= target.number || entry.disturbed > target.disturbed;
            ensure!(
                over,
                FlushIsComplete,
                "{:?} returns before i{}#{} has ended",
                pending.call,
                target.item.0,
                target.number
            );
        }
        Ok(())
    }

    fn check_drained(&self, machine: &Machine, queue: QueueId) -> Checked {
        let left = self.ledger.items().find(|&item| {
            let pwq = machine.item_view(item).pwq;
            let queued = pwq.is_some_and(|pwq| machine.pwq_view(pwq).queue == queue);
            queued || self.running(item).is_some_and(|r| r.queue == queue)
        });
        ensure!(
            left.is_none(),
            FlushIsComplete,
            "q{} is drained, but {left:?} is not over",
            queue.0
        );
        Ok(())
    }
}
