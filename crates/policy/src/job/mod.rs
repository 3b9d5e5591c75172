//! Multithreaded jobs: a long piece of CPU work, cut into chunks that several threads take (the
//! kernel's ktask, later `padata_do_multithreaded`).
//!
//! A job is `size` units of work, numbered. A thread takes a *chunk* of it, and does that in
//! *steps*: a step is one call of the job's function. What of a chunk has not begun can be
//! *claimed* by another thread at any time, so nobody ever waits for more than the steps in flight.
//!
//! | file | decides |
//! | --- | --- |
//! | [`Shape`] | how many threads, how long a chunk (the kernel's rule) |
//! | [`Cut`] | where chunks and steps may end |
//! | [`Speed`] | how long a step is, by what the last ones took; when a starved helper leaves |
//! | [`Front`] | the word between a thread and who claims the rest of its chunk |
//! | [`Core`] | who takes what, whose chunk is claimed, what was completed |
//! | [`by_nodes`] | which units are for which NUMA node |
//! | [`Quota`] | how many helpers the process may have, by node and in total |
//! | [`willing`] | when a helper is lifted, so that the caller need not wait for it |
//! | [`Progress`] | when the caller is told how far the job is |

mod cut;
mod done;
mod front;
mod nodes;
mod pace;
mod progress;
mod quota;
mod shape;
mod state;
mod tail;
#[cfg(test)]
mod tests;

pub use cut::Cut;
pub use done::Done;
pub use front::Front;
pub use nodes::{by_nodes, nodes_in_turn};
pub use pace::{STEP_TIME, SoFar, Speed};
pub use progress::Progress;
pub use quota::{Grant, Quota};
pub use shape::{Chunks, Shape};
pub use state::{Asker, Core, Fronts, Part, Steps, Taken};
pub use tail::willing;
