//! How far a CPU is from the one that an item was queued on.
//!
//! One pool serves all CPUs that a managed queue may use, or those of a cache shard if the queue is
//! spread. Each item knows the CPU that it was queued on, and a worker takes a near one next
//! ([`crate::pool`], `worklist/near.rs`). Locality decides what is run next, never whether a CPU
//! works.
//!
//! # What locality costs, and when it is worth that
//!
//! * *Which item is next* costs nothing, because some item has to be next.
//! * *Where a worker wakes up* costs something. The thread that has just queued the item is busy
//!   there, and shares its core with the worker, while an idle CPU of another pod stays idle. The
//!   scheduler, left alone, takes an idle core. In the simulator's dm-crypt (Ryzen 3900X, items of
//!   150 us that lose 5 us in another cache), bringing workers home costs few jobs 13 % of the
//!   bandwidth. So it is done only where an item loses at least [`HOMING_COST`] elsewhere. The
//!   queue must say that ([`Attrs::locality`](crate::queue::Attrs)): nobody else knows how much
//!   data an item has.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use super::{Layout, Scope};
use crate::cpumask::CpuMask;
use crate::time::{MICROSECOND, Nanos};

/// What an item must lose in another pod for its worker to be brought home. Bringing it home costs
/// about this much: two changes of a mask, and the queueing thread shares its core for one item.
pub const HOMING_COST: Nanos = 20 * MICROSECOND;

/// Of a pool whose items come from several pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nearness {
    /// What makes the pods.
    pub scope: Scope,
    /// Workers are woken in the pod of an item.
    pub homes: bool,
}

/// Steps from one CPU to another: 0 within a pod. Only their order means something.
pub type Distance = u32;

const SAME_CORE: Distance = 1;
const SAME_SHARD: Distance = 2;
const SAME_CACHE: Distance = 3;
const SAME_NODE: Distance = 4;
/// Firmware gives a node 10 to itself and more to others, so these begin where the rest ends.
const OTHER_NODE: Distance = SAME_NODE;

/// The pods of a machine for one scope, and what lies between them.
#[derive(Clone, Debug)]
pub struct Near {
    homes: bool,
    spots: Box<[Spot]>,
    nodes: Box<[Box<[u32]>]>,
}

/// What a CPU is part of; each is named by its first CPU.
#[derive(Clone, Copy, Debug)]
struct Spot {
    pod: u16,
    core: u16,
    shard: u16,
    /// The number of that shard, from 0 on.
    number: u16,
    llc: u16,
    node: u16,
}

impl Near {
    pub(super) fn of(layout: &Layout, nearness: Nearness) -> Near {
        let Nearness { scope, homes } = nearness;
        let cpus = 0..layout.places.len();
        let firsts = |scope| first_of_pods(layout, scope);
        let [pods, cores] = [scope, Scope::Smt].map(firsts);
        let [shards, llcs] = [Scope::CacheShard, Scope::Cache].map(firsts);
        let numbers = numbers(&shards);
        let spot = |cpu: usize| Spot {
            pod: pods[cpu],
            core: cores[cpu],
            shard: shards[cpu],
            number: numbers[cpu],
            llc: llcs[cpu],
            node: layout.places[cpu].node as u16,
        };
        Near {
            homes,
            spots: cpus.map(spot).collect(),
            nodes: layout.distances.clone(),
        }
    }

    /// How far an item that was queued on `home` is from `cpu`. CPUs that the machine did not have
    /// when it was looked at stand for the last one.
    pub fn distance(&self, home: u32, cpu: u32) -> Distance {
        let (a, b) = (self.spot(home), self.spot(cpu));
        match () {
            () if a.pod == b.pod => 0,
            () if a.core == b.core => SAME_CORE,
            () if a.shard == b.shard => SAME_SHARD,
            () if a.llc == b.llc => SAME_CACHE,
            () if a.node == b.node => SAME_NODE,
            () => OTHER_NODE + self.between_nodes(a.node, b.node),
        }
    }

    /// Whether workers are woken in the pod of an item.
    pub fn homes(&self) -> bool {
        self.homes
    }

