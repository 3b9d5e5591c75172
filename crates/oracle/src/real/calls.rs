//! Calls of a script as calls of the public interface.

use super::stage::Stage;
use crate::actor::Answer;
use crate::op::{Attrs, Call, Delayed, Flag, Flags, ItemCall, Name, Path, QueueCall, Target};
use crate::spin::lock;
use cmwq::{BuildError, FlushError, QueueError, Work, Workqueue, WouldDeadlock};
use std::time::Duration;

const EINVAL: i64 = -22;
const ENOENT: i64 = -2;

/// Kernel `cpu_intensive_thresh_us` as the recorder had it.
pub(super) const DEFAULT_THRESHOLD_US: u64 = 10_000;

pub(super) fn set_threshold(us: u64) {
    cmwq::set_cpu_intensive_threshold(Duration::from_micros(us));
}

pub(super) fn call(stage: &Stage, call: Call) -> Answer {
    match call {
        Call::QueueWork { queue, item, to } => stage.on_queue(&queue, |queue| {
            stage.on_item(&item, |item| {
                stage.queued(stage.queue_work(queue, item, to))
            })
        }),
        Call::QueueDelayedWork(what) => stage.delayed(&what, |queue, cpu, item, delay| {
            let queued = match cpu {
                Some(cpu) => queue.queue_after_on(cpu, item, delay),
                None => queue.queue_after(item, delay),
            };
            stage.queued(queued)
        }),
        Call::ModDelayedWork(what) => stage.delayed(&what, |queue, cpu, item, delay| {
            let queued = match cpu {
                Some(cpu) => queue.modify_on(cpu, item, delay),
                None => queue.modify(item, delay),
            };
            // The kernel says whether it was pending.
            stage.queued(queued.map(|is_new| !is_new))
        }),
        Call::EnableAndQueueWork { queue, item } => stage.on_queue(&queue, |queue| {
            stage.on_item(&item, |item| {
                stage.enabled_and_queued(queue.enable_and_queue(item))
            })
        }),
        Call::Item(what, item) => stage.on_item(&item, |item| stage.item(what, item)),
        Call::Queue(what, queue) => stage.queue_call(what, &queue),
        Call::WorkqueueCongested { cpu, queue } => stage.on_queue(&queue, |queue| {
            let cpu = cpu.map(|cpu| stage.run.cpu(cpu));
            Answer::Bool(queue.is_congested(cpu))
        }),
        Call::SetMaxActive(queue, n) => stage.on_queue(&queue, |queue| {
            stage.changed(queue.set_max_active(limit(n)))
        }),
        Call::SetMinActive(queue, n) => stage.on_queue(&queue, |queue| {
            stage.changed(queue.set_min_active(limit(n)))
        }),
        Call::ApplyAttrs(queue, attrs) => {
            stage.on_queue(&queue, |queue| stage.apply_attrs(queue, &attrs))
        }
        other => stage.alone(other),
    }
}

fn limit(n: i64) -> usize {
    usize::try_from(n).unwrap_or(0).max(1)
}

impl Stage {
    /// What is done with a queue outside of all locks: it may take long.
    fn on_queue(&self, name: &Name, act: impl FnOnce(&Workqueue) -> Answer) -> Answer {
        let made = lock(&self.queues).get(name).cloned();
        match (made, &**name) {
            (Some(queue), _) => act(&queue),
            (None, "sys_percpu") => act(cmwq::system_percpu()),
            (None, "sys_highpri") => act(cmwq::system_highpri()),
            (None, "sys_dfl") => act(cmwq::system()),
            (None, _) => Answer::Text("no_queue".into()),
        }
    }

    /// The same with an item; one that was freed is as one that was never queued.
    fn on_item(&self, name: &Name, act: impl FnOnce(&Work) -> Answer) -> Answer {
        let item = lock(&self.items).get(name).cloned();
        item.map_or(Answer::Bool(false), |item| act(&item))
    }

    fn queue_work(&self, queue: &Workqueue, item: &Work, to: Target) -> Result<bool, QueueError> {
        match to {
            Target::Cpu(cpu) => queue.queue_on(self.run.cpu(cpu), item),
            Target::Node(node) if node >= 0 => queue.queue_on_node(node as usize, item),
            Target::Any | Target::Node(_) => queue.queue(item),
        }
    }

