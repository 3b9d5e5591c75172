//! What a forked child has of its parent's tasks.

use std::sync::Weak;
use std::sync::atomic::Ordering::SeqCst;
use std::{mem, ptr};

use pyo3::prelude::*;

use super::{All, LAST, Shared, future_of};
use crate::thread;

type Objects = Vec<Py<PyAny>>;

/// What a forked child has of its parent's tasks.
#[derive(Default)]
struct Left {
    /// The futures of those that the calling thread executes: one has forked.
    own: Objects,
    /// Of those that wait, or that other threads execute. In the child nobody completes them.
    others: Objects,
    /// Those that wait.
    tasks: Objects,
}

impl Left {
    /// Another thread of the parent may have been in the middle of it: then it has nothing.
    fn take(&mut self, py: Python<'_>, queue: &Shared) {
        let Ok(mut tasks) = queue.tasks.try_lock() else {
            return;
        };
        for task in mem::take(&mut tasks.waiting) {
            self.others.extend(future_of(task.bind(py)));
            self.tasks.push(task);
        }
        for (ident, turn) in &tasks.turns {
            let state = turn.get().state.try_lock();
            let future = state.ok().and_then(|mut state| state.future.take());
            match *ident == thread::ident() {
                true => self.own.extend(future),
                false => self.others.extend(future),
            }
        }
    }
}

/// In a forked child: the futures of the tasks that the calling thread executes; those that others
/// would complete in the parent; and tasks that wait. These end when the caller lets go of them.
#[pyfunction]
pub(crate) fn leave_parent(py: Python<'_>) -> (Objects, Objects, Objects) {
    let mut left = Left::default();
    // SAFETY: null, or the state of a process, which lives for ever.
    let parents = unsafe { LAST.swap(ptr::null_mut(), SeqCst).as_ref() };
    // Collected first: the last owner of a queue may be here, and code of Python runs at its end.
    let queues: Vec<_> = match parents.map(|All(all)| all.try_lock()) {
        Some(Ok(all)) => all.iter().filter_map(Weak::upgrade).collect(),
        _ => Vec::new(),
    };
    queues.iter().for_each(|queue| left.take(py, queue));
    (left.own, left.others, left.tasks)
}
