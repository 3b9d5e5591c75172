//! What the simulated machine has not, and so does not begin.

use super::attributes;
use crate::op::{Call, Flag, ItemCall, Op, Path, Step};
use crate::replay::NotApplicable;
use crate::scenario::Scenario;

/// Whether every operation of the scenario has a meaning there.
pub(super) fn check(scenario: &Scenario) -> Result<(), NotApplicable> {
    let script = &scenario.script;
    let items = script.items.values().map(|item| &item.body);
    let threads = script.threads.values().map(|thread| &thread.body);
    let mut bodies = items.chain(threads).chain([&script.main]);
    bodies.try_for_each(|body| body.iter().try_for_each(step))
}

fn refuse(what: &str) -> Result<(), NotApplicable> {
    Err(NotApplicable(format!("it has no {what}")))
}

fn step(step: &Step) -> Result<(), NotApplicable> {
    match &step.op {
        Op::Upto(_, inner) | Op::Only(_, inner) | Op::Repeat(_, inner) => self::step(inner),
        Op::Until(_, inner) | Op::Aside(_, inner) => self::step(inner),
        Op::Call(call) => self::call(call),
        _ => Ok(()),
    }
}

fn call(call: &Call) -> Result<(), NotApplicable> {
    match call {
        Call::QueueRcuWork { .. } | Call::Item(ItemCall::FlushRcuWork, _) => {
            refuse("grace periods")
        }
        Call::AllocWorkqueue { flags, .. } if flags.has(Flag::PowerEfficient) => {
            refuse("boot parameters")
        }
        Call::Read(Path::CpuOnline(_)) => refuse("state of a CPU to read"),
        Call::Workers(prefix) if attributes::percpu_of(prefix).is_none() => {
            refuse("names of workers but of those of one CPU")
        }
        _ => Ok(()),
    }
}
