//! The quick ways come to what the long ones come to.

use super::events::{event, twins};
use super::machine::Machine;
use super::rig::{Pool, Rig};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use proptest::prelude::*;

/// All that a machine's pools know, but for the ways that they go.
fn known(machine: &Machine) -> String {
    let pools = format!("{:?}", machine.rig.pools);
    pools.replace("long_way: true", "long_way: false")
}

fn same(quick: &Machine, long: &Machine) {
    assert_eq!(known(quick), known(long));
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
