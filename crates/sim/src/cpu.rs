//! Virtual CPUs and the scheduler: who runs where, and for how long.
//!
//! A CPU runs one thread; the others that are ready there wait in its queue. Fair: the one that has
//! had least of the CPU, by its nice level, goes first, and is followed by the next one after a
//! slice. Fifo: who came first runs until it sleeps. A thread that wakes preempts nobody, but takes
//! a CPU that idles at once; a CPU that has nothing left to do takes a thread that waits elsewhere.
//!
//! What threads do is not known here, only what they need the CPU for: to burn so many nanoseconds,
//! to spin until somebody says stop, or to act (which takes no time).

use std::collections::BTreeSet;

use cmwq_policy::{CpuMask, Nanos, Time};

use crate::topology::{Distance, Topology};
use crate::weight::{NICE_0_WEIGHT, weight};

/// A thread of the simulated machine. Numbers are not reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(pub u32);

/// The order in which ready threads get their CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// By weighted CPU time, taking turns after so many nanoseconds (at least 1).
    Fair(Nanos),
    /// As they became ready, each until it sleeps.
    Fifo,
}

/// Whether a thread has, wants or does not want a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadState {
    /// It sleeps.
    Asleep,
    /// It waits for a CPU.
    Ready,
    /// It has one.
    Running,
    /// It has ended.
    Gone,
}

/// What a thread needs the CPU for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    /// To say what it does next.
    Act,
    /// To burn so many nanoseconds.
    Burn(Nanos),
    /// To burn until told otherwise.
    Spin,
}

/// What a thread has had of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadStats {
    /// Nanoseconds on a CPU.
    pub cpu_ns: Nanos,
    /// Nanoseconds ready, but without a CPU.
    pub waited_ns: Nanos,
    /// Nanoseconds asleep, the current sleep not included.
    pub slept_ns: Nanos,
    /// Times it slept.
    pub voluntary_switches: u64,
    /// Times it lost its CPU to another thread although it had use for it.
    pub involuntary_switches: u64,
    /// Times it was given another CPU than the one it was on before.
    pub migrations: u64,
}

struct Thread {
    state: ThreadState,
    allowed: CpuMask,
    nice: i8,
    /// Where it is, or was last.
    cpu: usize,
    /// Weighted CPU time, comparable among threads of one CPU.
    vruntime: u128,
    /// When it came into its queue, as a count.
    order: u64,
    need: Need,
    /// Since when it is in its state, or since when what it had is counted.
    since: Time,
    stats: ThreadStats,
}

#[derive(Default)]
struct Cpu {
    current: Option<ThreadId>,
    queue: BTreeSet<(u128, u64, ThreadId)>,
    /// When the current thread got the CPU, or its slice was renewed.
    slice_began: Time,
    /// The least of its threads' vruntimes so far: where threads that come start.
    least: u128,
    offline: bool,
}

/// See the module.
pub struct Scheduler {
    topology: Topology,
    discipline: Discipline,
    cpus: Vec<Cpu>,
    threads: Vec<Thread>,
    queued: usize,
    entries: u64,
}

impl Cpu {
    fn is_idle(&self) -> bool {
        self.current.is_none() && self.queue.is_empty()
    }

    fn load(&self) -> usize {
        self.queue.len() + usize::from(self.current.is_some())
    }
}

impl Scheduler {
    /// A machine on which nothing runs.
    pub fn new(topology: Topology, discipline: Discipline) -> Self {
        assert!(discipline != Discipline::Fair(0), "a slice lasts");
        Scheduler {
            cpus: topology.cpus.iter().map(|_| Cpu::default()).collect(),
            topology,
            discipline,
            threads: Vec::new(),
            queued: 0,
            entries: 0,
        }
    }

