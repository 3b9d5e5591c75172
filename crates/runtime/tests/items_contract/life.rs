//! Who keeps an item in memory, and for how long.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cmwq::Work;

use crate::common::{Opens, Permits, eventually, watchdog};
use crate::kit::{Dice, KINDS, running_on};

/// Data of an item; says when it goes.
struct Tracked {
    gone: Arc<AtomicUsize>,
    ended: Arc<AtomicUsize>,
    gate: Arc<Permits>,
}

impl Drop for Tracked {
    fn drop(&mut self) {
        // Never before its function has ended.
        assert_eq!(self.ended.load(SeqCst), 1);
        self.gone.fetch_add(1, SeqCst);
    }
}

#[test]
fn it_lives_as_long_as_it_runs() {
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        let [gone, ended] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
        let (gate, began) = (Arc::new(Permits::new()), Arc::new(AtomicUsize::new(0)));
        let _opens = Opens(&gate);
        let data = Tracked {
            gone: gone.clone(),
            ended: ended.clone(),
            gate: gate.clone(),
        };
        let begins = began.clone();
        let item = Work::with_data(data, move |item: &Work<Tracked>| {
            begins.fetch_add(1, SeqCst);
            item.data().gate.take();
            item.data().ended.fetch_add(1, SeqCst);
        });
        assert_eq!(queue.queue(&item), Ok(true));
        drop(item);
        eventually("it runs", || began.load(SeqCst) == 1);
        assert_eq!(gone.load(SeqCst), 0, "{kind:?}");
        gate.open();
        queue.flush().unwrap();
        eventually("it is gone", || gone.load(SeqCst) == 1);
    }
}

#[test]
fn it_drops_its_own_last_handle() {
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        let alive = Arc::new(());
        for _ in 0..200 {
            let (own, held) = (Arc::new(Mutex::new(None)), alive.clone());
            let (inner, text) = (own.clone(), "still there".to_owned());
            let item = Work::new(move || {
                let last: Option<Work> = inner.lock().unwrap().take();
                drop(last);
                assert_eq!(
                    (text.as_str(), Arc::strong_count(&held) > 1),
                    ("still there", true)
                );
            });
            *own.lock().unwrap() = Some(item.clone());
            assert_eq!(queue.queue(&item), Ok(true), "{kind:?}");
            drop(item);
        }
        queue.flush().unwrap();
        eventually("all are gone", || Arc::strong_count(&alive) == 1);
    }
}

/// New items take the memory of those that have just ended, or are ending.
#[test]
fn memory_is_used_again_at_once() {
    const TIMES: usize = 2_000;
    let _watch = watchdog();
    let queues = KINDS.map(|kind| kind.queue());
    let runs = Arc::new(AtomicUsize::new(0));
    std::thread::scope(|threads| {
        for thread in 0..4_u64 {
            let (queues, runs) = (&queues, &runs);
            threads.spawn(move || {
                let mut dice = Dice(thread + 1);
                for n in 0..TIMES {
                    let (own, runs) = (AtomicUsize::new(0), runs.clone());
                    let item = Work::new(move || {
                        assert_eq!(own.fetch_add(1, SeqCst), 0);
                        runs.fetch_add(1, SeqCst);
                    });
                    let queue = &queues[dice.roll(queues.len())];
                    assert_eq!(queue.queue(&item), Ok(true));
                    // Some are gone before they run, some right after.
                    if n % 3 == 0 {
                        item.flush().unwrap();
                    }
                }
            });
        }
    });
    queues.iter().for_each(|queue| queue.flush().unwrap());
    assert_eq!(runs.load(SeqCst), 4 * TIMES);
}

#[test]
fn all_references_come_back_however_it_is_taken_back() {
    const TIMES: usize = 2_500;
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        let alive = Arc::new(());
        let held = alive.clone();
        let item = Work::new(move || assert!(Arc::strong_count(&held) > 1));
        std::thread::scope(|threads| {
            for thread in 0..4_u64 {
                let (queue, item) = (&queue, &item);
                threads.spawn(move || {
                    let mut dice = Dice(thread + 1);
                    for _ in 0..TIMES {
                        let delay = Duration::from_micros(dice.roll(60) as u64);
                        match dice.roll(8) {
                            0 | 1 => _ = queue.queue(item),
                            2 => _ = queue.queue_after(item, delay),
                            3 => _ = queue.modify(item, delay),
                            4 => _ = item.cancel(),
                            5 => _ = queue.queue(&item.clone()),
                            6 => _ = item.cancel_sync().unwrap(),
                            _ => _ = item.flush_now().unwrap(),
                        }
                    }
                });
            }
        });
        item.cancel_sync().unwrap();
        assert!(!item.is_pending());
        drop(item);
        eventually("all is given back", || Arc::strong_count(&alive) == 1);
    }
}

#[test]
fn what_never_ran_is_given_back_too() {
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.narrow();
        let blocker = running_on(&queue);
        let _opens = Opens(&blocker.data().gate);
        let alive = Arc::new(());
        let items: Vec<_> = (0..30)
            .map(|_| {
                let held = alive.clone();
                Work::new(move || drop(held.clone()))
            })
            .collect();
        let queue_on = |item| queue.queue_on(crate::kit::cpus()[0], item);
        items
            .iter()
            .for_each(|item| assert_eq!(queue_on(item), Ok(true)));
        for (n, item) in items.into_iter().enumerate() {
            let was_pending = match n % 4 {
                0 => item.cancel(),
                1 => item.cancel_sync().unwrap(),
                2 => item.disable(),
                _ => item.disable_sync().unwrap(),
            };
            assert!(was_pending, "{kind:?}");
        }
        assert_eq!(Arc::strong_count(&alive), 1, "{kind:?}");
    }
}
