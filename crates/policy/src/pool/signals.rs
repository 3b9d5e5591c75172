//! What reports change: a CPU would idle, or a look at the workers has seen who sleeps.
//!
//! `README.md` in this folder follows a report from the canary to the worker that it starts. Hints
//! are in `events.rs`, and waits for items in `stuck.rs`. Why a wrong, late or missing report does
//! no harm: [`cpu_idle`](WorkerPool::cpu_idle) and the doors beside it.

use super::decisions::Cause;
use super::seen::{Plan, Seen, SeenState, Shortage};
use super::start::Asks;
use super::unseen::Found;
use super::{Cx, WorkerPool};
use crate::budget::Budget;
use crate::probe::hit;
use crate::sampling::MAX_SCAN;
use crate::store::Store;
use crate::worker::{State, WorkerId};

/// Of those that were asleep when last looked at, a tick looks at this many again, in turn.
const REVISITED: usize = 2;
/// Reports from one scan may start this many workers: room is left for what else the call says.
const SCAN_STARTS: usize = 4;

impl<S: Store> WorkerPool<S> {
    /// See [`cpu_idle`](Self::cpu_idle).
    pub(super) fn take_report(&mut self, cx: &mut Cx<S>, receiver: Option<WorkerId>) -> bool {
        let useful = self.wants(cx.now);
        if useful {
            self.presume_sleepers(cx);
            self.settle(cx);
        }
        let first = self.first_pwq(cx);
        let before = self.decisions.because(Cause::CpuIdle);
        let started = useful && self.start(cx, Asks::Reported, receiver);
        self.decisions.because(before);
        Self::count_wakeups(cx, first, u64::from(started));
        hit!(started => IdleReportStarts, IdleReportUnused);
        if started {
            self.arming.paid();
        }
        self.stats.idle_reports += u64::from(started);
        self.stats.idle_reports_unused += u64::from(!started);
        started
    }

    /// The pool workqueue whose item a worker that is started now would take, about.
    pub(super) fn first_pwq(&self, cx: &Cx<S>) -> Option<S::Pwq> {
        let first = self.worklist.heads(cx).next()?;
        cx.store.pwq_of(first)
    }

    /// So many workers were started for it although it had not asked.
    pub(super) fn count_wakeups(cx: &mut Cx<S>, pwq: Option<S::Pwq>, started: u64) {
        if let Some(pwq) = pwq {
            cx.store.pwq(pwq).stats.cm_wakeup += started;
        }
    }

    /// At most one less than the target runs: whoever is counted beyond that is presumed asleep.
    /// If no token is left, sleepers of pools without backlog may hold them all. This pool cannot
    /// take those back, so it presumes one of its own workers asleep and has that one's token.
    fn presume_sleepers(&mut self, cx: &mut Cx<S>) {
        let beyond = (self.nr_running() + 1).saturating_sub(self.most());
        let lacks_token = self.nr_running() > 0 && self.finds(cx, Budget::is_used_up);
        hit!(IdleReportPresumes if beyond > 0);
        self.estimate.presume(beyond.max(u32::from(lacks_token)));
    }

    /// May one more of those who count as running be asleep?
    pub(super) fn may_presume_more(&self) -> bool {
        self.crew.counts().presumable() > self.estimate.presumed()
    }

    /// What a scan should look at now: workers not known to sleep, then some of the others in turn.
    pub fn plan_scan(&mut self) -> Plan {
        if !self.manages() {
            return Plan::default();
        }
        // Growth waits for a whole look. Workers that are presumed asleep are looked for: a wrong
        // report would keep too many running for as long as there is work. Otherwise enough is
        // known when the target is seen to run.
        let whole = self.growth.is_asking() || self.worklist.holds_back();
        let enough = match whole || self.estimate.presumed() > 0 {
            true => u32::MAX,
            false => self.attrs.target,
        };
        let mut plan = Plan::new(enough, self.attrs.target);
        self.plan_some(&mut plan, false, MAX_SCAN - REVISITED);
        let more = if whole {
            MAX_SCAN - plan.len()
        } else {
            REVISITED
        };
        self.plan_some(&mut plan, true, more);
        plan
    }

