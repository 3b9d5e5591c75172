//! Who gets the CPU, and until when.

use cmwq_policy::time::MICROSECOND;
use cmwq_policy::{Nanos, Time};

use super::account::vruntime;
use super::thread::{Need, ThreadId, ThreadState};
use super::{Balance, Discipline, Scheduler};

/// How long a SCHED_IDLE thread keeps the CPU that others wait for (kernel
/// `sched_idle_min_granularity`).
const IDLE_CLASS_SLICE: Nanos = 750 * MICROSECOND;

impl Scheduler {
    /// The thread begins to wait for this CPU; it may go before those who have had least of it by
    /// so much.
    pub(super) fn enqueue(&mut self, now: Time, id: ThreadId, cpu: usize, credit: i128) {
        self.clock = self.clock.max(now);
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
        thread.vruntime = match is_fair {
            // What it has had more than others is kept, what it has missed is not.
            true => comes + (thread.vruntime - left).max(-credit),
            // In order of coming, SCHED_IDLE threads after all others.
            false => i128::from(thread.attrs.idle_class),
        };
        (thread.order, thread.cpu, thread.state) = (order, cpu, ThreadState::Ready);
        let entry = (thread.vruntime, order, id);
        self.cpus[cpu].queue.insert(entry);
        self.queued += 1;
        self.joined(id, cpu, true);
        match self.cpus[cpu].current {
            None => self.hot.insert(cpu),
            Some(_) => self.offer(id),
        }
    }

    pub(super) fn dequeue(&mut self, id: ThreadId) {
        let thread = self.thread(id);
        let (entry, cpu) = ((thread.vruntime, thread.order, id), thread.cpu);
        let removed = self.cpus[cpu].queue.remove(&entry);
        assert!(removed, "{id:?} waits for a CPU");
        self.queued -= 1;
        self.joined(id, cpu, false);
    }

    /// The thread has come to the CPU, or is about to leave it.
    fn joined(&mut self, id: ThreadId, cpu: usize, comes: bool) {
        let idle_class = self.thread(id).attrs.idle_class;
        let at = &mut self.cpus[cpu];
        let count = at.count_mut(idle_class);
        *count = if comes { *count + 1 } else { *count - 1 };
        self.idle.put(cpu, at.load() == 0);
        self.sched_idle.put(cpu, at.is_sched_idle());
        self.contended.put(cpu, !at.queue.is_empty());
        self.changed.insert(cpu);
    }

    /// The thread waits: CPUs that have nothing better to do may want to take it.
    pub(super) fn offer(&mut self, id: ThreadId) {
        if self.placement.balance != Balance::AtOnce {
            return;
        }
        let thread = &self.threads[id.0 as usize];
        self.hot.add_within(&self.idle, &thread.usable);
        if !thread.attrs.idle_class {
            self.hot.add_within(&self.sched_idle, &thread.usable);
        }
    }

    pub(super) fn leave_cpu(&mut self, now: Time, id: ThreadId, next: ThreadState) {
        let cpu = self.cpu_of(id);
        assert_eq!(self.cpus[cpu].current, Some(id), "{id:?} has no CPU");
        self.charge(cpu, now);
        self.note_run(now, cpu);
        let at = &mut self.cpus[cpu];
        (at.current, at.preempted_by, at.idle_since) = (None, None, Some(now));
        let thread = self.thread_mut(id);
        (thread.state, thread.left) = (next, now);
        self.hot.insert(cpu);
        self.joined(id, cpu, false);
        self.tell_siblings(now, cpu, false);
    }

    /// The next CPU, from this one on, with a thread that is to say what it does next, and that
    /// thread. On the way there CPUs that are free go to those who wait.
    pub fn next_actor(&mut self, now: Time, mut from: usize) -> Option<(usize, ThreadId)> {
        loop {
            let cpu = self.hot.next(from)?;
            from = cpu + 1;
            let actor = self.actor(now, cpu);
            self.hot.put(cpu, actor.is_some());
            if let Some(id) = actor {
                return Some((cpu, id));
            }
        }
    }

    /// Whether there is a CPU that [`next_actor`](Self::next_actor) has to look at again.
    pub fn is_unsettled(&self) -> bool {
        !self.hot.is_empty()
    }

    fn actor(&mut self, now: Time, cpu: usize) -> Option<ThreadId> {
        self.preempt(now, cpu);
        if self.cpus[cpu].current.is_none() {
            self.pick(now, cpu);
        } else if self.cpus[cpu].is_sched_idle() {
            self.pull(now, cpu);
            self.preempt(now, cpu);
        }
        let current = self.cpus[cpu].current?;
        self.thread(current).acts().then_some(current)
    }

    fn pick(&mut self, now: Time, cpu: usize) {
        if self.cpus[cpu].nr_normal == 0 {
            self.pull(now, cpu);
        }
        if let Some(&(.., id)) = self.cpus[cpu].queue.first() {
            self.give(now, cpu, id);
        }
    }

    /// The thread, which waits for the CPU, gets it.
    fn give(&mut self, now: Time, cpu: usize, id: ThreadId) {
        self.account(id, now);
        self.dequeue(id);
        self.joined(id, cpu, true);
        self.thread_mut(id).state = ThreadState::Running;
        let at = &mut self.cpus[cpu];
        (at.current, at.slice_began, at.given) = (Some(id), now, now);
        self.charge_start(now, id, cpu);
        self.tell_siblings(now, cpu, true);
        self.offer_queue(cpu);
    }

