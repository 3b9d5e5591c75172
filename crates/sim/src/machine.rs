//! The machine: threads, gates, and the loop in which time passes.
//!
//! An instant goes like this: burns and slices end that end now; events happen whose time is now, in
//! the order in which they were made; then whoever has a CPU and nothing to burn acts, CPU after
//! CPU, until nobody can without time passing. So in one instant a thread that wakes up is there
//! before one that goes on acts.

use std::cell::{Cell, OnceCell, RefCell, RefMut};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::rc::Rc;

use cmwq_policy::affinity::{self, Layout};
use cmwq_policy::time::{MILLISECOND, SECOND};
use cmwq_policy::{Action, CpuMask, Nanos, Time, WorkerId, hog};

use crate::cpu::{
    Costs, CpuStats, Discipline, Placement, Run, Scheduler, ThreadAttrs, ThreadId, ThreadState,
    ThreadStats, Waker,
};
use crate::events::{EventKey, Events};
use crate::inspect::Observer;
use crate::pools::{Armed, Pool};
use crate::process;
use crate::program::{
    Act, Answer, Execution, Gate, ItemId, PoolId, Program, ProgramCx, ThreadSpec, WorkerRef,
};
use crate::queues::{Queue, SimTimers};
use crate::random::{Random, Streams};
use crate::resources::{DeviceId, LockId, Request, Resources, SemId};
use crate::signals::{self, Signals};
use crate::store::{Items, PwqId};
use crate::topology::Topology;
use crate::trace::{Line, What};
use crate::waits::Pending;
use crate::watch::Report;
use crate::workers::Worker;

/// Acts in one instant beyond which a program is taken for one that lets no time pass.
const MAX_ACTS: u32 = 1_000_000;

/// The time of what never happens.
pub(crate) const NEVER: Time = Time(Nanos::MAX);

/// What a machine is like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Its CPUs.
    pub topology: Topology,
    /// How they are shared.
    pub discipline: Discipline,
    /// How long it takes to create a worker's thread, in nanoseconds.
    pub spawn_takes: Nanos,
    /// That time is up to so many thousandths more or less, 0..=1000, each as likely.
    pub spawn_jitter: u32,
    /// So many thousandths of the attempts to create a worker's thread fail, 0..=1000.
    pub spawn_fails: u32,
    /// Times in which all of them fail, in nanoseconds from the start.
    pub spawn_outages: Vec<Range<Nanos>>,
    /// Threads that one pool may have.
    pub thread_limit: u32,
    /// How pools learn that workers sleep.
    pub signals: Signals,
    /// Everything random comes from this number.
    pub seed: u64,
    /// What things cost that would take no time otherwise.
    pub costs: Costs,
    /// Where threads go.
    pub placement: Placement,
    /// The best nice level that a thread may give itself, -20..=19; -20: the program is privileged.
    pub nice_best: i8,
    /// Cores of a cache shard, about (kernel `wq_cache_shard_size`).
    pub shard_cores: u32,
}

