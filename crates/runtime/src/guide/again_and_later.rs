//! How do I do something again and again, or later?
//!
//! A [`Work`](crate::Work) is an item with a function and data of its own. Queue it whenever there
//! is something to do. While it is [pending](super::words#pending), queueing it again changes
//! nothing, so a hundred events in a row cost one execution. It never runs twice at once.
//!
//! ```
//! let refresh = cmwq::Work::new(|| println!("the view is drawn"));
//! for _event in 0..100 {
//!     cmwq::system().queue(&refresh);
//! }
//! refresh.flush()?;
//! # Ok::<(), cmwq::FlushError>(())
//! ```
//!
//! A [`DelayedWork`](crate::DelayedWork) has a timer, too. One that queues itself with a delay is
//! periodic, and `cancel_sync` stops that for good.
//!
//! ```
//! use std::time::Duration;
//!
//! let heartbeat = cmwq::DelayedWork::with_data((), |heartbeat| {
//!     println!("alive");
//!     cmwq::system().queue_after(heartbeat, Duration::from_secs(1));
//! });
//! cmwq::system().queue_after(&heartbeat, Duration::ZERO);
//! heartbeat.cancel_sync()?; // it neither runs nor will run
//! # Ok::<(), cmwq::WouldDeadlock>(())
//! ```
//!
//! | you want | call |
//! | --- | --- |
//! | do it once after the last of many events | [`modify`](crate::Workqueue::modify) at each event |
//! | do it at once, whatever was planned | [`flush_now`](crate::DelayedWork::flush_now) |
//! | keep it from being queued for a while | [`disable`](crate::Work::disable), [`enable`](crate::Work::enable) |
//! | be sure that it does not run any more | [`cancel_sync`](crate::Work::cancel_sync) |
