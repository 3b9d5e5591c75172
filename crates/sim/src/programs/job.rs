//! Multithreaded jobs (ktask): threads around the core that the runtime's jobs have.
//!
//! A unit burns CPU time, and nothing else; the job's lock costs nothing. One thread of the program
//! runs [`SimJob::caller`]; helpers are items of an unmanaged queue.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use cmwq_policy::job::{
    Asker, Chunks, Core, Cut, Front, Grant, Part, Quota, Shape, SoFar, Speed, Steps, Taken, willing,
};
use cmwq_policy::{Nanos, Time};

use crate::api::act::{Act, Answer};
use crate::api::call::Call;
use crate::api::names::{ItemId, QueueId};
use crate::cpu::ThreadId;
use crate::machine::{Machine, Program, ProgramCx};

/// What a job is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobSpec {
    /// Units of work.
    pub units: u64,
    /// CPU time of a unit.
    pub unit: Nanos,
    /// Threads, at most; 0: as many as there are CPUs.
    pub max_threads: u32,
    /// How long chunks are.
    pub chunks: Chunks,
    /// Whether the caller may lift helpers to its own nice level.
    pub lifts: bool,
}

/// What has come of a job so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SimJobStats {
    /// Units in steps that were completed.
    pub done: u64,
    /// Of those: by helpers.
    pub helped: u64,
    /// Helpers that have begun.
    pub helpers: u32,
    /// Helpers that were lifted.
    pub lifted: u32,
    /// When the caller had nothing left to do.
    pub alone_at: Option<Time>,
    /// When all were out.
    pub over_at: Option<Time>,
}

/// A job on a machine. A handle: clones are the same job.
#[derive(Clone)]
pub struct SimJob(Rc<Shared>);

struct Shared {
    spec: JobSpec,
    cut: Cut,
    threads: u32,
    queue: QueueId,
    core: RefCell<Core>,
    fronts: Vec<Cell<Front>>,
    stats: Cell<SimJobStats>,
    /// When its helpers were queued.
    queued_at: Cell<Time>,
    /// Of each helper that is in the job: its thread, and the nice level it had before it was
    /// lifted.
    inside: RefCell<Vec<Option<(ThreadId, i8)>>>,
}

impl Machine {
    /// A job whose helpers are items of `queue`.
    pub fn job(&self, queue: QueueId, spec: JobSpec) -> SimJob {
        let cut = Cut::new(1, 1);
        let cpus = self.topology().len() as u32;
        let shape = Shape {
            size: spec.units,
            cut,
            max_threads: spec.max_threads,
            cpus,
        };
        let threads = shape.threads();
        let parts = vec![Part {
            node: None,
            units: 0..spec.units,
        }];
        SimJob(Rc::new(Shared {
            spec,
            cut,
            threads,
            queue,
            core: RefCell::new(Core::new(&shape, threads, spec.chunks, parts, false)),
            fronts: vec![Cell::new(Front::NONE); threads as usize],
            stats: Cell::default(),
            queued_at: Cell::default(),
            inside: RefCell::new(vec![None; threads as usize]),
        }))
    }
}

impl SimJob {
    /// What has come of it so far.
    pub fn stats(&self) -> SimJobStats {
        self.0.stats.get()
    }

    /// The program of the thread that calls it.
    pub fn caller(&self, machine: &Machine) -> Box<dyn Program> {
        let helper = |thread: u32| {
            let job = self.0.clone();
            machine.item(format!("helper {thread}"), move |_| {
                Box::new(Worker::new(job.clone(), thread as usize))
            })
        };
        Box::new(Caller {
            helpers: self.0.granted(machine).map(helper).collect(),
            worker: Worker::new(self.0.clone(), 0),
            stage: Stage::Queue(0),
        })
    }
}

impl Shared {
    /// Numbers of the helpers that the quota has room for.
    fn granted(&self, machine: &Machine) -> impl Iterator<Item = u32> + use<> {
        let (mut quota, cpus) = (Quota::default(), machine.topology().len() as u32);
        (1..self.threads).take_while(move |_| quota.grant(cpus, &[], None) == Some(Grant::Anywhere))
    }

    fn count(&self, count: impl FnOnce(&mut SimJobStats)) {
        let mut stats = self.stats.get();
        count(&mut stats);
        self.stats.set(stats);
    }
}

/// A thread that goes through chunks.
struct Worker {
    job: Rc<Shared>,
    thread: usize,
    pace: Option<Speed>,
    chunk: Option<Chunk>,
    came: bool,
    leaves: bool,
}

struct Chunk {
    steps: Steps,
    completed: u64,
    /// Where the step in flight began, and when.
    flying: Option<(u64, Time)>,
}

impl Worker {
    fn new(job: Rc<Shared>, thread: usize) -> Self {
        Worker {
            job,
            thread,
            pace: None,
            chunk: None,
            came: false,
            leaves: false,
        }
    }

    /// A helper's beginning, which may be the end as well.
    fn begin_late(&mut self, now: Time) {
        let pace = self.job.core.borrow().pace();
        let pace = pace.begun_after(now.since(self.job.queued_at.get()));
        self.pace = Some(pace);
        self.leaves = pace.should_leave(self.so_far(now));
    }

    fn so_far(&self, now: Time) -> SoFar {
        let done = self.job.stats.get().done;
        SoFar {
            elapsed: now.since(self.job.queued_at.get()),
            done,
            left: self.job.spec.units - done,
        }
    }

