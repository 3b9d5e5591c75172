//! Virtual CPUs and the scheduler: who runs where, and for how long.
//!
//! A CPU runs one thread; the others that are ready there wait in its queue. Fair: the one that has
//! had least of the CPU, by its nice level, goes first, and is followed by the next one after a
//! slice. Fifo: who came first runs until it sleeps. SCHED_IDLE threads lose their CPU at once to
//! any other thread that comes.
//!
//! By default a thread that wakes preempts nobody else, but takes a CPU that idles at once; a CPU
//! that has nothing left to do takes a thread that waits elsewhere; and all that costs nothing.
//! [`Placement`] and [`Costs`] say otherwise.
//!
//! What threads do is not known here, only what they need the CPU for: to burn so many nanoseconds,
//! to spin until somebody says stop, or to act (which takes no time).
//!
//! | module | |
//! | --- | --- |
//! | `options` | [`Costs`], [`Placement`] |
//! | `lines` | cache lines that CPUs share: [`Lines`](lines::Lines) |
//! | `thread`, `run_queue` | the state: of a thread, of a CPU |
//! | `account` | what threads had, and how fast a CPU is |
//! | `dispatch` | who gets the CPU, and until when |
//! | `select_cpu` | where a thread goes that wakes up |
//! | `balance`, `caches` | who takes over whose threads; the same among last-level caches |
//! | `sets` | sets of CPUs, and times by CPU |
//! | `runs` | who had which CPU when, for drawings |

use cmwq_policy::{CpuMask, Nanos, Time};

use crate::topology::Topology;
use run_queue::RunQueue;
use sets::{CpuSet, Times};
use thread::{Need, Thread, work};

mod account;
mod balance;
mod caches;
mod dispatch;
pub mod lines;
mod options;
mod run_queue;
mod runs;
mod select_cpu;
mod sets;
mod thread;
mod weight;

pub use options::{Balance, Costs, Domains, Placement, Recent, Sharing, WakeTo};
pub use run_queue::CpuStats;
pub use runs::Run;
pub use select_cpu::Waker;
pub use thread::{ThreadAttrs, ThreadId, ThreadState, ThreadStats};
pub use weight::weight;

/// The order in which ready threads get their CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// By weighted CPU time, taking turns after so many nanoseconds (at least 1).
    Fair(Nanos),
    /// As they became ready, each until it sleeps.
    Fifo,
}

/// See the module.
pub struct Scheduler {
    topology: Topology,
    discipline: Discipline,
    costs: Costs,
    placement: Placement,
    cpus: Vec<RunQueue>,
    threads: Vec<Thread>,
    /// Threads that wait for a CPU.
    queued: usize,
    entries: u64,
    online: CpuMask,
    /// CPUs without a thread.
    idle: CpuSet,
    /// CPUs that have SCHED_IDLE threads only.
    sched_idle: CpuSet,
    /// CPUs that somebody waits for.
    contended: CpuSet,
    /// CPUs on which somebody may act or get the CPU in this instant.
    hot: CpuSet,
    /// CPUs of which `due` is not up to date.
    changed: CpuSet,
    /// When something ends on each CPU.
    due: Times,
    /// The last time that is known here.
    clock: Time,
    runs: Option<runs::Runs>,
}

impl Scheduler {
    /// A machine on which nothing runs.
    ///
    /// # Panics
    /// If the options contradict themselves, saying how.
    pub fn new(
        topology: Topology,
        discipline: Discipline,
        costs: Costs,
        placement: Placement,
    ) -> Self {
        assert!(discipline != Discipline::Fair(0), "a slice lasts");
        let checked = costs.check().and(placement.check());
        checked.unwrap_or_else(|problem| panic!("{problem}"));
        let siblings = |cpu| account::siblings_that_slow(&topology, &costs, cpu);
        let cpus = (0..topology.len()).map(|cpu| RunQueue::new(siblings(cpu)));
        Scheduler {
            cpus: cpus.collect(),
            online: topology.all(),
            idle: CpuSet::all(topology.len()),
            sched_idle: CpuSet::empty(topology.len()),
            contended: CpuSet::empty(topology.len()),
            hot: CpuSet::empty(topology.len()),
            changed: CpuSet::empty(topology.len()),
            due: Times::new(topology.len()),
            topology,
            discipline,
            costs,
            placement,
            threads: Vec::new(),
            queued: 0,
            entries: 0,
            clock: Time(0),
            runs: None,
        }
    }

