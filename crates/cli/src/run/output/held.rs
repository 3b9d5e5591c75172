//! What all spools of a run hold together, in memory and in files.

use super::backpressure::{Backpressure, Closed};
use cmwq_admission as admission;
use std::fs::File;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Of all jobs together, running or waiting for their turn to be written.
pub(super) const TOTAL_MEMORY: usize = 64 * 1024 * 1024;

/// Shared by all spools of a run.
#[derive(Clone)]
pub(in crate::run) struct Held(Arc<Shared>);

struct Shared {
    /// Bytes in memory.
    bytes: AtomicUsize,
    files: Mutex<Files>,
    backpressure: Backpressure,
}

struct Files {
    policy: admission::Files,
    /// While no job begins.
    crowded: Option<Closed>,
}

impl Held {
    /// Closes `backpressure` while too many files are open.
    pub(super) fn new(policy: admission::Files, backpressure: &Backpressure) -> Self {
        Self(Arc::new(Shared {
            bytes: AtomicUsize::new(0),
            files: Mutex::new(Files {
                policy,
                crowded: None,
            }),
            backpressure: backpressure.clone(),
        }))
    }

    pub(super) fn add(&self, bytes: usize) {
        // Relaxed: a number that publishes nothing else.
        self.0.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn subtract(&self, bytes: usize) {
        // Relaxed: as in `add`.
        self.0.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(super) fn is_much(&self) -> bool {
        // Relaxed: as in `add`.
        self.0.bytes.load(Ordering::Relaxed) > TOTAL_MEMORY
    }

    /// The output of this job is the next to be written.
    pub(super) fn set_turn(&self, turn: u64) {
        self.files().policy.set_turn(turn);
    }

    /// Whether this job, which has begun, may start: those that wait have left descriptors for it.
    pub(in crate::run) fn has_room_for(&self, sequence: u64) -> bool {
        self.files().policy.may_start(sequence)
    }

    /// Counts `file` until it is closed.
    pub(super) fn hold(&self, file: File) -> HeldFile {
        let mut files = self.files();
        files.policy.opened();
        if files.policy.is_crowded() && files.crowded.is_none() {
            files.crowded = Some(self.0.backpressure.close());
        }
        drop(files);
        HeldFile {
            file,
            _counted: Counted(self.clone()),
        }
    }

    #[cfg(test)]
    pub(super) fn is_nothing(&self) -> bool {
        // Relaxed: as in `add`.
        self.0.bytes.load(Ordering::Relaxed) == 0 && Arc::strong_count(&self.0) == 1
    }

    fn files(&self) -> MutexGuard<'_, Files> {
        self.0.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
impl Default for Held {
    fn default() -> Self {
        Self::new(admission::Files::unlimited(), &Backpressure::default())
    }
}

/// In this order, so that the file is closed before it no longer counts.
pub(super) struct HeldFile {
    pub(super) file: File,
    _counted: Counted,
}

struct Counted(Held);

impl Drop for Counted {
    fn drop(&mut self) {
        let mut files = self.0.files();
        files.policy.closed();
        let opened = match files.policy.is_crowded() {
            true => None,
            false => files.crowded.take(),
        };
        drop(files);
        // Begins those that were held back.
        drop(opened);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_job_begins_while_too_many_files_are_open() {
        let backpressure = Backpressure::default();
        let held = Held::new(admission::Files::of(8), &backpressure);
        let open = || held.hold(tempfile::tempfile().unwrap());
        let (first, second) = (open(), open());
        assert!(!backpressure.is_closed());
        let (third, fourth) = (open(), open());
        assert!(backpressure.is_closed());
        held.set_turn(5);
        assert!(held.has_room_for(5) && !held.has_room_for(6));
        drop(first);
        assert!(backpressure.is_closed(), "one too many is still open");
        drop(second);
        assert!(!backpressure.is_closed() && held.has_room_for(6));
        drop((third, fourth));
        assert!(held.is_nothing());
    }

    #[test]
    fn all_spools_together_may_hold_so_much_in_memory() {
        let held = Held::default();
        held.add(TOTAL_MEMORY);
        assert!(!held.is_much());
        held.add(1);
        assert!(held.is_much());
        held.subtract(1);
        assert!(!held.is_much());
    }
}
