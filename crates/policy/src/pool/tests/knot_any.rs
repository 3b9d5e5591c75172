//! Items that wait for whichever of several ends first, in circles.

use alloc::vec::Vec;

use super::knot::World;
use crate::contract::{Target, Until};
use crate::pool::Stuck;

impl World {
    fn waits_for_any(&mut self, work: usize, of: &[usize]) -> Result<(), Stuck> {
        let node = self.node(work);
        let targets: Vec<_> = of.iter().map(|&item| Target::Item(item)).collect();
        self.graph
            .begin(&self.machine, &[node], Until::Any, &targets)
    }
}

#[test]
fn of_one_it_is_as_for_that_one() {
    let mut world = World::new(2);
    let (x, y) = (world.item(0), world.item(1));
    assert_eq!(world.waits_for_any(x, &[y]), Ok(()));
    assert_eq!(world.flushes(y, x), Err(Stuck));
    world.end(y);
    let mut world = World::new(2);
    let (x, y) = (world.item(0), world.item(1));
    assert_eq!(world.flushes(y, x), Ok(()));
    assert_eq!(world.waits_for_any(x, &[y]), Err(Stuck));
}

#[test]
fn one_that_goes_on_is_enough() {
    let mut world = World::new(3);
    let (x, y, z) = (world.item(0), world.item(1), world.item(2));
    assert_eq!(world.waits_for_any(x, &[y, z]), Ok(()));
    assert_eq!(world.flushes(y, x), Ok(()));
    assert_eq!(world.flushes(z, x), Err(Stuck), "the last one");
    assert_eq!(world.joins(z, y), Err(Stuck), "over another");
    world.end(z);
    // It is about to go on, although what is left waits for it.
    let other = world.item(2);
    assert_eq!(world.flushes(other, y), Ok(()));
}

#[test]
fn two_that_wait_for_each_other_wait_for_ever_and_with_a_third_they_do_not() {
    let mut world = World::new(3);
    let (x, y, z) = (world.item(0), world.item(1), world.item(2));
    assert_eq!(world.waits_for_any(x, &[y]), Ok(()));
    assert_eq!(world.waits_for_any(y, &[x, z]), Ok(()));
    assert_eq!(world.waits_for_any(z, &[x, y]), Err(Stuck));
}

#[test]
fn who_waits_for_one_that_shuts_down_is_behind_it_unless_another_ends() {
    let mut world = World::new(3);
    let (x, y, ends) = (world.item(0), world.item(1), world.item(2));
    world.graph.begin_shutdown(&[world.node(ends)]);
    assert_eq!(world.waits_for_any(x, &[ends]), Ok(()));
    assert_eq!(world.waits_for_any(y, &[ends, x]), Ok(()));
    let all = [x, y, ends].map(|item| world.node(item));
    assert_eq!(world.graph.behind_shutdown(&world.machine), all.into());
    let other = world.item(2);
    world.graph.end(&[world.node(y)]);
    assert_eq!(world.waits_for_any(y, &[ends, other]), Ok(()));
    let behind = [x, ends].map(|item| world.node(item));
    assert_eq!(world.graph.behind_shutdown(&world.machine), behind.into());
}

#[test]
fn what_waits_for_nothing_known_is_not_waited_for_in_vain() {
    let mut world = World::new(2);
    let (x, y) = (world.item(0), world.item(1));
    assert_eq!(world.waits_for_any(x, &[]), Ok(()));
    assert_eq!(world.flushes(y, x), Ok(()));
}
