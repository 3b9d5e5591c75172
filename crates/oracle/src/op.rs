//! The operations of a script, and the calls among them that go to a workqueue implementation.

use std::sync::Arc;

/// The name of a queue, item, latch or thread.
pub type Name = Arc<str>;

/// Nanoseconds: a duration, or a time from any fixed point of the run.
pub type Nanos = u64;

/// A millisecond.
pub const MS: Nanos = 1_000_000;

/// One operation as it was written, with its meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The words, as the returns of a script repeat them.
    pub text: Arc<str>,
    /// What they mean.
    pub op: Op,
}

/// What a script can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// A call of the workqueue interface, or an observation only the backend can make.
    Call(Call),
    /// Blocks for a time.
    Sleep(Nanos),
    /// Burns CPU time without blocking.
    Spin(Nanos),
    /// Blocks until a latch is open.
    Wait(Name),
    /// Burns CPU until a latch is open.
    SpinWait(Name),
    /// Opens a latch for ever.
    Open(Name),
    /// Only in the executions up to this number.
    Upto(u32, Arc<Step>),
    /// Only in the execution of this number.
    Only(u32, Arc<Step>),
    /// So many times; the answer is how often the result was true.
    Repeat(u32, Arc<Step>),
    /// Again and again until a latch is open.
    Until(Name, Arc<Step>),
    /// From another context on this CPU, waiting for it.
    Aside(Context, Arc<Step>),
    /// Starts a thread of the script.
    Start(Name),
    /// Waits for the end of a thread of the script.
    Join(Name),
    /// Sleeps, then tells whether a thread has ended.
    IsDone(Name, Nanos),
    /// The numbers of the ended threads whose name is this prefix and a number.
    DoneList(Name),
    /// Waits until an item has started so many times.
    AwaitStart(Name, u32),
    /// Waits until an item has ended so many times.
    AwaitEnd(Name, u32),
    /// How often an item has started.
    Executions(Name),
    /// How many items whose name has this prefix are between start and end.
    RunningNow(Name),
    /// The most executions of an item at one time.
    MaxOverlap(Name),
}

impl Op {
    /// Whether it surely lasts long enough for others to get on with what they can do: what has
    /// happened when it is over has happened everywhere.
    pub(crate) fn settles(&self) -> bool {
        match self {
            Op::Sleep(_) | Op::Spin(_) | Op::IsDone(..) => true,
            Op::AwaitStart(..) | Op::AwaitEnd(..) => true,
            Op::Call(Call::Queue(..)) => true,
            Op::Repeat(_, inner) => inner.op.settles(),
            _ => false,
        }
    }

    /// What it may wait for. If that came only meanwhile, all before it has happened everywhere.
    pub(crate) fn waits_for(&self) -> Option<Awaited<'_>> {
        use ItemCall::{
            CancelDelayedWorkSync, CancelWorkSync, DisableDelayedWorkSync, DisableWorkSync,
            FlushDelayedWork, FlushRcuWork, FlushWork,
        };
        match self {
            Op::Join(thread) => Some(Awaited::Thread(thread)),
            Op::Call(Call::Item(
                FlushWork
                | FlushDelayedWork
                | FlushRcuWork
                | CancelWorkSync
                | CancelDelayedWorkSync
                | DisableWorkSync
                | DisableDelayedWorkSync,
                item,
            )) => Some(Awaited::Item(item)),
            _ => None,
        }
    }

    /// Whether it puts an item on a queue, now or later, and which.
    pub(crate) fn queues(&self) -> Option<&Name> {
        match self {
            Op::Call(Call::QueueWork { item, .. })
            | Op::Call(Call::QueueRcuWork { item, .. })
            | Op::Call(Call::EnableAndQueueWork { item, .. })
            | Op::Call(Call::QueueDelayedWork(Delayed { item, .. }))
            | Op::Call(Call::ModDelayedWork(Delayed { item, .. })) => Some(item),
            Op::Upto(_, inner) | Op::Only(_, inner) | Op::Repeat(_, inner) => inner.op.queues(),
            Op::Until(_, inner) | Op::Aside(_, inner) => inner.op.queues(),
            _ => None,
        }
    }
}

/// Whose end an operation may wait for.
pub(crate) enum Awaited<'a> {
    Thread(&'a Name),
    Item(&'a Name),
}

/// Where an operation runs that is not done by the actor itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// A timer (softirq).
    Timer,
    /// A hard interrupt.
    Irq,
}

