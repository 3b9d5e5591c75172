//! What the actors of one run have in common: names, and what main is at.

use crate::actor::Play;
use crate::op::{Flag, Flags, Name};
use cmwq_policy::CpuMask;
use cmwq_policy::queue::Kind;
use cmwq_sim::{ItemId, Latch, Machine, Program, QueueId, QueueSpec};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Kernel `HIGHPRI_NICE_LEVEL`.
const HIGHPRI: i8 = -20;

pub(super) struct Stage {
    pub(super) play: Play,
    items: RefCell<BTreeMap<Name, ItemId>>,
    queues: RefCell<BTreeMap<Name, Made>>,
    latches: RefCell<BTreeMap<Name, Latch>>,
    main_op: RefCell<String>,
    exact: bool,
}

/// A queue of the script.
#[derive(Clone)]
pub(super) struct Made {
    pub(super) id: QueueId,
    pub(super) kind: Kind,
    pub(super) flags: Flags,
}

impl Stage {
    /// No item is there, and no queue but the system's. Limits are exact if so asked, where there
    /// is a choice.
    pub(super) fn new(play: &Play, exact: bool) -> Stage {
        Stage {
            play: play.clone(),
            items: RefCell::default(),
            queues: RefCell::default(),
            latches: RefCell::default(),
            main_op: RefCell::default(),
            exact,
        }
    }

    /// An item whose executions are such programs.
    pub(super) fn add_item(
        &self,
        machine: &Machine,
        name: &Name,
        execution: impl Fn() -> Box<dyn Program> + 'static,
    ) {
        let id = machine.item(&**name, move |_| execution());
        self.items.borrow_mut().insert(name.clone(), id);
    }

    pub(super) fn item(&self, name: &Name) -> ItemId {
        self.items.borrow()[name]
    }

    pub(super) fn item_name(&self, id: ItemId) -> String {
        let items = self.items.borrow();
        let name = items.iter().find(|(_, item)| **item == id);
        name.map_or("none".into(), |(name, _)| name.to_string())
    }

    /// A queue by its name; the system's queues are made when they are first used.
    pub(super) fn queue(&self, machine: &Machine, name: &Name) -> Option<Made> {
        if !self.queues.borrow().contains_key(name) {
            let flags: &[Flag] = match &**name {
                "sys_percpu" => &[Flag::Percpu],
                "sys_highpri" => &[Flag::Percpu, Flag::Highpri],
                "sys_dfl" => &[Flag::Unbound],
                _ => return None,
            };
            self.make(machine, name, Flags(flags.to_vec()), 0);
        }
        self.queues.borrow().get(name).cloned()
    }

    pub(super) fn make(&self, machine: &Machine, name: &Name, flags: Flags, max_active: u32) {
        let kind = kind(&flags);
        let mut spec = QueueSpec::new(&**name, kind).max_active(max_active);
        spec.made.exact = self.exact && !kind.is_per_cpu();
        if flags.has(Flag::Highpri) {
            spec = spec.at_nice(HIGHPRI);
        }
        if flags.has(Flag::CpuIntensive) {
            spec = spec.cpu_intensive();
        }
        if flags.has(Flag::MemReclaim) {
            spec = spec.mem_reclaim();
        }
        if flags.has(Flag::Freezable) {
            spec = spec.freezable();
        }
        let id = machine.alloc_workqueue(spec);
        let made = Made { id, kind, flags };
        self.queues.borrow_mut().insert(name.clone(), made);
    }

    /// The attributes of a queue that goes away are gone first.
    pub(super) fn hide(&self, name: &Name) {
        if let Some(made) = self.queues.borrow_mut().get_mut(name) {
            made.flags.0.retain(|flag| *flag != Flag::Sysfs);
        }
    }

    pub(super) fn latch(&self, machine: &Machine, name: &Name) -> Latch {
        let mut latches = self.latches.borrow_mut();
        *latches
            .entry(name.clone())
            .or_insert_with(|| machine.latch())
    }

    pub(super) fn at(&self, actor: &str, op: &str) {
        if actor == "main" {
            *self.main_op.borrow_mut() = op.into();
        }
    }

    pub(super) fn main_op(&self) -> String {
        self.main_op.borrow().clone()
    }
}

/// What the flags ask for. What contradicts itself is for the table of what has no meaning here.
fn kind(flags: &Flags) -> Kind {
    let kinds = [
        (Flag::Ordered, Kind::Ordered),
        (Flag::Unbound, Kind::Unmanaged),
        (Flag::Bh, Kind::Bh),
    ];
    let found = kinds.iter().find(|(flag, _)| flags.has(*flag));
    found.map_or(Kind::PerCpu, |(_, kind)| *kind)
}

/// CPUs as the policy has them.
pub(super) fn mask(cpus: &[u32]) -> CpuMask {
    cpus.iter().map(|&cpu| cpu as usize).collect()
}

/// What a limit of any size is clamped to first.
pub(super) fn limit(n: i64) -> u32 {
    n.clamp(1, i64::from(u32::MAX)) as u32
}