    /// The machine's shape.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// A new thread, asleep.
    pub fn add(&mut self, now: Time, attrs: ThreadAttrs) -> ThreadId {
        self.threads.push(Thread::new(now, attrs));
        let id = ThreadId(self.threads.len() as u32 - 1);
        self.find_usable(id);
        id
    }

    fn thread(&self, id: ThreadId) -> &Thread {
        &self.threads[id.0 as usize]
    }

    fn thread_mut(&mut self, id: ThreadId) -> &mut Thread {
        &mut self.threads[id.0 as usize]
    }

    /// Whether it has, wants or does not want a CPU.
    pub fn state(&self, id: ThreadId) -> ThreadState {
        self.thread(id).state
    }

    /// The CPU it is on, or was on last.
    pub fn cpu_of(&self, id: ThreadId) -> usize {
        self.thread(id).cpu
    }

    /// Its nice level.
    pub fn nice(&self, id: ThreadId) -> i8 {
        self.thread(id).attrs.nice
    }

    /// The CPUs it may run on: those it is allowed to, if one of them is in use, else all.
    pub fn allowed(&self, id: ThreadId) -> CpuMask {
        let allowed = self.thread(id).attrs.allowed;
        match allowed.and(&self.online).is_empty() {
            true => self.topology.all(),
            false => allowed,
        }
    }

    /// Whether it is of class SCHED_IDLE.
    pub fn is_idle_class(&self, id: ThreadId) -> bool {
        self.thread(id).attrs.idle_class
    }

    /// What it has had so far.
    pub fn stats(&mut self, now: Time, id: ThreadId) -> ThreadStats {
        self.account(id, now);
        self.thread(id).stats
    }

    /// The thread that has this CPU.
    pub fn current(&self, cpu: usize) -> Option<ThreadId> {
        self.cpus[cpu].current
    }

    /// CPUs that are in use.
    pub fn online(&self) -> CpuMask {
        self.online
    }

    /// Ends the thread's sleep: it gets a place ([`Placement`]), and takes the CPU there or waits.
    ///
    /// # Panics
    /// If it does not sleep.
    pub fn wake(&mut self, now: Time, id: ThreadId, waker: Waker) {
        assert_eq!(self.state(id), ThreadState::Asleep, "{id:?} is woken");
        self.account(id, now);
        let there = self.cpu_of(id);
        let until = self.thread_mut(id).stays.take();
        let stays = until.is_some_and(|until| now <= until) && self.may_use(id, there);
        let cpu = match stays {
            true => there,
            false => self.select_cpu(id, waker),
        };
        // While it slept, others have caught up with it.
        self.charge(self.cpu_of(id), now);
        self.charge(cpu, now);
        let credit = self.sleeper_credit(id);
        self.enqueue(now, id, cpu, credit);
        self.check_preemption(id, cpu);
    }

    /// The running thread falls asleep.
    pub fn block(&mut self, now: Time, id: ThreadId) {
        self.leave_cpu(now, id, ThreadState::Asleep);
        self.thread_mut(id).stats.voluntary_switches += 1;
    }

    /// The running thread ends.
    pub fn exit(&mut self, now: Time, id: ThreadId) {
        self.leave_cpu(now, id, ThreadState::Gone);
    }

    /// The running thread goes behind all that wait for its CPU.
    pub fn yield_now(&mut self, now: Time, id: ThreadId) {
        let cpu = self.cpu_of(id);
        self.leave_cpu(now, id, ThreadState::Asleep);
        let last = self.cpus[cpu].queue.last().map(|entry| entry.0);
        let thread = self.thread_mut(id);
        thread.vruntime = last.map_or(thread.vruntime, |last| thread.vruntime.max(last));
        self.enqueue(now, id, cpu, 0);
    }

    /// The running thread now burns for so long.
    pub fn burn(&mut self, id: ThreadId, nanos: Nanos) {
        self.need(id, Need::Burn(work(nanos)));
    }

    /// The running thread now burns until [`stop_spin`](Self::stop_spin).
    pub fn spin(&mut self, id: ThreadId) {
        self.need(id, Need::Spin);
    }

    /// The thread burns so much more before it goes on with what it does.
    pub fn add_overhead(&mut self, id: ThreadId, nanos: Nanos) {
        let thread = self.thread_mut(id);
        thread.overhead += work(nanos);
        thread.stats.overhead_ns += nanos;
        let cpu = thread.cpu;
        self.changed.insert(cpu);
    }