    /// The machine's shape.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// A new thread, asleep. `nice` is in -20..=19.
    pub fn add(&mut self, now: Time, allowed: CpuMask, nice: i8) -> ThreadId {
        self.threads.push(Thread {
            state: ThreadState::Asleep,
            allowed,
            nice,
            cpu: allowed.iter().next().unwrap_or(0),
            vruntime: 0,
            order: 0,
            need: Need::Act,
            since: now,
            stats: ThreadStats::default(),
        });
        ThreadId(self.threads.len() as u32 - 1)
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
        self.thread(id).nice
    }

    /// The CPUs it may run on: those it is allowed to, if one of them is in use, else all.
    pub fn allowed(&self, id: ThreadId) -> CpuMask {
        let allowed = self.thread(id).allowed;
        match allowed.and(&self.online()).is_empty() {
            true => self.topology.all(),
            false => allowed,
        }
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
        let cpus = self.cpus.iter().enumerate();
        cpus.filter(|(_, c)| !c.offline).map(|(c, _)| c).collect()
    }

    /// Ends the thread's sleep: it takes an idle CPU, or waits where the fewest do.
    ///
    /// # Panics
    /// If it does not sleep.
    pub fn wake(&mut self, now: Time, id: ThreadId) {
        assert_eq!(self.state(id), ThreadState::Asleep, "{id:?} is woken");
        self.account(id, now);
        let cpu = self.place(id);
        // While it slept, others have caught up with it.
        self.charge(self.cpu_of(id), now);
        self.charge(cpu, now);
        self.enqueue(now, id, cpu);
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
        let last = self.cpus[cpu].queue.last().map_or(0, |entry| entry.0);
        let thread = self.thread_mut(id);
        thread.vruntime = thread.vruntime.max(last);
        self.enqueue(now, id, cpu);
    }

    /// The running thread now burns for so long.
    pub fn burn(&mut self, id: ThreadId, nanos: Nanos) {
        self.thread_mut(id).need = Need::Burn(nanos);
    }

    /// The running thread now burns until [`stop_spin`](Self::stop_spin).
    pub fn spin(&mut self, id: ThreadId) {
        self.thread_mut(id).need = Need::Spin;
    }

    /// Whether the thread has a CPU and is to say what it does there.
    pub fn is_acting(&self, id: ThreadId) -> bool {
        let thread = self.thread(id);
        thread.state == ThreadState::Running && thread.need == Need::Act
    }

    /// What the thread spins for has happened.
    pub fn stop_spin(&mut self, id: ThreadId) {
        assert_eq!(self.thread(id).need, Need::Spin, "{id:?} does not spin");
        self.thread_mut(id).need = Need::Act;
    }

    /// Changes where a thread may run; it moves at once if it may not be where it is.
    pub fn set_allowed(&mut self, now: Time, id: ThreadId, allowed: CpuMask) {
        self.thread_mut(id).allowed = allowed;
        self.expel(now, id);
    }

    /// Changes a thread's nice level, -20..=19.
    pub fn set_nice(&mut self, now: Time, id: ThreadId, nice: i8) {
        self.charge(self.cpu_of(id), now);
        self.thread_mut(id).nice = nice;
    }

    /// Takes a CPU out of use or back into it. Threads move away from it, to where they may run or,
    /// if they may run nowhere else, anywhere; and the latter come back.
    pub fn set_online(&mut self, now: Time, cpu: usize, online: bool) {
        self.cpus[cpu].offline = !online;
        for id in 0..self.threads.len() as u32 {
            self.expel(now, ThreadId(id));
        }
    }

    /// CPUs that the thread may be given.
    fn usable(&self, id: ThreadId) -> CpuMask {
        let online = self.online();
        let allowed = self.thread(id).allowed.and(&online);
        if allowed.is_empty() { online } else { allowed }
    }

    fn expel(&mut self, now: Time, id: ThreadId) {
        let (state, cpu) = (self.state(id), self.cpu_of(id));
        if self.usable(id).contains(cpu) {
            return;
        }
        match state {
            ThreadState::Running => self.leave_cpu(now, id, ThreadState::Asleep),
            ThreadState::Ready => self.dequeue(id),
            ThreadState::Asleep | ThreadState::Gone => return,
        }
        self.account(id, now);
        let cpu = self.place(id);
        self.enqueue(now, id, cpu);
    }

