//! Canaries and the tick: `../signals/README.md`.

use std::sync::Arc;

use cmwq_policy::CpuMask;
use cmwq_policy::canary::Canary;
use loom::sync::Mutex;
use loom::sync::atomic::Ordering::Relaxed;
use loom::sync::atomic::{AtomicBool, AtomicU32};
use loom::thread;

use super::bounded;
use crate::park::Parker;
use crate::signals::canaries::Canaries;
use crate::signals::tick::Tick;

/// The known faults need two; four take half a minute, five several.
const PREEMPTIONS: usize = 3;

/// Two pools, the canary of CPU 0, its relay, and what a receiver gets from it.
struct Machine {
    canaries: Canaries,
    /// A bit for each pool.
    reported: AtomicU32,
    receiver: Parker,
}

impl Machine {
    fn new() -> Arc<Machine> {
        let canaries = Canaries::new();
        canaries.hang(0);
        let (reported, receiver) = (AtomicU32::new(0), Parker::default());
        Arc::new(Machine {
            canaries,
            reported,
            receiver,
        })
    }

    /// What `Pool::with` does when a pool newly wants reports.
    fn publish(&self, pool: usize) {
        self.canaries.set_wanting(pool, true);
        self.canaries.arm_all();
    }

    /// The canary's life, with every CPU idle: after each step `report` says whether that was the
    /// last one.
    fn watch(&self, report: impl Fn() -> bool) {
        let board = self.canaries.board();
        let bell = &board.seat(0).bell;
        loop {
            let on_duty = bell.state() == Canary::Armed && board.anybody_wants();
            if !on_duty {
                bell.park(&board.off_duty, || board.anybody_wants());
            } else if bell.fire(&board.off_duty) && report() {
                return;
            }
        }
    }

    /// A canary that is a thread of the process: it reports by itself, to `last` in the end.
    fn watch_alone(&self, last: usize) {
        self.watch(|| self.report() == Some(last));
    }

    /// One in a helper, which reports as often as `reports`, by the relay.
    fn watch_from_outside(&self, reports: usize) {
        let left = std::cell::Cell::new(reports);
        self.watch(|| {
            self.canaries.board().seat(0).relay.unpark();
            left.set(left.get() - 1);
            left.get() == 0
        });
    }

    /// The relay's life, until it has reported to `last`.
    fn relay(&self, last: usize) {
        loop {
            self.canaries.board().seat(0).relay.park(None);
            if self.report() == Some(last) {
                return;
            }
        }
    }

    fn report(&self) -> Option<usize> {
        let pool = (0..2).find(|&pool| self.canaries.wants(pool))?;
        // Relaxed: the receiver's wake carries it over.
        self.reported.fetch_or(1 << pool, Relaxed);
        self.receiver.unpark();
        Some(pool)
    }

    /// The receiver's life: a pool that has its report starts a worker and wants none any more.
    fn receive(&self, last: usize) {
        let mut wanted = true;
        loop {
            self.receiver.park(None);
            // Relaxed: as in `report`.
            let reported = self.reported.swap(0, Relaxed);
            if reported & 1 << last != 0 {
                return;
            }
            if reported != 0 {
                // Said when it changes, as `Pool::publish` does: a canary may report twice.
                if std::mem::take(&mut wanted) {
                    self.canaries.set_wanting(0, false);
                }
                self.canaries.rearm(&[0].into_iter().collect::<CpuMask>());
            }
        }
    }
}

/// Fails if one of the fences is left out, and if the canary does not look once more before it
/// sleeps.
#[test]
fn none_parks_while_it_is_wanted() {
    bounded(PREEMPTIONS, || {
        let machine = Machine::new();
        let watched = machine.clone();
        let canary = thread::spawn(move || watched.watch_alone(0));
        machine.publish(0);
        canary.join().unwrap();
    });
}

/// The same by a relay, which sleeps until the canary has fired.
///
/// Fails if the relay looks at the pools before it takes its wake, and for the faults of the one
/// above.
#[test]
fn a_relay_passes_on_what_a_canary_says() {
    bounded(PREEMPTIONS, || {
        let machine = Machine::new();
        let (watched, passing) = (machine.clone(), machine.clone());
        let canary = thread::spawn(move || watched.watch_from_outside(1));
        let relay = thread::spawn(move || passing.relay(0));
        machine.publish(0);
        canary.join().unwrap();
        relay.join().unwrap();
    });
}

/// The canary has just fired, or fires, for pool 0 while pool 1 begins to want a report; nobody
/// but the publisher and the receiver of the first report arms it again.
///
/// Fails if the receiver does not arm it, or the canary does not look before it sleeps.
#[test]
fn one_that_has_fired_is_armed_for_the_next_pool() {
    bounded(PREEMPTIONS, || {
        let machine = Machine::new();
        machine.canaries.set_wanting(0, true);
        let watched = machine.clone();
        let canary = thread::spawn(move || watched.watch_alone(1));
        let receiving = machine.clone();
        let receiver = thread::spawn(move || receiving.receive(1));
        machine.publish(1);
        canary.join().unwrap();
        receiver.join().unwrap();
    });
}

/// An armed tick finds nothing, disarms and sleeps, while items begin to wait.
///
/// Fails if it does not look again after it has disarmed.
#[test]
fn it_does_not_sleep_through_a_backlog() {
    bounded(PREEMPTIONS, || {
        let tick = Arc::new(Tick::new());
        tick.set_armed();
        let sleeping = tick.clone();
        let ticker = thread::spawn(move || {
            while !sleeping.has_backlog() {
                if sleeping.disarm() {
                    sleeping.park(None);
                }
            }
        });
        tick.set_backlog(true);
        if tick.set_armed() {
            tick.unpark();
        }
        ticker.join().unwrap();
    });
}

/// A backlog that comes and goes and comes leaves the tick armed.
///
/// Fails as the one above.
#[test]
fn a_short_backlog_does_not_confuse_it() {
    bounded(PREEMPTIONS, || {
        let tick = Arc::new(Tick::new());
        let done = Arc::new(AtomicBool::new(false));
        let (sleeping, over) = (tick.clone(), done.clone());
        let ticker = thread::spawn(move || {
            // Relaxed: the word of the backlog has to carry it over.
            while !(over.load(Relaxed) && sleeping.has_backlog()) {
                if sleeping.disarm() {
                    sleeping.park(None);
                } else {
                    thread::yield_now();
                }
            }
        });
        for last in [false, true] {
            // Relaxed: as above.
            done.store(last, Relaxed);
            tick.set_backlog(true);
            if tick.set_armed() {
                tick.unpark();
            }
            if !last {
                tick.set_backlog(false);
            }
        }
        ticker.join().unwrap();
    });
}

/// Workers that idle too long are seen although the tick was just about to stop watching them.
///
/// Fails if it looks before it stops watching.
#[test]
fn it_does_not_forget_idle_workers() {
    bounded(PREEMPTIONS, || {
        let tick = Arc::new(Tick::new());
        tick.watch_idle();
        let idle = Arc::new(Mutex::new(false));
        let (watching, pool) = (tick.clone(), idle.clone());
        let ticker = thread::spawn(move || {
            let look = || pool.lock().unwrap().then_some(());
            while look().or_else(|| watching.stop_culling(look)).is_none() {
                watching.park(None);
            }
        });
        *idle.lock().unwrap() = true;
        tick.watch_idle();
        ticker.join().unwrap();
    });
}
