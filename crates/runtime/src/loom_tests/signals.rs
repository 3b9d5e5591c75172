//! The sleep/wake protocols, tried in every order that the memory model allows. Run with
//! `RUSTFLAGS="--cfg loom" cargo test --release -p cmwq --lib loom`.
//!
//! A lost wake-up shows as a deadlock: loom then finds every thread asleep. What is not modelled is
//! time; a sleep that only a timeout would end counts as one that never ends, so these hand-overs
//! are proved without the tick that would repair them.
//!
//! Each model has failed for the fault that it is for: with a fence or a look taken out.

use std::sync::Arc;

use cmwq_policy::canary::Canary;
use cmwq_policy::work::WorkWord;
use loom::cell::UnsafeCell;
use loom::sync::Mutex;
use loom::sync::atomic::Ordering::Relaxed;
use loom::sync::atomic::{AtomicBool, AtomicU32};
use loom::thread;

use crate::item::Header;
use crate::latch::Latch;
use crate::park::Parker;
use crate::signals::bell::Bell;
use crate::signals::canary::Canaries;
use crate::signals::tick::Tick;

/// Explores at most this many preemptions per run. The known faults need two; five take a minute.
const PREEMPTIONS: usize = 4;

fn model(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(PREEMPTIONS);
    builder.check(run);
}

mod canaries {
    use super::*;
    use cmwq_policy::CpuMask;

    /// Two pools, the canary of CPU 0, and what a receiver gets from it.
    struct Machine {
        canaries: Canaries,
        bell: &'static Bell,
        /// A bit for each pool.
        reported: AtomicU32,
        receiver: Parker,
    }

    impl Machine {
        fn new() -> Arc<Machine> {
            let canaries = Canaries::new();
            let bell = canaries.hang(0);
            let (reported, receiver) = (AtomicU32::new(0), Parker::default());
            Arc::new(Machine {
                canaries,
                bell,
                reported,
                receiver,
            })
        }

        /// What `Pool::with` does when a pool newly wants reports.
        fn publish(&self, pool: u32) {
            self.canaries.set_wanting(pool, true);
            self.canaries.arm_all();
        }

        fn is_on_duty(&self) -> bool {
            self.bell.state() == Canary::Armed && self.canaries.anybody_wants()
        }

        /// The canary's life, with every CPU idle, until it has reported to `last`.
        fn watch(&self, last: u32) {
            loop {
                if !self.is_on_duty() {
                    self.canaries.park(self.bell);
                } else if self.canaries.fire(self.bell) && self.report() == Some(last) {
                    return;
                }
            }
        }

        fn report(&self) -> Option<u32> {
            let pool = (0..2).find(|&pool| self.canaries.wants(pool))?;
            // Relaxed: the receiver's token carries it over.
            self.reported.fetch_or(1 << pool, Relaxed);
            self.receiver.unpark();
            Some(pool)
        }

        /// The receiver's life: a pool that has its report starts a worker and wants none any more.
        fn receive(&self, last: u32) {
            loop {
                self.receiver.park(None);
                // Relaxed: as in `report`.
                let reported = self.reported.swap(0, Relaxed);
                if reported & 1 << last != 0 {
                    return;
                }
                if reported != 0 {
                    self.canaries.set_wanting(0, false);
                    self.canaries.rearm(&[0].into_iter().collect::<CpuMask>());
                }
            }
        }
    }

    #[test]
    fn none_parks_while_it_is_wanted() {
        model(|| {
            let machine = Machine::new();
            let watched = machine.clone();
            let canary = thread::spawn(move || watched.watch(0));
            machine.publish(0);
            canary.join().unwrap();
        });
    }

    /// The canary has just fired, or fires, for pool 0 while pool 1 begins to want a report; nobody
    /// but the publisher and the receiver of the first report arms it again.
    #[test]
    fn one_that_has_fired_is_armed_for_the_next_pool() {
        model(|| {
            let machine = Machine::new();
            machine.canaries.set_wanting(0, true);
            let watched = machine.clone();
            let canary = thread::spawn(move || watched.watch(1));
            let receiving = machine.clone();
            let receiver = thread::spawn(move || receiving.receive(1));
            machine.publish(1);
            canary.join().unwrap();
            receiver.join().unwrap();
        });
    }
}

mod parking {
    use super::*;

    /// No token is lost, and who takes one sees what its giver stored.
    #[test]
    fn every_unpark_is_noticed() {
        model(|| {
            let parker = Arc::new(Parker::default());
            let news = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
            let givers = [0, 1].map(|i| {
                let (parker, news) = (parker.clone(), news.clone());
                thread::spawn(move || {
                    // Relaxed: the token has to carry it over.
                    news[i].store(true, Relaxed);
                    parker.unpark();
                })
            });
            // Relaxed: as above.
            while !news.iter().all(|one| one.load(Relaxed)) {
                parker.park(None);
            }
            givers.into_iter().for_each(|giver| giver.join().unwrap());
        });
    }

