//! Multithreaded jobs: a long piece of CPU work that idle CPUs help with, and nobody else feels
//! (kernel ktask, `padata_do_multithreaded`). The engine runs them.
//!
//! | file | |
//! | --- | --- |
//! | `builder.rs` | [`Job`]: what programs hold |
//! | `slices.rs` | jobs over the elements of a slice |
//! | `cancel.rs` | [`CancelToken`] |

mod builder;
mod cancel;
mod slices;

pub use builder::Job;
pub use cancel::CancelToken;
pub use cmwq_engine::job::{JobError, JobProgress, JobStats};