    /// The CPUs of the pod that this one is in.
    pub fn pod(&self, cpu: u32) -> CpuMask {
        let own = self.spot(cpu).pod;
        let spots = self.spots.iter().enumerate();
        let of_pod = spots.filter(|(_, spot)| spot.pod == own);
        of_pod.map(|(cpu, _)| cpu).collect()
    }

    /// How many cache shards the machine has, one at least.
    pub fn nr_shards(&self) -> usize {
        let numbers = self.spots.iter().map(|spot| usize::from(spot.number));
        1 + numbers.max().unwrap_or(0)
    }

    /// The number of the cache shard that this CPU is in.
    pub fn shard_number(&self, cpu: u32) -> usize {
        usize::from(self.spot(cpu).number)
    }

    fn spot(&self, cpu: u32) -> Spot {
        self.spots[(cpu as usize).min(self.spots.len() - 1)]
    }

    fn between_nodes(&self, a: u16, b: u16) -> Distance {
        let row = self.nodes.get(usize::from(a));
        let said = row.and_then(|row| row.get(usize::from(b))).copied();
        said.unwrap_or(REMOTE_DISTANCE)
    }
}

/// For each CPU the first one of its pod. Each pod is looked for once: there may be a thousand
/// CPUs.
fn first_of_pods(layout: &Layout, scope: Scope) -> Vec<u16> {
    let mut firsts = vec![u16::MAX; layout.places.len()];
    for cpu in 0..firsts.len() {
        if firsts[cpu] == u16::MAX {
            let pod = layout.pod(scope, cpu);
            pod.iter().for_each(|member| firsts[member] = cpu as u16);
        }
    }
    firsts
}

/// For each CPU the number of its pod, by the first CPU of that.
fn numbers(firsts: &[u16]) -> Vec<u16> {
    let mut numbers = vec![0; firsts.len()];
    let mut known = 0;
    for (cpu, &first) in firsts.iter().enumerate() {
        let is_first = usize::from(first) == cpu;
        numbers[cpu] = if is_first {
            known
        } else {
            numbers[usize::from(first)]
        };
        known += u16::from(is_first);
    }
    numbers
}

/// From one node to another of which nothing is said (ACPI SLIT, kernel `REMOTE_DISTANCE`).
const REMOTE_DISTANCE: u32 = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affinity::Place;
    use alloc::sync::Arc;
    use std::string::ToString;

    /// Two threads a core, four CPUs a cache, eight a node.
    fn machine(cpus: u32) -> Layout {
        let place = |cpu: u32| Place::new(cpu / 2, cpu / 4, cpu / 8);
        Layout::new((0..cpus).map(place).collect()).with_shards_of(1)
    }

    fn near(layout: &Layout, scope: Scope) -> Arc<Near> {
        let homes = false;
        layout.clone().near(Nearness { scope, homes })
    }

    fn distances(near: &Near, from: u32, to: impl IntoIterator<Item = u32>) -> Vec<Distance> {
        to.into_iter().map(|cpu| near.distance(from, cpu)).collect()
    }

    #[test]
    fn each_thing_that_is_not_shared_is_a_step() {
        let pods = near(&machine(16), Scope::Cpu);
        assert_eq!(distances(&pods, 0, [0, 1, 2, 4, 8]), [0, 1, 3, 4, 24]);
        let pods = near(&machine(16), Scope::Cache);
        assert_eq!(distances(&pods, 0, [0, 1, 3, 4, 8]), [0, 0, 0, 4, 24]);
    }

    #[test]
    fn nodes_are_as_far_as_the_firmware_says() {
        let ring = vec![vec![10, 12, 32], vec![12, 10, 12], vec![32, 12, 10]];
        let pods = near(&machine(24).with_distances(ring), Scope::Numa);
        assert_eq!(distances(&pods, 0, [7, 8, 16]), [0, 16, 36]);
    }

    #[test]
    fn a_cpu_that_came_later_stands_for_the_last() {
        let pods = near(&machine(16), Scope::Cache);
        assert_eq!(pods.distance(99, 15), 0);
        assert_eq!(pods.pod(99).to_string(), "12-15");
        assert_eq!(pods.pod(5).to_string(), "4-7");
    }
}
