//! Swarm testing: random machines, random programs, faults, and invariants that are checked after
//! every event.
//!
//! A seed is a [`Plan`]: a machine, queues, items, threads, and which features of the interface and
//! which faults take part. [`run()`] does it: a safety phase with faults, then a liveness phase in
//! which everything must finish. While it runs, a [`Checker`] that knows the interface's promises,
//! and nothing of how the policy keeps them, watches.
//!
//! | module | |
//! | --- | --- |
//! | [`plan`] | what a seed draws |
//! | [`machine`] | the machine's shape, scheduler, costs and signals |
//! | [`world`], [`taste`], [`walk`] | what programs share, like and do |
//! | [`program`] | the items and threads that do it |
//! | [`faults`] | what goes wrong around the policy |
//! | [`run`](mod@run) | the two phases |
//! | [`check`] | the invariants |
//! | [`shrink`] | a smaller plan that fails the same way |
//! | [`swarm`] | many seeds on all CPUs, and what they came across |
//!
//! # Floors
//!
//! Lowest first; a module imports from its own floor and from those below.
//!
//! 1. `random`
//! 2. `plan`
//! 3. `machine`, `taste`: what is drawn from a plan
//! 4. `world`, `check`: what programs share; who watches them
//! 5. `walk`, `faults`
//! 6. `program`
//! 7. `run`
//! 8. `shrink`, `swarm`: many runs
#![forbid(unsafe_code)]

pub mod check;
pub mod faults;
pub mod machine;
pub mod plan;
pub mod program;
pub mod random;
pub mod run;
pub mod shrink;
pub mod swarm;
pub mod taste;
pub mod walk;
pub mod world;

pub use check::{Checker, Invariant, Violation};
pub use plan::{Feature, Plan};
pub use run::{Outcome, run};
