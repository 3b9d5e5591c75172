//! Freezing: all [freezable](crate::WorkqueueBuilder::freezable) queues of the process stand still, for a
//! snapshot or before a suspend (kernel-spec 1.7).
//!
//! ```
//! let uploads = cmwq::Workqueue::builder("uploads").freezable().build()?;
//! cmwq::freezer::freeze();
//! let upload = uploads.spawn(|| "sent");
//! assert!(!cmwq::freezer::is_busy(), "nothing that was begun is left");
//! assert!(!upload.is_finished());
//! cmwq::freezer::thaw();
//! assert_eq!(upload.join().unwrap(), "sent");
//! # Ok::<(), cmwq::BuildError>(())
//! ```

use std::sync::Arc;

use cmwq_policy::contract;

use crate::engine;
use crate::queue::Queue;

/// From now on nothing of freezable queues becomes active: items that are queued wait. What is active,
/// running or about to, goes on to its end; see [`is_busy`]. Flushing a frozen queue, or one of its
/// items, waits for the thaw; cancelling does not.
///
/// ```
/// cmwq::freezer::freeze();
/// cmwq::freezer::thaw();
/// ```
pub fn freeze() {
    set(true, |queue| {
        contract::freeze(&queue.machine(), queue.this())
    });
}

/// Whether active items of frozen queues are left.
///
/// ```
/// assert!(!cmwq::freezer::is_busy());
/// ```
pub fn is_busy() -> bool {
    let Some(engine) = engine::existing() else {
        return false;
    };
    let registry = engine.queues().lock().expect("nobody panics with it");
    let queues: Vec<_> = freezable(&registry.queues);
    drop(registry);
    queues
        .iter()
        .any(|queue| contract::is_active(&queue.machine(), queue.this()))
}

/// Freezable queues go on.
///
/// ```
/// cmwq::freezer::thaw();
/// ```
pub fn thaw() {
    set(false, |queue| {
        contract::thaw(&queue.machine(), queue.this())
    });
}

fn set(frozen: bool, each: impl Fn(&Queue)) {
    let Ok(engine) = engine::get() else { return };
    let mut registry = engine.queues().lock().expect("nobody panics with it");
    registry.frozen = frozen;
    let queues = freezable(&registry.queues);
    queues.iter().for_each(|queue| each(queue));
    // Last: a queue that is freed may not be freed under the lock.
    drop(registry);
    drop(queues);
}

fn freezable(queues: &std::collections::BTreeMap<u64, std::sync::Weak<Queue>>) -> Vec<Arc<Queue>> {
    let queues = queues.values().filter_map(std::sync::Weak::upgrade);
    queues.filter(|queue| queue.is_freezable()).collect()
}
