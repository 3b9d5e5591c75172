//! What a thread does while it waits for an item. It may stay on the CPU of the item's pool, or
//! execute the item itself.
//!
//! *Staying* (kernel 5.6, "Allow a per-CPU kthread waking a task to stack on the same CPU") is for
//! pools that are bound to one CPU. The worker ends the item and wakes the waiter while that CPU is
//! still busy: with the worker, which is about to sleep. So the scheduler moves the waiter to an
//! idle CPU. The waiter's next item goes to that CPU's pool, and so on through all CPUs that share
//! a cache. The kernel leaves the waiter in place for its own workers, but does not know ours.
//!
//! *Claiming* needs no worker at all. This file says which thread may execute what it waits for.
//! The pool says whether the item can still be claimed
//! ([`WorkerPool::claim`](crate::WorkerPool::claim)).

use crate::cpumask::CpuMask;
use crate::probe::broken;
use crate::queue::Kind;
use crate::time::{MILLISECOND, Nanos};

/// A waiter gives its CPU away so often before it sleeps: the worker has it then, and what it does
/// in one go is done without anybody being woken.
pub const STAY_YIELDS: u32 = 2;
/// A waiter stays no longer than this: what takes longer is not helped by a warm cache, and its CPU
/// may have got other work.
pub const STAY_MOST: Nanos = 2 * MILLISECOND;

/// Claims that one thread may be in the middle of: a claimed item that claims what it waits for,
/// and so on. Each is on the stack of the one before; who comes after that waits.
pub const MOST_NESTED: u32 = 16;
/// A claimed item finds at least this part of what a worker's stack would have: one half.
pub const STACK_PART: usize = 2;

/// What a queue's waiters do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stacking {
    /// The scheduler decides where a waiter wakes up.
    Off,
    /// Who waits for an item that runs on its own CPU stays there.
    #[default]
    Stay,
    /// The same; and `join` and `scope` execute what they wait for themselves, where no worker has
    /// begun it and the waiting thread is as good as a worker. Never items of FIFO, ordered,
    /// per-CPU and BH queues.
    Claim,
}

/// Whether a waiter on this CPU stays there while an item runs that may use these.
pub fn stays(stacking: Stacking, item: &CpuMask, here: usize) -> bool {
    // In this order: masks are long, and most waiters are told by the first two.
    stacking != Stacking::Off && item.contains(here) && item.count() == 1
}

/// What a worker would give to the awaited item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Awaited {
    /// The kind of its queue.
    pub kind: Kind,
    /// -20 to 19.
    pub nice: i32,
    /// CPUs that it may use.
    pub cpus: CpuMask,
    /// Bytes of stack.
    pub stack: usize,
}

/// What the thread has that is about to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiter {
    /// -20 to 19.
    pub nice: i32,
    /// Its scheduling policy is that of workers: `SCHED_OTHER`.
    pub normal_policy: bool,
    /// The CPU that it is on.
    pub cpu: usize,
    /// CPUs that it may use.
    pub cpus: CpuMask,
    /// Bytes of stack that are left.
    pub stack: usize,
    /// Claims that it is in the middle of.
    pub nested: u32,
}

/// Where a claimed item runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimOn {
    /// Where the thread may be, the item may be too.
    Anywhere,
    /// The thread is confined to these CPUs, the one where it is among them, while the item runs.
    Only(CpuMask),
}

/// Whether this thread may execute that item, and where. `None`: it waits.
pub fn may_claim(stacking: Stacking, item: &Awaited, waiter: &Waiter) -> Option<ClaimOn> {
    let alike = waiter.normal_policy && waiter.nice == item.nice;
    let deep = waiter.nested >= MOST_NESTED || waiter.stack < item.stack / STACK_PART;
    let here = item.cpus.contains(waiter.cpu) && waiter.cpus.contains(waiter.cpu);
    let may = stacking == Stacking::Claim && is_claimed(item.kind) && alike && !deep && here;
    let only = waiter.cpus.and(&item.cpus);
    may.then(|| match only == waiter.cpus || broken!(ClaimUnconfined) {
        true => ClaimOn::Anywhere,
        false => ClaimOn::Only(only),
    })
}

