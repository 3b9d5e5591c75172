//! A model of what does not exist yet: a pod for each last-level cache. Who queues leaves the item
//! in the lane of the pod, by one swap. CPUs of the pod claim items from its batch, by one
//! `fetch_add` each. Who finds the batch empty fills it: from the pod's own lane first, then from
//! the nearest lane that says it has more than its pod can do. A batch is little work, so that no
//! item waits long behind others; for each, the pod takes a block of slots on a line that all pods
//! share.

use std::collections::VecDeque;
use std::ops::Range;

use cmwq_policy::Nanos;

use super::constants::{BATCHES, Private};
use super::world::{Cx, Pool, Task};
use crate::cpu::lines::LineId;

/// A pod works off a batch in about so long, in nanoseconds.
const BATCH: Nanos = 30_000;
/// Items of a batch at most.
const MOST: usize = 512;
/// What it takes to move an item from a lane to the batch.
const MOVE: Nanos = 4;
/// Who fills the batch holds it for so long, and longer by each item.
const FILL: Nanos = 40;

struct Pod {
    lane: LineId,
    left: VecDeque<Task>,
    /// The counter of the batch, and the lock for who fills it.
    claims: LineId,
    batch: VecDeque<Task>,
    /// Whether anybody looks for items, which is read by who queues.
    idleness: LineId,
    looking: usize,
    /// Who looks in other lanes: one CPU of the pod.
    searcher: Option<usize>,
    /// Its CPUs have more to do than they can: read by who searches.
    surplus: LineId,
    has_surplus: bool,
    /// All pods but this one, the nearest first.
    others: Vec<usize>,
    cpus: Range<usize>,
    /// Items of its batch at most.
    most: usize,
}

pub(super) struct Batches {
    pods: Vec<Pod>,
    pod_of: Vec<usize>,
    slots: LineId,
    /// By CPU: it looks for items in vain.
    looks: Vec<bool>,
}

impl Batches {
    pub(super) fn new(cx: &mut Cx<'_>) -> Batches {
        let caches = cx.topology.cpus.iter().map(|place| place.llc as usize);
        let pod_of: Vec<usize> = caches.collect();
        let count = pod_of[pod_of.len() - 1] + 1;
        let pods = (0..count).map(|pod| Pod::new(cx, &pod_of, pod));
        Batches {
            pods: pods.collect(),
            slots: cx.lines.add(),
            looks: vec![false; pod_of.len()],
            pod_of,
        }
    }

    fn own(&mut self, cx: &Cx<'_>) -> &mut Pod {
        &mut self.pods[self.pod_of[cx.cpu]]
    }

    fn looks_in_vain(&mut self, cx: &mut Cx<'_>) {
        if !std::mem::replace(&mut self.looks[cx.cpu], true) {
            let own = self.own(cx);
            own.looking += 1;
            cx.step(own.idleness);
        }
    }

    fn looks_no_more(&mut self, cx: &mut Cx<'_>) {
        let cpu = cx.cpu;
        if std::mem::take(&mut self.looks[cpu]) {
            let own = self.own(cx);
            own.looking -= 1;
            own.searcher.take_if(|searcher| *searcher == cpu);
            cx.step(own.idleness);
        }
    }

    /// Items wait in the pod: somebody is to look, of this pod or else of the nearest.
    fn have_one_look(&mut self, cx: &mut Cx<'_>) {
        let own = self.own(cx);
        cx.read(own.idleness);
        if own.looking > 0 {
            return;
        }
        let within = cx.wake_among(own.cpus.clone());
        if let Some(cpu) = within.or_else(|| self.call_for_others(cx)) {
            let pod = &mut self.pods[self.pod_of[cpu]];
            pod.looking += 1;
            cx.step(pod.idleness);
            self.looks[cpu] = true;
        }
    }

    /// All CPUs of the pod are busy. Whoever searches comes of itself; else somebody is woken.
    fn call_for_others(&mut self, cx: &mut Cx<'_>) -> Option<usize> {
        let own = self.own(cx);
        if !std::mem::replace(&mut own.has_surplus, true) {
            cx.step(own.surplus);
        }
        let is_searched = self.pods.iter().any(|pod| pod.searcher.is_some());
        if is_searched { None } else { cx.wake_nearest() }
    }

