//! The machine: threads, gates, and the loop in which time passes.
//!
//! An instant goes like this: burns and slices end that end now; events happen whose time is now, in
//! the order in which they were made; then whoever has a CPU and nothing to burn acts, CPU after
//! CPU, until nobody can without time passing. So in one instant a thread that wakes up is there
//! before one that goes on acts.

use std::cell::{Cell, RefCell, RefMut};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use cmwq_policy::time::{MILLISECOND, SECOND};
use cmwq_policy::{Action, CpuMask, Nanos, Time, WorkerId, hog};

use crate::calls::Pending;
use crate::cpu::{Discipline, Scheduler, ThreadId, ThreadState, ThreadStats};
use crate::events::{EventKey, Events};
use crate::pools::{Armed, Pool};
use crate::program::{
    Act, Answer, Execution, Gate, ItemId, PoolId, Program, ProgramCx, ThreadSpec, WorkerRef,
};
use crate::queues::{Queue, SimTimers};
use crate::store::{Items, PwqId};
use crate::topology::Topology;
use crate::trace::{Line, What};
use crate::watch::Report;
use crate::workers::Worker;

/// Acts in one instant beyond which a program is taken for one that lets no time pass.
const MAX_ACTS: u32 = 1_000_000;

/// The time of what never happens.
const NEVER: Time = Time(Nanos::MAX);

/// What a machine is like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Its CPUs.
    pub topology: Topology,
    /// How they are shared.
    pub discipline: Discipline,
    /// How long it takes to create a worker's thread, in nanoseconds.
    pub spawn_takes: Nanos,
    /// Threads that one pool may have.
    pub thread_limit: u32,
}

impl Options {
    /// A machine of this shape: fair, with slices of 3 ms; threads are there at once.
    pub fn of(topology: Topology) -> Options {
        Options {
            topology,
            discipline: Discipline::Fair(3 * MILLISECOND),
            spawn_takes: 0,
            thread_limit: 4096,
        }
    }

    /// As [`of`](Self::of), with a [named](Topology::named) shape.
    pub fn on(topology: &str) -> Option<Options> {
        Topology::named(topology).map(Options::of)
    }
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Nothing is left to happen, but for idle workers that may retire. Who still sleeps sleeps
    /// for ever.
    Quiet,
    /// The time given is over.
    TimeUp,
    /// What was waited for has come true.
    Stopped,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// A sleep is over.
    Wake(ThreadId),
    /// Somebody has waited for something long enough: it is asked anyway.
    TimeOut,
    /// The thread of this worker is there, or could not be made; this one has waited for it.
    Spawned(PoolId, WorkerId, Option<ThreadId>),
    /// Somebody looks at the pools with backlog.
    Tick,
    /// A pool wants to be looked at, beside that.
    Look(PoolId),
    /// A pool may have too many idle workers.
    Cull(PoolId),
    /// An item's timer may have expired.
    Timers,
}

/// What a thread sleeps for.
pub(crate) enum Sleep {
    Awake,
    /// Time, or a thread that is being created.
    Event,
    Gate(Gate),
    /// The program is asked again.
    Await,
    /// An idle worker: to be unparked.
    Parked,
    Call(Pending),
}

/// A thread, from the inside.
pub(crate) struct Frame {
    pub(crate) name: String,
    pub(crate) worker: Option<Worker>,
    /// What it executes; nothing when it has ended, or is a worker between two items.
    pub(crate) program: Option<Box<dyn Program>>,
    /// What the program is to be told at its next question.
    pub(crate) answer: Option<Answer>,
    /// What it has said and not done yet.
    pub(crate) act: Option<Act>,
    pub(crate) sleep: Sleep,
    /// It was unparked while it did not park.
    pub(crate) token: bool,
}

/// A thread to be, from the inside.
pub(crate) struct NewThread {
    pub(crate) name: String,
    pub(crate) allowed: CpuMask,
    pub(crate) nice: i8,
    pub(crate) program: Option<Box<dyn Program>>,
    pub(crate) worker: Option<Worker>,
}

#[derive(Default)]
struct GateState {
    open: bool,
    waiting: Vec<ThreadId>,
    spinning: Vec<ThreadId>,
}

