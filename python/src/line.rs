//! Who comes to the interpreter's lock, of all queues of the process.
//!
//! `cmwq_policy::interpreter` says when a worker lines up, and how many do so together. The others
//! do not wait: their queues are remembered, and are asked for a worker again once one of those
//! before is inside.

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cmwq_policy::Time;
use cmwq_policy::interpreter::{Entered, Entrance, Entry, Round, Seen};

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

    /// Others come for the same queue: this one need not be remembered, and is counted no more.
    fn is_one_too_many(&self) -> bool;
}

/// The way to the lock, and who is inside.
#[derive(Default)]
pub(crate) struct Line {
    state: Mutex<State>,
    /// Rung for who stands by, if there is nothing left to do.
    bell: Condvar,
    /// Somebody stands by. Set with `state` locked, so that it is one.
    stands_by: AtomicBool,
    inside: Mutex<Inside>,
}

#[derive(Default)]
struct State {
    /// Workers on the way.
    coming: usize,
    entrance: Entrance,
    /// Queues whose workers came meanwhile.
    others: VecDeque<Arc<dyn Comer>>,
}

impl State {
    fn remember(&mut self, comer: &Arc<impl Comer + 'static>) {
        if !comer.is_one_too_many() {
            self.others.push_back(comer.clone());
        }
    }
}

/// The threads inside of the interpreter that execute tasks.
#[derive(Default)]
struct Inside {
    watched: Vec<Watched>,
    /// Where the next look begins.
    next: usize,
}

/// What is known of one of them.
struct Watched {
    tid: i32,
    /// For how long it had wanted a CPU, and when that was. `None` before the first look.
    wanted: Option<(Time, u64)>,
    /// What that said of it last, if it did: that it mostly waits.
    waits: Option<bool>,
}

impl Watched {
    fn look(&mut self, round: Round, now: Time) {
        let passed = self.wanted.map(|(since, _)| now.since(since));
        if passed.is_some_and(|passed| !round.tells(passed)) {
            return;
        }
        let wanted = engine::wanted_cpu(self.tid).map(|wanted| (now, wanted));
        let before = std::mem::replace(&mut self.wanted, wanted);
        self.waits = before.zip(wanted).map(|((since, before), (_, wanted))| {
            round.is_mostly_waiting(wanted.saturating_sub(before), now.since(since))
        });
    }
}

impl Inside {
    /// Looks at how much the next ones want a CPU. So many mostly wait; the others, and whether
    /// they have shown that they do not.
    fn look(&mut self, round: Round, now: Time) -> (usize, Vec<(i32, bool)>) {
        let all = self.watched.len();
        let count = all.min(MOST_LOOKED_AT);
        let (mut waiting, mut others) = (0, Vec::new());
        for at in self.next..self.next + count {
            let watched = &mut self.watched[at % all];
            watched.look(round, now);
            match watched.waits {
                Some(true) => waiting += 1,
                other => others.push((watched.tid, other.is_some())),
            }
        }
        self.next = if all > count {
            (self.next + count) % all
        } else {
            0
        };
        (waiting, others)
    }

    /// How many compute, if this one does, or has not shown what it does.
    fn computing_beside(&self, tid: i32) -> Option<usize> {
        let waits = |watched: &&Watched| watched.waits == Some(true);
        let own = self.watched.iter().find(|watched| watched.tid == tid);
        match own.is_some_and(|own| waits(&own)) {
            true => None,
            false => Some(self.watched.len() - self.watched.iter().filter(waits).count()),
        }
    }
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

    /// How many workers of a queue may be on the way.
    pub(crate) fn width(&self) -> usize {
        lock(&self.state).entrance.width()
    }

    /// Whether somebody inside keeps the lock until he is made to give it back.
    pub(crate) fn is_hogged(&self) -> bool {
        lock(&self.state).entrance.must_look()
    }

    /// Whether a worker would come for nothing, as another one stands by: the queue is remembered.
    pub(crate) fn defers(&self, comer: &Arc<impl Comer + 'static>) -> bool {
        if !self.stands_by.load(SeqCst) {
            return false;
        }
        let mut state = lock(&self.state);
        // While it stands by it is coming, and asks for the others later.
        let defers = self.stands_by.load(SeqCst) && state.coming >= state.entrance.width();
        if defers {
            state.remember(comer);
        }
        defers
    }

