//! What this machine, this process or the public interface has not, and so is not begun.

use crate::op::{Call, Flag, ItemCall, MS, Op, Path, Step};
use crate::replay::NotApplicable;
use crate::scenario::Scenario;
use crate::virt::THRESHOLD;

/// Scripts that sleep longer are for virtual time.
const LONGEST: u64 = 2000 * MS;

/// Whether the scenario means the same on real threads, whatever the machine.
pub(super) fn check(scenario: &Scenario, has: fn(&Call) -> bool) -> Result<(), NotApplicable> {
    let script = &scenario.script;
    if !["T1", "T2", "T4"].contains(&scenario.topology.as_str()) {
        return refuse("this machine is not", &scenario.topology);
    }
    // Exact accounts of who runs are for virtual time: here they are estimates, and which of two
    // threads that start at one time is first to say so is a race.
    if ["concurrency", "timeline"].contains(&scenario.group.as_str()) {
        return refuse("it hangs on who is seen to run:", &scenario.group);
    }
    let sleeps: u64 = script.main.iter().map(|step| sleeps(&step.op)).sum();
    if sleeps > LONGEST {
        return refuse("too long:", "it sleeps for seconds");
    }
    let items = script.items.values().map(|item| &item.body);
    let threads = script.threads.values().map(|thread| &thread.body);
    let mut bodies = items.chain(threads).chain([&script.main]);
    let detects = !turns_detection_off(&script.main);
    bodies.try_for_each(|body| body.iter().try_for_each(|one| step(one, detects, has)))
}

fn refuse(why: &str, what: &str) -> Result<(), NotApplicable> {
    Err(NotApplicable(format!("{why} {what}")))
}

fn sleeps(op: &Op) -> u64 {
    match op {
        Op::Sleep(time) | Op::IsDone(_, time) => *time,
        Op::Repeat(n, inner) => u64::from(*n) * sleeps(&inner.op),
        _ => 0,
    }
}

fn turns_detection_off(main: &[Step]) -> bool {
    main.iter().any(|step| match &step.op {
        Op::Call(Call::Write(Path::Param(name), value)) => &**name == THRESHOLD && &**value == "0",
        _ => false,
    })
}

/// `detects`: an item that burns for long is let go, and how soon that is noticed is no answer.
fn step(one: &Step, detects: bool, has: fn(&Call) -> bool) -> Result<(), NotApplicable> {
    match &one.op {
        Op::Upto(_, inner) | Op::Only(_, inner) | Op::Repeat(_, inner) => step(inner, detects, has),
        Op::Until(_, inner) | Op::Aside(_, inner) => step(inner, detects, has),
        Op::Spin(time) if detects && *time >= 5 * MS => {
            refuse("how soon it is noticed is no answer:", &one.text)
        }
        Op::SpinWait(_) if detects => refuse("how soon it is noticed is no answer:", &one.text),
        Op::Call(of) if !has(of) => refuse("the interface has no such call:", &one.text),
        _ => Ok(()),
    }
}

/// Whether there is such a call for everybody, unprivileged.
pub(super) fn call(call: &Call) -> bool {
    match call {
        // What a handle of an item guarantees cannot be broken.
        Call::Reinit(_) | Call::SetFunc(..) | Call::ReuseMemory { .. } | Call::ForgetSelf => false,
        Call::QueueRcuWork { .. } | Call::Item(ItemCall::FlushRcuWork, _) => false,
        Call::Item(ItemCall::TimerPending, _) => false,
        // Of the kernel's threads, or what needs a privilege.
        Call::Nice | Call::Node | Call::Allowed | Call::Workers(_) => false,
        Call::FailThreadCreation(_) | Call::Injected => false,
        Call::ApplyAttrs(_, attrs) => {
            attrs.scope.is_none() && attrs.strict.is_none() && attrs.nice.is_none_or(|n| n >= 0)
        }
        Call::AllocWorkqueue { flags, .. } => !flags.has(Flag::PowerEfficient),
        Call::Read(Path::Queue { attr, .. }) => &**attr == "max_active",
        Call::Read(_) => false,
        Call::Write(Path::Param(name), _) => &**name == THRESHOLD,
        Call::Write(..) => false,
        _ => true,
    }
}