    fn queued(&self, queued: Result<bool, QueueError>) -> Answer {
        Answer::Bool(queued.unwrap_or_else(|why| {
            if why != QueueError::Disabled {
                self.run.play.misuse(format!("not queued: {why}"));
            }
            false
        }))
    }

    /// The kernel says whether it was enabled.
    fn enabled_and_queued(&self, queued: Result<bool, QueueError>) -> Answer {
        self.queued(queued.map(|_| true))
    }

    fn delayed(
        &self,
        what: &Delayed,
        act: impl Fn(&Workqueue, Option<usize>, &Work, Duration) -> Answer,
    ) -> Answer {
        let cpu = what.cpu.map(|cpu| self.run.cpu(cpu));
        let delay = Duration::from_nanos(what.delay * self.run.stretch);
        self.on_queue(&what.queue, |queue| {
            self.on_item(&what.item, |item| act(queue, cpu, item, delay))
        })
    }

    fn item(&self, what: ItemCall, item: &Work) -> Answer {
        let answer = match what {
            ItemCall::FlushWork => self.flushed(item.flush()),
            ItemCall::FlushDelayedWork => self.flushed(item.flush_now()),
            ItemCall::CancelWork | ItemCall::CancelDelayedWork => item.cancel(),
            ItemCall::CancelWorkSync | ItemCall::CancelDelayedWorkSync => {
                self.cancelled(item.cancel_sync())
            }
            ItemCall::DisableWork | ItemCall::DisableDelayedWork => item.disable(),
            ItemCall::DisableWorkSync | ItemCall::DisableDelayedWorkSync => {
                self.cancelled(item.disable_sync())
            }
            ItemCall::EnableWork | ItemCall::EnableDelayedWork => item.enable(),
            ItemCall::WorkPending | ItemCall::DelayedWorkPending => item.is_pending(),
            ItemCall::WorkBusy => return Answer::Text(busy(item).into()),
            ItemCall::FlushRcuWork | ItemCall::TimerPending => unreachable!("refused before"),
        };
        Answer::Bool(answer)
    }

    fn flushed(&self, waited: Result<bool, FlushError>) -> bool {
        waited.unwrap_or_else(|why| self.refused(&why))
    }

    fn cancelled(&self, cancelled: Result<bool, WouldDeadlock>) -> bool {
        cancelled.unwrap_or_else(|why| self.refused(&why))
    }

    fn refused(&self, why: &dyn std::error::Error) -> bool {
        self.run.play.misuse(why.to_string());
        false
    }

    fn changed(&self, changed: bool) -> Answer {
        if !changed {
            self.run.play.misuse("this kind of queue has no such limit");
        }
        Answer::Void
    }

    fn queue_call(&self, what: QueueCall, name: &Name) -> Answer {
        let done = self.on_queue(name, |queue| {
            let waited = match what {
                QueueCall::FlushWorkqueue => queue.flush(),
                QueueCall::DrainWorkqueue | QueueCall::DestroyWorkqueue => queue.drain(),
            };
            self.flushed(waited.map(|()| true));
            Answer::Void
        });
        // Nobody can queue to a queue that has no handle, not even its own items: the last one goes
        // when they are through.
        if what == QueueCall::DestroyWorkqueue {
            drop(lock(&self.queues).remove(name));
        }
        done
    }

    fn apply_attrs(&self, queue: &Workqueue, attrs: &Attrs) -> Answer {
        let mut wanted = queue.attrs();
        wanted.nice = attrs.nice.unwrap_or(0);
        wanted.cpus = attrs.cpus.as_ref().map(|cpus| {
            let ours = cpus.0.iter().map(|&cpu| self.run.cpu(cpu));
            ours.collect()
        });
        let applied = queue.apply_attrs(&wanted);
        Answer::Number(applied.map_or(EINVAL, |()| 0))
    }