    fn place(&self, id: ThreadId) -> usize {
        let usable = self.usable(id);
        let crowded = || usable.iter().min_by_key(|&cpu| self.cpus[cpu].load());
        let idle = self.nearest_idle(id, &usable);
        idle.or_else(crowded).expect("a machine has a CPU")
    }

    /// Its last CPU if that idles, else one in the same cache, else on the same node.
    fn nearest_idle(&self, id: ThreadId, mask: &CpuMask) -> Option<usize> {
        let last = self.cpu_of(id);
        // SMT siblings are no better than others of the cache: they share the core's throughput.
        let rank = |cpu: usize| match self.topology.distance(last, cpu) {
            Distance::Core => Distance::Llc,
            other => other,
        };
        let idle = mask.iter().filter(|&cpu| self.cpus[cpu].is_idle());
        idle.min_by_key(|&cpu| (rank(cpu), cpu))
    }

    /// Counts the time since the last call for what the thread did meanwhile.
    fn account(&mut self, id: ThreadId, now: Time) {
        let thread = self.thread_mut(id);
        let passed = now.since(std::mem::replace(&mut thread.since, now));
        let stats = &mut thread.stats;
        match thread.state {
            ThreadState::Running => stats.cpu_ns += passed,
            ThreadState::Ready => stats.waited_ns += passed,
            ThreadState::Asleep => stats.slept_ns += passed,
            ThreadState::Gone => {}
        }
        if thread.state == ThreadState::Running {
            // Scaled up, so that no weight makes a nanosecond round to nothing.
            let scaled = (u128::from(passed) * u128::from(NICE_0_WEIGHT)) << 20;
            thread.vruntime += scaled / u128::from(weight(thread.nice));
            if let Need::Burn(left) = &mut thread.need {
                *left = left.checked_sub(passed).expect("a burn ends in time");
            }
        }
    }

    /// Brings what the CPU's current thread has had up to date.
    fn charge(&mut self, cpu: usize, now: Time) {
        if let Some(id) = self.cpus[cpu].current {
            self.account(id, now);
        }
        self.raise_least(cpu);
    }

    fn raise_least(&mut self, cpu: usize) {
        let at = &self.cpus[cpu];
        let current = at.current.map(|id| self.thread(id).vruntime);
        let first = at.queue.first().map(|entry| entry.0);
        if let Some(least) = current.into_iter().chain(first).min() {
            let at = &mut self.cpus[cpu];
            at.least = at.least.max(least);
        }
    }

    fn enqueue(&mut self, now: Time, id: ThreadId, cpu: usize) {
        // Its slices count from now on for others: they end at times to come.
        if let Some(current) = self.cpus[cpu].current {
            self.account(current, now);
        }
        let from = self.thread(id).cpu;
        let (left, comes) = (self.cpus[from].least, self.cpus[cpu].least);
        self.entries += 1;
        let order = self.entries;
        let is_fair = self.discipline != Discipline::Fifo;
        let thread = self.thread_mut(id);
        thread.vruntime = if is_fair {
            // What it has had more than others is kept, what it has missed is not.
            comes + thread.vruntime.saturating_sub(left)
        } else {
            0
        };
        thread.order = order;
        thread.stats.migrations += u64::from(from != cpu);
        thread.cpu = cpu;
        thread.state = ThreadState::Ready;
        let entry = (thread.vruntime, order, id);
        self.cpus[cpu].queue.insert(entry);
        self.queued += 1;
    }

    fn dequeue(&mut self, id: ThreadId) {
        let thread = self.thread(id);
        let (entry, cpu) = ((thread.vruntime, thread.order, id), thread.cpu);
        assert!(
            self.cpus[cpu].queue.remove(&entry),
            "{id:?} waits for a CPU"
        );
        self.queued -= 1;
    }

