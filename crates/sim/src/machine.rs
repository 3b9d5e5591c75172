//! The machine: its parts, and what each room above needs of all of them. With it those who are
//! handed the machine: programs, and the observer.

use std::cell::{Cell, OnceCell, RefCell, RefMut};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use cmwq_policy::affinity::Layout;
use cmwq_policy::contract::{self, Freezer, WaitGraph};
use cmwq_policy::timers::Timers;
use cmwq_policy::{Action, Nanos, Time, hog};

use crate::api::act::{Act, Answer};
use crate::api::call::Call;
use crate::api::names::{ItemId, PoolId, PwqId, QueueId};
use crate::api::options::{Options, Signals, UserSignals};
use crate::api::report::Report;
use crate::api::trace::{Line, What};
use crate::cpu::lines::{LineId, Lines};
use crate::cpu::{CpuStats, Run, Scheduler, ThreadId, Waker};
use crate::events::{EventKey, Events};
use crate::random::{Random, Streams};
use crate::state::event::{Armed, Event};
use crate::state::latch::LatchState;
use crate::state::pool::Pool;
use crate::state::process::ProcessState;
use crate::state::queue::Queue;
use crate::state::resources::Resources;
use crate::state::signals::SignalState;
use crate::state::store::Items;
use crate::state::thread::Frame;
use crate::topology::Topology;

/// See the module.
pub struct Machine {
    pub(crate) options: Options,
    pub(crate) now: Cell<Time>,
    scheduler: RefCell<Scheduler>,
    pub(crate) frames: RefCell<Vec<Frame>>,
    /// By thread: what it executes; nothing when it has ended, or is a worker between two items.
    programs: RefCell<Vec<Option<Box<dyn Program>>>>,
    /// What goes on when the thread's claims are over, the last one at the end.
    set_aside: RefCell<BTreeMap<ThreadId, Vec<Box<dyn Program>>>>,
    pub(crate) events: RefCell<Events<Event>>,
    pub(crate) latches: RefCell<Vec<LatchState>>,
    /// Threads whose programs are asked after everything that happens, and the ends of their times.
    pub(crate) awaiting: RefCell<BTreeMap<ThreadId, EventKey>>,
    /// Threads that wait in a call.
    pub(crate) calling: RefCell<BTreeSet<ThreadId>>,
    pub(crate) acts: Cell<u32>,
    trace: RefCell<Vec<Line>>,
    pub(crate) keeps_trace: Cell<bool>,
    /// All that a pool can check is checked after each of its events, in any build.
    pub(crate) checks_whole: Cell<bool>,
    pub(crate) observer: OnceCell<Rc<dyn Observer>>,
    pub(crate) layout: RefCell<Layout>,
    pub(crate) items: RefCell<Items>,
    /// By item.
    pub(crate) bodies: RefCell<Vec<Body>>,
    pub(crate) pools: RefCell<Vec<Rc<Pool>>>,
    pub(crate) queues: RefCell<Vec<Rc<Queue>>>,
    pub(crate) freezer: Cell<Freezer>,
    pub(crate) timers: RefCell<SimTimers>,
    /// Which items wait for which.
    pub(crate) wait_graph: RefCell<WaitGraph<Machine>>,
    pub(crate) next_timer: Cell<Armed>,
    pub(crate) timers_dropped: Cell<u64>,
    pub(crate) process: ProcessState,
    /// What pools have asked for and is not carried out yet.
    pub(crate) actions: RefCell<VecDeque<(PoolId, Action<PwqId>)>>,
    pub(crate) postponing: Cell<u32>,
    /// The thread whose turn it is.
    pub(crate) acting: Cell<Option<ThreadId>>,
    /// The CPU of the interrupt that happens.
    interrupted: Cell<Option<usize>>,
    pub(crate) resources: Resources,
    /// Lines that threads share, and whether that costs anything.
    pub(crate) lines: RefCell<Lines>,
    /// Of words that pools share, each with the pool that wrote it last.
    pub(crate) shared_words: RefCell<Vec<(LineId, PoolId)>>,
    pub(crate) shares: bool,
    pub(crate) random: Streams,
    pub(crate) tick_is_armed: Cell<bool>,
    /// Items began to wait since the tick's thread slept last.
    pub(crate) tick_came: Cell<bool>,
    pub(crate) signals: SignalState,
    pub(crate) spawns_fail: Cell<bool>,
    /// Per mille of them that fail by chance.
    pub(crate) spawn_fails: Cell<u32>,
    pub(crate) spawn_failures: Cell<u64>,
    pub(crate) hog_threshold: Cell<Nanos>,
    pub(crate) hogs: RefCell<hog::Reports>,
    pub(crate) reports: RefCell<Vec<Report>>,
}

