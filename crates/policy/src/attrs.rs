//! What a queue is asked to be: its kind, its attributes, and the scope that makes its pods.

use crate::cpumask::CpuMask;
use crate::time::Nanos;

/// Cores of a cache shard, about (kernel `wq_cache_shard_size`, 7.1).
pub const DFL_SHARD_CORES: u32 = 8;

/// What kind of workers a queue's items want.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// As many at a time as CPUs serve: ours.
    #[default]
    Managed,
    /// The same, and items begin in the order of queueing, whatever that costs: ours.
    Fifo,
    /// A pool per CPU that runs one item at a time (kernel `WQ_PERCPU`).
    PerCpu,
    /// Every active item at once (kernel `WQ_UNBOUND`).
    Unmanaged,
    /// One item at a time, in the order of queueing (kernel `alloc_ordered_workqueue`).
    Ordered,
    /// A thread per CPU that runs items to their ends and never blocks (kernel `WQ_BH`).
    Bh,
}

impl Kind {
    /// Whether it has a pool workqueue for each CPU, and each of those a limit of its own.
    pub fn is_per_cpu(self) -> bool {
        matches!(self, Kind::PerCpu | Kind::Bh)
    }

    /// Whether its limit can be changed. Others have one that is theirs by nature, or none.
    pub fn has_limit(self) -> bool {
        !matches!(self, Kind::Ordered | Kind::Bh)
    }

    /// Whether its limit is shared by NUMA nodes, of which each is granted some.
    pub fn is_limited_by_node(self) -> bool {
        matches!(self, Kind::Managed | Kind::Fifo | Kind::Unmanaged)
    }

    /// Whether its items may be left in the [inbox](crate::pool::Inbox) of their pool. Those of an
    /// ordered queue may not: a late one would come to a pool workqueue that is used no more.
    pub fn has_inbox(self) -> bool {
        matches!(self, Kind::Managed | Kind::Fifo)
    }

    /// Whether it has no pods: its items begin in the order of queueing, wherever they were queued.
    pub fn has_no_pods(self) -> bool {
        matches!(self, Kind::Ordered | Kind::Fifo)
    }

    /// As people are told.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Managed => "managed",
            Kind::Fifo => "fifo",
            Kind::PerCpu => "percpu",
            Kind::Unmanaged => "unmanaged",
            Kind::Ordered => "ordered",
            Kind::Bh => "bh",
        }
    }

    /// Whether the CPUs of a pod share a pool workqueue, so that items come in the order in which
    /// they were queued. In the kernel each CPU has its own, and they take turns.
    pub(crate) fn shares_pwq(self) -> bool {
        matches!(self, Kind::Managed | Kind::Fifo)
    }
}

/// What can be changed of a queue that is in use (kernel `workqueue_attrs`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attrs {
    /// Nice value of its workers, -20..=19.
    pub nice: i8,
    /// CPUs that they may use; `None`: all of the process.
    pub cpumask: Option<CpuMask>,
    /// What cuts those into pods; `None`: the default of all queues.
    pub scope: Option<Scope>,
    /// Workers stay in the pod of whoever queued.
    pub strict: bool,
    /// What an item loses, about, where it runs in another pod: the time to fetch its data from
    /// there.
    pub locality: Nanos,
}

/// What makes a pod.
///
/// For contributors: `docs/contributing/recipes.md` lists what a new scope changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Each CPU is one.
    Cpu,
    /// The hardware threads of a core.
    Smt,
    /// The CPUs that share a last-level cache.
    Cache,
    /// A part of those: about [`DFL_SHARD_CORES`] cores.
    CacheShard,
    /// The CPUs of a NUMA node.
    Numa,
    /// All CPUs.
    System,
}

// A new one is in the list as well.
const _: () = assert!(Scope::ALL.len() == Scope::System as usize + 1);

impl Scope {
    /// Every scope, in the kernel's order.
    pub const ALL: [Scope; 6] = [
        Scope::Cpu,
        Scope::Smt,
        Scope::Cache,
        Scope::CacheShard,
        Scope::Numa,
        Scope::System,
    ];

    /// Its name, as the kernel writes it.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Cpu => "cpu",
            Scope::Smt => "smt",
            Scope::Cache => "cache",
            Scope::CacheShard => "cache_shard",
            Scope::Numa => "numa",
            Scope::System => "system",
        }
    }

    /// The scope with this name.
    pub fn parse(name: &str) -> Option<Scope> {
        Scope::ALL.into_iter().find(|scope| scope.name() == name)
    }
}

/// Whether a managed queue has one pool for all its CPUs, or one for each cache shard. Queues that
/// are strict, or of another kind, are cut into pods by their scope alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// One. Its workers know all that waits, and of that take what is near.
    #[default]
    No,
    /// One for each. Each has a lock of its own.
    Shards,
}
