//! What a face holds: items by their headers, queues, and the process.
//!
//! | file | |
//! | --- | --- |
//! | `item.rs` | [`RawItem`]: what can be done with an item |
//! | `spec.rs` | [`QueueSpec`]: what a queue is to be like |
//! | `queue.rs` | [`RawQueue`]: a queue, and what can be done with it |
//! | `holders.rs` | how many hold a queue |
//! | `waiting.rs` | waiting for what a face knows of: latches, groups, what has begun |
//! | `calls.rs` | asynchronous calls that are waited for in order |
//! | `process.rs` | [`Process`]: what the process has one of |
//! | `worker.rs` | what an item can ask of its worker |

mod calls;
pub(crate) mod holders;
mod item;
mod process;
mod queue;
mod spec;
mod waiting;
pub mod worker;

pub use calls::AsyncCall;
pub use item::{Busy, RawItem};
pub use process::Process;
pub use queue::{RawGuest, RawPwq, RawQueue};
pub use spec::QueueSpec;
pub use waiting::{Awaits, Until};
