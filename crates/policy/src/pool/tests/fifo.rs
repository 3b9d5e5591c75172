//! A queue whose items begin in the order of queueing: no worker takes what another one would
//! overtake.

use super::leaving::{Box, count_in_all, crowded, end_by, leave, publish, run, take_in};
use super::short::{Happens, Known, after_short_ones, end_all_but_one, happen};
use super::*;
use crate::pool::brief::{LATE, SHORT};
use proptest::prelude::*;

/// A pool for so many CPUs in which one worker executes a short item of such a queue.
pub(super) fn in_order(target: u32) -> (Rig, Box) {
    let (mut rig, mut inbox) = after_short_ones(target);
    rig.store.pwqs[0].state.flags.fifo = true;
    publish(&mut rig, &mut inbox);
    (rig, inbox)
}

#[test]
fn one_worker_is_dealt_items_and_of_several_each_takes_the_next() {
    let (mut rig, mut inbox) = in_order(2);
    let left = leave(&mut rig, &mut inbox, 200);
    let (_, one, _) = rig.running()[0];
    end_by(&mut rig, &mut inbox, one, SHORT);
    assert!(inbox.dealt_to(one) > 0, "it is alone");
    assert!(end_by(&mut rig, &mut inbox, one, 0));
    crowded(&mut rig, &mut inbox);
    run(&mut rig, &mut inbox);
    assert_eq!(rig.executing().len(), 2);
    assert_eq!(rig.started, left[..3], "the other one has the next");
    for (n, &next) in left[3..50].iter().enumerate() {
        assert_eq!(inbox.nr_dealt(), 0);
        let (_, id, _) = rig.running()[n % 2];
        end_by(&mut rig, &mut inbox, id, 0);
        assert_eq!(rig.started.last(), Some(&next));
    }
}

/// What happens with items that are queued once.
fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        3 => (1..60_usize).prop_map(Happens::Leave),
        2 => (0..4_usize).prop_map(Happens::Own),
        12 => (0..4_usize, 1..20_usize, prop_oneof![4 => 0..SHORT, 1 => 0..20 * SHORT])
            .prop_map(|(who, count, ran)| Happens::End(who, count, ran)),
        1 => (0..2 * LATE).prop_map(Happens::Pass),
        1 => Just(Happens::Look),
        1 => Just(Happens::Flush),
        1 => (0..100_usize).prop_map(Happens::Cancel),
        1 => prop_oneof![1..6_u32, 1..100_u32].prop_map(Happens::Limit),
    ]
}

/// All things happen, and then all items end. More than 0 if items were dealt, and several ran.
fn happen_in_order(all: &[Happens]) -> usize {
    let (mut rig, mut inbox) = in_order(4);
    let (mut known, mut dealt, mut several) = (Known::default(), 0, 0);
    for &what in all {
        happen(&mut rig, &mut inbox, &mut known, what);
        dealt += inbox.nr_dealt();
        several += rig.executing().len().saturating_sub(1);
    }
    take_in(&mut rig, &mut inbox);
    run(&mut rig, &mut inbox);
    end_all_but_one(&mut rig, &mut inbox);
    let is_item = |work: &usize| rig.store.items[*work].target.is_none();
    let begun: Vec<usize> = rig.started.iter().copied().filter(is_item).collect();
    assert!(
        begun.is_sorted(),
        "in the order in which they were made and queued: {begun:?}"
    );
    dealt * several
}

#[test]
fn whatever_happens_items_begin_in_the_order_of_queueing() {
    let both = count_in_all(happens(), file!(), happen_in_order);
    assert!(both > 0, "items were dealt, and several workers ran");
}
