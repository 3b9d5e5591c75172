//! Counters, by name.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::engine::{self, Stats};

/// How many CPUs tasks can keep busy.
#[pyfunction]
pub(crate) fn cpus() -> usize {
    engine::cpus()
}

/// Counters of the process.
#[pyfunction]
pub(crate) fn stats(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let Stats {
        cpus,
        workers,
        peak_workers,
        started,
        completed,
        in_flight,
        canary_reports,
        canary_starts,
        ticks,
        tick_starts,
        tick_cpu_ns,
        step_backs,
        convoy_step_backs,
        spawn_failures,
        nice_denied,
        runnable_ns,
        ..
    } = engine::stats();
    let counters = PyDict::new(py);
    counters.set_item("cpus", cpus)?;
    counters.set_item("workers", workers)?;
    counters.set_item("peak_workers", peak_workers)?;
    counters.set_item("turns_started", started)?;
    counters.set_item("turns_completed", completed)?;
    counters.set_item("turns_in_flight", in_flight)?;
    counters.set_item("canary_reports", canary_reports)?;
    counters.set_item("canary_starts", canary_starts)?;
    counters.set_item("ticks", ticks)?;
    counters.set_item("tick_starts", tick_starts)?;
    counters.set_item("tick_cpu_ns", tick_cpu_ns)?;
    counters.set_item("step_backs", step_backs)?;
    counters.set_item("convoy_step_backs", convoy_step_backs)?;
    counters.set_item("spawn_failures", spawn_failures)?;
    counters.set_item("nice_denied", nice_denied)?;
    counters.set_item("runnable_ns", runnable_ns)?;
    Ok(counters)
}
