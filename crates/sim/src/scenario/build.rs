//! From the model to a machine on which its threads are about to begin.

use std::rc::Rc;

use cmwq_policy::{CpuMask, Time, contract};

use super::actor::Actor;
use super::code::Code;
use super::model::{Copies, ItemModel, Many, Model, QueueModel, ThreadModel};
use super::tally::Tally;
use super::world::{Group, Kind, Owner, World};
use crate::{DeviceSpec, LockSpec, Machine, QueueId, QueueSpec, Random, ThreadSpec};

/// The scenario's streams begin here, so that they are not the machine's own.
const STREAM: u64 = 0x5CE0;

/// A machine, and what its programs share.
pub(crate) struct Built {
    pub(crate) machine: Machine,
    pub(crate) world: Rc<World>,
}

/// Builds the machine with everything on it.
pub(crate) fn build(model: &Model) -> Built {
    let machine = Machine::new(model.options.clone());
    machine.set_hog_threshold(model.hog_threshold);
    let mut limits = 0;
    let codes: Vec<Rc<Code>> = model
        .threads
        .iter()
        .map(|thread| Rc::new(Code::of(&thread.does, &mut limits)))
        .collect();
    let world = Rc::new(world(&machine, model, limits));
    let built = Built { machine, world };
    built.fill_semaphores(model);
    built.spawn(model, &codes);
    built
}

/// What the programs share; `limits` counts those of threads.
fn world(machine: &Machine, model: &Model, mut limits: usize) -> World {
    let (counters, spans, queues) = (model.counters.len(), model.spans.len(), model.queues.len());
    let mut world = World::new(Tally::new(Time(model.warmup), counters, spans, queues));
    let threads: u32 = model.threads.iter().map(|thread| thread.count).sum();
    let mut kind =
        |item: &ItemModel| Kind::new(item.name.clone(), Code::of(&item.does, &mut limits));
    world.kinds = model.items.iter().map(&mut kind).collect();
    world.limits = limits;
    world.queues = groups(&model.queues, threads, |queue, name| {
        queue_of(machine, queue, name)
    });
    world.locks = groups(&model.locks, threads, |lock, name| {
        let lock = lock.clone();
        machine.lock(LockSpec { name, ..lock })
    });
    world.semaphores = groups(&model.semaphores, threads, |semaphore, _| {
        machine.semaphore(semaphore.initial)
    });
    world.hands_over = model
        .semaphores
        .iter()
        .map(|many| many.one.requests)
        .collect();
    world.devices = groups(&model.devices, threads, |device, name| {
        let device = device.clone();
        machine.device(DeviceSpec { name, ..device })
    });
    world.data = groups(&model.data, threads, |(), _| machine.data());
    world.owners = owners(machine, model);
    world
}

fn queue_of(machine: &Machine, queue: &QueueModel, name: String) -> QueueId {
    let id = machine.alloc_workqueue(QueueSpec {
        name,
        ..queue.spec.clone()
    });
    if let Some(least) = queue.min_active {
        contract::set_min_active(machine, id, least);
    }
    id
}

/// Makes the things of a section, each as often as it is there.
fn groups<T, I>(
    section: &[Many<T>],
    threads: u32,
    make: impl Fn(&T, String) -> I,
) -> Vec<Group<I>> {
    let group = |many: &Many<T>| {
        let copies = match many.copies {
            Copies::Of(copies) => copies,
            Copies::PerThread => threads,
        };
        let name = |n| match copies {
            1 => many.name.clone(),
            _ => format!("{}/{n}", many.name),
        };
        Group {
            name: many.name.clone(),
            ids: (0..copies).map(|n| make(&many.one, name(n))).collect(),
        }
    };
    section.iter().map(group).collect()
}

fn owners(machine: &Machine, model: &Model) -> Vec<Owner> {
    let root = Random::new(model.options.seed).stream(STREAM);
    let mut owners = Vec::new();
    for thread in &model.threads {
        for n in 0..thread.count {
            let random = root.stream(owners.len() as u64);
            let all_done = machine.semaphore(0);
            owners.push(Owner::new(
                name_of(thread, n),
                thread.main,
                all_done,
                random,
            ));
        }
    }
    owners
}

fn name_of(thread: &ThreadModel, n: u32) -> String {
    match thread.count {
        1 => thread.name.clone(),
        _ => format!("{}/{n}", thread.name),
    }
}

impl Built {
    /// What semaphores have from the start are requests too, where requests are handed over: of
    /// whoever takes them first.
    fn fill_semaphores(&self, model: &Model) {
        let hand_over = model.semaphores.iter().zip(&self.world.semaphores);
        for (many, group) in hand_over.filter(|(many, _)| many.one.requests) {
            for &sem in &group.ids {
                for _ in 0..many.one.initial {
                    let request = self.world.unowned(&self.machine);
                    self.machine.bring(sem, self.world.hand_over(&request));
                }
            }
        }
    }

    fn spawn(&self, model: &Model, codes: &[Rc<Code>]) {
        let threads = model.threads.iter().zip(codes);
        let each =
            threads.flat_map(|(thread, code)| (0..thread.count).map(move |n| (thread, n, code)));
        for (owner, (thread, n, code)) in each.enumerate() {
            let delay = thread
                .start
                .saturating_add(thread.stagger.saturating_mul(u64::from(n)));
            let spec = ThreadSpec {
                name: name_of(thread, n),
                allowed: self.allowed(thread, n),
                nice: thread.nice,
                idle_class: thread.idle_class,
                footprint: thread.footprint,
            };
            let actor = Actor::thread(self.world.clone(), owner, code.clone(), delay);
            self.machine.spawn(spec, Box::new(actor));
        }
    }

    fn allowed(&self, thread: &ThreadModel, n: u32) -> Option<CpuMask> {
        if !thread.pinned {
            return thread.cpus;
        }
        let mask = thread.cpus.unwrap_or_else(|| self.machine.topology().all());
        let cpu = mask.iter().nth(n as usize % mask.count())?;
        Some([cpu].into_iter().collect())
    }
}