    /// A wake-up that comes late, after its token was taken, ends no later sleep for good.
    #[test]
    fn a_token_is_for_one_sleep() {
        model(|| {
            let parker = Arc::new(Parker::default());
            let round = Arc::new(AtomicU32::new(0));
            let (giver, count) = (parker.clone(), round.clone());
            let giver = thread::spawn(move || {
                for _ in 0..2 {
                    // Relaxed: the token has to carry it over.
                    count.fetch_add(1, Relaxed);
                    giver.unpark();
                }
            });
            for reached in 1..=2 {
                // Relaxed: as above.
                while round.load(Relaxed) < reached {
                    parker.park(None);
                }
            }
            giver.join().unwrap();
        });
    }
}

mod latches {
    use super::*;

    struct Shared {
        latch: Latch,
        value: UnsafeCell<u32>,
    }

    // SAFETY: loom watches the cell.
    unsafe impl Sync for Shared {}
    // SAFETY: as above.
    unsafe impl Send for Shared {}

    /// The waiter wakes, and the value is its own then; loom watches the latch's own cell as well.
    #[test]
    fn what_is_set_is_noticed_and_seen() {
        model(|| {
            let shared = Arc::new(Shared {
                latch: Latch::new(),
                value: UnsafeCell::new(0),
            });
            let setting = shared.clone();
            let setter = thread::spawn(move || {
                // SAFETY: the latch is not set, so the value is the setter's.
                setting.value.with_mut(|value| unsafe { *value = 7 });
                setting.latch.set();
            });
            if !shared.latch.is_set() {
                shared.latch.announce();
            }
            while !shared.latch.is_set() {
                thread::park();
            }
            // SAFETY: the latch is set, so the value is the waiter's.
            assert_eq!(shared.value.with(|value| unsafe { *value }), 7);
            setter.join().unwrap();
        });
    }
}

mod ticks {
    use super::*;

    /// An armed tick finds nothing, disarms and sleeps, while items begin to wait.
    #[test]
    fn it_does_not_sleep_through_a_backlog() {
        model(|| {
            let tick = Arc::new(Tick::new());
            tick.set_armed(false);
            let sleeping = tick.clone();
            let ticker = thread::spawn(move || {
                while !sleeping.has_backlog() {
                    if sleeping.disarm() {
                        sleeping.park(None);
                    }
                }
            });
            tick.set_backlog(0, true);
            if tick.set_armed(false) {
                tick.unpark();
            }
            ticker.join().unwrap();
        });
    }

    /// A backlog that comes and goes and comes leaves the tick armed.
    #[test]
    fn a_short_backlog_does_not_confuse_it() {
        model(|| {
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
                tick.set_backlog(0, true);
                if tick.set_armed(false) {
                    tick.unpark();
                }
                if !last {
                    tick.set_backlog(0, false);
                }
            }
            ticker.join().unwrap();
        });
    }

    /// Workers that idle too long are seen although the tick was just about to stop watching them.
    #[test]
    fn it_does_not_forget_idle_workers() {
        model(|| {
            let tick = Arc::new(Tick::new());
            tick.set_armed(true);
            let idle = Arc::new(Mutex::new(false));
            let (watching, pool) = (tick.clone(), idle.clone());
            let ticker = thread::spawn(move || {
                let look = || pool.lock().unwrap().then_some(());
                while look().or_else(|| watching.stop_culling(look)).is_none() {
                    watching.park(None);
                }
            });
            *idle.lock().unwrap() = true;
            if tick.set_armed(true) {
                tick.unpark();
            }
            ticker.join().unwrap();
        });
    }
}

mod items {
    use super::*;

    /// A queueing that is refused because the item is pending: the execution that it relies on sees
    /// what was stored before, wherever between queueing and running the refusal fell.
    #[test]
    fn a_refused_queueing_is_seen_by_the_pending_execution() {
        model(|| {
            let item = Arc::new(Shared::new());
            assert!(item.header.try_pend());
            let running = item.clone();
            let worker = thread::spawn(move || running.execute());
            // Relaxed: the item's word has to carry it over.
            item.data.store(1, Relaxed);
            let refused = !item.header.try_pend();
            let seen = worker.join().unwrap();
            assert!(!refused || seen == 1, "refused, and not seen");
            assert!(
                refused || item.header.word().is_pending(),
                "a queueing was forgotten"
            );
        });
    }

    /// Of several that queue an idle item, one does.
    #[test]
    fn one_of_two_queueings_counts() {
        model(|| {
            let item = Arc::new(Shared::new());
            let other = item.clone();
            let other = thread::spawn(move || other.header.try_pend());
            let mine = item.header.try_pend();
            assert!(mine != other.join().unwrap());
        });
    }

    struct Shared {
        header: Header,
        data: AtomicU32,
    }

    // SAFETY: the models use the word only, which is atomic.
    unsafe impl Sync for Shared {}
    // SAFETY: as above.
    unsafe impl Send for Shared {}

    /// # Safety
    /// None is needed: it does nothing, and nobody calls it.
    unsafe fn never_called(_: std::ptr::NonNull<Header>) {}

    impl Shared {
        fn new() -> Self {
            Shared {
                header: Header::new(never_called),
                data: AtomicU32::new(0),
            }
        }

        /// From queued to running; what the function sees.
        fn execute(&self) -> u32 {
            self.header.set_word(WorkWord::queued(256, 0, false));
            self.header.set_word(WorkWord::off_queue(0));
            // Relaxed: as where it is stored.
            self.data.load(Relaxed)
        }
    }
}
