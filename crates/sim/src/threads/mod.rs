//! Threads of the machine: created, looked at, put to sleep and woken.

mod latches;

use cmwq_policy::CpuMask;

use crate::api::act::Answer;
use crate::api::names::{Execution, WorkerRef};
use crate::api::specs::ThreadSpec;
use crate::api::trace::What;
use crate::cpu::{ThreadAttrs, ThreadId, ThreadState, ThreadStats};
use crate::machine::{Machine, Program};
use crate::random::Random;
use crate::state::thread::{Frame, Sleep};
use crate::state::worker::Worker;

/// A thread to be, from the inside.
pub(crate) struct NewThread {
    pub(crate) name: String,
    pub(crate) allowed: CpuMask,
    pub(crate) nice: i8,
    /// Of class SCHED_IDLE.
    pub(crate) idle_class: bool,
    /// KiB that follow it to another CPU.
    pub(crate) footprint: u32,
    pub(crate) program: Option<Box<dyn Program>>,
    pub(crate) worker: Option<Worker>,
}

impl Machine {
    /// Starts a thread of the program.
    pub fn spawn(&self, spec: ThreadSpec, program: Box<dyn Program>) -> ThreadId {
        self.create(self.of_program(spec, program))
    }

    /// A thread of this kind that executes this program.
    pub(crate) fn of_program(&self, spec: ThreadSpec, program: Box<dyn Program>) -> NewThread {
        NewThread {
            allowed: spec.allowed.unwrap_or_else(|| self.topology().all()),
            name: spec.name,
            nice: spec.nice,
            idle_class: spec.idle_class,
            footprint: spec.footprint,
            program: Some(program),
            worker: None,
        }
    }

    pub(crate) fn create(&self, new: NewThread) -> ThreadId {
        let random = self.random.next_thread(new.worker.is_some());
        self.create_with(new, random)
    }

    pub(crate) fn create_with(&self, new: NewThread, random: Random) -> ThreadId {
        let attrs = ThreadAttrs {
            allowed: new.allowed,
            nice: new.nice,
            idle_class: new.idle_class,
            footprint: new.footprint,
            is_worker: new.worker.is_some(),
        };
        let id = self.sched().add(self.now(), attrs);
        let worker = new.worker.as_ref().and_then(|worker| worker.who);
        let frame = Frame {
            name: new.name,
            worker: new.worker,
            claims: Vec::new(),
            answer: None,
            act: None,
            sleep: Sleep::Awake,
            token: false,
            random,
        };
        self.add_frame(frame, new.program);
        if let Some(who) = worker {
            self.bring_home(&self.pool(who.pool), id, None);
        }
        self.sched().wake(self.now(), id, self.waker());
        self.note(id, What::Created(worker));
        id
    }

    /// A thread's name.
    pub fn thread_name(&self, id: ThreadId) -> String {
        self.frame(id, |f| f.name.clone())
    }

    /// Whether a thread is of class SCHED_IDLE.
    pub fn is_idle_class(&self, id: ThreadId) -> bool {
        self.sched().is_idle_class(id)
    }

    /// The thread that has this CPU.
    pub fn current(&self, cpu: usize) -> Option<ThreadId> {
        self.sched().current(cpu)
    }

    /// Threads that were created so far; they are numbered from 0 on.
    pub fn nr_threads(&self) -> usize {
        self.frames.borrow().len()
    }

    /// Whether a thread has ended.
    pub fn is_done(&self, id: ThreadId) -> bool {
        self.sched().state(id) == ThreadState::Gone
    }

    /// Whether a thread sleeps.
    pub fn is_asleep(&self, id: ThreadId) -> bool {
        self.sched().state(id) == ThreadState::Asleep
    }

    /// What a thread has had of the machine so far.
    pub fn thread_stats(&self, id: ThreadId) -> ThreadStats {
        self.sched().stats(self.now(), id)
    }

    /// The worker that a thread is, or the guest of its claim.
    pub fn worker_of(&self, id: ThreadId) -> Option<WorkerRef> {
        self.frame(id, |f| f.who())
    }

    /// The execution that a thread is in: of several, the last.
    pub fn execution_of(&self, id: ThreadId) -> Option<Execution> {
        self.frame(id, |f| Some(f.running()?.execution))
    }

    /// All executions that a thread is in, one in the middle of the other, the last one first.
    pub fn executions_of(&self, id: ThreadId) -> Vec<Execution> {
        self.frame(id, |f| f.executions())
    }

    /// Where a thread may run.
    pub fn allowed(&self, id: ThreadId) -> CpuMask {
        self.sched().allowed(id)
    }

    /// Changes where a thread may run; it moves at once if it must.
    pub fn pin(&self, id: ThreadId, allowed: CpuMask) {
        self.sched().set_allowed(self.now(), id, allowed);
    }

    /// The running thread falls asleep. If it executes an item, its pool is told at once, as by the
    /// kernel's scheduler.
    pub(crate) fn sleep(&self, id: ThreadId, sleep: Sleep) {
        self.frame(id, |f| f.sleep = sleep);
        self.note(id, What::Sleep);
        // The CPU is free before the pool hears of it: a worker that it starts may take it.
        self.sched().block(self.now(), id);
        self.item_sleeps(id);
    }

    /// Ends a thread's sleep.
    pub(crate) fn wake(&self, id: ThreadId) {
        self.frame(id, |f| f.sleep = Sleep::Awake);
        self.item_wakes(id);
        self.sched().wake(self.now(), id, self.waker());
        self.note(id, What::Wake);
    }

    pub(crate) fn answer(&self, id: ThreadId, answer: Answer) {
        self.observed(|o| o.returned(self, id, &answer));
        self.frame(id, |f| f.answer = Some(answer));
    }
}
