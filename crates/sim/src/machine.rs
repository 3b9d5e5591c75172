//! The machine, and the loop in which time passes.
//!
//! An instant goes like this: burns and slices end that end now; events happen whose time is now, in
//! the order in which they were made; then whoever has a CPU and nothing to burn acts, CPU after
//! CPU, until nobody can without time passing. So in one instant a thread that wakes up is there
//! before one that goes on acts.

use std::cell::{Cell, OnceCell, RefCell, RefMut};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use cmwq_policy::affinity::Layout;
use cmwq_policy::contract::{Freezer, WaitGraph};
use cmwq_policy::time::SECOND;
use cmwq_policy::{Action, Nanos, Time, WorkerId, hog};

use crate::api::act::{Act, Answer};
use crate::api::names::{DeviceId, ItemId, LockId, PoolId, PwqId};
use crate::api::options::Options;
use crate::api::report::Report;
use crate::api::trace::{Line, What};
use crate::cpu::{CpuStats, Run, Scheduler, ThreadId, Waker};
use crate::events::{EventKey, Events};
use crate::gates::GateState;
use crate::inspect::Observer;
use crate::pools::{Armed, Pool};
use crate::program::{Program, ProgramCx};
use crate::queues::{Queue, SimTimers};
use crate::random::Streams;
use crate::resources::{Request, Resources};
use crate::store::Items;
use crate::threads::{Frame, Sleep};
use crate::topology::Topology;
use crate::{process, signals};

/// Acts in one instant beyond which a program is taken for one that lets no time pass.
const MAX_ACTS: u32 = 1_000_000;

/// The time of what never happens.
pub(crate) const NEVER: Time = Time(Nanos::MAX);

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
    /// Items of a pool may have waited for a slot for too long.
    Starving(PoolId),
    /// An item's timer may have expired.
    Timers,
    /// A canary's report of this CPU, for this pool, arrives.
    Report(PoolId, usize),
    /// A waiter has spun at this lock for long enough.
    SpinOver(ThreadId, LockId),
    /// The device has served this request.
    IoDone(DeviceId, Request),
}

/// See the module.
pub struct Machine {
    pub(crate) options: Options,
    now: Cell<Time>,
    scheduler: RefCell<Scheduler>,
    pub(crate) frames: RefCell<Vec<Frame>>,
    events: RefCell<Events<Event>>,
    pub(crate) gates: RefCell<Vec<GateState>>,
    /// Threads whose programs are asked after everything that happens, and the ends of their times.
    awaiting: RefCell<BTreeMap<ThreadId, EventKey>>,
    /// Threads that wait in a call.
    pub(crate) calling: RefCell<BTreeSet<ThreadId>>,
    acts: Cell<u32>,
    trace: RefCell<Vec<Line>>,
    pub(crate) keeps_trace: Cell<bool>,
    /// All that a pool can check is checked after each of its events, in any build.
    pub(crate) checks_whole: Cell<bool>,
    pub(crate) observer: OnceCell<Rc<dyn Observer>>,
    pub(crate) layout: RefCell<Layout>,
    pub(crate) items: RefCell<Items>,
    pub(crate) pools: RefCell<Vec<Rc<Pool>>>,
    pub(crate) queues: RefCell<Vec<Rc<Queue>>>,
    pub(crate) freezer: Cell<Freezer>,
    pub(crate) timers: RefCell<SimTimers>,
    /// Which items wait for which.
    pub(crate) wait_graph: RefCell<WaitGraph<Machine>>,
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
            checks_whole: Cell::new(false),
            observer: OnceCell::new(),
            items: RefCell::default(),
            pools: RefCell::default(),
            queues: RefCell::default(),
            freezer: Cell::default(),
            timers: RefCell::default(),
            wait_graph: RefCell::default(),
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

    /// Who ends sleeps now.
    pub(crate) fn waker(&self) -> Waker {
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
            Event::Starving(pool) => self.starving(pool),
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