    fn alone(&self, call: Call) -> Answer {
        match call {
            Call::AllocWorkqueue {
                queue,
                flags,
                max_active,
            } => self.alloc(&queue, &flags, max_active),
            Call::CreateWorkqueue(queue) => {
                self.alloc(&queue, &Flags(vec![Flag::Percpu, Flag::MemReclaim]), 1)
            }
            Call::CreateSinglethreadWorkqueue(queue) => {
                self.alloc(&queue, &Flags(vec![Flag::Ordered, Flag::MemReclaim]), 1)
            }
            Call::FreezeBusy => Answer::Bool(cmwq::freezer::is_busy()),
            Call::CurrentWork => {
                Answer::Text(self.current().map_or("none".into(), |n| n.to_string()))
            }
            Call::IsRescuer => Answer::Bool(cmwq::is_rescuer()),
            Call::Write(_, value) => threshold(&value),
            Call::Read(path) => self.read(&path),
            other => self.no_answer(other),
        }
    }

    fn no_answer(&self, call: Call) -> Answer {
        match call {
            Call::FreezeBegin => cmwq::freezer::freeze(),
            Call::Thaw => cmwq::freezer::thaw(),
            Call::SetWorkerDesc(text) => cmwq::set_worker_desc(&text),
            Call::FreeSelf => self.free_self(),
            other => unreachable!("{other:?} was refused before"),
        }
        Answer::Void
    }

    fn alloc(&self, name: &Name, flags: &Flags, max_active: i64) -> Answer {
        match build(name, flags, max_active) {
            Ok(queue) => {
                // One of that name before it may wait for its items.
                let before = lock(&self.queues).insert(name.clone(), queue);
                drop(before);
                Answer::Text("ok".into())
            }
            Err(why) => {
                self.refused(&why);
                Answer::Text("null".into())
            }
        }
    }

    /// The item that the caller executes.
    fn current(&self) -> Option<Name> {
        let items = lock(&self.items);
        let current = items.iter().find(|(_, item)| item.is_current());
        current.map(|(name, _)| name.clone())
    }

    /// The last handle but the execution's own is dropped.
    fn free_self(&self) {
        let gone = self.current().map(|name| lock(&self.items).remove(&name));
        drop(gone);
    }

    fn read(&self, path: &Path) -> Answer {
        let Path::Queue { queue, .. } = path else {
            unreachable!("refused before");
        };
        let limit = self.on_queue(queue, |queue| Answer::Text(queue.max_active().to_string()));
        match limit {
            Answer::Text(text) if text == "no_queue" => Answer::Number(ENOENT),
            limit => limit,
        }
    }
}

fn threshold(value: &str) -> Answer {
    match value.parse() {
        Ok(us) => {
            set_threshold(us);
            Answer::Number(0)
        }
        Err(_) => Answer::Number(EINVAL),
    }
}

fn build(name: &str, flags: &Flags, max_active: i64) -> Result<Workqueue, BuildError> {
    let queue = Workqueue::builder(name);
    let mut queue = match flags {
        flags if flags.has(Flag::Ordered) => queue.ordered(),
        flags if flags.has(Flag::Unbound) => queue.unmanaged(),
        flags if flags.has(Flag::Bh) => queue.bh(),
        _ => queue.percpu(),
    };
    let is_percpu = [Flag::Ordered, Flag::Unbound, Flag::Bh];
    let is_percpu = !is_percpu.into_iter().any(|other| flags.has(other));
    if max_active != 0 && !flags.has(Flag::Ordered) {
        queue = queue.max_active(usize::try_from(max_active).unwrap_or(0));
    }
    if flags.has(Flag::Highpri) {
        queue = queue.highpri();
    }
    // Of others the kernel ignores it.
    if flags.has(Flag::CpuIntensive) && is_percpu {
        queue = queue.cpu_intensive();
    }
    if flags.has(Flag::MemReclaim) {
        queue = queue.mem_reclaim();
    }
    if flags.has(Flag::Freezable) {
        queue = queue.freezable();
    }
    queue.build()
}

fn busy(item: &Work) -> &'static str {
    let busy = item.busy();
    match (busy.pending, busy.running) {
        (false, false) => "idle",
        (true, false) => "pending",
        (false, true) => "running",
        (true, true) => "pending+running",
    }
}
