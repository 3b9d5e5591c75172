//! What shows only over time: an item that keeps its CPU, a worklist that stands still, a clock
//! that jumped because nobody could look.

use alloc::vec::Vec;

use super::{Cx, Rule, WorkerPool};
use crate::hog::{Sample, Sampled};
use crate::probe::{broken, hit};
use crate::store::{ItemKey, Store};
use crate::time::{MILLISECOND, Nanos, Time};
use crate::worker::WorkerId;

/// An item is watched from this age on: most have ended by then, and cost nothing.
const WATCHED_FROM: Nanos = 4 * MILLISECOND;
/// Where nothing but a report follows, its switches are first asked for when it has had this part
/// of the threshold: a quarter. The answer is a file of `/proc`.
const PATIENCE_PART: Nanos = 4;

/// An item that has kept its CPU for long without sleeping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hog<P> {
    /// The item's function.
    pub func: u64,
    /// The pool workqueue that it was queued through.
    pub pwq: P,
    /// CPU time that it was seen to use.
    pub cpu: Nanos,
    /// It does not count as running any more.
    pub uncounted: bool,
}

/// A worklist that stands still.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stall<P> {
    /// Since how long.
    pub stood: Nanos,
    /// The item that is first.
    pub first: Executed<P>,
    /// Some of the workers, with what they execute.
    pub workers: Vec<(WorkerId, Executed<P>)>,
}

/// An item and where it was queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Executed<P> {
    /// The item.
    pub key: ItemKey,
    /// The pool workqueue that it was queued through.
    pub pwq: P,
}

/// Workers that the report of a stall names, at most.
const NAMED: usize = 16;

impl<S: Store> WorkerPool<S> {
    /// Whether this worker's item, which a scan has looked at, is old enough to be watched.
    pub fn is_watched(&self, cx: &Cx<S>, id: WorkerId, item: u32) -> bool {
        let worker = self.crew.get(id);
        worker.is_at(item) && worker.hints() == 0 && cx.now.since(worker.began) >= WATCHED_FROM
    }

    /// See [`watched`](Self::watched). Whether the item counts as running is not changed yet.
    pub(super) fn judge_watched(
        &mut self,
        cx: &mut Cx<S>,
        id: WorkerId,
        item: u32,
        sample: Sample,
        threshold: Nanos,
    ) -> Result<Option<Hog<S::Pwq>>, AskSwitches> {
        if !self.is_watched(cx, id, item) {
            return Ok(None);
        }
        let patience = match self.attrs.rule {
            Rule::PerCpu => 0,
            _ => threshold / PATIENCE_PART,
        };
        let worker = self.crew.get_mut(id);
        let asleep = sample.asleep || worker.unseen.is_some_and(|unseen| unseen.is_idle());
        let sample = Sample { asleep, ..sample };
        let cpu = match worker.watch.sampled(sample, threshold, patience) {
            Sampled::Fine => return Ok(None),
            Sampled::AskSwitches => {
                return Err(AskSwitches);
            }
            Sampled::Hog(cpu) => cpu,
        };
        let current = self.crew.get(id).current.as_ref().expect("it executes");
        let hog = Hog {
            func: current.key.func,
            pwq: current.pwq,
            cpu,
            uncounted: self.attrs.rule == Rule::PerCpu && !broken!(HogStaysCounted),
        };
        cx.store.pwq(hog.pwq).stats.cpu_intensive += 1;
        hit!(hog.uncounted => HogUncounted, HogReported);
        Ok(Some(hog))
    }

    /// What the workers execute, and since when. Barriers included.
    pub fn executed(&self) -> impl Iterator<Item = (WorkerId, Executed<S::Pwq>, Time)> + '_ {
        self.crew.ids().filter_map(|id| {
            let worker = self.crew.get(id);
            let current = worker.current.as_ref()?;
            let (key, pwq) = (current.key, current.pwq);
            Some((id, Executed { key, pwq }, worker.began))
        })
    }

    /// If the worklist has stood still for `threshold`, and nobody has said so: what there is to
    /// say.
    pub fn stalled(&mut self, cx: &mut Cx<S>, threshold: Nanos) -> Option<Stall<S::Pwq>> {
        let waits = self.nr_queued() > 0;
        let stood = self.dog.stalled(cx.now, threshold, waits)?;
        let first = self
            .worklist
            .heads(cx)
            .find(|&work| !cx.store.word(work).flags().deferred)?;
        let busy = self.executed().map(|(id, busy, _)| (id, busy));
        Some(Stall {
            stood,
            first: Executed {
                key: cx.store.key(first),
                pwq: cx.store.pwq_of(first)?,
            },
            workers: busy.take(NAMED).collect(),
        })
    }

    /// The same after a worker's thread could not be made. If the pool has no worker, nothing can
    /// move, and there is nothing to wait for. A threshold of 0 turns it off here, too.
    pub fn stalled_without_thread(
        &mut self,
        cx: &mut Cx<S>,
        threshold: Nanos,
    ) -> Option<Stall<S::Pwq>> {
        let has_none = self.nr_workers() == 0;
        has_none.then(|| self.stalled(cx, threshold.min(1)))?
    }

    /// The machine was suspended, or nobody looked for long: what happened meanwhile says nothing.
    pub fn clock_was_away(&mut self, cx: &mut Cx<S>, lost: Nanos) {
        self.dog.rebase(cx.now);
        self.slots.rebase(cx);
        self.growth.rebase(cx.now);
        self.worklist.forget_crowds(cx);
        self.estimate.begin_anew(cx.now);
        self.moved = cx.now;
        self.crew.put_off_culling(lost);
    }
}

/// The voluntary switches of the thread are needed to say more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskSwitches;
