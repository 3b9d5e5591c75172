//! Which CPUs the process has, which may change at any time, and which pools its queues use with
//! them.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use cmwq_os::cpus::{self, EffectiveCpus};
use cmwq_os::topology::{self, Topology};
use cmwq_os::{clock, sched, thread};
use cmwq_policy::affinity::{Layout, Place, ProcessCpus};
use cmwq_policy::queue::Kind;
use cmwq_policy::{CpuMask, Time};

use super::Engine;
use crate::environment;
use crate::pool::Pool;
use crate::sync::{Mutex, MutexGuard};

impl Engine {
    /// Where an item for this node goes: the caller's CPU if it is of the node, else the first one
    /// that the process may use. `None`: there is none.
    pub(crate) fn cpu_of_node(&self, node: usize) -> Option<usize> {
        let cpus = self.topology().nodes.get(node)?.and(&self.cpus().mask);
        let here = sched::current_cpu();
        cpus.contains(here)
            .then_some(here)
            .or_else(|| cpus.iter().next())
    }

    /// The CPU that an item of this kind of queue goes to if nobody names one.
    pub(crate) fn cpu_for(&self, kind: Kind) -> usize {
        let here = sched::current_cpu();
        match !kind.is_per_cpu() && self.some_unbound.load(SeqCst) {
            true => self.with_layout(|layout| layout.choose_cpu(here)),
            false => here,
        }
    }

    /// The machine as it was when it was last looked at.
    pub(super) fn topology(&self) -> Arc<Topology> {
        let mut topology = self.topology.lock().expect("nobody panics with it");
        topology.get_or_insert_with(|| self.read_topology()).clone()
    }

    fn read_topology(&self) -> Arc<Topology> {
        Arc::new(topology::read(Path::new(self.options().sysfs_root)))
    }

    /// Looks at, or changes, what decides where queues go. Nothing else is locked inside.
    pub(crate) fn with_layout<R>(&self, act: impl FnOnce(&mut Layout) -> R) -> R {
        let layout = self.layout.get_or_init(|| Mutex::new(self.read_layout()));
        act(&mut layout.lock().expect("nobody panics with it"))
    }

    /// Where queues go has changed so often.
    pub(crate) fn layout_version(&self) -> u32 {
        self.layout_version.load(SeqCst)
    }

    fn read_layout(&self) -> Layout {
        let mut layout = self.layout_of(&self.topology());
        let cpus = self.cpus();
        layout.set_all_online(&cpus.mask);
        layout.set_quota(cpus.target);
        if let Some(scope) = environment::scope() {
            layout.set_default_scope(scope);
        }
        layout
    }

    fn layout_of(&self, topology: &Topology) -> Layout {
        let mut places = topology.places();
        // A CPU of which nothing is known is a core of its own.
        let more = (places.len()..self.nr_cpus()).map(|cpu| Place {
            core: cpu as u32,
            llc: 0,
            node: 0,
        });
        places.extend(more);
        Layout::new(places).with_distances(topology.distances.clone())
    }

    pub(crate) fn cpus(&self) -> EffectiveCpus {
        *self.cpus.lock().expect("nobody panics with it")
    }

    /// When the masks of all threads are to be read again, as the first one's has changed.
    pub(crate) fn cpus_due(&self) -> Option<Time> {
        self.masks().due()
    }

    fn read_cpus(&self) -> EffectiveCpus {
        let fresh = cpus::effective();
        let mut masks = self.masks();
        let before = masks.due();
        let mask = masks.read(clock::now(), fresh.first, fresh.mask);
        let due = masks.due();
        drop(masks);
        if due.is_some() && due != before {
            // It looks how long it may sleep.
            self.tick().unpark();
        }
        fresh.with_mask(mask)
    }

    fn masks(&self) -> MutexGuard<'_, ProcessCpus> {
        self.masks.lock().expect("nobody panics with it")
    }

    /// Whether the mask of the first thread differs from the known one, or did so not long ago.
    /// This is seen quickly, and tools that change the CPUs of a process change that thread first.
    pub(crate) fn has_other_cpus(&self) -> bool {
        let first = sched::affinity(thread::getpid());
        first.is_ok_and(|first| {
            first != self.cpus().first || self.masks().is_stale(clock::now(), first)
        })
    }

    /// Whether somebody outside may have given a thread this mask, who changes the CPUs of the
    /// process thread by thread.
    pub(crate) fn is_from_outside(&self, mask: &CpuMask) -> bool {
        let cpus = self.cpus();
        *mask == cpus.mask || *mask == cpus.first
    }

    /// The layout gets the CPUs that the process has now. The machine is looked at again if one of
    /// them was offline before. Not if one has gone: nothing tells any more of what that was a
    /// part.
    pub(crate) fn follow_topology(&self) {
        let mut topology = self.topology.lock().expect("nobody panics with it");
        let known = topology
            .get_or_insert_with(|| self.read_topology())
            .online();
        // With the topology locked, so that what was read last is what counts.
        let cpus = self.cpus();
        let mask = cpus.mask;
        if mask.and(&known) != mask {
            let fresh = topology.insert(self.read_topology());
            let machine = self.layout_of(fresh);
            self.with_layout(|layout| layout.follow(machine));
        }
        self.with_layout(|layout| {
            layout.set_all_online(&mask);
            layout.set_quota(cpus.target);
        });
        self.note_layout();
    }

    /// What is known of the layout without its lock.
    pub(crate) fn note_layout(&self) {
        let some = self.with_layout(|layout| !layout.is_all_unbound());
        self.some_unbound.store(some, SeqCst);
        self.layout_version.fetch_add(1, SeqCst);
    }

    /// Reads the CPUs, and tells the pools if they are others than before.
    pub(crate) fn tell_pools(&self, tell: impl Fn(&'static Pool, &EffectiveCpus)) -> bool {
        // So that no pool is made meanwhile with what was known before, and nobody tells them what
        // was read earlier.
        let _making = self.making.lock().expect("nobody panics with it");
        let fresh = self.read_cpus();
        let before = self.cpus();
        let changed = (before.mask, before.target) != (fresh.mask, fresh.target);
        if changed {
            self.pools().for_each(|pool| tell(pool, &fresh));
        }
        // After the pools: a worker that finds no news here has the mask of its pool.
        *self.cpus.lock().expect("nobody panics with it") = fresh;
        changed
    }
}
