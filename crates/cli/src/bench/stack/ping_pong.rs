//! Two threads on one CPU that wake each other by futexes.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Instant;

use cmwq_os::{futex, sched};

use super::Item;
use super::clients::Trips;

const PING: u32 = 1;
const PONG: u32 = 2;
const OVER: u32 = 3;

/// Round trips on the CPU where the caller is; `None` if it may not choose one.
pub(super) fn run(ops: u32, item: Item) -> Option<Trips> {
    let word = AtomicU32::new(PONG);
    let here = [sched::current_cpu()].into_iter().collect();
    let began = Instant::now();
    let took = std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let pinned = sched::set_affinity_self(&here).is_ok();
            answer(&word, item);
            pinned
        });
        let took = scope.spawn(|| {
            let pinned = sched::set_affinity_self(&here).is_ok();
            let took = (0..ops).map(|_| trip(&word)).collect();
            tell(&word, OVER);
            pinned.then_some(took)
        });
        let took = took.join().expect("no panic");
        took.filter(|_| other.join().expect("no panic"))
    })?;
    Some(Trips {
        took,
        migrations: 0,
        cpus: 1,
        elapsed: began.elapsed().as_nanos() as u64,
    })
}

fn trip(word: &AtomicU32) -> u64 {
    let began = Instant::now();
    tell(word, PING);
    while word.load(SeqCst) == PING {
        futex::wait(word, PING, None);
    }
    began.elapsed().as_nanos() as u64
}

fn answer(word: &AtomicU32, item: Item) {
    loop {
        match word.load(SeqCst) {
            OVER => return,
            PING => {
                item.execute();
                tell(word, PONG);
            }
            _ => drop(futex::wait(word, PONG, None)),
        }
    }
}

fn tell(word: &AtomicU32, what: u32) {
    word.store(what, SeqCst);
    futex::wake(word, 1);
}
