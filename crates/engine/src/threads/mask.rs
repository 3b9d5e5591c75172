//! The CPU mask of a thread that executes items of a pool.

use cmwq_os::sched;
use cmwq_policy::CpuMask;

use crate::pool::Slot;

/// Gives the calling thread the pool's mask, if that is not the one that it has seen: which one, or
/// `None` if that was denied.
///
/// Who changes the CPUs of the process changes those of its first thread first, and of this one
/// once: what is set here is not what was true before that, or is set again.
pub(super) fn set_pool_mask(slot: &Slot, seen: &mut u32) -> Option<Option<CpuMask>> {
    let mut given = None;
    loop {
        let (version, mask) = slot.pool.cpu_mask(*seen);
        *seen = version;
        let Some(mask) = mask else {
            return given;
        };
        // Denied or a mask without CPUs: the thread stays where the kernel put it.
        given = Some(sched::set_affinity_self(&mask).is_ok().then_some(mask));
        slot.pool.engine().notice_cpus();
    }
}

/// Whether an item may have given its worker this mask. Not if a report has narrowed it, nor if
/// somebody outside has changed the CPUs of the process: he gives all threads what he gives its
/// first one (`taskset -ap`, a cpuset), the first one first. Then the pool's mask is set before the
/// next item.
pub(super) fn is_items_mask(slot: &Slot, cpus_seen: &mut u32, mask: &CpuMask) -> bool {
    let engine = slot.pool.engine();
    engine.notice_cpus();
    let changed = slot.may_be_narrow() || slot.pool.has_newer_cpus(*cpus_seen);
    let outside = engine.is_from_outside(mask);
    if outside {
        *cpus_seen = 0;
    }
    !changed && !outside
}
