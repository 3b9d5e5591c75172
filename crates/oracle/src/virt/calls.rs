//! Calls of a script as calls of the simulated machine, and its answers as the script's.

use super::attributes;
use super::reply::{Reply, applied, plain};
use super::stage::{Made, Stage, limit, mask};
use crate::actor::Answer;
use crate::op::{Attrs, Call, Delayed, Flags, ItemCall, Name, QueueCall, Scope, Target};
use cmwq_policy::affinity::Scope as Pods;
use cmwq_policy::contract;
use cmwq_policy::queue::Attrs as Changed;
use cmwq_sim::{Call as Sim, Machine, ProgramCx};

/// A wait that would never end is refused; on real threads that is an error.
pub(super) fn waited(stage: &Stage, answer: cmwq_sim::Answer) -> Answer {
    if !answer.is_deadlock() {
        return plain(answer);
    }
    stage.play.misuse(format!("{answer:?}"));
    Answer::Bool(false)
}

/// A queue says with a word that it refuses.
fn queued(stage: &Stage, answer: cmwq_sim::Answer) -> Answer {
    match answer {
        cmwq_sim::Answer::Text(why) => {
            stage.play.misuse(format!("not queued: {why}"));
            Answer::Bool(false)
        }
        other => plain(other),
    }
}

/// It was enabled, and so queued, whatever it was before.
fn queued_as_well(stage: &Stage, answer: cmwq_sim::Answer) -> Answer {
    queued(stage, answer);
    Answer::Bool(true)
}

fn changed(stage: &Stage, answer: cmwq_sim::Answer) -> Answer {
    if answer == cmwq_sim::Answer::Bool(false) {
        stage.play.misuse("this kind of queue has no such limit");
    }
    Answer::Void
}

fn now(answer: Answer) -> Reply {
    Reply::Now(answer)
}

fn ask(call: Sim) -> Reply {
    Reply::Ask(call, None)
}

pub(super) fn call(stage: &Stage, cx: &mut ProgramCx<'_>, call: Call) -> Reply {
    let machine = cx.machine();
    let queue = queue_of(&call).cloned();
    let made = queue.as_ref().map(|name| stage.queue(machine, name));
    match (made, call) {
        (Some(None), _) => now(Answer::Text("no_queue".into())),
        (Some(Some(made)), call) => on_queue(stage, cx, &made, call),
        (None, Call::Item(what, item)) => on_item(stage, machine, what, &item),
        (None, call) => alone(stage, cx, call),
    }
}

/// The queue that a call is about and that must be there.
fn queue_of(call: &Call) -> Option<&Name> {
    match call {
        Call::QueueWork { queue, .. }
        | Call::QueueRcuWork { queue, .. }
        | Call::EnableAndQueueWork { queue, .. }
        | Call::WorkqueueCongested { queue, .. }
        | Call::QueueDelayedWork(Delayed { queue, .. })
        | Call::ModDelayedWork(Delayed { queue, .. })
        | Call::Queue(_, queue)
        | Call::SetMaxActive(queue, _)
        | Call::SetMinActive(queue, _)
        | Call::ApplyAttrs(queue, _) => Some(queue),
        _ => None,
    }
}