/// See the module.
pub struct Machine {
    pub(crate) options: Options,
    now: Cell<Time>,
    scheduler: RefCell<Scheduler>,
    frames: RefCell<Vec<Frame>>,
    events: RefCell<Events<Event>>,
    gates: RefCell<Vec<GateState>>,
    /// Threads whose programs are asked after everything that happens, and the ends of their times.
    awaiting: RefCell<BTreeMap<ThreadId, EventKey>>,
    /// Threads that wait in a call.
    pub(crate) calling: RefCell<BTreeSet<ThreadId>>,
    acts: Cell<u32>,
    trace: RefCell<Vec<Line>>,
    pub(crate) items: RefCell<Items>,
    pub(crate) pools: RefCell<Vec<Rc<Pool>>>,
    pub(crate) queues: RefCell<Vec<Rc<Queue>>>,
    pub(crate) timers: RefCell<SimTimers>,
    pub(crate) next_timer: Cell<Armed>,
    pub(crate) timers_dropped: Cell<u64>,
    /// What pools have asked for and is not carried out yet.
    pub(crate) actions: RefCell<VecDeque<(PoolId, Action<PwqId>)>>,
    pub(crate) postponing: Cell<u32>,
    /// The thread whose turn it is.
    acting: Cell<Option<ThreadId>>,
    pub(crate) tick_is_armed: Cell<bool>,
    pub(crate) spawns_fail: Cell<bool>,
    pub(crate) spawn_failures: Cell<u64>,
    pub(crate) hog_threshold: Cell<Nanos>,
    pub(crate) hogs: RefCell<hog::Reports>,
    pub(crate) reports: RefCell<Vec<Report>>,
}

impl Machine {
    /// A machine on which nothing runs, at time 0.
    pub fn new(options: Options) -> Machine {
        let scheduler = Scheduler::new(options.topology.clone(), options.discipline);
        Machine {
            options,
            now: Cell::new(Time(0)),
            scheduler: RefCell::new(scheduler),
            frames: RefCell::default(),
            events: RefCell::default(),
            gates: RefCell::default(),
            awaiting: RefCell::default(),
            calling: RefCell::default(),
            acts: Cell::new(0),
            trace: RefCell::default(),
            items: RefCell::default(),
            pools: RefCell::default(),
            queues: RefCell::default(),
            timers: RefCell::default(),
            next_timer: Cell::new(None),
            timers_dropped: Cell::new(0),
            actions: RefCell::default(),
            postponing: Cell::new(0),
            acting: Cell::new(None),
            tick_is_armed: Cell::new(false),
            spawns_fail: Cell::new(false),
            spawn_failures: Cell::new(0),
            hog_threshold: Cell::new(hog::THRESHOLD),
            hogs: RefCell::default(),
            reports: RefCell::default(),
        }
    }

    /// The time.
    pub fn now(&self) -> Time {
        self.now.get()
    }

    /// The machine's shape.
    pub fn topology(&self) -> &Topology {
        &self.options.topology
    }