impl Context {
    /// The actor under which its results are kept.
    pub fn actor(self) -> &'static str {
        match self {
            Context::Timer => "timer",
            Context::Irq => "irq",
        }
    }
}

/// What an actor asks of a workqueue implementation.
///
/// Unless said otherwise the answer is a truth value or nothing, as
/// the kernel's function of that name has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// `queue_work`, `queue_work_on`, `queue_work_node`.
    QueueWork {
        /// The queue.
        queue: Name,
        /// The item.
        item: Name,
        /// Where to.
        to: Target,
    },
    /// `queue_delayed_work` and `queue_delayed_work_on`.
    QueueDelayedWork(Delayed),
    /// `mod_delayed_work` and `mod_delayed_work_on`.
    ModDelayedWork(Delayed),
    /// `queue_rcu_work`.
    QueueRcuWork {
        /// The queue.
        queue: Name,
        /// The item.
        item: Name,
    },
    /// `enable_and_queue_work`.
    EnableAndQueueWork {
        /// The queue.
        queue: Name,
        /// The item.
        item: Name,
    },
    /// Something is done to, or asked of, one item.
    Item(ItemCall, Name),
    /// Something is done to one queue.
    Queue(QueueCall, Name),
    /// `workqueue_congested`.
    WorkqueueCongested {
        /// The CPU; none is the caller's.
        cpu: Option<u32>,
        /// The queue.
        queue: Name,
    },
    /// `set_worker_desc`.
    SetWorkerDesc(Arc<str>),
    /// Text: the name of the item that the caller executes, or `none`.
    CurrentWork,
    /// Text: `ok` or `null`.
    AllocWorkqueue {
        /// Its name.
        queue: Name,
        /// What kind.
        flags: Flags,
        /// As passed; 0 is the default.
        max_active: i64,
    },
    /// `create_workqueue`; text as for [`Call::AllocWorkqueue`].
    CreateWorkqueue(Name),
    /// `create_singlethread_workqueue`; text as for [`Call::AllocWorkqueue`].
    CreateSinglethreadWorkqueue(Name),
    /// `workqueue_set_max_active`.
    SetMaxActive(Name, i64),
    /// `workqueue_set_min_active`.
    SetMinActive(Name, i64),
    /// `apply_workqueue_attrs`: a number, 0 or a negative errno.
    ApplyAttrs(Name, Attrs),
    /// `freeze_workqueues_begin`.
    FreezeBegin,
    /// `freeze_workqueues_busy`.
    FreezeBusy,
    /// `thaw_workqueues`.
    Thaw,
    /// `INIT_WORK` again.
    Reinit(Name),
    /// Changes only the function of an item, to one that behaves alike.
    SetFunc(Name, u32),
    /// The executing item overwrites its memory and frees it.
    FreeSelf,
    /// The executing item gives its memory away without freeing it.
    ForgetSelf,
    /// Memory of one item becomes another item.
    ReuseMemory {
        /// What it becomes.
        item: Name,
        /// Whose memory it was.
        of: Name,
        /// The function it gets.
        function: u32,
    },
    /// Sets the caller's CPUs: a number, 0 or a negative errno.
    Pin(Cpus),
    /// A number: the CPU the caller runs on.
    Cpu,
    /// A number: the memory node of that CPU.
    Node,
    /// A number: the nice level of the caller.
    Nice,
    /// Text: the CPUs the caller may run on, as `0-3,5`.
    Allowed,
    /// Text: the name of the calling thread with the digits of its id replaced by `N`.
    Comm,
    /// Whether the caller is a rescuer.
    IsRescuer,
    /// A number: worker threads whose name begins so.
    Workers(Arc<str>),
    /// Writes an attribute: a number, 0 or a negative errno.
    Write(Path, Arc<str>),
    /// Reads an attribute: text, or a negative errno.
    Read(Path),
    /// Makes every creation of a thread fail, or work again.
    FailThreadCreation(bool),
    /// A number: whether the failure was met.
    Injected,
}

/// Which CPU an item is queued to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The caller's choice is left open.
    Any,
    /// This CPU.
    Cpu(u32),
    /// A memory node, which need not exist.
    Node(i64),
}