    /// The next step to burn; `None`: nothing more for this thread.
    fn step(&mut self, now: Time) -> Option<Act> {
        if self.leaves || self.land(now) {
            self.settle();
            return None;
        }
        loop {
            if let Some(units) = self.begin(now) {
                return Some(Act::Burn(units * self.job.spec.unit));
            }
            self.settle();
            let taken = self.take()?;
            let steps = Steps::new(self.job.cut, &taken);
            self.chunk = Some(Chunk {
                steps,
                completed: 0,
                flying: None,
            });
        }
    }

    /// The step in flight has been completed. True if the thread leaves the job.
    fn land(&mut self, now: Time) -> bool {
        let Some(chunk) = &mut self.chunk else {
            return false;
        };
        let Some((from, began)) = chunk.flying.take() else {
            return false;
        };
        chunk.completed = chunk.steps.begun();
        let units = chunk.completed - from;
        let pace = self.pace.get_or_insert_default();
        pace.took(units, now.since(began));
        let helps = self.thread != 0;
        self.job.count(|stats| {
            stats.done += units;
            stats.helped += if helps { units } else { 0 };
        });
        let pace = *pace;
        helps && pace.should_leave(self.so_far(now))
    }

    /// Begins the next step of the chunk; its units.
    fn begin(&mut self, now: Time) -> Option<u64> {
        let chunk = self.chunk.as_mut()?;
        let from = chunk.steps.begun();
        let to = chunk.steps.next(self.pace.unwrap_or_default())?;
        let word = &self.job.fronts[self.thread];
        word.set(word.get().advance(from, to)?);
        chunk.steps.begin(to);
        chunk.flying = Some((from, now));
        Some(to - from)
    }

    fn settle(&mut self) {
        if let Some(chunk) = self.chunk.take() {
            let mut core = self.job.core.borrow_mut();
            core.settle(self.thread, chunk.completed);
        }
    }

    fn take(&mut self) -> Option<Taken> {
        let mut core = self.job.core.borrow_mut();
        let (thread, pace) = (self.thread, self.pace);
        let taken = core.next(
            Asker {
                thread,
                node: None,
                pace,
            },
            &self.job.fronts,
        )?;
        self.pace.get_or_insert(core.pace());
        Some(taken)
    }
}

/// A helper.
impl Program for Worker {
    fn next(&mut self, cx: &mut ProgramCx<'_>, _: Option<Answer>) -> Act {
        if !std::mem::replace(&mut self.came, true) {
            self.job.count(|stats| stats.helpers += 1);
            self.job.inside.borrow_mut()[self.thread] = Some((cx.thread(), cx.nice()));
            self.begin_late(cx.now());
        }
        self.step(cx.now()).unwrap_or_else(|| {
            // Downwards, if it was lifted.
            let inside = self.job.inside.borrow_mut()[self.thread].take();
            if let Some((_, nice)) = inside {
                cx.set_nice(nice);
            }
            Act::End
        })
    }
}

struct Caller {
    helpers: Vec<ItemId>,
    worker: Worker,
    stage: Stage,
}

enum Stage {
    /// Queues this helper next.
    Queue(usize),
    Work,
    /// Cancels this helper next, if it has not begun.
    Cancel(usize),
    /// Waits for this helper next.
    Wait(usize),
}

impl Program for Caller {
    fn next(&mut self, cx: &mut ProgramCx<'_>, _: Option<Answer>) -> Act {
        loop {
            if let Some(act) = self.act(cx) {
                return act;
            }
        }
    }
}

impl Caller {
    /// What comes next; `None`: something else does.
    fn act(&mut self, cx: &mut ProgramCx<'_>) -> Option<Act> {
        let job = self.worker.job.clone();
        let helper = |index: usize| self.helpers.get(index).copied();
        match self.stage {
            Stage::Queue(index) => {
                job.queued_at.set(cx.now());
                let item = self.following(helper(index), Stage::Queue(index + 1), Stage::Work)?;
                Some(Act::Call(Call::QueueWork {
                    queue: job.queue,
                    cpu: None,
                    item,
                }))
            }
            Stage::Work => {
                let act = self.worker.step(cx.now());
                if act.is_none() {
                    job.count(|stats| stats.alone_at = Some(cx.now()));
                    self.stage = Stage::Cancel(0);
                }
                act
            }
            Stage::Cancel(index) => {
                let item =
                    self.following(helper(index), Stage::Cancel(index + 1), Stage::Wait(0))?;
                Some(Act::Call(Call::CancelWork(item)))
            }
            Stage::Wait(index) => {
                let Some(item) = helper(index) else {
                    job.count(|stats| stats.over_at = Some(cx.now()));
                    return Some(Act::End);
                };
                self.stage = Stage::Wait(index + 1);
                lift(&job, cx, index + 1);
                Some(Act::Call(Call::CancelWorkSync(item)))
            }
        }
    }

    /// Goes on to the next helper or, behind the last one, to the next stage.
    fn following(&mut self, item: Option<ItemId>, next: Stage, after: Stage) -> Option<ItemId> {
        self.stage = if item.is_some() { next } else { after };
        item
    }
}

/// Gives a helper that is still in the job the caller's nice level.
fn lift(job: &Shared, cx: &ProgramCx<'_>, thread: usize) {
    let inside = job.inside.borrow()[thread];
    let Some((id, before)) = inside.filter(|_| job.spec.lifts) else {
        return;
    };
    if let Some(nice) = willing(cx.nice().into(), before.into()) {
        cx.machine().sched().set_nice(cx.now(), id, nice as i8);
        job.count(|stats| stats.lifted += 1);
    }
}
