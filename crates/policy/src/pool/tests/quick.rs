//! The quick ways come to what the long ones come to.

use super::super::{Decided, PoolStats, Published};
use super::events::{event, twins};
use super::machine::Machine;
use super::rig::{Pool, Rig};
use super::*;
use proptest::prelude::*;

/// All that can be seen of a pool.
type Seen = (
    PoolStats,
    Published,
    Vec<(&'static str, &'static str, Decided)>,
    [u64; 5],
    Vec<(State, u32)>,
);

fn seen(rig: &Rig, pool: &Pool) -> Seen {
    let counts = [
        u64::from(pool.nr_running()),
        u64::from(pool.nr_idle()),
        pool.nr_queued() as u64,
        pool.nr_in_flight(),
        u64::from(pool.nr_executing()),
    ];
    let worker = |id| {
        let worker = pool.crew.get(id);
        (worker.state(), worker.crowded)
    };
    (
        pool.stats(),
        pool.published(rig.now),
        pool.decisions().collect(),
        counts,
        pool.crew.ids().map(worker).collect(),
    )
}

fn look(machine: &Machine) -> Vec<Seen> {
    let rig = &machine.rig;
    rig.pools.iter().map(|pool| seen(rig, pool)).collect()
}

fn same(quick: &Machine, long: &Machine) {
    assert_eq!(look(quick), look(long));
    let (quick, long) = (&quick.rig, &long.rig);
    assert_eq!(quick.said, long.said, "what was asked for");
    assert_eq!(
        quick.started, long.started,
        "what was started, in which order"
    );
    assert_eq!(quick.yields, long.yields);
    assert_eq!(quick.store.budget, long.store.budget);
    let words = |rig: &Rig| -> Vec<_> { rig.store.items.iter().map(|item| item.word).collect() };
    assert_eq!(words(quick), words(long));
    let limits = |rig: &Rig| -> Vec<_> {
        let limits = rig.store.limits.iter();
        limits.map(|limit| (limit.now(), limit.waiters())).collect()
    };
    assert_eq!(limits(quick), limits(long));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn a_quick_way_leaves_what_the_long_one_leaves(
        [mut quick, mut long] in twins(),
        events in proptest::collection::vec(event(), 0..250),
    ) {
        long.rig.pools.iter_mut().for_each(Pool::go_the_long_way);
        for event in events {
            assert_eq!(quick.event(event.clone()), long.event(event));
            same(&quick, &long);
        }
        for machine in [&mut quick, &mut long] {
            machine.finish();
            machine.rig.run();
        }
        same(&quick, &long);
    }
}