    /// The others of the CPU have to wait now.
    fn offer_queue(&mut self, cpu: usize) {
        let nobody = self.idle.is_empty() && self.sched_idle.is_empty();
        if !nobody && !self.cpus[cpu].queue.is_empty() {
            let waiting = self.cpus[cpu].queue.iter().map(|entry| entry.2);
            let waiting: Vec<ThreadId> = waiting.collect();
            waiting.into_iter().for_each(|id| self.offer(id));
        }
    }

    /// The thread has come to the CPU: does it take it from the current one, or from the one whose
    /// turn it would be? That happens before the current one does anything else, but not in the
    /// midst of what it does.
    pub(super) fn check_preemption(&mut self, id: ThreadId, cpu: usize) {
        let first = || self.cpus[cpu].queue.first().map(|entry| entry.2);
        let Some(current) = self.cpus[cpu].current.or_else(first) else {
            return;
        };
        if self.preempts(id, current) {
            let first = self.cpus[cpu].preempted_by;
            let is_first = first.is_none_or(|first| self.vruntime_of(id) < self.vruntime_of(first));
            self.cpus[cpu].preempted_by = if is_first { Some(id) } else { first };
            self.hot.insert(cpu);
        }
    }

    fn vruntime_of(&self, id: ThreadId) -> i128 {
        self.thread(id).vruntime
    }

    fn preempts(&self, id: ThreadId, current: ThreadId) -> bool {
        let is_running = self.state(current) == ThreadState::Running;
        let (new, old) = (self.thread(id), self.thread(current));
        match (new.attrs.idle_class, old.attrs.idle_class) {
            (true, _) => return false,
            (false, true) => return true,
            (false, false) => {}
        }
        let granularity = vruntime(self.placement.wakeup_granularity, new.weight());
        is_running
            && self.placement.wakeup_preemption
            && self.discipline != Discipline::Fifo
            && old.vruntime - new.vruntime > granularity
    }

    /// Whoever was found to take the CPU from the current thread does.
    fn preempt(&mut self, now: Time, cpu: usize) {
        let Some(id) = self.cpus[cpu].preempted_by.take() else {
            return;
        };
        // It may have been moved meanwhile.
        if self.state(id) != ThreadState::Ready || self.cpu_of(id) != cpu {
            return;
        }
        if let Some(current) = self.cpus[cpu].current {
            self.leave_cpu(now, current, ThreadState::Asleep);
            self.enqueue(now, current, cpu, 0);
            self.thread_mut(current).stats.involuntary_switches += 1;
        }
        self.give(now, cpu, id);
    }

    /// When the next burn or slice ends, or CPUs look at each other.
    pub fn next_at(&mut self) -> Option<Time> {
        self.update_due();
        self.due.first().into_iter().chain(self.balance_at()).min()
    }

    fn update_due(&mut self) {
        let mut from = 0;
        while let Some(cpu) = self.changed.next(from) {
            self.changed.remove(cpu);
            let due = self.due_on(cpu);
            self.due.set(cpu, due);
            from = cpu + 1;
        }
    }

    fn due_on(&self, cpu: usize) -> Option<Time> {
        let thread = self.thread(self.cpus[cpu].current?);
        let left = thread.work_left();
        let done = left.map(|left| thread.since.after(self.takes(cpu, left)));
        done.into_iter().chain(self.slice_end(cpu)).min()
    }

    /// The end of the current slice; without others to turn to, a slice follows the other.
    fn slice_end(&self, cpu: usize) -> Option<Time> {
        let at = &self.cpus[cpu];
        let Discipline::Fair(slice) = self.discipline else {
            return None;
        };
        if at.queue.is_empty() {
            return None;
        }
        let thread = self.thread(at.current?);
        let slice = match thread.attrs.idle_class && at.nr_normal > 0 {
            true => slice.min(IDLE_CLASS_SLICE),
            false => slice,
        };
        let whole = thread.since.since(at.slice_began) / slice;
        Some(at.slice_began.after((whole + 1) * slice))
    }

    /// Lets burns and slices end whose time has come. Time must not have passed any of them.
    pub fn advance(&mut self, now: Time) {
        self.update_due();
        for cpu in self.due.until(now) {
            if self.due_on(cpu).is_some_and(|at| at <= now) {
                self.turn(now, cpu);
            }
        }
        self.balance(now);
        self.clock = now;
    }

    fn turn(&mut self, now: Time, cpu: usize) {
        let slice_ends = self.slice_end(cpu).is_some_and(|at| at <= now);
        self.charge(cpu, now);
        let id = self.cpus[cpu].current.expect("something ends");
        let thread = self.thread_mut(id);
        if thread.need == Need::Burn(0) && thread.overhead == 0 {
            thread.need = Need::Act;
        }
        self.hot.insert(cpu);
        self.changed.insert(cpu);
        if slice_ends {
            self.leave_cpu(now, id, ThreadState::Asleep);
            self.enqueue(now, id, cpu, 0);
            self.pick(now, cpu);
            let lost = u64::from(self.cpus[cpu].current != Some(id));
            self.thread_mut(id).stats.involuntary_switches += lost;
        }
    }
}
