//! One worker at a time comes to the interpreter's lock, of all queues of the process.
//!
//! `cmwq_policy::interpreter` says when it lines up. The others do not wait: their queues are
//! remembered, and are asked for a worker again once the one before is inside.

use std::collections::VecDeque;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cmwq_policy::interpreter::{Entrance, Entry, Seen};

use crate::gil::Does;
use crate::{engine, gil};

/// So many workers at most are looked at, the others are taken to be like them.
const MOST_LOOKED_AT: usize = 64;

/// Who comes to the lock for his queue.
pub(crate) trait Comer: Send + Sync {
    /// A worker is to come again.
    fn come_again(self: Arc<Self>);

    /// Nothing is left to do.
    fn is_empty(&self) -> bool;
}

/// The way to the lock, and who is inside.
#[derive(Default)]
pub(crate) struct Line {
    state: Mutex<State>,
    /// Rung for who stands by, if there is nothing left to do.
    bell: Condvar,
    stands_by: AtomicBool,
    inside: Mutex<Inside>,
    nr_inside: AtomicUsize,
}

#[derive(Default)]
struct State {
    /// A worker is on the way.
    taken: bool,
    entrance: Entrance,
    /// Queues whose workers came meanwhile.
    others: VecDeque<Arc<dyn Comer>>,
}

/// The threads inside of the interpreter that execute tasks.
#[derive(Default)]
struct Inside {
    tids: Vec<i32>,
    /// Where the next look begins.
    next: usize,
}

/// Nothing panics with one of these locks held.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Line {
    /// The calling process's.
    pub(crate) fn get() -> &'static Line {
        engine::state()
    }

    /// A worker comes, and stands by if it must. False: it does not enter, because it is not its
    /// turn, and its queue is remembered; or because nothing is left to do.
    pub(crate) fn come(&self, comer: &Arc<impl Comer + 'static>) -> Coming {
        {
            let mut state = lock(&self.state);
            if state.taken {
                state.others.push_back(comer.clone());
                return Coming::Remembered;
            }
            state.taken = true;
        }
        if self.stand_by(&**comer) {
            return Coming::Enters;
        }
        Coming::NothingLeft
    }

    fn stand_by(&self, comer: &impl Comer) -> bool {
        loop {
            if comer.is_empty() {
                return false;
            }
            if !lock(&self.state).entrance.must_look() {
                return true;
            }
            let seen = self.look();
            let now = engine::now();
            let entry = lock(&self.state).entrance.looked(seen, now);
            match entry {
                Entry::Enter => return true,
                Entry::LookAt(at) => self.sleep(Duration::from_nanos(at.since(now)), comer),
            }
        }
    }

    fn sleep(&self, time: Duration, comer: &impl Comer) {
        self.stands_by.store(true, SeqCst);
        engine::blocking(|| {
            let state = lock(&self.state);
            // Whoever takes the last task looks for somebody who stands by after that.
            if !comer.is_empty() {
                drop(self.bell.wait_timeout(state, time));
            }
        });
        self.stands_by.store(false, SeqCst);
    }

    /// Looks at those inside, and counts who computes or would like to.
    fn look(&self) -> Seen {
        let tids = {
            let mut inside = lock(&self.inside);
            let (all, first) = (inside.tids.len(), inside.next);
            inside.next = if all > MOST_LOOKED_AT {
                (first + MOST_LOOKED_AT) % all
            } else {
                0
            };
            let tids = inside.tids.iter().cycle().skip(first % all.max(1));
            tids.take(all.min(MOST_LOOKED_AT))
                .copied()
                .collect::<Vec<_>>()
        };
        let (mut crowd, mut known) = (0, tids.is_empty());
        for tid in tids {
            match gil::what_does(tid) {
                Does::WaitForLock | Does::Run => (crowd, known) = (crowd + 1, true),
                Does::WaitElsewhere => known = true,
                Does::Unknown => {}
            }
        }
        if known {
            Seen::Crowd(crowd)
        } else {
            Seen::Nothing
        }
    }

    /// The worker that came is inside, after so many nanoseconds at the lock; or is not, because
    /// nothing is left to do. The next one comes.
    pub(crate) fn came(&self, waited: Option<u64>, interval: u64) {
        let next = {
            let mut state = lock(&self.state);
            if let Some(waited) = waited {
                state.entrance.entered(waited, interval);
            }
            state.taken = false;
            state.others.pop_front()
        };
        if let Some(next) = next {
            next.come_again();
        }
    }

    /// The calling thread executes tasks from now on.
    pub(crate) fn begin(&self) -> i32 {
        let tid = engine::gettid();
        lock(&self.inside).tids.push(tid);
        self.nr_inside.fetch_add(1, SeqCst);
        tid
    }

    /// It does so no more.
    pub(crate) fn end(&self, tid: i32) {
        let mut inside = lock(&self.inside);
        if let Some(at) = inside.tids.iter().rposition(|&other| other == tid) {
            inside.tids.swap_remove(at);
        }
        self.nr_inside.fetch_sub(1, SeqCst);
    }

    /// Whether a worker between two tasks leaves, as too many wait for the lock.
    pub(crate) fn is_crowded(&self) -> bool {
        let inside = self.nr_inside.load(SeqCst);
        self.stands_by.load(SeqCst) && lock(&self.state).entrance.leaves(inside)
    }

    /// A queue has no task left.
    pub(crate) fn is_empty(&self) {
        if self.stands_by.load(SeqCst) {
            // Between looking for tasks and sleeping it has the lock.
            drop(lock(&self.state));
            self.bell.notify_all();
        }
    }
}

/// What a worker does that has come.
pub(crate) enum Coming {
    /// It lines up.
    Enters,
    /// Not this time: its queue is asked again.
    Remembered,
    /// Its queue has nothing to do. Say [`Line::came`].
    NothingLeft,
}
