//! How do I run something for each of many inputs?
//!
//! | you want | call |
//! | --- | --- |
//! | the results, in the order of the inputs | [`queue.map(inputs, f)`](crate::Workqueue::map) |
//! | the results as they come | [`queue.map_unordered(inputs, f)`](crate::Workqueue::map_unordered) |
//! | no results | [`queue.for_each(inputs, f)`](crate::Workqueue::for_each) |
//! | to borrow local data | the same on a [`Scope`](crate::Workqueue::scope); `for_each` always may |
//! | inputs that results lead to, as in a crawler | a [`Scope`](crate::Workqueue::scope) whose closures spawn more |
//! | whichever result is first, of closures of your own | [`spawn`](crate::Workqueue::spawn) and [`select`](crate::select) |
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
//! * They take at most `max_active` inputs, and `max_active` or 16 more, whichever is less, before
//!   you take the results: 16 in all with a limit of 8, and 1040 with 1024, which it is unless set.
//!   So inputs without end are fine. One number bounds both what runs and what waits for you:
//!   [`max_active`](crate::WorkqueueBuilder::max_active).
//! * A panic of an item goes on in you. `try_next` returns it instead.
//! * If you stop early, what has not begun is cancelled. What has begun goes on.
//!
//! A crawler: whoever finds links spawns more, and the scope ends when nobody has any left.
//!
//! ```
//! use std::collections::BTreeSet;
//! use std::sync::Mutex;
//!
//! fn links(page: u32) -> Vec<u32> {
//!     [2 * page + 1, 2 * page + 2].into_iter().filter(|&page| page < 100).collect()
//! }
//!
//! fn visit<'scope>(page: u32, seen: &'scope Mutex<BTreeSet<u32>>, scope: &'scope cmwq::Scope<'scope, '_>) {
//!     for link in links(page) {
//!         if seen.lock().unwrap().insert(link) {
//!             scope.spawn(move || visit(link, seen, scope));
//!         }
//!     }
//! }
//!
//! let queue = cmwq::Workqueue::builder("crawler").max_active(16).build()?;
//! let seen = Mutex::new(BTreeSet::from([0]));
//! queue.scope(|scope| visit(0, &seen, scope))?;
//! assert_eq!(seen.into_inner()?.len(), 100);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
