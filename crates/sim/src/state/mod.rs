//! What the machine has: plain values in tables. Nothing here knows the machine.
//!
//! | file | |
//! | --- | --- |
//! | `thread.rs`, `worker.rs`, `claim.rs` | a thread from the inside; what makes it a worker; what it executes itself instead of waiting |
//! | `pool.rs`, `queue.rs`, `store.rs` | pools and queues around the core; items, pwqs and limits |
//! | `lock.rs`, `semaphore.rs`, `device.rs`, `latch.rs`, `resources.rs` | what threads share |
//! | `pending.rs`, `process.rs`, `signals.rs` | what a call waits for; the process; what signals know |
//! | `event.rs` | what will happen |

pub(crate) mod claim;
pub(crate) mod device;
pub(crate) mod event;
pub(crate) mod latch;
pub(crate) mod lock;
pub(crate) mod pending;
pub(crate) mod pool;
pub(crate) mod process;
pub(crate) mod queue;
pub(crate) mod resources;
pub(crate) mod semaphore;
pub(crate) mod signals;
pub(crate) mod store;
pub(crate) mod thread;
pub(crate) mod worker;
