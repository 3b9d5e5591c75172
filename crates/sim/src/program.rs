//! What a simulated thread or work item does: a state machine that is asked for its next act.

use std::rc::Rc;

use cmwq_policy::{CpuMask, Nanos, Time, WorkerId};

use crate::cpu::ThreadId;
use crate::machine::Machine;
use crate::random::Random;
use crate::resources::{Completion, DataId, DeviceId, LockId, SemId};

pub use crate::calls::Call;

/// Something that is closed, and once opened stays open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gate(pub u32);

/// A work item. Numbers are not reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ItemId(pub u32);

/// A workqueue. Numbers are not reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueueId(pub u32);

/// A worker pool. Numbers are not reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PoolId(pub u32);

/// One thing that a program does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Burns so many nanoseconds of CPU time.
    Burn(Nanos),
    /// Burns CPU time until the gate opens.
    SpinUntil(Gate),
    /// Sleeps for so many nanoseconds.
    Sleep(Nanos),
    /// Sleeps until the gate opens; not at all if it is open.
    Wait(Gate),
    /// Sleeps, and is asked again, without an answer, after everything that happens and when so many
    /// nanoseconds have passed, until it answers otherwise. When it says so again, that is not
    /// counted anew.
    Await(Nanos),
    /// Says that what follows will block (`cmwq::blocking` begins), or that this is over. Nests. Only
    /// tells something to pools that are not told exactly who sleeps.
    Hint(bool),
    /// Calls the workqueue interface; the next question brings the answer. May sleep.
    Call(Call),
    /// Takes the lock; waits while another one has it.
    ///
    /// # Panics
    /// If the thread has it already.
    Lock(LockId),
    /// Releases the lock.
    ///
    /// # Panics
    /// If the thread does not have it.
    Unlock(LockId),
    /// Waits while another one has the lock, and does not take it. All who wait so go on at once when it
    /// is released: readers with short sections beside writers.
    ///
    /// # Panics
    /// If the thread has it.
    Pass(LockId),
    /// Takes one off the semaphore; sleeps while there is none, first come, first served.
    Take(SemId),
    /// Adds one to the semaphore.
    Post(SemId),
    /// Sleeps until the device has served a request of so many bytes.
    Io(DeviceId, u64),
    /// Makes the same request, and goes on; that happens when it is done.
    Submit(DeviceId, u64, Completion),
    /// Burns what it takes for so many bytes of the data to come from the CPU that touched it last,
    /// by `Costs::refill`.
    Touch(DataId, u64),
    /// Lets all others that wait for its CPU go first.
    Yield,
    /// Is over: the thread ends, the item's function returns.
    End,
}

/// What a call returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing.
    Void,
    /// Yes or no.
    Bool(bool),
    /// A number: a count, or 0 or a negative error code.
    Number(i64),
    /// A word.
    Text(String),
}

impl Answer {
    /// Whether a call was refused, or given up, because its wait would never have ended.
    pub fn is_deadlock(&self) -> bool {
        matches!(self, Answer::Text(why) if why.starts_with("deadlock"))
    }
}

/// A resumable program.
pub trait Program {
    /// What it does next. `answer` is that of the call it has just made; `None` after other acts.
    fn next(&mut self, cx: &mut ProgramCx<'_>, answer: Option<Answer>) -> Act;
}

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

/// Any function can be a program.
impl<F: FnMut(&mut ProgramCx<'_>, Option<Answer>) -> Act> Program for F {
    fn next(&mut self, cx: &mut ProgramCx<'_>, answer: Option<Answer>) -> Act {
        self(cx, answer)
    }
}

/// Makes the program of each execution of an item; given the number of the execution, from 1 on.
pub type Body = Rc<dyn Fn(u32) -> Box<dyn Program>>;

/// The execution of an item that a thread is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The item.
    pub item: ItemId,
    /// The how-manieth, from 1 on.
    pub number: u32,
}

/// The worker that a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerRef {
    /// Its pool.
    pub pool: PoolId,
    /// Its number there, which is reused after it has retired.
    pub id: WorkerId,
}

/// What a program sees of the machine, and may do to it without a call.
pub struct ProgramCx<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) thread: ThreadId,
    pub(crate) random: Random,
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

    /// Random numbers that belong to this thread of the program, or to this execution of an item: they
    /// are the same whichever worker executes it, and whatever others draw.
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

    /// Opens a gate: who waits for it wakes up.
    pub fn open(&mut self, gate: Gate) {
        self.machine.open(gate);
    }

    /// Starts another thread.
    pub fn spawn(&mut self, spec: ThreadSpec, program: Box<dyn Program>) -> ThreadId {
        self.machine.spawn(spec, program)
    }
}

/// A thread to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadSpec {
    /// Its name in the trace.
    pub name: String,
    /// Where it may run; `None`: anywhere.
    pub allowed: Option<CpuMask>,
    /// Its nice level, -20..=19.
    pub nice: i8,
    /// Whether it is of class SCHED_IDLE: others take the CPU from it as soon as they want it.
    pub idle_class: bool,
    /// KiB of cache contents that follow it to another CPU, at `Costs::refill`.
    pub footprint: u32,
}

impl ThreadSpec {
    /// A thread of nice 0 that may run anywhere.
    pub fn named(name: impl Into<String>) -> ThreadSpec {
        ThreadSpec {
            name: name.into(),
            allowed: None,
            nice: 0,
            idle_class: false,
            footprint: 0,
        }
    }

    /// The same on one CPU.
    #[must_use]
    pub fn on(self, cpu: usize) -> ThreadSpec {
        ThreadSpec {
            allowed: Some([cpu].into_iter().collect()),
            ..self
        }
    }

    /// The same with another nice level, -20..=19.
    #[must_use]
    pub fn at_nice(self, nice: i8) -> ThreadSpec {
        ThreadSpec { nice, ..self }
    }

    /// The same of class SCHED_IDLE.
    #[must_use]
    pub fn of_idle_class(self) -> ThreadSpec {
        ThreadSpec {
            idle_class: true,
            ..self
        }
    }

    /// The same with so many KiB of cache contents that follow it to another CPU.
    #[must_use]
    pub fn with_footprint(self, footprint: u32) -> ThreadSpec {
        ThreadSpec { footprint, ..self }
    }
}
