//! Multithreaded jobs.

use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::engine::{self, Job, JobError, JobProgress, JobStats};
use crate::thread;

/// Calls `func(start, stop)` for steps of `range(size)` on idle CPUs, and on the calling thread.
/// Returns counts: helpers, units that they have done, chunks, chunks taken over.
#[pyfunction]
#[pyo3(signature = (func, size, align, min_chunk, max_threads, nice, adaptive, undo, progress))]
#[expect(
    clippy::too_many_arguments,
    reason = "the package has a function with keywords for it"
)]
pub(crate) fn job(
    py: Python<'_>,
    func: Py<PyAny>,
    size: usize,
    align: usize,
    min_chunk: usize,
    max_threads: usize,
    nice: i32,
    adaptive: bool,
    undo: Option<Py<PyAny>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(u32, u64, u64, u64)> {
    let caller = engine::gettid();
    // At the end of the program no other thread attaches, and nobody could wait for one that tries.
    let max_threads = if thread::is_over() { 1 } else { max_threads };
    // Errors stay where the interpreter is: elsewhere they could not be dropped.
    let first = Mutex::new(None);
    let raised = |py: Python<'_>, error: PyErr| {
        let later = match &mut *first.lock().unwrap_or_else(PoisonError::into_inner) {
            empty @ None => empty.replace(error),
            Some(_) => Some(error),
        };
        // Code of Python may run.
        let _attached = py;
        drop(later);
    };
    let result = thread::detached(py, || {
        let mut job = Job::new(0..size)
            .align(align)
            .min_chunk(min_chunk)
            .max_threads(max_threads)
            .nice(nice);
        if adaptive {
            job = job.adaptive_chunks();
        }
        if let Some(undo) = &undo {
            job = job.undo(|range| {
                thread::back(|py| {
                    let undone = undo.call1(py, (range.start, range.end));
                    thread::report(py, undone.map(drop));
                });
            });
        }
        if let Some(progress) = &progress {
            job = job.progress(|JobProgress { done, size, .. }| {
                thread::back(|py| {
                    if let Err(error) = progress.call1(py, (done, size)) {
                        raised(py, error);
                    }
                });
            });
        }
        job.run(|range| {
            let step = |py: Python<'_>| {
                let result = func.call1(py, (range.start, range.end));
                result.map(drop).map_err(|error| raised(py, error))
            };
            match engine::gettid() == caller {
                true => thread::back(step),
                false => thread::attached(step),
            }
        })
    });
    let first = first.into_inner().unwrap_or_else(PoisonError::into_inner);
    match (result, first) {
        (_, Some(error)) => Err(error),
        (Ok(stats), None) => Ok(counts(stats)),
        (Err(JobError::Failed(())), None) => unreachable!("a step that fails has raised something"),
        (Err(_), None) => Err(PyRuntimeError::new_err("the job is the parent process's")),
    }
}

fn counts(stats: JobStats) -> (u32, u64, u64, u64) {
    (stats.helpers, stats.helped, stats.chunks, stats.claims)
}