    /// Fills the batch from a lane; whether there was anything.
    fn fill(&mut self, cx: &mut Cx<'_>, own: usize, from: usize) -> bool {
        cx.read(self.pods[from].lane);
        let left = self.pods[from].left.len();
        // Half of what others have: they come for it as well.
        let most = if from == own { left } else { left.div_ceil(2) };
        let most = most.min(self.pods[own].most);
        if most == 0 {
            return false;
        }
        cx.step(self.pods[from].lane);
        cx.step(self.slots);
        cx.hold(self.pods[own].claims, 0, FILL + MOVE * most as u64);
        let lane = &mut self.pods[from];
        let items: Vec<Task> = lane.left.drain(..most).collect();
        if lane.left.is_empty() && std::mem::take(&mut lane.has_surplus) {
            cx.step(lane.surplus);
        }
        self.pods[own].batch.extend(items);
        true
    }

    /// Looks in other lanes, if nobody else of the pod does.
    fn search(&mut self, cx: &mut Cx<'_>, own: usize) {
        let searcher = *self.pods[own].searcher.get_or_insert(cx.cpu);
        if searcher == cx.cpu {
            let others = self.pods[own].others.clone();
            let _ = others.iter().any(|&other| {
                cx.read(self.pods[other].surplus);
                self.pods[other].has_surplus && self.fill(cx, own, other)
            });
        }
    }
}

impl Pod {
    fn new(cx: &mut Cx<'_>, pod_of: &[usize], pod: usize) -> Pod {
        let count = pod_of[pod_of.len() - 1] + 1;
        let first = |pod: usize| pod_of.partition_point(|&of| of < pod);
        let mut others: Vec<usize> = (0..count).filter(|&other| other != pod).collect();
        // Of those that are as far, the next one, so that not all go to the same.
        others.sort_by_key(|&other| {
            let far = cx.topology.distance(first(pod), first(other));
            (far, (other + count - pod) % count)
        });
        let cpus = first(pod)..first(pod + 1);
        let most = BATCH * cpus.len() as u64 / cx.item.max(1);
        Pod {
            lane: cx.lines.add(),
            left: VecDeque::new(),
            claims: cx.lines.add(),
            batch: VecDeque::new(),
            idleness: cx.lines.add(),
            looking: 0,
            searcher: None,
            surplus: cx.lines.add(),
            has_surplus: false,
            others,
            cpus,
            most: (most as usize).clamp(1, MOST),
        }
    }
}

impl Pool for Batches {
    const PRIVATE: Private = BATCHES;
    const LOOKS: u32 = 30;

    fn queue(&mut self, cx: &mut Cx<'_>, task: Task) {
        let own = self.own(cx);
        cx.step(own.lane);
        own.left.push_back(task);
        self.have_one_look(cx);
    }

    fn take(&mut self, cx: &mut Cx<'_>) -> Option<Task> {
        let own = self.pod_of[cx.cpu];
        if self.pods[own].batch.is_empty() {
            cx.read(self.pods[own].claims);
            if !self.fill(cx, own, own) {
                self.looks_in_vain(cx);
                self.search(cx, own);
            }
        }
        let task = self.pods[own].batch.pop_front();
        if task.is_some() {
            cx.step(self.pods[own].claims);
            let pod = &self.pods[own];
            let more = !(pod.batch.is_empty() && pod.left.is_empty());
            let looked = self.looks[cx.cpu];
            self.looks_no_more(cx);
            if looked && more {
                self.have_one_look(cx);
            }
        }
        task
    }

    fn falls_asleep(&mut self, cx: &mut Cx<'_>) {
        self.looks_no_more(cx);
    }

    fn lines(&self) -> (Vec<LineId>, Vec<LineId>) {
        let own = |pod: &Pod| [pod.lane, pod.claims, pod.idleness];
        // Each of those on which pods meet.
        let surplus = self.pods.iter().map(|pod| pod.surplus);
        (
            surplus.chain([self.slots]).collect(),
            self.pods.iter().flat_map(own).collect(),
        )
    }
}