fn on_queue(stage: &Stage, cx: &ProgramCx<'_>, made: &Made, call: Call) -> Reply {
    let machine = cx.machine();
    let id = made.id;
    match call {
        Call::QueueWork { item, to, .. } => {
            let item = stage.item(&item);
            let call = match to {
                Target::Any => queue_work(made, None, item),
                Target::Cpu(cpu) => queue_work(made, Some(cpu as usize), item),
                Target::Node(node) => node_of(machine, node)
                    .map_or(queue_work(made, None, item), |node| {
                        Sim::QueueWorkNode(node, id, item)
                    }),
            };
            Reply::Ask(call, Some(queued))
        }
        Call::EnableAndQueueWork { item, .. } => {
            let item = stage.item(&item);
            match enable(stage, machine, item) {
                true => Reply::Ask(queue_work(made, None, item), Some(queued_as_well)),
                false => now(Answer::Bool(false)),
            }
        }
        Call::QueueDelayedWork(d) => {
            let (cpu, item) = (d.cpu.map(|cpu| cpu as usize), stage.item(&d.item));
            Reply::Ask(Sim::QueueDelayedWork(id, cpu, item, d.delay), Some(queued))
        }
        Call::ModDelayedWork(d) => {
            let (cpu, item) = (d.cpu.map(|cpu| cpu as usize), stage.item(&d.item));
            Reply::Ask(Sim::ModDelayedWork(id, cpu, item, d.delay), Some(queued))
        }
        Call::WorkqueueCongested { cpu, .. } => {
            ask(Sim::Congested(id, cpu.map(|cpu| cpu as usize)))
        }
        Call::Queue(QueueCall::FlushWorkqueue, _) => ask(Sim::FlushWorkqueue(id)),
        Call::Queue(QueueCall::DrainWorkqueue, _) => ask(Sim::DrainWorkqueue(id)),
        Call::Queue(QueueCall::DestroyWorkqueue, name) => {
            stage.hide(&name);
            ask(Sim::DestroyWorkqueue(id))
        }
        Call::SetMaxActive(_, n) => Reply::Ask(Sim::SetMaxActive(id, limit(n)), Some(changed)),
        Call::SetMinActive(_, n) => Reply::Ask(Sim::SetMinActive(id, limit(n)), Some(changed)),
        // The policy's type has no such scope.
        Call::ApplyAttrs(_, attrs) if attrs.scope == Some(Scope::Bad) => {
            now(Answer::Number(attributes::EINVAL))
        }
        Call::ApplyAttrs(_, attrs) => Reply::Ask(Sim::ApplyAttrs(id, fresh(&attrs)), Some(applied)),
        other => unreachable!("{other:?} is about no queue"),
    }
}

fn queue_work(made: &Made, cpu: Option<usize>, item: cmwq_sim::ItemId) -> Sim {
    let queue = made.id;
    Sim::QueueWork { queue, cpu, item }
}

/// A node that exists.
fn node_of(machine: &Machine, node: i64) -> Option<u32> {
    let mut places = machine.topology().cpus.iter();
    let place = places.find(|place| i64::from(place.node) == node);
    place.map(|place| place.node)
}

/// Fresh default attributes, changed.
fn fresh(attrs: &Attrs) -> Changed {
    Changed {
        nice: attrs.nice.unwrap_or(0) as i8,
        cpumask: attrs.cpus.as_ref().map(|cpus| mask(&cpus.0)),
        scope: attrs.scope.and_then(scope),
        strict: attrs.strict.unwrap_or(false),
        locality: 0,
    }
}

/// `None`: the default of all queues.
fn scope(scope: Scope) -> Option<Pods> {
    Pods::parse(scope.word())
}

fn on_item(stage: &Stage, machine: &Machine, what: ItemCall, item: &Name) -> Reply {
    let item = stage.item(item);
    let call = match what {
        ItemCall::FlushWork => Sim::FlushWork(item),
        ItemCall::FlushDelayedWork => Sim::FlushDelayedWork(item),
        ItemCall::CancelWork | ItemCall::CancelDelayedWork => Sim::CancelWork(item),
        ItemCall::CancelWorkSync | ItemCall::CancelDelayedWorkSync => Sim::CancelWorkSync(item),
        ItemCall::DisableWorkSync | ItemCall::DisableDelayedWorkSync => Sim::DisableWorkSync(item),
        ItemCall::DisableWork | ItemCall::DisableDelayedWork => {
            return now(Answer::Bool(disable(stage, machine, item)));
        }
        ItemCall::EnableWork | ItemCall::EnableDelayedWork => {
            return now(Answer::Bool(enable(stage, machine, item)));
        }
        ItemCall::TimerPending => return now(Answer::Bool(machine.is_armed(item))),
        ItemCall::WorkPending | ItemCall::DelayedWorkPending => Sim::WorkPending(item),
        ItemCall::WorkBusy => Sim::WorkBusy(item),
        ItemCall::FlushRcuWork => unreachable!("refused before the run"),
    };
    ask(call)
}