    /// A worker comes, and stands by if it must.
    pub(crate) fn come(&self, comer: &Arc<impl Comer + 'static>) -> Coming {
        {
            let mut state = lock(&self.state);
            if state.coming >= state.entrance.width() {
                state.remember(comer);
                return Coming::Remembered;
            }
            state.coming += 1;
        }
        loop {
            if comer.is_empty() {
                return Coming::NothingLeft;
            }
            if !self.is_hogged() {
                return Coming::Enters;
            }
            let seen = self.look();
            let now = engine::now();
            let entry = lock(&self.state).entrance.looked(seen, now);
            match entry {
                Entry::Enter => return Coming::Enters,
                Entry::LookAt(at) => {
                    if !self.stand_by(Duration::from_nanos(at.since(now)), comer) {
                        return Coming::Remembered;
                    }
                }
            }
        }
    }

    /// False: somebody else does, and the queue is remembered.
    fn stand_by(&self, time: Duration, comer: &Arc<impl Comer + 'static>) -> bool {
        {
            let mut state = lock(&self.state);
            if self.stands_by.swap(true, SeqCst) {
                // The other one is still coming, and asks for this one again.
                state.coming -= 1;
                state.remember(comer);
                return false;
            }
        }
        engine::blocking(|| {
            let state = lock(&self.state);
            // Whoever takes the last task looks for somebody who stands by after that.
            if !comer.is_empty() {
                drop(self.bell.wait_timeout(state, time));
            }
        });
        // With the lock: whoever saw it set has been remembered.
        let _state = lock(&self.state);
        self.stands_by.store(false, SeqCst);
        true
    }

    /// Looks at those inside.
    fn look(&self) -> Seen {
        let interval = gil::interval().unwrap_or_default();
        let round = lock(&self.state).entrance.round(interval);
        let (mut waiting, others) = lock(&self.inside).look(round, engine::now());
        let (mut computing, mut known) = (0, waiting > 0 || others.is_empty());
        for (tid, has_shown) in others {
            match gil::what_does(tid) {
                Does::WaitForLock | Does::Run => computing += 1,
                Does::WaitElsewhere => waiting += 1,
                Does::Unknown if has_shown => computing += 1,
                Does::Unknown => continue,
            }
            known = true;
        }
        match known {
            true => Seen::Inside { computing, waiting },
            false => Seen::Nothing,
        }
    }

    /// The worker that came is inside, after so many nanoseconds at the lock. False: it is to leave
    /// again, because others compute. Others may come.
    pub(crate) fn entered(&self, waited: u64, interval: u64) -> bool {
        let entered = {
            let mut state = lock(&self.state);
            state.entrance.entered(waited, interval, engine::now())
        };
        let begins = entered == Entered::Begin || {
            let seen = self.look();
            lock(&self.state).entrance.may_begin(seen)
        };
        self.next();
        begins
    }

    /// The worker that came has nothing left to do. Others may come.
    pub(crate) fn turned_back(&self) {
        self.next();
    }

    fn next(&self) {
        let mut asked = Vec::new();
        {
            let mut state = lock(&self.state);
            state.coming -= 1;
            let room = state.entrance.width().saturating_sub(state.coming);
            let room = room.min(state.others.len());
            asked.extend(state.others.drain(..room));
        }
        asked.into_iter().for_each(Comer::come_again);
    }

    /// The calling thread executes tasks from now on.
    pub(crate) fn begin(&self) -> i32 {
        let tid = engine::gettid();
        lock(&self.inside).watched.push(Watched {
            tid,
            wanted: None,
            waits: None,
        });
        tid
    }

    /// It does so no more.
    pub(crate) fn end(&self, tid: i32) {
        let mut inside = lock(&self.inside);
        if let Some(at) = inside.watched.iter().rposition(|other| other.tid == tid) {
            inside.watched.swap_remove(at);
        }
    }

    /// Whether this worker leaves between two tasks, as too many compute.
    pub(crate) fn is_crowded(&self, tid: i32) -> bool {
        if !self.stands_by.load(SeqCst) {
            return false;
        }
        let computing = lock(&self.inside).computing_beside(tid);
        computing.is_some_and(|computing| lock(&self.state).entrance.leaves(computing))
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
    /// It lines up. Say [`Line::entered`].
    Enters,
    /// Not this time: its queue is asked again.
    Remembered,
    /// Its queue has nothing to do. Say [`Line::turned_back`].
    NothingLeft,
}