impl Options {
    /// A machine of this shape: fair, with slices of 3 ms; threads are there at once.
    pub fn of(topology: Topology) -> Options {
        Options {
            topology,
            discipline: Discipline::Fair(3 * MILLISECOND),
            spawn_takes: 0,
            spawn_jitter: 0,
            spawn_fails: 0,
            spawn_outages: Vec::new(),
            thread_limit: 4096,
            signals: Signals::Exact,
            seed: 0,
            costs: Costs::default(),
            placement: Placement::default(),
            nice_best: -20,
            shard_cores: affinity::DFL_SHARD_CORES,
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
    /// A call of this thread has waited for long enough.
    CallOver(ThreadId),
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
    /// A canary's report of this CPU, for this pool, arrives.
    Report(PoolId, usize),
    /// A waiter has spun at this lock for long enough.
    SpinOver(ThreadId, LockId),
    /// The device has served this request.
    IoDone(DeviceId, Request),
}

/// What a thread sleeps for.
pub(crate) enum Sleep {
    Awake,
    /// Time, or a thread that is being created.
    Event,
    Gate(Gate),
    Lock(LockId),
    Semaphore(SemId),
    /// The program is asked again.
    Await,
    /// An idle worker: to be unparked.
    Parked,
    Call(Box<dyn Pending>),
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
    /// What its program draws from.
    pub(crate) random: Random,
}

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
    pub(crate) keeps_trace: Cell<bool>,
    pub(crate) observer: OnceCell<Rc<dyn Observer>>,
    pub(crate) layout: RefCell<Layout>,
    pub(crate) items: RefCell<Items>,
    pub(crate) pools: RefCell<Vec<Rc<Pool>>>,
    pub(crate) queues: RefCell<Vec<Rc<Queue>>>,
    pub(crate) timers: RefCell<SimTimers>,
    pub(crate) next_timer: Cell<Armed>,
    pub(crate) timers_dropped: Cell<u64>,
    pub(crate) process: process::State,
    /// What pools have asked for and is not carried out yet.
    pub(crate) actions: RefCell<VecDeque<(PoolId, Action<PwqId>)>>,
    pub(crate) postponing: Cell<u32>,
    /// The thread whose turn it is.
    acting: Cell<Option<ThreadId>>,
    /// The CPU of the interrupt that happens.
    interrupted: Cell<Option<usize>>,
    pub(crate) resources: Resources,
    pub(crate) random: Streams,
    pub(crate) tick_is_armed: Cell<bool>,
    pub(crate) signals: signals::State,
    pub(crate) spawns_fail: Cell<bool>,
    /// Per mille of them that fail by chance.
    pub(crate) spawn_fails: Cell<u32>,
    pub(crate) spawn_failures: Cell<u64>,
    pub(crate) hog_threshold: Cell<Nanos>,
    pub(crate) hogs: RefCell<hog::Reports>,
    pub(crate) reports: RefCell<Vec<Report>>,
}

impl Machine {
    /// A machine on which nothing runs, at time 0.
    pub fn new(options: Options) -> Machine {
        let scheduler = Scheduler::new(
            options.topology.clone(),
            options.discipline,
            options.costs.clone(),
            options.placement,
        );
        let random = Streams::new(options.seed);
        let spawn_fails = Cell::new(options.spawn_fails);
        let layout = Layout::new(options.topology.cpus.clone());
        let signals = signals::State::new(random.signals);
        Machine {
            layout: RefCell::new(layout.with_shards_of(options.shard_cores)),
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
            keeps_trace: Cell::new(true),
            observer: OnceCell::new(),
            items: RefCell::default(),
            pools: RefCell::default(),
            queues: RefCell::default(),
            timers: RefCell::default(),
            next_timer: Cell::new(None),
            timers_dropped: Cell::new(0),
            process: process::State::default(),
            actions: RefCell::default(),
            postponing: Cell::new(0),
            acting: Cell::new(None),
            interrupted: Cell::new(None),
            resources: Resources::default(),
            random,
            tick_is_armed: Cell::new(false),
            signals,
            spawns_fail: Cell::new(false),
            spawn_fails,
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
        let cpu = self.sched().cpu_of(thread);
        self.note_at(cpu, thread, what);
    }

    pub(crate) fn note_at(&self, cpu: usize, thread: ThreadId, what: What) {
        let line = Line {
            at: self.now(),
            cpu,
            thread,
            what,
        };
        self.observed(|o| o.traced(self, &line));
        if self.keeps_trace.get() {
            self.trace.borrow_mut().push(line);
        }
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
            idle_class: spec.idle_class,
            footprint: spec.footprint,
            program: Some(program),
            worker: None,
        })
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
        self.frames.borrow_mut().push(Frame {
            name: new.name,
            worker: new.worker,
            program: new.program,
            answer: None,
            act: None,
            sleep: Sleep::Awake,
            token: false,
            random,
        });
        if let Some(who) = worker {
            self.bring_home(&self.pool(who.pool), id);
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
            self.sched().stop_spin(self.now(), id);
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

    /// The CPU of the interrupt that happens, or of the thread whose turn it is; 0 in other events.
    pub(crate) fn current_cpu(&self) -> usize {
        let acting = || Some(self.sched().cpu_of(self.acting.get()?));
        self.interrupted.get().or_else(acting).unwrap_or(0)
    }

    /// Does something in an interrupt on this CPU.
    pub(crate) fn in_interrupt(&self, cpu: usize, act: impl FnOnce()) {
        self.interrupted.set(Some(cpu));
        act();
        self.interrupted.set(None);
    }

    /// What the machine is like.
    pub fn options(&self) -> &Options {
        &self.options
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

    /// Who ends sleeps now.
    fn waker(&self) -> Waker {
        match (self.interrupted.get(), self.acting.get()) {
            (Some(cpu), _) => Waker::Interrupt(cpu),
            (None, Some(id)) => Waker::Thread(id),
            (None, None) => Waker::Timer,
        }
    }

    /// What a CPU has done so far.
    pub fn cpu_stats(&self, cpu: usize) -> CpuStats {
        self.sched().cpu_stats(self.now(), cpu)
    }

    /// From now on keeps who has which CPU when.
    pub fn keep_runs(&self) {
        self.sched().keep_runs();
    }

    /// Who had which CPU when, by time and CPU; nothing unless [kept](Self::keep_runs).
    pub fn runs(&self) -> Vec<Run> {
        self.sched().runs(self.now())
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
            self.count_event(event);
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
            Event::CallOver(id) => self.look_again(id),
            Event::Spawned(pool, id, manager) => {
                self.create_worker(pool, id);
                manager.into_iter().for_each(|id| self.wake(id));
            }
            Event::Tick => self.tick(),
            Event::Look(pool) => self.look_at(pool),
            Event::Cull(pool) => self.cull(pool),
            Event::Timers => self.timers(),
            Event::Report(pool, cpu) => self.deliver(pool, cpu),
            Event::SpinOver(id, lock) => self.spin_over(id, lock),
            Event::IoDone(device, request) => self.io_done(device, request),
        }
    }

    /// Lets everybody act who can without time passing.
    fn settle(&self) {
        let mut acted = true;
        while acted {
            acted = self.ask_awaiting();
            self.look_at_spinners();
            acted |= self.sweep();
        }
    }

    /// Lets each CPU's thread act that can, CPU after CPU; true if that may go on.
    fn sweep(&self) -> bool {
        let mut from = 0;
        loop {
            let next = self.sched().next_actor(self.now(), from);
            let Some((cpu, id)) = next else {
                return from > 0 || self.sched().is_unsettled();
            };
            self.acting.set(Some(id));
            self.turn(id);
            self.acting.set(None);
            self.ask_awaiting();
            from = cpu + 1;
        }
    }

    /// Asks those who wait for something to happen; true if somebody goes on.
    fn ask_awaiting(&self) -> bool {
        if self.awaiting.borrow().is_empty() {
            return false;
        }
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
            random: self.frame(id, |f| f.random),
        };
        let act = program.next(&mut cx, answer);
        let random = cx.random;
        self.frame(id, |f| (f.program, f.random) = (Some(program), random));
        act
    }

    fn count_event(&self, event: Event) {
        self.acts.set(self.acts.get() + 1);
        assert!(
            self.acts.get() <= MAX_ACTS,
            "{event:?} and others follow each other without time passing, at {} ns",
            self.now().0
        );
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