    /// Adds at most so many, from the cursor on, round and round: each has its turn.
    fn plan_some(&mut self, plan: &mut Plan, asleep: bool, most: usize) {
        let from = self.scan_cursor[usize::from(asleep)];
        let behind = self.scannable(asleep).filter(|(id, _)| id.0 >= from);
        let before = self.scannable(asleep).filter(|(id, _)| id.0 < from);
        let mut next = from;
        for (id, seq) in behind.chain(before).take(most) {
            plan.push((id, seq));
            next = id.0 + 1;
        }
        self.scan_cursor[usize::from(asleep)] = next;
    }

    /// Executing workers that are, or are not, known to sleep: seen asleep, or in a hint.
    fn scannable(&self, asleep: bool) -> impl Iterator<Item = (WorkerId, u32)> + '_ {
        self.crew.ids().filter_map(move |id| {
            let w = self.crew.get(id);
            let fits = w.state() == State::Executing && self.crew.is_known_asleep(id) == asleep;
            fits.then_some((id, w.item_seq))
        })
    }

    /// See [`scanned`](Self::scanned).
    pub(super) fn take_look(&mut self, cx: &mut Cx<S>, seen: &[Seen], complete: bool) -> Shortage {
        if !complete {
            self.go_on_behind(seen.last());
        }
        let crowded = complete
            && self
                .worklist
                .look_for_crowds(cx, &self.crew, seen, self.attrs.target);
        let mut found = Found::default();
        seen.iter()
            .for_each(|one| self.note_seen(cx, one, &mut found));
        let presumable = self.crew.counts().presumable();
        self.estimate.looked(cx.now, &found, presumable);
        if crowded {
            self.ask_to_gather(cx, seen);
        }
        if complete {
            self.growth
                .looked(cx.now, self.crew.counts().busy(), crowded);
        }
        self.settle(cx);
        self.fail_a_wait(cx);
        let missing = self.need_more_worker() && !self.few_are_enough(cx.now, 0);
        let first = self.first_pwq(cx);
        let before = self.decisions.because(Cause::Look);
        let started = (0..SCAN_STARTS)
            .filter(|_| self.start(cx, Asks::Looked, None))
            .count();
        self.decisions.because(before);
        self.stats.tick_starts += started as u64;
        Self::count_wakeups(cx, first, started as u64);
        Shortage {
            missing,
            ended: started > 0,
        }
    }

    /// The next scan begins where this one has stopped. So a worker beside one that is always found
    /// able to run has its turn as well, and is found if it keeps its CPU.
    fn go_on_behind(&mut self, last: Option<&Seen>) {
        if let Some(seen) = last {
            let asleep = self.crew.get(seen.worker).is_asleep();
            self.scan_cursor[usize::from(asleep)] = seen.worker.0 + 1;
        }
    }

    /// Notes how one worker was found, if it is in the same item.
    fn note_seen(&mut self, cx: &Cx<S>, seen: &Seen, found: &mut Found) {
        let worker = self.crew.get_mut(seen.worker);
        if worker.state() != State::Executing || worker.item_seq != seen.item {
            return;
        }
        let state = match seen.state {
            SeenState::Unknown(cpu) => self.judge_unseen(cx, seen.worker, cpu, found),
            state => {
                worker.unseen = None;
                Some(state)
            }
        };
        if let Some(state) = state {
            self.note_state(seen, state, found);
        }
    }

    fn note_state(&mut self, seen: &Seen, state: SeenState, found: &mut Found) {
        let worker = self.crew.get_mut(seen.worker);
        // Who has got through a queue was in it nevertheless.
        worker.futex = seen.futex().or(worker.futex);
        worker.waits_at = seen.futex();
        if worker.hints() > 0 {
            return;
        }
        let running = state.running().min(self.attrs.target.max(1));
        self.crew.seen(seen.worker, running);
        if running == 0 {
            self.brief.left(seen.worker);
        }
        found.runnable += running;
    }

    /// The worker's item ends: whatever was believed about its sleep is over.
    pub(super) fn forget_sleep(&mut self, id: WorkerId, report: super::ItemReport) {
        if !self.crew.forget_sleep(id) && report.slept == Some(true) {
            self.estimate.one_had_slept();
        }
    }
}
