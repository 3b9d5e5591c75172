//! How do I use it beside tokio and others?
//!
//! A [`JoinHandle`](crate::JoinHandle) is a `Future`. Hand a blocking call to a queue and await it:
//!
//! ```
//! async fn word_count(path: String) -> std::io::Result<usize> {
//!     let text = cmwq::spawn(|| std::fs::read_to_string(path)).await;
//!     Ok(text.expect("it does not panic")?.split_whitespace().count())
//! }
//! # let _ = word_count("/proc/self/comm".into());
//! ```
//!
//! What that is better at than `spawn_blocking`: as many calls compute at once as there are CPUs,
//! and not 512. Limits, priorities and orders are those of queues.
//!
//! | in async code | do |
//! | --- | --- |
//! | wait for an item | `handle.await`; `join` would block the runtime's thread |
//! | wait at most for a time | the runtime's timeout around `&mut handle` |
//! | stop waiting | drop the handle: the closure goes on; [`cancel`](crate::JoinHandle::cancel) it first if it is not to begin |
//! | end a queue | [`close`](crate::Workqueue::close) in an item of another queue, and await that |
//!
//! # Waits in both directions
//!
//! An item may block on the runtime, for example with tokio's `Handle::block_on`. A thread of the
//! runtime may block on an item, with `join`. If both happen at once, each may wait for the other:
//! the runtime's only free thread waits for an item, and the item waits for that thread. No error
//! tells you, because the runtime does not know of items nor cmwq of tasks. So await handles in
//! async code, and never `join` there. If it happens all the same and items stand behind it, the
//! [report hook](crate::set_report_hook) is told after 30 s which items stand still.
//!
//! Dropping the last handle of a queue waits for its items, too, and a
//! [`JoinHandle`](crate::JoinHandle) counts as one. Keep the queue where no task drops it last.
