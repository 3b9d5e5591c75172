//! Programs that are there already, and what a program may do to the machine without a call.

pub(crate) mod job;
pub(crate) mod load;

use cmwq_policy::{CpuMask, Time};

use crate::api::act::{Act, Answer};
use crate::api::names::{Execution, Latch, LockId, WorkerRef};
use crate::api::specs::ThreadSpec;
use crate::cpu::ThreadId;
use crate::machine::{Machine, Program, ProgramCx};
use crate::random::Random;

/// A program that needs no answers: its acts, in order.
pub struct Script(std::vec::IntoIter<Act>);

impl Script {
    /// Does these acts, then ends.
    pub fn new(acts: impl Into<Vec<Act>>) -> Script {
        Script(acts.into().into_iter())
    }

    /// The same, as the body of an item or thread.
    pub fn boxed(acts: impl Into<Vec<Act>>) -> Box<dyn Program> {
        Box::new(Script::new(acts))
    }
}

impl Program for Script {
    fn next(&mut self, _: &mut ProgramCx<'_>, _: Option<Answer>) -> Act {
        self.0.next().unwrap_or(Act::End)
    }
}

impl ProgramCx<'_> {
    /// The machine.
    pub fn machine(&self) -> &Machine {
        self.machine
    }

    /// The time.
    pub fn now(&self) -> Time {
        self.machine.now()
    }

    /// The thread that runs the program.
    pub fn thread(&self) -> ThreadId {
        self.thread
    }

    /// The CPU it is on.
    pub fn cpu(&self) -> usize {
        self.machine.sched().cpu_of(self.thread)
    }

    /// The thread's nice level.
    pub fn nice(&self) -> i8 {
        self.machine.sched().nice(self.thread)
    }

    /// The CPUs the thread may run on.
    pub fn allowed(&self) -> CpuMask {
        self.machine.sched().allowed(self.thread)
    }

    /// The worker it is, if it is one.
    pub fn worker(&self) -> Option<WorkerRef> {
        self.machine.worker_of(self.thread)
    }

    /// The execution that the program is, if it is an item's.
    pub fn execution(&self) -> Option<Execution> {
        self.machine.execution_of(self.thread)
    }

    /// Random numbers that belong to this thread of the program, or to this execution of an item:
    /// they are the same whichever worker executes it, and whatever others draw.
    pub fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    /// Whether the thread has this lock.
    pub fn has(&self, lock: LockId) -> bool {
        self.machine.owner_of(lock) == Some(self.thread)
    }

    /// Changes where the thread may run. Without an online CPU in the mask it may run anywhere.
    pub fn pin(&mut self, allowed: CpuMask) {
        self.machine.pin(self.thread, allowed);
    }

    /// Changes the thread's nice level, -20..=19. False, and nothing is changed, if it may not.
    pub fn set_nice(&mut self, nice: i8) -> bool {
        let may = nice >= self.nice().min(self.machine.options().nice_best);
        if may {
            let now = self.now();
            self.machine.sched().set_nice(now, self.thread, nice);
        }
        may
    }

    /// Opens a latch: who waits for it wakes up.
    pub fn open(&mut self, latch: Latch) {
        self.machine.open(latch);
    }

    /// Starts another thread.
    pub fn spawn(&mut self, spec: ThreadSpec, program: Box<dyn Program>) -> ThreadId {
        self.machine.spawn(spec, program)
    }
}
