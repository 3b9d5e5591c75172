//! A thread that waits for an item on its own CPU stays there. `cmwq_policy::stacking` says when.
//!
//! It first gives the CPU away. Then the worker, which is bound to that CPU, has it, and an item
//! that does not sleep ends without waking anybody. If the item sleeps, the waiter sleeps too, with
//! a mask of that one CPU. So the scheduler leaves the waiter there when the worker wakes it. The
//! waiter's own mask is put back before the wait returns, or when the wait takes long.

use std::time::{Duration, Instant};

use cmwq_os::{sched, thread};
use cmwq_policy::CpuMask;
use cmwq_policy::stacking::{STAY_MOST, STAY_YIELDS};

/// Waits until `done` says so, or for so long that staying makes no sense any more. `park` sleeps
/// until somebody has news, or for this long.
pub(crate) fn wait(here: usize, done: impl Fn() -> bool, park: impl Fn(Duration)) {
    for _ in 0..STAY_YIELDS {
        if done() {
            return;
        }
        sched::yield_now();
    }
    let _stays = Confined::to([here].into_iter().collect());
    let end = Instant::now() + Duration::from_nanos(STAY_MOST);
    while !done() {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        park(left);
    }
}

/// The calling thread stays on some CPUs. Its mask is put back when dropped.
pub(crate) struct Confined {
    before: CpuMask,
    only: CpuMask,
}

impl Confined {
    /// `None` if it stays anyway, or cannot, or is elsewhere already. Nor does the main thread: its
    /// mask is what `sched_getaffinity(2)` and `/proc` say of the process, to us and to others.
    pub(crate) fn to(only: CpuMask) -> Option<Self> {
        if thread::is_main() {
            return None;
        }
        let before = sched::affinity(0).ok()?;
        let needed = before != only && only.contains(sched::current_cpu());
        (needed && sched::set_affinity_self(&only).is_ok()).then_some(Confined { before, only })
    }
}

impl Drop for Confined {
    fn drop(&mut self) {
        // Somebody outside may have given the thread another mask meanwhile (`taskset -ap`).
        if sched::affinity(0).is_ok_and(|mask| mask == self.only) {
            let _ = sched::set_affinity_self(&self.before);
        }
    }
}