/// What is queued later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delayed {
    /// The queue.
    pub queue: Name,
    /// The item.
    pub item: Name,
    /// The CPU asked for.
    pub cpu: Option<u32>,
    /// How much later.
    pub delay: Nanos,
}

macro_rules! calls {
    ($(#[$doc:meta])* $name:ident { $($(#[$each:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $($(#[$each])* #[doc = concat!("`", $word, "`.")] $variant,)* }

        impl $name {
            /// Every one, in the order of the list of operations.
            pub const ALL: &[$name] = &[$($name::$variant),*];

            /// The word scripts use.
            pub fn word(self) -> &'static str {
                match self { $($name::$variant => $word,)* }
            }
        }
    };
}

calls! {
    /// Calls with one item.
    ItemCall {
        FlushWork = "flush_work",
        FlushDelayedWork = "flush_delayed_work",
        FlushRcuWork = "flush_rcu_work",
        CancelWork = "cancel_work",
        CancelWorkSync = "cancel_work_sync",
        CancelDelayedWork = "cancel_delayed_work",
        CancelDelayedWorkSync = "cancel_delayed_work_sync",
        DisableWork = "disable_work",
        DisableWorkSync = "disable_work_sync",
        EnableWork = "enable_work",
        DisableDelayedWork = "disable_delayed_work",
        DisableDelayedWorkSync = "disable_delayed_work_sync",
        EnableDelayedWork = "enable_delayed_work",
        WorkPending = "work_pending",
        DelayedWorkPending = "delayed_work_pending",
        /// Whether the timer of a delayed item is armed:
        TimerPending = "timer_pending",
        /// Text, `idle`, `pending`, `running` or `pending+running`:
        WorkBusy = "work_busy",
    }
}

calls! {
    /// Calls with one queue.
    QueueCall {
        FlushWorkqueue = "flush_workqueue",
        DrainWorkqueue = "drain_workqueue",
        DestroyWorkqueue = "destroy_workqueue",
    }
}

calls! {
    /// A flag of a queue.
    Flag {
        Percpu = "percpu",
        Unbound = "unbound",
        /// Unbound, and one item at a time:
        Ordered = "ordered",
        Highpri = "highpri",
        CpuIntensive = "cpu_intensive",
        MemReclaim = "mem_reclaim",
        Freezable = "freezable",
        Sysfs = "sysfs",
        PowerEfficient = "power_efficient",
        Bh = "bh",
    }
}

calls! {
    /// How far a pod reaches.
    Scope {
        Default = "default",
        Cpu = "cpu",
        Smt = "smt",
        Cache = "cache",
        CacheShard = "cache_shard",
        Numa = "numa",
        System = "system",
        /// None that exists:
        Bad = "bad",
    }
}

/// The flags given to a new queue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flags(pub Vec<Flag>);

impl Flags {
    /// Whether `flag` is among them.
    pub fn has(&self, flag: Flag) -> bool {
        self.0.contains(&flag)
    }
}

/// Changes to fresh default attributes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attrs {
    /// Nice level.
    pub nice: Option<i32>,
    /// CPUs the workers may use.
    pub cpus: Option<Cpus>,
    /// The kind of pod.
    pub scope: Option<Scope>,
    /// Whether workers stay in their pod.
    pub strict: Option<bool>,
    /// The internal flag of ordered queues.
    pub ordered: Option<bool>,
}

/// CPU numbers, ascending, each once. Written `0-3,5`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cpus(pub Vec<u32>);

impl std::fmt::Display for Cpus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let numbers = self.0.iter().map(|&cpu| u64::from(cpu));
        f.write_str(&ranges(numbers))
    }
}

/// Ascending numbers as `1-3,5`.
pub(crate) fn ranges(numbers: impl Iterator<Item = u64>) -> String {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for n in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == n => *last = n,
            _ => runs.push((n, n)),
        }
    }
    let text = |(first, last): &(u64, u64)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    runs.iter().map(text).collect::<Vec<_>>().join(",")
}

/// An attribute that scripts read or write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Path {
    /// `wq:NAME/ATTR`: of a queue.
    Queue {
        /// The queue.
        queue: Name,
        /// The attribute.
        attr: Arc<str>,
    },
    /// `global:ATTR`: of all queues.
    Global(Arc<str>),
    /// `param:NAME`: a module parameter.
    Param(Arc<str>),
    /// `cpu:N/online`.
    CpuOnline(u32),
}
