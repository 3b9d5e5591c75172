//! Who waits for an item of a pool that is bound to its CPU stays on that CPU (kernel 5.6, "Allow a per-CPU
//! kthread waking a task to stack on the same CPU").
//!
//! The worker ends the item and wakes the waiter. Its CPU is busy, with the worker that is about to sleep, so
//! the scheduler looks for an idle one and moves the waiter there; its next item goes to that CPU's pool, and
//! so on, through all CPUs that share a cache. The kernel knows its own workers and leaves the waiter where it
//! is; it does not know ours.

use crate::cpumask::CpuMask;
use crate::time::{MILLISECOND, Nanos};

/// A waiter gives its CPU away so often before it sleeps: the worker has it then, and what it does in one go
/// is done without anybody being woken.
pub const STAY_YIELDS: u32 = 2;
/// A waiter stays no longer than this: what takes longer is not helped by a warm cache, and its CPU may have
/// got other work.
pub const STAY_MOST: Nanos = 2 * MILLISECOND;

/// What a queue's waiters do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stacking {
    /// The scheduler decides where a waiter wakes up.
    Off,
    /// Who waits for an item that runs on its own CPU stays there.
    #[default]
    Stay,
}

/// Whether a waiter on this CPU stays there while an item runs that may use these.
pub fn stays(stacking: Stacking, item: &CpuMask, here: usize) -> bool {
    // In this order: masks are long, and most waiters are told by the first two.
    stacking == Stacking::Stay && item.contains(here) && item.count() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_beside_a_worker_that_is_bound_to_its_cpu() {
        let only: CpuMask = [3].into_iter().collect();
        let more: CpuMask = [2, 3].into_iter().collect();
        assert!(stays(Stacking::Stay, &only, 3));
        assert!(!stays(Stacking::Stay, &only, 2));
        assert!(!stays(Stacking::Stay, &more, 3));
        assert!(!stays(Stacking::Off, &only, 3));
    }
}
