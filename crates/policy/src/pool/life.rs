//! The life of a worker: made, woken, given its next step, idle, retired.

use super::{CREATE_COOLDOWN, Cx, IDLE_WORKER_TIMEOUT, MAX_IDLE_WORKERS_RATIO};
use super::{Rule, Turn, WorkerPool};
use crate::action::Action;
use crate::canary::CONFIRM_QUICK;
use crate::probe::{broken, hit};
use crate::sampling;
use crate::store::Store;
use crate::time::{MILLISECOND, Nanos, Time};
use crate::worker::{State, WorkerId};

/// A BH worker lets others run after this (kernel `BH_WORKER_JIFFIES`).
pub const BH_WORKER_TURN: Nanos = 2 * MILLISECOND;
/// Or after so many items (kernel `BH_WORKER_RESTARTS`).
pub const BH_WORKER_RESTARTS: u32 = 10;

/// What a worker does next, after it has let the pool go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Step<W, P> {
    /// Execute this item of this pool workqueue, then say [`item_ended`](WorkerPool::item_ended)
    /// and ask again.
    Run(W, P),
    /// Create a thread for this other worker, then ask again: the reserve comes before work.
    Create(WorkerId),
    /// Park until woken, then ask again.
    Park,
    /// Yield the CPU once, say how long that took ([`yielded`](WorkerPool::yielded)), ask again.
    Yield,
    /// End the thread.
    Retire,
}

impl<S: Store> WorkerPool<S> {
    /// See [`next`](Self::next).
    pub(super) fn next_step(&mut self, cx: &mut Cx<S>, id: WorkerId) -> Step<S::Work, S::Pwq> {
        let from = self.crew.get(id).state();
        match from {
            State::Retiring => {
                self.crew.retire(id);
                return Step::Retire;
            }
            State::Between => {}
            State::Creating | State::Waking => self.arrive(cx, id),
            _ => unreachable!("worker {id} asks while {from:?}"),
        }
        // Before choosing: a new thread has no token yet, and what was presumed of the item that
        // has just ended must not be believed of the next one.
        self.settle_tokens(cx);
        self.choose(cx, id, from)
    }

    fn choose(&mut self, cx: &mut Cx<S>, id: WorkerId, from: State) -> Step<S::Work, S::Pwq> {
        self.crew.leave_management(id);
        // Its own list goes first, without letting the pool go: nobody executes these items' key
        // any more, so a canceller would look for them on the worklist.
        if self.crew.get(id).scheduled.is_empty() {
            if from == State::Between && (self.should_yield(cx, id) || self.ends_turn(cx)) {
                return Step::Yield;
            }
            if !self.keep_working(cx, id, from) {
                return self.go_idle(cx, id);
            }
            if self.lacks_spare() && self.may_manage(cx.now) {
                return Step::Create(self.crew.create_by(id));
            }
        }
        match self.take_item(cx, id) {
            Some((work, pwq)) => {
                self.kick(cx);
                Step::Run(work, pwq)
            }
            None => self.go_idle(cx, id),
        }
    }

    /// A chosen or new worker is there.
    fn arrive(&mut self, cx: &mut Cx<S>, id: WorkerId) {
        self.start_turn(cx);
        if self.crew.arrive(id) {
            let workers = self.nr_workers();
            self.stats.peak_workers = self.stats.peak_workers.max(workers);
        }
    }

    /// A BH worker has had its turn.
    fn ends_turn(&self, cx: &Cx<S>) -> bool {
        let turn = self.turn;
        let over = turn.items >= BH_WORKER_RESTARTS || cx.now.since(turn.began) >= BH_WORKER_TURN;
        self.attrs.rule == Rule::Bh && turn.items > 0 && over && self.worklist.nr_ready() > 0
    }

    fn start_turn(&mut self, cx: &mut Cx<S>) {
        self.turn = Turn {
            began: cx.now,
            items: 0,
        };
    }

    /// See [`yielded`](Self::yielded).
    pub(super) fn note_yield(&mut self, cx: &mut Cx<S>, id: WorkerId, took: Nanos) {
        self.start_turn(cx);
        let crowded = took > CONFIRM_QUICK;
        let worker = self.crew.get_mut(id);
        worker.asks = false;
        worker.asks_after = cx.now.after(sampling::pause_after_asking(took));
        worker.crowded = if crowded { worker.crowded + 1 } else { 0 };
        if !crowded && self.manages() {
            let beyond = self.nr_running().saturating_sub(self.most());
            self.estimate.presume(beyond);
        }
    }

    fn go_idle(&mut self, cx: &mut Cx<S>, id: WorkerId) -> Step<S::Work, S::Pwq> {
        self.brief.left(id);
        self.crew.go_idle(id, cx.now, cx.cpu);
        Step::Park
    }

    /// See [`give_up`](Self::give_up).
    pub(super) fn leave_unfit(&mut self, cx: &mut Cx<S>, id: WorkerId) -> Option<()> {
        self.crew.dismiss(id);
        hit!(self.crew.get(id).scheduled.is_empty() => WorkerGaveUp, WorkerGaveItemsUp);
        self.give_back(cx, id);
        self.brief.left(id);
        self.crew.retire(id);
        self.settle(cx);
        Some(())
    }

    /// What this worker alone was to run is the next that the others take.
    pub(super) fn give_back(&mut self, cx: &mut Cx<S>, id: WorkerId) {
        let mut own = core::mem::take(&mut self.crew.get_mut(id).scheduled);
        if !own.is_empty() && self.nr_queued() == 0 {
            self.dog.progressed(cx.now);
        }
        let mut all = alloc::vec::Vec::new();
        while let Some(head) = own.first() {
            let series = self.worklist.series(cx, head);
            series.iter().for_each(|&work| own.remove(cx.store, work));
            all.push(series);
        }
        for series in all.iter().rev() {
            self.worklist.list_series(cx, series, true);
        }
    }

    /// See [`spawn_failed`](Self::spawn_failed).
    pub(super) fn not_created(&mut self, cx: &mut Cx<S>, id: WorkerId) -> Option<()> {
        self.crew.not_created(id);
        self.stats.spawn_failures += 1;
        self.spawn_after = cx.now.after(CREATE_COOLDOWN);
        self.fail_a_wait(cx);
        Some(())
    }

    /// Whether more are idle than are kept for what comes (kernel `too_many_workers`).
    fn too_many_workers(&self) -> bool {
        let manager = u32::from(self.crew.manager().is_some());
        let idle = self.nr_idle() + manager;
        // Those on their way out count as neither.
        let busy = self.crew.counts().busy() - manager;
        let kept = if broken!(LastIdleCulled) { 0 } else { 2 };
        idle > kept && (idle - kept) * MAX_IDLE_WORKERS_RATIO >= busy
    }

    /// When the oldest idle worker is to be looked at for culling; `None` while there are few.
    pub fn cull_at(&self) -> Option<Time> {
        let oldest = *self.crew.idle().front()?;
        let State::Idle(since) = self.crew.get(oldest).state() else {
            unreachable!("the idle list holds idle workers");
        };
        self.too_many_workers()
            .then(|| since.after(IDLE_WORKER_TIMEOUT))
    }

    /// Retires workers that have been idle too long, while there are too many. True if more are
    /// due than one call may name.
    pub fn cull(&mut self, cx: &mut Cx<S>) -> bool {
        while self.cull_at().is_some_and(|at| at <= cx.now) {
            if cx.out.room() == 0 {
                return true;
            }
            let oldest = self.crew.dismiss_oldest().expect("cull_at saw one");
            self.push(cx, Action::Wake(oldest));
        }
        false
    }
}
