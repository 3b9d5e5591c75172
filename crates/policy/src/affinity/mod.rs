//! Affinity scopes: on which CPUs an item should start, and which its worker may use (kernel
//! `wq_affn_scope`, since 6.5).
//!
//! The machine's CPUs are cut into pods. The pod of whoever queues gets the item: a strict queue's
//! workers stay in it, others start there and may be moved anywhere in the queue's mask.
//!
//! | file | |
//! | --- | --- |
//! | `near.rs` | how far CPUs are from each other |
//! | `process.rs` | which CPUs a process has, whose threads have one mask each |

mod near;
mod process;

pub use crate::attrs::{DFL_SHARD_CORES, Scope, Spread};
pub use near::{Distance, HOMING_COST, Near, Nearness};
pub use process::{ProcessCpus, SETTLE};

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::attrs::{Attrs, Kind};
use crate::cpumask::CpuMask;
use crate::probe::broken;

/// Where one CPU is. Numbers are unique in the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The core; CPUs of one core are SMT siblings.
    pub core: u32,
    /// The last-level cache.
    pub llc: u32,
    /// The NUMA node.
    pub node: u32,
}

impl Place {
    /// Of these numbers. For tests: what finds places out names each field, so that the compiler
    /// finds it if there are more.
    pub const fn new(core: u32, llc: u32, node: u32) -> Place {
        Place { core, llc, node }
    }
}

/// The CPUs of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// Its pod: where workers start, and what the items' data is near to.
    pub pod: CpuMask,
    /// What its workers may use.
    pub allowed: CpuMask,
    /// Its items come from several pods: each CPU takes what is near.
    pub near: Option<Nearness>,
}

impl Reach {
    /// Of what is bound to one CPU.
    pub fn of_cpu(cpu: usize) -> Reach {
        let only = [cpu].into_iter().collect();
        Reach {
            pod: only,
            allowed: only,
            near: None,
        }
    }

    /// Where a worker is to be when it is woken, if that is not anywhere it may be.
    pub fn starts_in(&self) -> Option<&CpuMask> {
        (self.pod != self.allowed).then_some(&self.pod)
    }

    /// What its workers may use while these CPUs are in use: all of them if none of its own is.
    pub fn usable(&self, online: &CpuMask) -> CpuMask {
        or_all(self.allowed.and(online), online)
    }

    /// Workers that a pool keeps runnable: as many as CPUs of its pod are in use, at most the
    /// quota, and at least one.
    pub fn target(&self, online: &CpuMask, quota: usize) -> u32 {
        let cpus = or_all(self.pod.and(online), online);
        cpus.count().min(quota).max(1) as u32
    }
}

fn or_all(some: CpuMask, all: &CpuMask) -> CpuMask {
    match some.is_empty() {
        true => *all,
        false => some,
    }
}

/// What decides where queues go: the machine's shape, the CPUs in use, what holds for all queues.
#[derive(Clone, Debug)]
pub struct Layout {
    places: Vec<Place>,
    online: CpuMask,
    unbound: CpuMask,
    default_scope: Scope,
    shard_cores: u32,
    /// So many CPUs at a time a quota leaves the process.
    quota: usize,
    /// From node to node; empty if nothing is known.
    distances: Box<[Box<[u32]>]>,
    /// What was asked for so far.
    near: Vec<(Nearness, Arc<Near>)>,
    /// The CPU that the next caller without one of its own gets is looked for behind this one.
    turn: usize,
}

impl Layout {
    /// A machine with all CPUs in use, all allowed, and the kernel's default scope (7.1).
    pub fn new(places: Vec<Place>) -> Layout {
        let all = CpuMask::first(places.len());
        Layout {
            places,
            online: all,
            unbound: all,
            default_scope: Scope::CacheShard,
            // In that build a machine of two cores has two shards.
            shard_cores: if cfg!(cmwq_spread) {
                1
            } else {
                DFL_SHARD_CORES
            },
            quota: usize::MAX,
            distances: Box::default(),
            near: Vec::new(),
            turn: 0,
        }
    }

    /// The same with cache shards of about so many cores; 0 counts as 1.
    #[must_use]
    pub fn with_shards_of(self, cores: u32) -> Layout {
        let shard_cores = cores.max(1);
        Layout {
            shard_cores,
            ..self
        }
    }

    /// The same with nodes that are so far from each other, as the firmware says (ACPI SLIT: 10 is
    /// near).
    #[must_use]
    pub fn with_distances(self, distances: impl IntoIterator<Item = Vec<u32>>) -> Layout {
        let distances = distances.into_iter().map(Vec::into_boxed_slice).collect();
        Layout { distances, ..self }
    }

    /// The machine looks like this now; what was set for all queues stays.
    pub fn follow(&mut self, machine: Layout) {
        let everything = self.is_all_unbound();
        (self.places, self.distances) = (machine.places, machine.distances);
        self.near.clear();
        if everything {
            self.unbound = machine.unbound;
        }
    }

