//! Queues as programs hold them.
//!
//! | file | |
//! | --- | --- |
//! | `handle.rs` | [`Workqueue`] |
//! | `builder.rs` | [`WorkqueueBuilder`] |
//! | `attrs.rs` | what can be changed later |
//! | `inspect.rs` | how many items wait, and for what |

mod attrs;
mod builder;
mod handle;
mod inspect;

pub use attrs::Attrs;
pub use builder::WorkqueueBuilder;
pub use handle::Workqueue;
pub(crate) use handle::was_queued;
pub use inspect::{Histogram, Waits, WorkqueueCounts, WorkqueueStats};
