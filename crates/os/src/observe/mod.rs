//! Whether threads run or sleep, asked from outside, by `/proc`. No privilege is needed for threads
//! of the own process.

mod children;
mod naps;
mod own;
mod read;
mod room;
mod stat;
mod syscall;
mod task;
/// The same for a process and its descendants.
pub mod tree;

pub(crate) use children::children;
pub use naps::Naps;
pub use own::is_own_proc;
pub use room::{make_room, make_room_if_alone};
pub(crate) use stat::parse_session;
pub use stat::{Stat, TaskState, parse_stat};
pub use syscall::{Blocked, parse_syscall};
pub use task::{Sample, TaskFiles};
