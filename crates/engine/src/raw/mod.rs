//! What a face holds: items by their headers, queues by their one owner, and the process.
//!
//! | file | |
//! | --- | --- |
//! | `item.rs` | [`RawItem`]: what can be done with an item |
//! | `spec.rs` | [`QueueSpec`]: what a queue is to be like |
//! | `queue.rs` | [`RawQueue`]: a queue, and what can be done with it |
//! | `waiting.rs` | waiting for what a face knows of: latches, groups, what has begun |
//! | `calls.rs` | asynchronous calls that are waited for in order |
//! | `process.rs` | [`Process`]: what the process has one of |
//! | `worker.rs` | what an item can ask of its worker |

mod calls;
mod item;
mod process;
mod queue;
mod spec;
mod waiting;
pub mod worker;

pub use calls::AsyncCall;
pub use item::{Busy, RawItem};
pub use process::Process;
pub use queue::{RawPwq, RawQueue};
pub use spec::QueueSpec;
pub use waiting::{Awaits, Until};
