//! How do I do something again and again, or later?
//!
//! A [`Work`](crate::Work) is an item with a function and data of its own. Queue it whenever there
//! is something to do. While it is [pending](super::words#pending), queueing it again changes
//! nothing, so a hundred events in a row cost one execution. It never runs twice at once.
//!
//! ```
//! let refresh = cmwq::Work::new(|| println!("the view is drawn"));
//! for _event in 0..100 {
//!     cmwq::system().queue(&refresh)?;
//! }
//! refresh.flush()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! All calls that queue an item answer alike:
//!
//! | answer | means |
//! | --- | --- |
//! | `Ok(true)` | it was queued |
//! | `Ok(false)` | it was pending already; `modify` has changed its time |
//! | `Err(error)` | it was [refused](crate::QueueError), and is as it was |
//!
//! An item that queues itself with a delay is periodic. It stops when it does not queue itself
//! again, and also when it panics before it does. `cancel_sync` stops it from outside: meanwhile
//! the item is refused, so ignore that error inside of the item. Dropping its handles does not stop
//! it. If its function holds a handle of its own queue, that queue is not dropped either: cancel
//! the item first.
//!
//! ```
//! use std::time::Duration;
//!
//! let heartbeat = cmwq::Work::with_data((), |heartbeat| {
//!     println!("alive");
//!     let _ = cmwq::system().queue_after(heartbeat, Duration::from_secs(1));
//! });
//! cmwq::system().queue(&heartbeat)?;
//! heartbeat.cancel_sync()?; // it does not run, and has not queued itself again
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A period is the delay, and the time that the item takes, and how late it began. For a fixed
//! rate, keep the next time and queue the item with what is left until then:
//!
//! ```
//! use std::sync::mpsc;
//! use std::time::{Duration, Instant};
//!
//! let (done, wait) = mpsc::channel();
//! let (first, period) = (Instant::now(), Duration::from_millis(5));
//! let samples = cmwq::Work::with_data(std::sync::atomic::AtomicU32::new(0), move |item| {
//!     let next = item.data().fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1;
//!     if next == 3 {
//!         return drop(done.send(())); // the last one
//!     }
//!     let next = first + next * period;
//!     let left = next.saturating_duration_since(Instant::now());
//!     let _ = cmwq::system().queue_after(item, left);
//! });
//! cmwq::system().queue(&samples)?;
//! wait.recv()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | you want | call |
//! | --- | --- |
//! | do it once after the last of many events | [`modify`](crate::Workqueue::modify) at each event |
//! | do it at once, whatever was planned | [`flush_now`](crate::Work::flush_now) |
//! | keep it from being queued for a while | [`disable`](crate::Work::disable), [`enable`](crate::Work::enable) |
//! | be sure that it does not run any more | [`cancel_sync`](crate::Work::cancel_sync) |
//! | the same, whoever queues it after that | [`disable_sync`](crate::Work::disable_sync) |
//! | wait until it has run | [`flush`](crate::Work::flush), which does not wait for a timer; [`flush_now`](crate::Work::flush_now) does not wait for the time |
