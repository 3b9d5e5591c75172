//! What the simulated machine has not, and so does not begin.

use super::attributes::{self, THRESHOLD};
use crate::op::{Attrs, Call, Flag, ItemCall, Op, Path, Scope, Step};
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
        Call::ApplyAttrs(_, attrs) if has_pods(attrs) => refuse("affinity scopes"),
        Call::AllocWorkqueue { flags, .. } if flags.has(Flag::PowerEfficient) => {
            refuse("boot parameters")
        }
        Call::Read(Path::Param(_) | Path::CpuOnline(_)) => refuse("module parameters to read"),
        Call::Read(path) | Call::Write(path, _) => self::path(path),
        Call::Workers(prefix) if attributes::percpu_of(prefix).is_none() => {
            refuse("names of workers but of those of one CPU")
        }
        _ => Ok(()),
    }
}

fn has_pods(attrs: &Attrs) -> bool {
    let scope = attrs.scope.filter(|scope| *scope != Scope::Default);
    scope.is_some() || attrs.strict == Some(true)
}

fn path(path: &Path) -> Result<(), NotApplicable> {
    match path {
        Path::Queue { attr, .. } if attr.starts_with("affinity") => refuse("affinity scopes"),
        Path::Global(_) => refuse("mask for all queues"),
        Path::Param(name) if &**name != THRESHOLD => refuse("module parameters"),
        _ => Ok(()),
    }
}
