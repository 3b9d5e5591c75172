//! Waiting for whichever of many handles is finished first.

use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

use cmwq_engine::error::WouldDeadlock;
use cmwq_engine::{Latch, RawPwq, Until};

use crate::join_handle::JoinHandle;
use crate::{park, task};

/// Sets a latch, which the engine can wait for.
struct SetLatch(Latch);

impl Wake for SetLatch {
    fn wake(self: Arc<Self>) {
        self.0.set();
    }
}

/// Waits until one of the handles is finished, and returns its index: [`join`](JoinHandle::join)
/// returns at once then. If several are, returns the lowest index. Inside an item the wait counts
/// as a hint.
///
/// # Errors
/// [`WouldDeadlock`], inside an item, if none of them would ever end: nobody could begin them, or
/// they wait for the calling item.
///
/// # Panics
/// If there are no handles.
///
/// ```
/// let mut mirrors: Vec<_> = [30, 1, 20]
///     .map(|ms| {
///         cmwq::spawn(move || {
///             std::thread::sleep(std::time::Duration::from_millis(ms));
///             ms
///         })
///     })
///     .into();
/// let first = cmwq::select(&mut mirrors)?;
/// let answer = mirrors.swap_remove(first).join()?;
/// assert!([30, 1, 20].contains(&answer));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn select<T>(handles: &mut [JoinHandle<T>]) -> Result<usize, WouldDeadlock> {
    let first = handles.first().expect("there is a handle to wait for");
    let (queue, pwq) = (first.queue().clone(), the_one(handles));
    loop {
        let set = Arc::new(SetLatch(Latch::new()));
        let waker = Waker::from(set.clone());
        if let Some(finished) = finished(handles, &waker) {
            return Ok(finished);
        }
        let awaits = task::known_to_wait(handles.iter().map(JoinHandle::awaits));
        // SAFETY: the handles are of tasks that were queued through this pwq, and keep these and
        // their queue.
        unsafe { queue.wait_latch(pwq, &set.0, None, (Until::Any, &awaits))? };
    }
}

/// As [`select`], at most for `timeout`: then `None`, and nothing has changed.
///
/// # Panics
/// If there are no handles.
///
/// ```
/// use std::time::Duration;
///
/// let mut handles = [cmwq::spawn(|| 1), cmwq::spawn(|| 2)];
/// let finished = cmwq::select_timeout(&mut handles, Duration::from_secs(60));
/// assert!(finished.is_some_and(|index| handles[index].is_finished()));
/// ```
pub fn select_timeout<T>(handles: &mut [JoinHandle<T>], timeout: Duration) -> Option<usize> {
    assert!(!handles.is_empty(), "there is a handle to wait for");
    // What no clock reaches is as good as for ever.
    let far = Duration::from_secs(1 << 32);
    let at = Instant::now() + timeout.min(far);
    let mut found = None;
    park::wait_until(at, |waker| {
        found = finished(handles, waker);
        found.is_some()
    });
    found
}

/// The first one that is finished. If none is, each calls the waker when it is.
fn finished<T>(handles: &[JoinHandle<T>], waker: &Waker) -> Option<usize> {
    handles.iter().position(|handle| handle.await_end(waker))
}

/// The pwq through which all were queued, if it is one.
fn the_one<T>(handles: &[JoinHandle<T>]) -> Option<RawPwq> {
    let first = handles.first()?.pwq()?;
    let same = |handle: &JoinHandle<T>| handle.pwq() == Some(first);
    handles.iter().all(same).then_some(first)
}