/// Without the machine's call: that does not say that the depth was exceeded.
fn disable(stage: &Stage, machine: &Machine, item: cmwq_sim::ItemId) -> bool {
    let disabled = contract::disable(machine, item);
    if disabled.overflow {
        stage.play.misuse("disabled too often");
    }
    disabled.was_pending
}

fn enable(stage: &Stage, machine: &Machine, item: cmwq_sim::ItemId) -> bool {
    let enabled = contract::enable(machine, item);
    if enabled.underflow {
        stage.play.misuse("enabled though it was not disabled");
    }
    enabled.enabled
}

/// What is about no queue that must be there, and about no state of an item.
fn alone(stage: &Stage, cx: &mut ProgramCx<'_>, call: Call) -> Reply {
    let machine = cx.machine();
    match call {
        Call::AllocWorkqueue {
            queue,
            flags,
            max_active,
        } => now(alloc(stage, machine, &queue, flags, max_active)),
        Call::CreateWorkqueue(queue) => {
            use crate::op::Flag::{MemReclaim, Percpu};
            let flags = Flags(vec![Percpu, MemReclaim]);
            now(alloc(stage, machine, &queue, flags, 1))
        }
        Call::CreateSinglethreadWorkqueue(queue) => {
            use crate::op::Flag::{MemReclaim, Ordered};
            let flags = Flags(vec![Ordered, MemReclaim]);
            now(alloc(stage, machine, &queue, flags, 1))
        }
        Call::FreezeBegin => ask(Sim::FreezeBegin),
        Call::FreezeBusy => ask(Sim::FreezeBusy),
        Call::Thaw => ask(Sim::Thaw),
        Call::Reinit(item) => ask(Sim::InitWork(stage.item(&item))),
        Call::SetFunc(item, function) => ask(Sim::SetFunc(stage.item(&item), function.into())),
        Call::ReuseMemory { item, of, function } => {
            let (item, of) = (stage.item(&item), stage.item(&of));
            ask(Sim::ReuseMemory(item, of, function.into()))
        }
        // The machine's items live as long as it does, and it looks at nothing of one that runs.
        Call::FreeSelf | Call::ForgetSelf | Call::SetWorkerDesc(_) => now(Answer::Void),
        Call::Write(path, value) => attributes::write(stage, machine, &path, &value),
        Call::Read(path) => now(attributes::read(stage, machine, &path)),
        Call::FailThreadCreation(fails) => {
            machine.fail_spawns(fails);
            now(Answer::Void)
        }
        Call::Injected => now(Answer::Number((machine.spawn_failures() > 0).into())),
        other => now(about_caller(stage, cx, other)),
    }
}

fn alloc(stage: &Stage, machine: &Machine, name: &Name, flags: Flags, max_active: i64) -> Answer {
    let max_active = match max_active {
        0 => 0,
        n => limit(n),
    };
    stage.make(machine, name, flags, max_active);
    Answer::Text("ok".into())
}

fn about_caller(stage: &Stage, cx: &mut ProgramCx<'_>, call: Call) -> Answer {
    match call {
        Call::Pin(cpus) => {
            cx.pin(mask(&cpus.0));
            Answer::Number(0)
        }
        Call::Cpu => Answer::Number(cx.cpu() as i64),
        Call::Node => Answer::Number(cx.machine().topology().cpus[cx.cpu()].node.into()),
        Call::Nice => Answer::Number(cx.nice().into()),
        Call::Allowed => Answer::Text(cx.allowed().to_string()),
        Call::Comm => Answer::Text(cx.machine().thread_name(cx.thread())),
        Call::IsRescuer => {
            let name = cx.machine().thread_name(cx.thread());
            Answer::Bool(name.starts_with("rescuer/"))
        }
        Call::CurrentWork => {
            let execution = cx.execution().map(|e| stage.item_name(e.item));
            Answer::Text(execution.unwrap_or("none".into()))
        }
        Call::Workers(prefix) => Answer::Number(attributes::workers(stage, cx.machine(), &prefix)),
        other => unreachable!("{other:?} was refused before the run"),
    }
}