    /// The CPUs in use.
    pub fn online(&self) -> &CpuMask {
        &self.online
    }

    /// A CPU is in use from now on, or is not.
    pub fn set_online(&mut self, cpu: usize, online: bool) {
        match online {
            true => self.online.insert(cpu),
            false => self.online.remove(cpu),
        }
    }

    /// These CPUs are in use from now on, and no others. Those that the machine does not have count
    /// for nothing; if nothing is left, nothing is changed.
    pub fn set_all_online(&mut self, online: &CpuMask) {
        let online = online.and(&CpuMask::first(self.places.len()));
        if !online.is_empty() {
            self.online = online;
        }
    }

    /// A quota leaves the process so many of them at a time from now on.
    pub fn set_quota(&mut self, quota: usize) {
        self.quota = quota;
    }

    /// What queues that are not per CPU may use at all (kernel `wq_unbound_cpumask`).
    pub fn unbound(&self) -> &CpuMask {
        &self.unbound
    }

    /// Whether that is every CPU of the machine.
    pub fn is_all_unbound(&self) -> bool {
        self.unbound == CpuMask::first(self.places.len())
    }

    /// Changes that. False, and nothing is changed, if the machine has none of these CPUs.
    pub fn set_unbound(&mut self, mask: CpuMask) -> bool {
        let mask = mask.and(&CpuMask::first(self.places.len()));
        if !mask.is_empty() {
            self.unbound = mask;
        }
        !mask.is_empty()
    }

    /// The scope of queues that name none.
    pub fn default_scope(&self) -> Scope {
        self.default_scope
    }

    /// Changes that.
    pub fn set_default_scope(&mut self, scope: Scope) {
        self.default_scope = scope;
    }

    /// The CPUs of the pod that this CPU is in.
    pub fn pod(&self, scope: Scope, cpu: usize) -> CpuMask {
        let at = self.places[cpu];
        match scope {
            Scope::Cpu => [cpu].into_iter().collect(),
            Scope::Smt => self.mask(|p| p.core == at.core),
            Scope::Cache => self.mask(|p| p.llc == at.llc),
            Scope::CacheShard => self.shard(at),
            Scope::Numa => self.mask(|p| p.node == at.node),
            Scope::System => CpuMask::first(self.places.len()),
        }
    }

    fn mask(&self, holds: impl Fn(&Place) -> bool) -> CpuMask {
        let cpus = self.places.iter().enumerate();
        cpus.filter(|(_, p)| holds(p)).map(|(cpu, _)| cpu).collect()
    }

    /// The shards of a cache are as equal as cores can be dealt out; the first ones have one more.
    fn shard(&self, at: Place) -> CpuMask {
        let cores = self.cores_of(at.llc);
        let n = cores.len() as u32;
        let shards = ((n + self.shard_cores / 2) / self.shard_cores).max(1);
        let (each, more) = (n / shards, n % shards);
        let place = cores.iter().position(|&core| core == at.core);
        let place = place.expect("a core is in its cache") as u32;
        // The first `more` shards end here.
        let longer = more * (each + 1);
        let (first, len) = match place < longer {
            true => (place - place % (each + 1), each + 1),
            false => (place - (place - longer) % each, each),
        };
        let own = &cores[first as usize..(first + len) as usize];
        self.mask(|p| own.contains(&p.core))
    }

    /// The cores of a cache, in the order of their first CPUs.
    fn cores_of(&self, llc: u32) -> Vec<u32> {
        let mut seen = BTreeSet::new();
        let of_llc = self.places.iter().filter(|p| p.llc == llc);
        let cores = of_llc.map(|place| place.core);
        cores.filter(|&core| seen.insert(core)).collect()
    }

    /// The CPUs that a queue with these attributes may use: its mask, as far as queues may use
    /// anything; if nothing is left of it, it counts for nothing.
    pub fn effective(&self, attrs: &Attrs) -> CpuMask {
        let own = attrs.cpumask.map(|mask| mask.and(&self.unbound));
        own.filter(|mask| !mask.is_empty()).unwrap_or(self.unbound)
    }

    /// The scope that counts.
    pub fn scope(&self, kind: Kind, attrs: &Attrs) -> Scope {
        match (kind, attrs.scope) {
            (kind, _) if kind.has_no_pods() => Scope::System,
            (_, None) => self.default_scope,
            (_, Some(scope)) => scope,
        }
    }

    /// What cuts the queue's CPUs into pods with pools of their own. A managed queue that is not
    /// strict has one pool, or one for each cache shard; in both each CPU takes what is near
    /// ([`nearness`](Self::nearness)). Where a quota leaves fewer CPUs it is always one: the first
    /// runnable worker of a pool is started in any case.
    fn pool_scope(&self, kind: Kind, attrs: &Attrs, spread: Spread) -> Scope {
        let scope = self.scope(kind, attrs);
        let cpus = || self.effective(attrs).and(&self.online).count();
        match (kind == Kind::Managed && !is_strict(attrs), spread) {
            (false, _) => scope,
            (true, Spread::Shards) if scope != Scope::System && self.quota >= cpus() => {
                Scope::CacheShard
            }
            (true, _) => Scope::System,
        }
    }