pub(crate) type SimTimers = Timers<contract::Armed<Machine>>;

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
        let signals = SignalState::new(random.signals);
        let sharing = &options.costs.sharing;
        let lines = Lines::new(options.topology.clone(), sharing.trips);
        let shares = sharing.is_any();
        Machine {
            layout: RefCell::new(layout.with_shards_of(options.shard_cores)),
            options,
            now: Cell::new(Time(0)),
            scheduler: RefCell::new(scheduler),
            frames: RefCell::default(),
            programs: RefCell::default(),
            set_aside: RefCell::default(),
            events: RefCell::default(),
            latches: RefCell::default(),
            awaiting: RefCell::default(),
            calling: RefCell::default(),
            acts: Cell::new(0),
            trace: RefCell::default(),
            keeps_trace: Cell::new(true),
            checks_whole: Cell::new(false),
            observer: OnceCell::new(),
            items: RefCell::default(),
            bodies: RefCell::default(),
            pools: RefCell::default(),
            queues: RefCell::default(),
            freezer: Cell::default(),
            timers: RefCell::default(),
            wait_graph: RefCell::default(),
            next_timer: Cell::new(None),
            timers_dropped: Cell::new(0),
            process: ProcessState::default(),
            actions: RefCell::default(),
            postponing: Cell::new(0),
            acting: Cell::new(None),
            interrupted: Cell::new(None),
            resources: Resources::default(),
            lines: RefCell::new(lines),
            shared_words: RefCell::default(),
            shares,
            random,
            tick_is_armed: Cell::new(false),
            tick_came: Cell::new(false),
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

    /// What a thread executes, for a moment.
    pub(crate) fn program<R>(
        &self,
        id: ThreadId,
        look: impl FnOnce(&mut Option<Box<dyn Program>>) -> R,
    ) -> R {
        look(&mut self.programs.borrow_mut()[id.0 as usize])
    }

    /// What the thread executes goes on later: it executes another thing first.
    pub(crate) fn set_aside(&self, id: ThreadId) {
        let program = self.program(id, Option::take);
        let program = program.expect("the thread has a program");
        self.set_aside
            .borrow_mut()
            .entry(id)
            .or_default()
            .push(program);
    }

    /// What was set aside last goes on.
    pub(crate) fn take_up_again(&self, id: ThreadId) {
        let mut aside = self.set_aside.borrow_mut();
        let program = aside.get_mut(&id).and_then(Vec::pop);
        self.program(id, |p| *p = program);
    }

    /// A new thread: its number is the next one.
    pub(crate) fn add_frame(&self, frame: Frame, program: Option<Box<dyn Program>>) {
        self.frames.borrow_mut().push(frame);
        self.programs.borrow_mut().push(program);
    }

    pub(crate) fn pool(&self, id: PoolId) -> Rc<Pool> {
        self.pools.borrow()[id.0 as usize].clone()
    }

    pub(crate) fn queue(&self, id: QueueId) -> Rc<Queue> {
        self.queues.borrow()[id.0 as usize].clone()
    }

    /// The signals of user space, if they are all there is.
    pub(crate) fn user_signals(&self) -> Option<&UserSignals> {
        match &self.options.signals {
            Signals::Exact => None,
            Signals::User(user) => Some(user),
        }
    }

    /// Something will happen after so many nanoseconds.
    pub(crate) fn after(&self, nanos: Nanos, event: Event) -> EventKey {
        let at = self.now().after(nanos);
        self.events.borrow_mut().add(at, event)
    }

    pub(crate) fn call_off(&self, event: EventKey) {
        self.events.borrow_mut().remove(event);
    }

    pub(crate) fn observed(&self, tell: impl FnOnce(&dyn Observer)) {
        if let Some(observer) = self.observer.get() {
            tell(observer.as_ref());
        }
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
        self.add_item(name.into(), Rc::new(body), false)
    }

    pub(crate) fn add_item(&self, name: String, body: Body, is_barrier: bool) -> ItemId {
        self.bodies.borrow_mut().push(body);
        self.items.borrow_mut().add_item(name, is_barrier)
    }

    /// An item's name.
    pub fn item_name(&self, item: ItemId) -> String {
        self.items.borrow().item(item).name.clone()
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
}

/// A resumable program.
pub trait Program {
    /// What it does next. `answer` is that of the call it has just made; `None` after other acts.
    fn next(&mut self, cx: &mut ProgramCx<'_>, answer: Option<Answer>) -> Act;
}

/// Any function can be a program.
impl<F: FnMut(&mut ProgramCx<'_>, Option<Answer>) -> Act> Program for F {
    fn next(&mut self, cx: &mut ProgramCx<'_>, answer: Option<Answer>) -> Act {
        self(cx, answer)
    }
}

/// Makes the program of each execution of an item; given the number of the execution, from 1 on.
pub type Body = Rc<dyn Fn(u32) -> Box<dyn Program>>;

/// What a program sees of the machine, and may do to it without a call.
pub struct ProgramCx<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) thread: ThreadId,
    pub(crate) random: Random,
}

/// Is told what happens while it happens. May look at the machine, but not change it.
pub trait Observer {
    /// A line of the trace, whether it is kept or not.
    fn traced(&self, machine: &Machine, line: &Line);
    /// A thread makes this call now.
    fn called(&self, machine: &Machine, thread: ThreadId, call: &Call);
    /// The thread's call is over; the thread itself may hear of it later.
    fn returned(&self, machine: &Machine, thread: ThreadId, answer: &Answer);
    /// One event of this pool's core is over; what it asks for is not carried out yet.
    fn pool_event(&self, machine: &Machine, pool: PoolId);
}
