//! The programs of a plan: its items, its threads and the foreign ones.

use std::rc::{Rc, Weak};

use cmwq_sim::{Act, ItemId, Machine, Program, ProgramCx, ThreadSpec};

use crate::machine::options;
use crate::plan::{Feature, Plan};
use crate::random::{Random, one_in, streams, time};
use crate::walk::Walk;
use crate::world::World;

/// A machine with everything that the plan draws; its threads wait to be let go.
pub fn build(plan: &Plan) -> (Rc<World>, Machine) {
    let machine = Machine::new(options(plan));
    machine.check_whole(true);
    let world = World::new(plan, &machine);
    (0..plan.items).for_each(|n| add_item(&world, &machine, n));
    world.make_queues(&machine);
    (world, machine)
}

/// Lets the threads of the plan begin.
pub fn begin(world: &Rc<World>, machine: &Machine) {
    for n in 0..world.plan.threads {
        let mut random = world.plan.stream(streams::THREAD, u64::from(n));
        let spec = thread(world, format!("t{n}"), &mut random);
        machine.spawn(spec, Box::new(Walk::thread(world.clone(), random)));
    }
    if world.plan.has(Feature::Hogs) {
        let mut random = world.plan.stream(streams::HOG, 0);
        (0..=random.below(u64::from(world.plan.cpus))).for_each(|n| add_hog(world, machine, n));
    }
}

fn thread(world: &World, name: String, random: &mut Random) -> ThreadSpec {
    let mut spec = ThreadSpec::named(name);
    if world.plan.has(Feature::Nice) {
        spec = spec.at_nice(random.one_of(&[0, 0, 5, 19, -10]));
    }
    if world.plan.has(Feature::Masks) && one_in(random, 2) {
        spec.allowed = world.mask(random);
    }
    spec
}

/// A foreign thread: it burns and sleeps.
fn add_hog(world: &Rc<World>, machine: &Machine, n: u64) {
    let mut random = world.plan.stream(streams::HOG, 1 + n);
    let spec = thread(world, format!("hog{n}"), &mut random);
    let lazy = random.one_of(&[0, 1, 4]);
    let world = world.clone();
    let program = move |_: &mut ProgramCx<'_>, _| match () {
        () if world.stop.get() => Act::End,
        () if random.below(5) < lazy => Act::Sleep(1 + time(&mut random)),
        () => Act::Burn(1 + time(&mut random)),
    };
    machine.spawn(spec, Box::new(program));
}

fn add_item(world: &Rc<World>, machine: &Machine, n: u32) {
    let world: Weak<World> = Rc::downgrade(world);
    let id = machine.item(format!("i{n}"), move |execution| -> Box<dyn Program> {
        let world = world.upgrade().expect("it lives as long as its machine");
        let number = u64::from(n) << 32 | u64::from(execution);
        let random = world.plan.stream(streams::ITEM, number);
        Box::new(Walk::item(world, ItemId(n), random))
    });
    assert_eq!(id, ItemId(n), "items come first");
}