    fn leave_cpu(&mut self, now: Time, id: ThreadId, next: ThreadState) {
        let cpu = self.cpu_of(id);
        assert_eq!(self.cpus[cpu].current, Some(id), "{id:?} has no CPU");
        self.charge(cpu, now);
        self.cpus[cpu].current = None;
        self.thread_mut(id).state = next;
    }

    /// The thread that is to say what it does next on this CPU, if there is one. Gives the CPU to
    /// the next thread if it is free.
    pub fn actor(&mut self, now: Time, cpu: usize) -> Option<ThreadId> {
        if self.cpus[cpu].current.is_none() {
            self.pick(now, cpu);
        }
        let current = self.cpus[cpu].current?;
        (self.thread(current).need == Need::Act).then_some(current)
    }

    fn pick(&mut self, now: Time, cpu: usize) {
        if self.cpus[cpu].queue.is_empty() {
            self.pull(now, cpu);
        }
        let Some(&(.., id)) = self.cpus[cpu].queue.first() else {
            return;
        };
        self.account(id, now);
        self.dequeue(id);
        self.thread_mut(id).state = ThreadState::Running;
        self.cpus[cpu].current = Some(id);
        self.cpus[cpu].slice_began = now;
    }

    /// Takes a thread from the CPU where the most wait.
    fn pull(&mut self, now: Time, cpu: usize) {
        if self.queued == 0 || self.cpus[cpu].offline {
            return;
        }
        let may_come = |&&(.., id): &&(u128, u64, ThreadId)| self.usable(id).contains(cpu);
        let waiting = self.cpus.iter().filter_map(|from| {
            let first = from.queue.iter().find(may_come)?;
            Some((from.queue.len(), first.2))
        });
        // Of equals, the first: `max_by_key` would take the last.
        let Some((_, id)) = waiting.reduce(|a, b| if b.0 > a.0 { b } else { a }) else {
            return;
        };
        self.account(id, now);
        self.dequeue(id);
        self.enqueue(now, id, cpu);
    }

    /// When the next burn or slice ends.
    pub fn next_at(&self) -> Option<Time> {
        (0..self.cpus.len()).filter_map(|cpu| self.due(cpu)).min()
    }

    fn due(&self, cpu: usize) -> Option<Time> {
        let thread = self.thread(self.cpus[cpu].current?);
        let burnt = match thread.need {
            Need::Burn(left) => Some(thread.since.after(left)),
            Need::Act | Need::Spin => None,
        };
        burnt.into_iter().chain(self.slice_end(cpu)).min()
    }

    /// The end of the current slice; without others to turn to, a slice follows the other.
    fn slice_end(&self, cpu: usize) -> Option<Time> {
        let at = &self.cpus[cpu];
        let Discipline::Fair(slice) = self.discipline else {
            return None;
        };
        let since = self.thread(at.current?).since;
        let whole = since.since(at.slice_began) / slice;
        (!at.queue.is_empty()).then(|| at.slice_began.after((whole + 1) * slice))
    }

    /// Lets burns and slices end whose time has come. Time must not have passed any of them.
    pub fn advance(&mut self, now: Time) {
        for cpu in 0..self.cpus.len() {
            if self.due(cpu).is_some_and(|at| at <= now) {
                self.turn(now, cpu);
            }
        }
    }

    fn turn(&mut self, now: Time, cpu: usize) {
        let slice_ends = self.slice_end(cpu).is_some_and(|at| at <= now);
        self.charge(cpu, now);
        let id = self.cpus[cpu].current.expect("something ends");
        if self.thread(id).need == Need::Burn(0) {
            self.thread_mut(id).need = Need::Act;
        }
        if slice_ends {
            self.leave_cpu(now, id, ThreadState::Asleep);
            self.enqueue(now, id, cpu);
            self.pick(now, cpu);
            let lost = u64::from(self.cpus[cpu].current != Some(id));
            self.thread_mut(id).stats.involuntary_switches += lost;
        }
    }
}
