//! Telling a job to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// Cancels a [`Job`](crate::Job) from any thread, also from within it. Clones are the same token;
/// one may be given to several jobs. Items of queues have [`JoinHandle::cancel`](crate::JoinHandle)
/// and [`Work::cancel`](crate::Work::cancel).
///
/// ```
/// let token = cmwq::CancelToken::new();
/// token.cancel();
/// let job = cmwq::Job::new(0..1000).cancel_token(&token);
/// assert!(job.for_each(|_| ()).unwrap_err().is_cancelled());
/// ```
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// Not cancelled yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// From now on no step of its jobs begins. Those that are running end by themselves. There is
    /// no way back.
    pub fn cancel(&self) {
        self.0.store(true, SeqCst);
    }

    /// Whether it was cancelled. The job's function may ask, to end its own step sooner.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(SeqCst)
    }
}
