//! Which CPU of this machine plays which CPU of the script.

use crate::op::{Call, Delayed, Op, Step, Target};
use crate::replay::NotApplicable;
use crate::scenario::Scenario;
use cmwq_os::sched;
use std::collections::BTreeSet;

/// The CPU of the main thread.
const MAIN: u32 = 0;

/// Pairs of a CPU of the script and the one of this machine that plays it.
#[derive(Debug, Clone, Default)]
pub(super) struct CpuPairs(Vec<(u32, usize)>);

impl CpuPairs {
    /// A CPU for each that the script names.
    pub(super) fn fit(scenario: &Scenario) -> Result<CpuPairs, NotApplicable> {
        let ours: Vec<usize> = sched::affinity(0).map_or(Vec::new(), |mask| mask.iter().collect());
        let mut theirs = named(scenario);
        if theirs.len() > ours.len() {
            let (theirs, ours) = (theirs.len(), ours.len());
            let what = format!("{theirs} CPUs are named, there are {ours}");
            return Err(NotApplicable(what));
        }
        if theirs.len() < ours.len() {
            theirs.insert(MAIN);
        }
        // The same numbers, where they fit: easier to read.
        if theirs.iter().all(|&cpu| ours.contains(&(cpu as usize))) {
            return Ok(CpuPairs(theirs.iter().map(|&c| (c, c as usize)).collect()));
        }
        Ok(CpuPairs(theirs.into_iter().zip(ours).collect()))
    }

    /// Where the main thread is; anywhere, if all CPUs play others.
    pub(super) fn main(&self) -> Option<usize> {
        let pair = self.0.iter().find(|(theirs, _)| *theirs == MAIN);
        pair.map(|(_, ours)| *ours)
    }

    /// The CPU of this machine; one that the script does not name plays itself.
    pub(super) fn ours(&self, cpu: u32) -> usize {
        let pair = self.0.iter().find(|(theirs, _)| *theirs == cpu);
        pair.map_or(cpu as usize, |(_, ours)| *ours)
    }

    /// The CPU of the script.
    pub(super) fn theirs(&self, cpu: usize) -> u32 {
        let pair = self.0.iter().find(|(_, ours)| *ours == cpu);
        pair.map_or(cpu as u32, |(theirs, _)| *theirs)
    }
}

fn named(scenario: &Scenario) -> BTreeSet<u32> {
    let script = &scenario.script;
    let items = script.items.values().map(|item| &item.body);
    let threads = script.threads.values();
    let pinned = threads.clone().filter_map(|thread| thread.cpu);
    let bodies = items.chain(threads.map(|thread| &thread.body));
    let steps = bodies.chain([&script.main]).flat_map(|body| body.iter());
    steps.flat_map(of_step).chain(pinned).collect()
}

fn of_step(step: &Step) -> Vec<u32> {
    match &step.op {
        Op::Upto(_, inner) | Op::Only(_, inner) | Op::Repeat(_, inner) => of_step(inner),
        Op::Until(_, inner) | Op::Aside(_, inner) => of_step(inner),
        Op::Call(Call::Pin(cpus)) => cpus.0.clone(),
        Op::Call(call) => of_call(call).into_iter().collect(),
        _ => Vec::new(),
    }
}

fn of_call(call: &Call) -> Option<u32> {
    match call {
        Call::QueueWork {
            to: Target::Cpu(cpu),
            ..
        } => Some(*cpu),
        Call::QueueDelayedWork(Delayed { cpu, .. }) | Call::ModDelayedWork(Delayed { cpu, .. }) => {
            *cpu
        }
        Call::WorkqueueCongested { cpu, .. } => *cpu,
        _ => None,
    }
}
