//! The plainest good pool: a number of threads, one queue, one lock.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};

use super::{Pool, Task};

#[derive(Default)]
struct State {
    tasks: VecDeque<Task>,
    /// Threads that have come up.
    ready: usize,
    closed: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    more: Condvar,
    came_up: Condvar,
}

/// A pool of a fixed number of threads, all started beforehand.
pub(super) struct FixedPool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl FixedPool {
    pub(super) fn start(count: usize) -> Result<FixedPool, String> {
        let mut pool = FixedPool {
            shared: Arc::default(),
            threads: Vec::new(),
        };
        for _ in 0..count {
            let shared = Arc::clone(&pool.shared);
            let thread = thread::Builder::new()
                .name("fixed".to_owned())
                .spawn(move || shared.work());
            pool.threads
                .push(thread.map_err(|e| format!("fixed:{count}: no thread: {e}"))?);
        }
        let state = pool.shared.state.lock().unwrap();
        drop(
            pool.shared
                .came_up
                .wait_while(state, |state| state.ready < count)
                .unwrap(),
        );
        Ok(pool)
    }
}

impl Shared {
    fn work(&self) {
        let mut state = self.state.lock().unwrap();
        state.ready += 1;
        self.came_up.notify_one();
        loop {
            if let Some(task) = state.tasks.pop_front() {
                drop(state);
                task();
                state = self.state.lock().unwrap();
            } else if state.closed {
                return;
            } else {
                state = self.more.wait(state).unwrap();
            }
        }
    }
}

impl Pool for FixedPool {
    fn submit(&self, _queue: usize, task: Task) {
        self.shared.state.lock().unwrap().tasks.push_back(task);
        self.shared.more.notify_one();
    }
}

impl Drop for FixedPool {
    fn drop(&mut self) {
        self.shared.state.lock().unwrap().closed = true;
        self.shared.more.notify_all();
        for thread in self.threads.drain(..) {
            // A task's panic has been reported on standard error.
            let _ = thread.join();
        }
    }
}