    pub(crate) fn sched(&self) -> RefMut<'_, Scheduler> {
        self.scheduler.borrow_mut()
    }

    /// A thread's own state, for a moment: nothing else of the machine is called meanwhile.
    pub(crate) fn frame<R>(&self, id: ThreadId, look: impl FnOnce(&mut Frame) -> R) -> R {
        look(&mut self.frames.borrow_mut()[id.0 as usize])
    }

    /// Something will happen after so many nanoseconds.
    pub(crate) fn after(&self, nanos: Nanos, event: Event) -> EventKey {
        let at = self.now().after(nanos);
        self.events.borrow_mut().add(at, event)
    }

    pub(crate) fn call_off(&self, event: EventKey) {
        self.events.borrow_mut().remove(event);
    }

    pub(crate) fn note(&self, thread: ThreadId, what: What) {
        let line = Line {
            at: self.now(),
            cpu: self.sched().cpu_of(thread),
            thread,
            what,
        };
        self.trace.borrow_mut().push(line);
    }

    /// What has happened so far.
    pub fn trace(&self) -> Vec<Line> {
        self.trace.borrow().clone()
    }

    /// Starts a thread of the program.
    pub fn spawn(&self, spec: ThreadSpec, program: Box<dyn Program>) -> ThreadId {
        self.create(NewThread {
            allowed: spec.allowed.unwrap_or_else(|| self.topology().all()),
            name: spec.name,
            nice: spec.nice,
            program: Some(program),
            worker: None,
        })
    }

    pub(crate) fn create(&self, new: NewThread) -> ThreadId {
        let id = self.sched().add(self.now(), new.allowed, new.nice);
        let worker = new.worker.as_ref().and_then(|worker| worker.who);
        self.frames.borrow_mut().push(Frame {
            name: new.name,
            worker: new.worker,
            program: new.program,
            answer: None,
            act: None,
            sleep: Sleep::Awake,
            token: false,
        });
        self.sched().wake(self.now(), id);
        self.note(id, What::Created(worker));
        id
    }

    /// A thread's name.
    pub fn thread_name(&self, id: ThreadId) -> String {
        self.frame(id, |f| f.name.clone())
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

    /// The worker that a thread is.
    pub fn worker_of(&self, id: ThreadId) -> Option<WorkerRef> {
        self.frame(id, |f| f.worker.as_ref()?.who)
    }

    /// The execution that a thread is in.
    pub fn execution_of(&self, id: ThreadId) -> Option<Execution> {
        self.frame(id, |f| f.worker.as_ref()?.execution())
    }

    /// An item, and what it does: asked for the program of each execution, with its number from 1
    /// on.
    pub fn item(
        &self,
        name: impl Into<String>,
        body: impl Fn(u32) -> Box<dyn Program> + 'static,
    ) -> ItemId {
        let mut items = self.items.borrow_mut();
        items.add_item(name.into(), Rc::new(body), false)
    }

    /// An item's name.
    pub fn item_name(&self, item: ItemId) -> String {
        self.items.borrow().item(item).name.clone()
    }

    /// A new gate, closed.
    pub fn gate(&self) -> Gate {
        let mut gates = self.gates.borrow_mut();
        gates.push(GateState::default());
        Gate(gates.len() as u32 - 1)
    }

    fn with_gate<R>(&self, gate: Gate, look: impl FnOnce(&mut GateState) -> R) -> R {
        look(&mut self.gates.borrow_mut()[gate.0 as usize])
    }

    /// Whether a gate is open.
    pub fn is_open(&self, gate: Gate) -> bool {
        self.with_gate(gate, |g| g.open)
    }

    /// Opens a gate: who waits for it wakes up.
    pub fn open(&self, gate: Gate) {
        self.with_gate(gate, |g| g.open = true);
        for id in self.with_gate(gate, |g| std::mem::take(&mut g.waiting)) {
            self.wake(id);
        }
        for id in self.with_gate(gate, |g| std::mem::take(&mut g.spinning)) {
            self.sched().stop_spin(id);
        }
        // Calls that wait for a barrier ask whether its gate is open.
        self.progress();
    }

    pub(crate) fn wait_at(&self, id: ThreadId, gate: Gate) {
        self.with_gate(gate, |g| g.waiting.push(id));
        self.sleep(id, Sleep::Gate(gate));
    }

    pub(crate) fn spin_at(&self, id: ThreadId, gate: Gate) {
        self.with_gate(gate, |g| g.spinning.push(id));
        self.sched().spin(id);
    }

    pub(crate) fn await_event(&self, id: ThreadId, nanos: Nanos) {
        let key = self.after(nanos, Event::TimeOut);
        self.awaiting.borrow_mut().insert(id, key);
        self.sleep(id, Sleep::Await);
    }

    /// The CPU of the thread whose turn it is; 0 in events.
    pub(crate) fn current_cpu(&self) -> usize {
        let acting = self.acting.get();
        acting.map_or(0, |id| self.sched().cpu_of(id))
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
        self.sched().wake(self.now(), id);
        self.note(id, What::Wake);
    }

    /// Runs until nothing is left to happen.
    ///
    /// # Panics
    /// If something is still happening after an hour of virtual time.
    pub fn run(&self) {
        let ended = self.run_until(self.now().after(3600 * SECOND));
        assert_eq!(ended, Ended::Quiet, "it never ends");
    }

    /// Runs until nothing is left to happen, or to this time.
    pub fn run_until(&self, until: Time) -> Ended {
        self.run_while(until, |_| true)
    }

    /// As [`run_until`](Self::run_until), but also stops after an instant in which `go_on` says no.
    pub fn run_while(&self, until: Time, mut go_on: impl FnMut(&Machine) -> bool) -> Ended {
        loop {
            self.settle();
            if !go_on(self) {
                return Ended::Stopped;
            }
            let Some(next) = self.next_at() else {
                return Ended::Quiet;
            };
            if next > until {
                self.now.set(until);
                return Ended::TimeUp;
            }
            self.pass_to(next);
        }
    }

    /// When something next happens; `None` if only idle workers are left to retire.
    fn next_at(&self) -> Option<Time> {
        let burns = self.sched().next_at();
        let events = self.events.borrow();
        let is_quiet = burns.is_none() && events.iter().all(|e| self.is_background(e));
        let next = burns.into_iter().chain(events.next_at()).min();
        next.filter(|&at| !is_quiet && at != NEVER)
    }

    /// Nothing comes of it if nothing else happens.
    fn is_background(&self, event: &Event) -> bool {
        match event {
            Event::Cull(_) => true,
            Event::Tick => !self.has_backlog(),
            _ => false,
        }
    }

    fn pass_to(&self, next: Time) {
        assert!(next >= self.now(), "{} ns has passed already", next.0);
        if next > self.now() {
            self.acts.set(0);
        }
        self.now.set(next);
        self.sched().advance(next);
        while let Some(event) = self.next_event() {
            self.happen(event);
        }
    }

    fn next_event(&self) -> Option<Event> {
        self.events.borrow_mut().pop_due(self.now())
    }

    fn happen(&self, event: Event) {
        match event {
            Event::Wake(id) => self.wake(id),
            Event::TimeOut => {}
            Event::Spawned(pool, id, manager) => {
                self.create_worker(pool, id);
                manager.into_iter().for_each(|id| self.wake(id));
            }
            Event::Tick => self.tick(),
            Event::Look(pool) => self.look_at(pool),
            Event::Cull(pool) => self.cull(pool),
            Event::Timers => self.expire_timers(),
        }
    }

    /// Lets everybody act who can without time passing.
    fn settle(&self) {
        let mut acted = true;
        while acted {
            acted = self.ask_awaiting();
            for cpu in 0..self.topology().len() {
                let actor = self.sched().actor(self.now(), cpu);
                let Some(id) = actor else { continue };
                self.acting.set(Some(id));
                self.turn(id);
                self.acting.set(None);
                self.ask_awaiting();
                acted = true;
            }
        }
    }

    /// Asks those who wait for something to happen; true if somebody goes on.
    fn ask_awaiting(&self) -> bool {
        let ids: Vec<ThreadId> = self.awaiting.borrow().keys().copied().collect();
        let before = ids.len();
        ids.into_iter().for_each(|id| self.ask_again(id));
        self.awaiting.borrow().len() < before
    }

    fn ask_again(&self, id: ThreadId) {
        let act = self.ask_program(id, None);
        if !matches!(act, Act::Await(_)) {
            let time_out = self.awaiting.borrow_mut().remove(&id);
            self.call_off(time_out.expect("it waits"));
            self.frame(id, |f| f.act = Some(act));
            self.wake(id);
        }
    }

    /// Asks a thread's program for its next act.
    pub(crate) fn ask_program(&self, id: ThreadId, answer: Option<Answer>) -> Act {
        let mut program = self
            .frame(id, |f| f.program.take())
            .expect("the thread has a program");
        let mut cx = ProgramCx {
            machine: self,
            thread: id,
        };
        let act = program.next(&mut cx, answer);
        self.frame(id, |f| f.program = Some(program));
        act
    }

    pub(crate) fn count_act(&self, id: ThreadId) {
        self.acts.set(self.acts.get() + 1);
        assert!(
            self.acts.get() <= MAX_ACTS,
            "{} and others act without letting time pass, at {} ns",
            self.thread_name(id),
            self.now().0
        );
    }
}
