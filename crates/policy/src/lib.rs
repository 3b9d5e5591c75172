//! The pure core of cmwq: every decision of a concurrency-managed workqueue.
//!
//! State, event and time go in; actions come out. There is no clock, thread, lock, system call,
//! float or hash order here, and no dependency. The engine and the simulator carry out what this
//! crate decides, and a test can ask it anything.
//!
//! Read in this order:
//!
//! 1. [`pool`]: worker pools. Which worker starts, who steps back, when a thread is made.
//! 2. [`growth`]: when more workers would not help.
//! 3. [`budget`]: how pools share the CPUs.
//! 4. [`limit`], [`pwq`] and [`colours`]: the limit of a queue, where a queue meets a pool, and
//!    what a flush waits for.
//! 5. [`canary`], [`form`], [`tick`], [`sampling`] and [`counter`]: who reports an idle CPU to
//!    whom, how often somebody looks, what is worth measuring, and how time is counted without a
//!    clock.
//! 6. [`work`]: the state word of an item.
//! 7. [`job`] and [`async_domain`]: what is built of items: multithreaded jobs, calls in order.
//! 8. [`interpreter`]: which workers line up for the lock of a Python interpreter.
//! 9. [`stats`] and [`lately`]: what is counted of the items of a queue, and which functions have
//!    had the CPUs.
//!
//! Two shapes of step. *Owned state* (a pool) is a value that its owner locks: `&mut self`, a
//! context with the time in it, actions into a fixed-capacity list. *Shared words* (the budget, an
//! item, a canary) are `Copy` snapshots with a pure step to the next one; the engine owns the
//! compare-exchange loop.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod action;
pub mod affinity;
pub mod async_domain;
pub mod attrs;
pub mod budget;
pub mod canary;
pub mod colours;
pub mod contract;
pub mod counter;
pub mod cpumask;
pub mod form;
pub mod growth;
pub mod hog;
pub mod interpreter;
pub mod job;
pub mod lately;
pub mod leftovers;
pub mod limit;
pub mod linger;
pub mod list;
pub mod pool;
pub mod probe;
pub mod pwq;
pub mod queue;
pub mod rate;
pub mod ratelimit;
pub mod sampling;
pub mod stacking;
pub mod stats;
pub mod store;
mod tally;
pub mod tick;
pub mod time;
pub mod timers;
pub mod watchdog;
pub mod work;
pub mod worker;

pub use action::{Action, Actions};
pub use budget::Budget;
pub use cpumask::{CpuMask, MAX_CPUS};
pub use pool::{Cx, ItemReport, PoolAttrs, Published, Rule, Step, WorkerPool};
pub use pwq::PoolWorkqueue;
pub use store::{ItemKey, Store};
pub use time::{Nanos, Time};
pub use worker::{Execution, WorkerId};
