//! What a thing is to be like that is made: a thread, a queue, a lock, a device.

use cmwq_policy::affinity::Scope;
use cmwq_policy::limit::MAX_LIMIT;
use cmwq_policy::pwq::{DFL_ACTIVE, clamp_max_active};
use cmwq_policy::queue::{Attrs, Kind, QueueAttrs};
use cmwq_policy::stacking::Stacking;
use cmwq_policy::{CpuMask, Nanos};

/// A thread to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadSpec {
    /// Its name in the trace.
    pub name: String,
    /// Where it may run; `None`: anywhere.
    pub allowed: Option<CpuMask>,
    /// Its nice level, -20..=19.
    pub nice: i8,
    /// Whether it is of class SCHED_IDLE: others take the CPU from it as soon as they want it.
    pub idle_class: bool,
    /// KiB of cache contents that follow it to another CPU, at `Costs::refill`.
    pub footprint: u32,
}

impl ThreadSpec {
    /// A thread of nice 0 that may run anywhere.
    pub fn named(name: impl Into<String>) -> ThreadSpec {
        ThreadSpec {
            name: name.into(),
            allowed: None,
            nice: 0,
            idle_class: false,
            footprint: 0,
        }
    }

    /// The same on one CPU.
    #[must_use]
    pub fn on(self, cpu: usize) -> ThreadSpec {
        ThreadSpec {
            allowed: Some([cpu].into_iter().collect()),
            ..self
        }
    }

    /// The same with another nice level, -20..=19.
    #[must_use]
    pub fn at_nice(self, nice: i8) -> ThreadSpec {
        ThreadSpec { nice, ..self }
    }

    /// The same of class SCHED_IDLE.
    #[must_use]
    pub fn of_idle_class(self) -> ThreadSpec {
        ThreadSpec {
            idle_class: true,
            ..self
        }
    }

    /// The same with so many KiB of cache contents that follow it to another CPU.
    #[must_use]
    pub fn with_footprint(self, footprint: u32) -> ThreadSpec {
        ThreadSpec { footprint, ..self }
    }
}

/// A queue to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueSpec {
    /// Its name.
    pub name: String,
    /// What it is made of. A `max_active` of 0 stands for the default.
    pub made: QueueAttrs,
    /// What threads do that wait for its items; `None`: as the machine's options say.
    pub stacking: Option<Stacking>,
}

impl QueueSpec {
    /// A queue of this kind, of nice 0, on all CPUs, with the default limit.
    pub fn new(name: impl Into<String>, kind: Kind) -> QueueSpec {
        QueueSpec {
            name: name.into(),
            made: QueueAttrs {
                kind,
                attrs: Attrs::default(),
                max_active: 0,
                dfl_active: false,
                exact: false,
                cpu_intensive: false,
                mem_reclaim: false,
                freezable: false,
            },
            stacking: None,
        }
    }

    /// A queue with a pool for each CPU.
    pub fn percpu(name: impl Into<String>) -> QueueSpec {
        QueueSpec::new(name, Kind::PerCpu)
    }

    /// A queue of the managed pool.
    pub fn managed(name: impl Into<String>) -> QueueSpec {
        QueueSpec::new(name, Kind::Managed)
    }

    /// A queue whose active items all run at once.
    pub fn unmanaged(name: impl Into<String>) -> QueueSpec {
        QueueSpec::new(name, Kind::Unmanaged)
    }

    /// A queue whose items run one at a time, in order.
    pub fn ordered(name: impl Into<String>) -> QueueSpec {
        QueueSpec::new(name, Kind::Ordered)
    }

    /// The same with another limit.
    #[must_use]
    pub fn max_active(mut self, max_active: u32) -> QueueSpec {
        self.made.max_active = max_active;
        self
    }

    /// The same with a limit of which nodes have no parts.
    #[must_use]
    pub fn max_active_exact(mut self, max_active: u32) -> QueueSpec {
        self.made.exact = true;
        self.max_active(max_active)
    }

    /// The same with another nice level, -20..=19.
    #[must_use]
    pub fn at_nice(mut self, nice: i8) -> QueueSpec {
        self.made.attrs.nice = nice;
        self
    }

