//! How do I wait, and what if a wait could never end?
//!
//! | you wait for | call |
//! | --- | --- |
//! | one closure | [`join`](crate::JoinHandle::join), [`join_timeout`](crate::JoinHandle::join_timeout), or `.await` |
//! | whichever of many closures is first | [`select`](crate::select), [`select_timeout`](crate::select_timeout) |
//! | a `Work` | [`flush`](crate::Work::flush) |
//! | all that was queued so far | [`Workqueue::flush`](crate::Workqueue::flush) |
//! | all, and what its items queue on itself | [`drain`](crate::Workqueue::drain), [`drain_timeout`](crate::Workqueue::drain_timeout) |
//! | all, and that no more comes | [`close`](crate::Workqueue::close), [`close_timeout`](crate::Workqueue::close_timeout), or dropping the queue |
//! | all of the process, up to a deadline | [`shutdown`](crate::shutdown) |
//!
//! Items may wait for other items. Meanwhile another worker takes the CPU.
//!
//! Where items of one queue queue on another, close the queues in the direction of the work: first
//! the one that hands on, then the one that receives. To a closed queue an item of another queue is
//! anybody else, and is refused.
//!
//! `drain` and `close` report it if items of the queue queue more than ten times in a chain. Where
//! such chains are meant, as in a crawler, that is harmless.
//!
//! # How do I stop early?
//!
//! | you stop | by |
//! | --- | --- |
//! | one closure that has not begun | [`JoinHandle::cancel`](crate::JoinHandle::cancel) |
//! | the rest of a batch | keep the handles, and cancel the newest first; or drop the iterator of [`map`](crate::Workqueue::map) |
//! | a `Work`, also one that queues itself | [`cancel_sync`](crate::Work::cancel_sync) |
//! | a `Job` | [`CancelToken`](crate::CancelToken) |
//! | a scope, at a deadline | it has none: let each item look at the clock or at a flag, and return |
//!
//! What has begun is never interrupted.
//!
//! # Waits that can never end
//!
//! An item that waits for itself, for its own queue, or for an item that needs the slot of the
//! waiting one, would wait for ever. Such a wait returns [`WouldDeadlock`](crate::WouldDeadlock),
//! as do circles over several queues.
//!
//! ```
//! let queue = cmwq::Workqueue::builder("one").ordered().build()?;
//! let own = queue.clone();
//! let told = queue.spawn(move || own.spawn(|| ()).join()).join()?;
//! assert!(matches!(told, Err(cmwq::JoinError::WouldDeadlock(_))));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Not seen are waits through a channel, a lock, `.await` or a timeout. The
//! [report hook](crate::set_report_hook) is told after 30 s which items stand still, and where.
