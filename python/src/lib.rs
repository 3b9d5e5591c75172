//! The Python face of cmwq: what the package `cmwq` needs of the engine.
//!
//! The package is in `package/cmwq/`, in Python. This is its module `_cmwq`.
//!
//! # Floors
//!
//! Lowest first; a module imports from its own floor and from those below.
//!
//! 1. `engine`: everything that the engine and the Rust face are asked
//! 2. `thread`: Python's state of the engine's threads; `gil`: who waits for the interpreter's
//!    lock; `hint`: a task is about to block; `name`: what people are shown of a task
//! 3. `line`: which workers come to that lock
//! 4. `queue`: tasks in the order of submission, and the turns of workers that execute them
//! 5. `job`, `stats`: multithreaded jobs, counters

mod engine;
mod gil;
mod hint;
mod job;
mod line;
mod name;
mod queue;
mod stats;
mod thread;

use pyo3::prelude::*;

/// The native part of the package `cmwq`. Use the package.
#[pymodule(gil_used = false)]
mod _cmwq {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::engine::prepare;
    #[pymodule_export]
    use crate::gil::{learn_gil, set_switch_interval};
    #[pymodule_export]
    use crate::hint::{blocking_begin, blocking_end};
    #[pymodule_export]
    use crate::job::job;
    #[pymodule_export]
    use crate::queue::{Queue, leave_parent, live_queues};
    #[pymodule_export]
    use crate::stats::{cpus, stats};
    #[pymodule_export]
    use crate::thread::{end, forked, forks_now, has_forked, set_hooks};

    /// What is made at its first use is made now. A worker that makes it lets go of the
    /// interpreter's lock meanwhile, and in a child that another thread forks then it would never
    /// be made.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        py.get_type::<crate::queue::Turn>();
        crate::name::prepare(py)
    }
}
