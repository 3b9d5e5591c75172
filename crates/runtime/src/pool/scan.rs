//! Looking at workers from outside.

use cmwq_policy::pool::{MAX_SCAN, Seen, SeenState};

use super::Pool;

/// Looks at the workers that the core wants to be looked at. The files are read with the pool
/// let go. True if a worker was missing.
pub(crate) fn look(pool: &'static Pool) -> bool {
    let plan = pool.with(|core, _| core.plan_scan());
    let mut seen = Vec::with_capacity(MAX_SCAN);
    let mut runnable = 0;
    let mut complete = true;
    for (worker, item) in plan.iter() {
        if runnable >= plan.enough {
            complete = false;
            break;
        }
        let Some(sample) = pool.slot(worker).look() else {
            continue;
        };
        let state = match sample.state.is_asleep() {
            true => SeenState::Asleep(sample.futex),
            false => SeenState::Runnable,
        };
        runnable += u32::from(state == SeenState::Runnable);
        seen.push(Seen {
            worker,
            item,
            state,
        });
    }
    pool.with(|core, cx| core.scanned(cx, &seen, complete))
}
