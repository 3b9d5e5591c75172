//! The engine of cmwq: pools of workers, raw items and raw queues.
//!
//! No program uses this by itself. It is what faces stand on: the Rust one is the crate `cmwq`.
//! A face embeds [`Header`]s in its items, holds [`RawQueue`]s, and keeps what it has one of with
//! the [`Process`]. How many workers run, where and when is decided in `cmwq_policy`; here that is
//! carried out.
//!
//! # Items
//!
//! ```
//! use std::ptr::NonNull;
//! use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
//!
//! use cmwq_engine::{Header, Process, QueueSpec, RawItem, RawQueue, Ref, Vtable};
//!
//! static RAN: AtomicBool = AtomicBool::new(false);
//! static VTABLE: Vtable = Vtable {
//!     run: |_item| RAN.store(true, SeqCst),
//!     count: |_item, _what: Ref| (), // a static needs no references
//!     name: |_func| "example",
//! };
//! static ITEM: Header = Header::new(&VTABLE);
//!
//! let queue = RawQueue::make(Process::get()?, "example", &QueueSpec::default())?;
//! // SAFETY: it is there for ever, and its function may run on any thread.
//! let item = unsafe { RawItem::new(NonNull::from(&ITEM)) };
//! queue.queue_item(None, item)?;
//! item.flush()?;
//! assert!(RAN.load(SeqCst));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Items in a C struct
//!
//! A C program embeds the header in a struct of its own, at any offset that is a multiple of 8. Its
//! face, which is Rust, gets back from the header to the struct:
//!
//! ```
//! use std::mem::offset_of;
//! use std::ptr::NonNull;
//! use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
//!
//! use cmwq_engine::{Header, Process, QueueSpec, RawItem, RawQueue, Ref, Vtable};
//!
//! #[repr(C)]
//! struct Request {
//!     served: AtomicU32,
//!     work: Header,
//! }
//!
//! static SERVE: Vtable = Vtable {
//!     run: |work| {
//!         // SAFETY: this table's headers are in requests, which are there until they have run.
//!         let request = unsafe { container_of(work).as_ref() };
//!         request.served.fetch_add(1, SeqCst);
//!     },
//!     count: |_work, _what: Ref| (), // a static needs no references
//!     name: |_func| "serve",
//! };
//!
//! /// # Safety
//! /// The header is the one of a request.
//! unsafe fn container_of(work: NonNull<Header>) -> NonNull<Request> {
//!     // SAFETY: so the request begins this far in front of it.
//!     unsafe { work.byte_sub(offset_of!(Request, work)).cast() }
//! }
//!
//! /// # Safety
//! /// As for [`RawItem::new`].
//! unsafe fn item_of(request: NonNull<Request>) -> RawItem {
//!     // SAFETY: the header is in the request.
//!     unsafe { RawItem::new(request.byte_add(offset_of!(Request, work)).cast()) }
//! }
//!
//! static REQUEST: Request = Request {
//!     served: AtomicU32::new(0),
//!     work: Header::new(&SERVE),
//! };
//!
//! let queue = RawQueue::make(Process::get()?, "requests", &QueueSpec::default())?;
//! // SAFETY: it is there for ever, and its function may run on any thread.
//! let item = unsafe { item_of(NonNull::from(&REQUEST)) };
//! queue.queue_item(None, item)?;
//! item.flush()?;
//! assert_eq!(REQUEST.served.load(SeqCst), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! * A struct that may be freed counts its references. `count` is told when a queue takes one
//!   ([`Ref::Taken`]) and when it gives it back without running the item ([`Ref::Dropped`]). If the
//!   item runs, `run` gives it back. [`count_arc`] does the counting for an `Arc`.
//! * Make the [`RawItem`] from the pointer to the struct, as here. A pointer made from
//!   `&request.work` may reach the header only, so `container_of` must not leave it.
//! * The layout of [`Header`] is C's. A new item's word is [`Header::NEW_WORD`],
//!   `0xffff_0000_0000_0000`. Memory that is all zero is no new item. In C, the initialiser of a
//!   static item sets all six fields:
//!
//!   ```c
//!   static struct request request = {
//!       .work = { .word = 0xffff000000000000, .next = NULL, .prev = NULL, .home = 0,
//!                 .vtable = &face_table, .func = (const void *)serve },
//!   };
//!   ```
//!
//! * A [`Vtable`] is Rust's: its functions have Rust's calling convention, and its fields no fixed
//!   order. A face for C exports its table under a symbol, and C only takes the address.
//! * One table serves several functions if each header has its own in `func`
//!   ([`Header::with_func`]), and [`Header::set_names`] finds what to call them: without it reports
//!   say "?". `tests/raw.rs` has such a face in small.
//!
//! # Code of the program
//!
//! An item's function is called with no lock held, and must not unwind: a face calls what may
//! panic by [`user::call`]. So are hooks and destructors.
#![cfg_attr(loom, allow(dead_code, unused_imports))]

// # Floors
//
// Lowest first; a module imports from its own floor and from those below.
//
// 1. `sync`: atomics and locks, so that loom can stand behind them
// 2. `user`: the one door to code of the program
// 3. `report`, `error`, `options`, `thresholds`, `environment`, `faces`
// 4. `item`, `tracepoints`, `recorder`, `lately`, `limit`, `park`, `stay`: what the core works on,
//    what is told of it, and sleeping
// 5. `signals`: canaries and the tick, as others see them
// 6. `base`: what all pools and queues of the process need
// 7. `queue`: queues and pool workqueues in memory
// 8. `pool`: the core of a pool under its lock; an event returns what is to be done
// 9. `turns`, `group`, `engine`: what the process has one of
// 10. `events`, `machine`: carrying out what pools and protocols decide
// 11. `wait`: waiting for items
// 12. `follow`, `threads`: CPUs that come and go; workers, rescuers, canaries, the tick
// 13. `monitor`: what others see of the process, and what its user changes
// 14. `start`: making the engine
// 15. `stats`, `shutdown`
// 16. `raw`: what faces hold
// 17. `job`: loops that several threads share
mod base;
mod engine;
mod environment;
pub mod error;
mod events;
mod faces;
mod follow;
mod group;
mod item;
pub mod job;
mod lately;
mod limit;
#[cfg(all(test, loom))]
mod loom_tests;
mod machine;
mod monitor;
mod options;
mod park;
mod pool;
mod queue;
mod raw;
mod recorder;
pub mod report;
mod shutdown;
mod signals;
mod start;
mod stats;
mod stay;
pub mod sync;
mod threads;
mod thresholds;
mod tracepoints;
mod turns;
pub mod user;
mod wait;

pub use cmwq_policy::growth::GrowthStats;
pub use group::{Group, Members};
pub use item::{Header, Ref, RefFn, Vtable, WorkFn, count_arc};
pub use options::{DFL_STACK_SIZE, DFL_THREAD_LIMIT, MAX_THREAD_LIMIT, Options, ThreadHook};
pub use raw::{
    AsyncCall, Awaits, Busy, Process, QueueSpec, RawGuest, RawItem, RawPwq, RawQueue, Until, worker,
};
pub use shutdown::ShutdownReport;
pub use stats::Stats;
pub use wait::latch::Latch;

/// A pool of a debug build walks through all it has after every so many events, and panics if
/// something does not hold. After the other events it compares counts. 0, the default, means never.
/// For stress tests.
#[doc(hidden)]
pub fn check_whole(every: u32) {
    pool::check_whole(every);
}