    /// What the thread has yet to burn before it goes on, in nanoseconds at full speed.
    pub fn overhead_of(&self, id: ThreadId) -> Nanos {
        let left = self.thread(id).overhead.div_ceil(work(1));
        Nanos::try_from(left).unwrap_or(Nanos::MAX)
    }

    fn need(&mut self, id: ThreadId, need: Need) {
        let thread = self.thread_mut(id);
        thread.need = need;
        let cpu = thread.cpu;
        self.changed.insert(cpu);
        if need == Need::Act {
            self.hot.insert(cpu);
        }
    }

    /// Whether the thread has a CPU and is to say what it does there.
    pub fn is_acting(&self, id: ThreadId) -> bool {
        let thread = self.thread(id);
        let has_cpu = thread.state == ThreadState::Running;
        has_cpu && thread.acts() && self.cpus[thread.cpu].preempted_by.is_none()
    }

    /// What the thread spins for has happened.
    pub fn stop_spin(&mut self, now: Time, id: ThreadId) {
        assert_eq!(self.thread(id).need, Need::Spin, "{id:?} does not spin");
        // What it does next has not begun before.
        self.account(id, now);
        self.need(id, Need::Act);
    }

    /// The next time that the thread wakes up, it is placed as if it had been on this CPU (kernel
    /// `wake_cpu`), and not beyond its last-level cache.
    pub fn set_wake_cpu(&mut self, id: ThreadId, cpu: usize) {
        self.thread_mut(id).wake_cpu = Some(cpu);
    }

    /// If it wakes up before this time, it does so where it is.
    pub fn stay(&mut self, id: ThreadId, until: Time) {
        self.thread_mut(id).stays = Some(until);
    }

    /// Changes where a thread may run; it moves at once if it may not be where it is.
    pub fn set_allowed(&mut self, now: Time, id: ThreadId, allowed: CpuMask) {
        self.thread_mut(id).attrs.allowed = allowed;
        self.find_usable(id);
        self.expel(now, id);
        if self.state(id) == ThreadState::Ready {
            self.offer(id);
        }
    }

    /// Changes a thread's nice level, -20..=19.
    pub fn set_nice(&mut self, now: Time, id: ThreadId, nice: i8) {
        self.charge(self.cpu_of(id), now);
        self.thread_mut(id).attrs.nice = nice;
    }

    /// Takes a CPU out of use or back into it. Threads move away from it, to where they may run or,
    /// if they may run nowhere else, anywhere; and the latter come back.
    pub fn set_online(&mut self, now: Time, cpu: usize, online: bool) {
        self.cpus[cpu].offline = !online;
        match online {
            true => self.online.insert(cpu),
            false => self.online.remove(cpu),
        }
        for id in 0..self.threads.len() as u32 {
            self.find_usable(ThreadId(id));
        }
        for id in 0..self.threads.len() as u32 {
            self.expel(now, ThreadId(id));
        }
        self.hot = CpuSet::all(self.cpus.len());
    }

    /// Which CPUs the thread may be given: those it is allowed to that are in use, or else all that
    /// are.
    fn find_usable(&mut self, id: ThreadId) {
        let both = self.thread(id).attrs.allowed.and(&self.online);
        let usable = if both.is_empty() { self.online } else { both };
        self.thread_mut(id).usable = usable;
    }

    fn may_use(&self, id: ThreadId, cpu: usize) -> bool {
        self.thread(id).usable.contains(cpu)
    }

    fn expel(&mut self, now: Time, id: ThreadId) {
        let (state, cpu) = (self.state(id), self.cpu_of(id));
        if self.may_use(id, cpu) {
            return;
        }
        match state {
            ThreadState::Running => self.leave_cpu(now, id, ThreadState::Asleep),
            ThreadState::Ready => self.dequeue(id),
            ThreadState::Asleep | ThreadState::Gone => return,
        }
        self.account(id, now);
        let cpu = self.nearest(id, cpu);
        self.enqueue(now, id, cpu, 0);
        self.check_preemption(id, cpu);
    }

    /// What each CPU has done until now.
    pub fn cpu_stats(&mut self, now: Time, cpu: usize) -> CpuStats {
        if let Some(id) = self.cpus[cpu].current {
            self.account(id, now);
        }
        let stats = self.cpus[cpu].stats;
        CpuStats {
            idle_ns: now.0 - stats.busy_ns - stats.idle_class_ns,
            ..stats
        }
    }
}
