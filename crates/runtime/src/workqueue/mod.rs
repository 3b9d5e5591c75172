//! Queues as programs hold them.
//!
//! | file | |
//! | --- | --- |
//! | `handle.rs` | [`Workqueue`] |
//! | `queueing.rs` | items onto queues |
//! | `builder.rs` | [`WorkqueueBuilder`] |
//! | `attrs.rs` | what can be changed later |
//! | `inspect.rs` | how many items wait, and for what |

mod attrs;
mod builder;
mod handle;
mod inspect;
mod queueing;

pub use attrs::Attrs;
pub use builder::WorkqueueBuilder;
pub use handle::Workqueue;
pub use inspect::{Histogram, Waits, WorkqueueCounts, WorkqueueStats};