    /// The pods that the items of one pool come from, which has these CPUs, if they are several; or
    /// one, to which its workers are brought back.
    fn nearness(&self, kind: Kind, attrs: &Attrs, pool: &CpuMask) -> Option<Nearness> {
        let scope = self.scope(kind, attrs);
        let first = pool.iter().next()?;
        let one_pod = pool.and(&self.pod(scope, first)) == *pool;
        let homes = attrs.locality >= HOMING_COST;
        let may_leave = *pool != self.effective(attrs);
        let near = kind == Kind::Managed && !is_strict(attrs);
        let matters = near && (!one_pod || (homes && may_leave));
        matters.then_some(Nearness { scope, homes })
    }

    /// How far CPUs are from each other, for such a pool. Pools share it.
    pub fn near(&mut self, nearness: Nearness) -> Arc<Near> {
        let mut known = self.near.iter();
        if let Some((_, near)) = known.find(|(of, _)| *of == nearness) {
            return near.clone();
        }
        let near = Arc::new(Near::of(self, nearness));
        self.near.push((nearness, near.clone()));
        near
    }

    /// Whether the items of all CPUs go to one pool workqueue, in the order in which they were
    /// queued.
    pub fn has_one_route(&self, kind: Kind, attrs: &Attrs, spread: Spread) -> bool {
        let one_pod = self.pool_scope(kind, attrs, spread) == Scope::System;
        kind.has_no_pods() || (kind.shares_pwq() && one_pod)
    }

    /// Where items of this CPU go. A pod of which no CPU is in use and allowed leaves the whole
    /// mask.
    pub fn reach(&self, kind: Kind, attrs: &Attrs, spread: Spread, cpu: usize) -> Reach {
        let mask = self.effective(attrs);
        let pod = self
            .pod(self.pool_scope(kind, attrs, spread), cpu)
            .and(&mask);
        let pod = match pod.and(&self.online).is_empty() {
            true => mask,
            false => pod,
        };
        Reach {
            pod,
            allowed: match is_strict(attrs) {
                true => pod,
                false => mask,
            },
            near: self.nearness(kind, attrs, &pod),
        }
    }

    /// The node that has all of these CPUs, if one has.
    pub fn node_of(&self, cpus: &CpuMask) -> Option<u32> {
        let mut nodes = cpus.iter().map(|cpu| self.places[cpu].node);
        let first = nodes.next()?;
        nodes.all(|node| node == first).then_some(first)
    }

    /// How many nodes there are; they are numbered from 0 on.
    pub fn nr_nodes(&self) -> u32 {
        let nodes = self.places.iter().map(|p| p.node);
        nodes.max().map_or(0, |last| last + 1)
    }

    /// Limits that a queue has: one for each node, and one for what is in none. Where there is only
    /// one node, everything is in it.
    pub fn nr_parts(&self) -> usize {
        match self.nr_nodes() {
            0 | 1 => 1,
            nodes => nodes as usize + 1,
        }
    }

    /// How many slots of a queue's limit a node has, by its part of the CPUs that are in use and
    /// the queue's (kernel `wq_update_node_max_active`, 6.9). Pools that are not in one node share
    /// `max_active` among themselves.
    ///
    /// Never 0. Otherwise items in a node would wait for ever when its last CPU goes or is taken
    /// from the queue (in the kernel they do where min_active is 0). While none of the queue's CPUs
    /// is in use its items run on others, and the parts are as if all of its own were (in the
    /// kernel: min_active).
    pub fn share(&self, attrs: &Attrs, node: Option<u32>, max_active: u32, min_active: u32) -> u32 {
        let Some(node) = node.filter(|_| !broken!(NodeShareIgnored)) else {
            return max_active;
        };
        let mask = self.effective(attrs);
        let cpus = or_all(mask.and(&self.online), &mask);
        let of_node = cpus.iter().filter(|&cpu| self.places[cpu].node == node);
        let (own, all) = (of_node.count() as u64, cpus.count() as u64);
        let part = (u64::from(max_active) * own).div_ceil(all);
        part.clamp(min_active.max(1).into(), max_active.into()) as u32
    }

    /// The CPU for whoever queues from `caller` and names none: that, if queues may use it, else
    /// one that they may, in turn (kernel `wq_select_unbound_cpu`).
    pub fn choose_cpu(&mut self, caller: usize) -> usize {
        let usable = self.unbound.and(&self.online);
        if self.unbound.contains(caller) || usable.is_empty() {
            return caller;
        }
        self.turn = usable.next_after(self.turn).unwrap_or(caller);
        self.turn
    }
}

fn is_strict(attrs: &Attrs) -> bool {
    attrs.strict && !broken!(StrictIgnored)
}

#[cfg(test)]
mod tests;
