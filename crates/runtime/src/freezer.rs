//! Freezing: all [freezable](crate::WorkqueueBuilder::freezable) queues of the process stand still,
//! for a snapshot or before a suspend (kernel `freeze_workqueues_begin`).
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

use cmwq_engine::Process;

/// From now on nothing of freezable queues becomes active: items that are queued wait. What is
/// active, running or about to, goes on to its end; see [`is_busy`]. Flushing a frozen queue, or
/// one of its items, waits for the thaw; cancelling does not. A queue that is built meanwhile
/// begins frozen.
///
/// ```
/// cmwq::freezer::freeze();
/// cmwq::freezer::thaw();
/// ```
pub fn freeze() {
    if let Ok(process) = Process::get() {
        process.freeze();
    }
}

/// Whether active items of frozen queues are left.
///
/// ```
/// assert!(!cmwq::freezer::is_busy());
/// ```
pub fn is_busy() -> bool {
    Process::existing().is_some_and(Process::is_freezing)
}

/// Freezable queues go on.
///
/// ```
/// cmwq::freezer::thaw();
/// ```
pub fn thaw() {
    if let Ok(process) = Process::get() {
        process.thaw();
    }
}