/// Whether items of such a queue are ever claimed: who runs them is not part of what was promised.
fn is_claimed(kind: Kind) -> bool {
    matches!(kind, Kind::Managed | Kind::Unmanaged) || broken!(ClaimOfAnyKind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_beside_a_worker_that_is_bound_to_its_cpu() {
        let only: CpuMask = [3].into_iter().collect();
        let more: CpuMask = [2, 3].into_iter().collect();
        for stacking in [Stacking::Stay, Stacking::Claim] {
            assert!(stays(stacking, &only, 3));
            assert!(!stays(stacking, &only, 2));
            assert!(!stays(stacking, &more, 3));
        }
        assert!(!stays(Stacking::Off, &only, 3));
    }

    fn item() -> Awaited {
        Awaited {
            kind: Kind::Managed,
            nice: 0,
            cpus: CpuMask::first(4),
            stack: 1 << 20,
        }
    }

    fn waiter() -> Waiter {
        Waiter {
            nice: 0,
            normal_policy: true,
            cpu: 1,
            cpus: CpuMask::first(4),
            stack: 1 << 20,
            nested: 0,
        }
    }

    fn on(item: &Awaited, waiter: &Waiter) -> Option<ClaimOn> {
        may_claim(Stacking::Claim, item, waiter)
    }

    #[test]
    fn each_condition_refuses_by_itself() {
        assert_eq!(on(&item(), &waiter()), Some(ClaimOn::Anywhere));
        for stacking in [Stacking::Off, Stacking::Stay] {
            assert_eq!(may_claim(stacking, &item(), &waiter()), None);
        }
        for kind in [Kind::PerCpu, Kind::Fifo, Kind::Ordered, Kind::Bh] {
            assert_eq!(on(&Awaited { kind, ..item() }, &waiter()), None);
        }
        let kind = Kind::Unmanaged;
        assert!(on(&Awaited { kind, ..item() }, &waiter()).is_some());
        let refused = [
            Waiter {
                nice: 1,
                ..waiter()
            },
            Waiter {
                normal_policy: false,
                ..waiter()
            },
            Waiter {
                cpu: 4,
                cpus: CpuMask::first(8),
                ..waiter()
            },
            Waiter {
                stack: (1 << 19) - 1,
                ..waiter()
            },
            Waiter {
                nested: MOST_NESTED,
                ..waiter()
            },
        ];
        for waiter in refused {
            assert_eq!(on(&item(), &waiter), None, "{waiter:?}");
        }
        let just = Waiter {
            stack: 1 << 19,
            nested: MOST_NESTED - 1,
            ..waiter()
        };
        assert!(on(&item(), &just).is_some());
    }

    #[test]
    fn a_thread_with_more_cpus_than_the_item_is_confined() {
        let wide = Waiter {
            cpus: CpuMask::first(8),
            ..waiter()
        };
        assert_eq!(on(&item(), &wide), Some(ClaimOn::Only(CpuMask::first(4))));
        let narrow = Waiter {
            cpus: [1].into_iter().collect(),
            ..waiter()
        };
        assert_eq!(on(&item(), &narrow), Some(ClaimOn::Anywhere));
    }

    proptest! {
        /// Wherever it runs, both may be there.
        #[test]
        fn a_claimed_item_runs_where_it_may_and_the_thread_may(
            item_cpus in proptest::collection::vec(0usize..80, 1..6),
            own in proptest::collection::vec(0usize..80, 1..6),
            cpu in 0usize..80,
        ) {
            let item = Awaited { cpus: item_cpus.into_iter().collect(), ..item() };
            let cpus: CpuMask = own.into_iter().collect();
            let waiter = Waiter { cpu, cpus, ..waiter() };
            let runs = match on(&item, &waiter) {
                None => {
                    prop_assert!(!(item.cpus.contains(cpu) && cpus.contains(cpu)));
                    return Ok(());
                }
                Some(ClaimOn::Anywhere) => cpus,
                Some(ClaimOn::Only(cpus)) => cpus,
            };
            prop_assert!(runs.contains(cpu));
            prop_assert_eq!(runs.and(&item.cpus), runs);
            prop_assert_eq!(runs.and(&waiter.cpus), runs);
        }
    }
}
