//! Policy events per second on one core.
//!
//! An *event* is one call of the core: an item is queued, a worker asks what to do, says that it
//! blocks, that it is back, that its item has ended, a tick has looked, and so on. Around the core
//! is next to nothing (`crew/`). divan reports items per second: these are the events. Each figure
//! is of a *round*, which leaves the pools as it has found them.

mod crew;

use cmwq_policy::pool::SeenState;
use cmwq_policy::timers::Timers;
use cmwq_policy::{Rule, Time};
use crew::Crew;
use divan::Bencher;
use divan::counter::ItemsCount;

fn main() {
    divan::main();
}

/// Measures a round, after one that has made the workers.
fn measure(bencher: Bencher, mut crew: Crew, round: impl Fn(&mut Crew)) {
    round(&mut crew);
    let before = crew.events;
    round(&mut crew);
    let events = crew.events - before;
    bencher
        .counter(ItemsCount::new(events))
        .bench_local(|| round(&mut crew));
}

/// Queues them all, then lets them begin and end.
fn queue_and_end(crew: &mut Crew, items: u32, pwqs: u32) {
    for work in 0..items {
        crew.queue(work, work % pwqs);
        crew.settle();
    }
    while crew.end_one() {}
}

/// One at a time: each finds an idle worker, which is woken and parks again.
#[divan::bench]
fn one_item_at_a_time(bencher: Bencher) {
    let crew = Crew::new(1, Rule::Managed, 4, 1024, 1);
    measure(bencher, crew, |crew| queue_and_end(crew, 1, 1));
}

/// A managed pool of four CPUs with a backlog.
#[divan::bench]
fn managed(bencher: Bencher) {
    let crew = Crew::new(1, Rule::Managed, 4, 1024, 1000);
    measure(bencher, crew, |crew| queue_and_end(crew, 1000, 1));
}

/// The same, and each item says that it blocks and that it is back.
#[divan::bench]
fn managed_with_hints(bencher: Bencher) {
    let crew = Crew::new(1, Rule::Managed, 4, 1024, 1000);
    measure(bencher, crew, |crew| {
        for work in 0..1000 {
            crew.queue(work, 0);
            crew.settle();
        }
        while crew.block_and_end_one() {}
    });
}

/// A per-CPU pool: one item runs, and while it blocks the next.
#[divan::bench]
fn percpu_with_hints(bencher: Bencher) {
    let crew = Crew::new(1, Rule::PerCpu, 1, 1024, 1000);
    measure(bencher, crew, |crew| {
        for work in 0..1000 {
            crew.queue(work, 0);
            crew.settle();
        }
        while crew.block_and_end_one() {}
    });
}

/// Four slots for a thousand items of one pool.
#[divan::bench]
fn limit_binds(bencher: Bencher) {
    let crew = Crew::new(1, Rule::Managed, 4, 4, 1000);
    measure(bencher, crew, |crew| queue_and_end(crew, 1000, 1));
}

/// Four slots for a thousand items of eight pools, which take turns.
#[divan::bench]
fn limit_binds_over_pools(bencher: Bencher) {
    let crew = Crew::new(8, Rule::Managed, 4, 4, 1000);
    measure(bencher, crew, |crew| queue_and_end(crew, 1000, 8));
}

/// A flush after each eight items, and a look at it: the ring of colours fills up.
#[divan::bench]
fn flushes(bencher: Bencher) {
    let crew = Crew::new(1, Rule::Managed, 4, 1024, 1000);
    measure(bencher, crew, |crew| {
        for work in 0..1000 {
            crew.queue(work, 0);
            crew.settle();
            if work % 8 == 7 {
                crew.flush(0);
            }
        }
        while crew.end_one() {}
    });
}

/// A pool of four CPUs with 64 workers whose items block for good.
fn blocked_crew(items: u32) -> Crew {
    let mut crew = Crew::new(1, Rule::Managed, 4, 2048, 64 + items);
    for work in items..items + 64 {
        crew.queue(work, 0);
        crew.settle();
    }
    while crew.nr_blocked() < 64 {
        crew.block_one();
    }
    crew
}

/// A thousand items pass by 64 blocked workers.
#[divan::bench]
fn beside_64_blocked(bencher: Bencher) {
    let crew = blocked_crew(1000);
    measure(bencher, crew, |crew| queue_and_end(crew, 1000, 1));
}

/// The same with a flush for each: all workers are asked whether they wait for it.
#[divan::bench]
fn flushes_beside_64_blocked(bencher: Bencher) {
    let crew = blocked_crew(1000);
    measure(bencher, crew, |crew| {
        for work in 0..1000 {
            crew.queue(work, 0);
            crew.flush(0);
            crew.settle();
            crew.end_one();
        }
    });
}

/// The same while one of the 64 waits for items: each end asks whether it waits for ever.
#[divan::bench]
fn beside_a_waiter_of_64(bencher: Bencher) {
    let mut crew = blocked_crew(1000);
    assert!(crew.wait_for_items(0));
    measure(bencher, crew, |crew| queue_and_end(crew, 1000, 1));
}

/// Items are taken back from a long worklist beside 64 blocked workers.
#[divan::bench]
fn cancels_beside_64_blocked(bencher: Bencher) {
    let mut crew = blocked_crew(1004);
    for work in 1000..1004 {
        crew.queue(work, 0);
        crew.settle();
    }
    measure(bencher, crew, |crew| {
        (0..1000).for_each(|work| crew.queue(work, 0));
        (0..1000).rev().for_each(|work| crew.cancel(work, 0));
    });
}

/// Ticks look at sixteen of 64 workers, and CPUs report that they idle: half of the events each.
#[divan::bench]
fn scans_and_reports(bencher: Bencher) {
    let mut crew = Crew::new(1, Rule::Managed, 64, 1024, 64);
    for work in 0..64 {
        crew.queue(work, 0);
        crew.settle();
    }
    measure(bencher, crew, |crew| {
        for state in [SeenState::Asleep(Some(8)), SeenState::Runnable].repeat(50) {
            crew.scan(0, state);
            crew.cpu_idle(0);
        }
    });
}

/// A thousand timers are armed and expire: an event is either.
#[divan::bench]
fn timers(bencher: Bencher) {
    let mut timers: Timers<()> = Timers::default();
    let at = |key: u64| Time(key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 1);
    bencher.counter(ItemsCount::new(2000u64)).bench_local(|| {
        (0..1000).for_each(|key| timers.arm(key, key % 8, at(key), ()));
        while timers.pop_expired(Time(u64::MAX)).is_some() {}
    });
}