    /// The same on these CPUs only.
    #[must_use]
    pub fn on(mut self, cpus: CpuMask) -> QueueSpec {
        self.made.attrs.cpumask = Some(cpus);
        self
    }

    /// The same with pods of this scope.
    #[must_use]
    pub fn scope(mut self, scope: Scope) -> QueueSpec {
        self.made.attrs.scope = Some(scope);
        self
    }

    /// The same; strict: its workers stay in the pod of whoever queues.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> QueueSpec {
        self.made.attrs.strict = strict;
        self
    }

    /// The same, but its items do not count as running once they have begun.
    #[must_use]
    pub fn cpu_intensive(mut self) -> QueueSpec {
        self.made.cpu_intensive = true;
        self
    }

    /// The same with a rescuer.
    #[must_use]
    pub fn mem_reclaim(mut self) -> QueueSpec {
        self.made.mem_reclaim = true;
        self
    }

    /// The same, but it takes part in freezing.
    #[must_use]
    pub fn freezable(mut self) -> QueueSpec {
        self.made.freezable = true;
        self
    }

    /// The same, whose waiters do this.
    #[must_use]
    pub fn stacking(mut self, stacking: Stacking) -> QueueSpec {
        self.stacking = Some(stacking);
        self
    }

    /// What it is made of, with its default filled in.
    pub(crate) fn filled_in(&self) -> QueueAttrs {
        let max_active = match (self.made.kind, self.made.max_active) {
            (Kind::Ordered, _) => 1,
            (Kind::Bh, _) => MAX_LIMIT,
            (_, 0) => DFL_ACTIVE,
            (_, max) => clamp_max_active(max),
        };
        QueueAttrs {
            dfl_active: self.made.max_active == 0,
            max_active,
            ..self.made
        }
    }
}

/// What a lock is like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockSpec {
    /// Its name.
    pub name: String,
    /// A waiter spins for so many nanoseconds before it sleeps; 0: it sleeps at once. It also stops
    /// when it is its turn on the CPU again after that time.
    pub spin: Nanos,
    /// It spins only while the owner has a CPU.
    pub optimistic: bool,
    /// The lock is given to the first waiter, rather than free for all.
    pub handoff: bool,
    /// Each waiter that spins makes the owner take so many nanoseconds of CPU time longer before it
    /// releases the lock, once per ownership: the cache line goes back and forth.
    pub bounce: Nanos,
}

impl LockSpec {
    /// A lock that is free for all, and at which waiters sleep at once.
    pub fn new(name: impl Into<String>) -> LockSpec {
        LockSpec {
            name: name.into(),
            spin: 0,
            optimistic: false,
            handoff: false,
            bounce: 0,
        }
    }

    /// The same, given to the first waiter.
    #[must_use]
    pub fn handoff(self) -> LockSpec {
        LockSpec {
            handoff: true,
            ..self
        }
    }

    /// The same, with waiters that spin for so many nanoseconds first.
    #[must_use]
    pub fn spin(self, spin: Nanos) -> LockSpec {
        LockSpec { spin, ..self }
    }
}

/// What a device is like. A request takes `takes`, and `per_kib` for each KiB of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceSpec {
    /// Its name.
    pub name: String,
    /// Requests that it serves at a time, at least 1.
    pub depth: u32,
    /// Nanoseconds per request.
    pub takes: Nanos,
    /// Nanoseconds per KiB.
    pub per_kib: Nanos,
    /// A request takes up to so many thousandths more or less, 0..=1000, each time as likely.
    pub jitter: u32,
}

impl DeviceSpec {
    /// A device that serves one request at a time, each in `takes` nanoseconds.
    pub fn new(name: impl Into<String>, takes: Nanos) -> DeviceSpec {
        DeviceSpec {
            name: name.into(),
            depth: 1,
            takes,
            per_kib: 0,
            jitter: 0,
        }
    }

    /// The same, serving so many requests at a time, at least 1.
    #[must_use]
    pub fn depth(self, depth: u32) -> DeviceSpec {
        DeviceSpec { depth, ..self }
    }
}
