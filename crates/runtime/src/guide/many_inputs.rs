//! How do I run something for each of many inputs?
//!
//! | you want | call |
//! | --- | --- |
//! | the results, in the order of the inputs | [`queue.map(inputs, f)`](crate::Workqueue::map) |
//! | the results as they come | [`queue.map_unordered(inputs, f)`](crate::Workqueue::map_unordered) |
//! | no results | [`queue.for_each(inputs, f)`](crate::Workqueue::for_each) |
//! | to borrow local data | the same on a [`Scope`](crate::Workqueue::scope); `for_each` always may |
//! | inputs that results lead to, as in a crawler | [`spawn`](crate::Workqueue::spawn) and [`select`](crate::select) |
//!
//! ```
//! let queue = cmwq::Workqueue::builder("files").max_active(8).build()?;
//! let sizes = queue.map(std::fs::read_dir("/proc/self/fdinfo")?, |entry| {
//!     std::fs::read(entry?.path()).map(|bytes| bytes.len())
//! });
//! let total: usize = sizes.filter_map(Result::ok).sum();
//! assert!(total > 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! * The iterators are lazy: nothing happens before you ask for the first result.
//! * They take at most `max_active` inputs, and as many again up to 16, before you take the
//!   results. So inputs without end are fine. Set
//!   [`max_active`](crate::WorkqueueBuilder::max_active) to bound the memory of results that wait;
//!   it is 1024 unless set.
//! * A panic of an item goes on in you. `try_next` returns it instead.
//! * If you stop early, what has not begun is cancelled. What has begun goes on.
