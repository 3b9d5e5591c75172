//! When a worker is started: one verdict, and what is done about it.
//!
//! Everybody who starts a worker, or steps back, asks
//! [`start_verdict`](WorkerPool::start_verdict), and says who asks. Who only wants to know whether
//! anything is missing asks its first parts (`need_more_worker`, `too_many_run`); the quick way
//! asks some of them first, and the verdict where they do not settle it (`quick.rs`).
//!
//! | who | asks as | then |
//! | --- | --- | --- |
//! | each event that leaves something to do ([`kick`](WorkerPool::kick)) | [`Asks::Event`] | starts one |
//! | what is published: are reports of idle CPUs of use? | [`Asks::Report`] | canaries are armed |
//! | a report that has been taken in | [`Asks::Reported`] | starts one |
//! | a worker that has arrived or has ended an item | [`Asks::Worker`] | goes on, yields once to see who waits, or steps back |
//! | whoever wants to know why an item waits | [`Asks::Event`] | [`Waits`](super::Waits) |
//!
//! `README.md` in this folder tells it in order. No verdict is asked for a spare, which a worker
//! creates before it takes an item if it would leave nobody idle
//! ([`lacks_spare`](WorkerPool::lacks_spare)).
//!
//! How many are busy, and who is idle, is in `crew/`. `brief.rs` tells whether one worker serves
//! brief items best, [`growth`](crate::growth) when more workers would not help. Which worker is
//! woken, and on which CPU, is in `wake.rs`.

use super::{CROWDED, Cx, Rule, WorkerPool};
use crate::action::Action;
use crate::budget::Budget;
use crate::growth::Gate;
use crate::probe::{broken, hit};
use crate::store::Store;
use crate::time::Time;
use crate::worker::{State, WorkerId};

/// Who asks whether a worker is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asks {
    /// Something has happened in the pool. Who counts as running runs.
    Event,
    /// So many items were left beside those that are queued. The rest is as with an event.
    Left(u32),
    /// Would the report of an idle CPU lead to a start? The report would presume some running
    /// workers asleep. Workers on their way do not count: they may be stuck behind another CPU's
    /// work.
    Report,
    /// The same, after the report was taken in.
    Reported,
    /// As an event: somebody has looked at the workers, and believes what was seen.
    Looked,
    /// A worker that is there and comes from this state. It does not count itself.
    Worker(State),
}

/// Whether a worker is started, and if not, why: the first reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Start {
    /// Nothing waits that nobody is on the way to.
    NothingWaits,
    /// As many run as the CPUs serve.
    EnoughRun,
    /// All pools together keep as many running as the CPUs serve.
    NoToken,
    /// Not before somebody has looked at what the busy workers wait for.
    Look,
    /// A worker that is there already: it is woken, or goes on.
    Worker,
    /// One that has to be made.
    Create,
    /// One would have to be made, and may not be at this time.
    NoThread,
}

impl<S: Store> WorkerPool<S> {
    /// Whether a worker is started, and if not, why.
    pub(super) fn start_verdict(&self, cx: &mut Cx<S>, asks: Asks) -> Start {
        let verdict = self.verdict_without_budget(cx.now, asks);
        let lacks_token = match (verdict, asks) {
            (Start::Look | Start::Worker, Asks::Worker(_)) => self.is_overdrawn(cx),
            (Start::Worker, Asks::Report) => false,
            (Start::Worker, _) => self.lacks_token(cx),
            _ => false,
        };
        if lacks_token { Start::NoToken } else { verdict }
    }

    /// What the pool alone knows. The budget is shared.
    fn verdict_without_budget(&self, now: Time, asks: Asks) -> Start {
        if !self.waits_for_workers(now, asks) {
            return Start::NothingWaits;
        }
        if self.manages() && self.enough_run(now, asks) {
            return Start::EnoughRun;
        }
        if self.manages() && self.is_look_needed(now, asks) {
            return Start::Look;
        }
        let is_there = matches!(asks, Asks::Worker(_)) || self.may_start_working();
        match is_there {
            true => Start::Worker,
            false if self.may_create(now) => Start::Create,
            false => Start::NoThread,
        }
    }

    /// Are there more items than workers on their way to them?
    pub(super) fn waits_for_workers(&self, now: Time, asks: Asks) -> bool {
        match asks {
            Asks::Event | Asks::Looked | Asks::Reported => self.nr_unattended() > 0,
            Asks::Left(beside) => beside > 0,
            Asks::Report => {
                self.nr_unattended() > 0
                    && self
                        .worklist
                        .lanes_want(now, self.nr_running() < self.attrs.target)
            }
            Asks::Worker(_) => self.worklist.nr_ready() > usize::from(broken!(WorkLeftBehind)),
        }
    }

    /// Do as many run as the pool aims at?
    fn enough_run(&self, now: Time, asks: Asks) -> bool {
        let few = match asks {
            Asks::Worker(_) => false,
            Asks::Left(beside) => self.few_are_enough(now, beside),
            _ => self.few_are_enough(now, 0),
        };
        few || self.as_many_run(asks)
    }

    fn as_many_run(&self, asks: Asks) -> bool {
        let reached = |running| running >= self.attrs.target && !self.may_borrow(running, asks);
        match asks {
            Asks::Event | Asks::Left(_) | Asks::Looked => reached(self.nr_running()),
            Asks::Reported => reached(self.nr_arrived()),
            Asks::Report => {
                let may_sleep = self.may_presume_more() && !self.is_left_to_others();
                reached(self.nr_arrived()) && !may_sleep
            }
            // One that was woken was chosen.
            Asks::Worker(State::Creating) if self.brief.are_light() => {
                self.nr_running() > self.attrs.target
            }
            Asks::Worker(_) => self.nr_running() > self.most(),
        }
    }

    /// Are the items so short that those that run serve them best, and do they? So many were left
    /// beside those that are queued. What waits for a slot comes behind those: none counts if all
    /// slots are of items that run.
    pub(super) fn few_are_enough(&self, now: Time, beside: u32) -> bool {
        let behind = || u32::try_from(self.slots.nr_inactive()).unwrap_or(u32::MAX);
        let waiting = match self.nr_unattended() + beside {
            0 => 0,
            waiting => waiting.saturating_add(behind()),
        };
        self.attrs.rule == Rule::Managed && self.brief.are_enough(now, self.nr_running(), waiting)
    }

    /// Are they so brief that one worker does, and does another one than this?
    pub(super) fn is_served_without(&self, id: WorkerId, now: Time) -> bool {
        self.attrs.rule == Rule::Managed && self.brief.is_served_without(id, now)
    }

    /// Has somebody to look first at what the busy workers wait for?
    fn is_look_needed(&self, now: Time, asks: Asks) -> bool {
        // Who runs on borrowed CPUs waits for nothing.
        let aim = self.attrs.target.max(self.nr_running().min(self.most()));
        let gate = |busy| self.growth.gate(now, busy, aim);
        let busy = self.crew.counts().busy();
        match asks {
            Asks::Report => self.growth.is_asking(),
            Asks::Event | Asks::Left(_) | Asks::Looked | Asks::Reported => gate(busy) == Gate::Ask,
            // It may be a reserve. One that was woken has passed the gate when it was chosen.
            Asks::Worker(State::Creating) => gate(busy - 1) == Gate::Ask,
            Asks::Worker(_) => false,
        }
    }

    /// Is one needed, if it can be had, however short the items are?
    pub(super) fn need_more_worker(&self) -> bool {
        let enough = self.manages() && self.as_many_run(Asks::Event);
        self.nr_unattended() > 0 && !enough
    }

    /// Would the report of an idle CPU lead to a start?
    pub(super) fn wants(&self, now: Time) -> bool {
        let verdict = || self.verdict_without_budget(now, Asks::Report);
        self.manages() && matches!(verdict(), Start::Worker | Start::Create)
    }

    /// How many more items wait than workers are on their way.
    pub(super) fn nr_unattended(&self) -> u32 {
        (self.worklist.nr_ready() as u32).saturating_sub(self.crew.counts().on_their_way())
    }

    /// Of the workers taken for runnable, those that are there. One that was woken may stand
    /// behind somebody on another CPU, and steps back on arrival if it comes too late.
    fn nr_arrived(&self) -> u32 {
        self.nr_running() - self.crew.counts().waking
    }

    /// Is there a reserve, so that this worker may start working?
    pub(super) fn may_start_working(&self) -> bool {
        !self.crew.idle().is_empty()
    }

    /// May one more thread be asked for? One at a time, none shortly after a failure.
    pub(super) fn may_create(&self, now: Time) -> bool {
        let c = self.crew.counts();
        let may_have_more = c.workers < self.attrs.thread_limit || broken!(ThreadLimitIgnored);
        c.creating == 0 && may_have_more && now >= self.spawn_after
    }

    /// Do fewer run than the pool aims at?
    #[inline]
    pub(super) fn more_could_run(&self) -> bool {
        self.nr_running() < self.attrs.target
    }

    /// Do more run than should, in this pool or in all together? As a worker sees it that is one
    /// of them.
    pub(super) fn too_many_run(&self, cx: &mut Cx<S>) -> bool {
        self.nr_running() > self.most() || self.is_overdrawn(cx)
    }

    /// Do all pools together keep more runnable than the CPUs serve, and this one more than the
    /// one that every pool with backlog is granted?
    fn is_overdrawn(&self, cx: &mut Cx<S>) -> bool {
        self.manages()
            && self.nr_running() > 1
            && (self.finds(cx, Budget::is_overdrawn) || self.gives_back(cx))
    }

    /// Does a start need a token, and none is left?
    pub(super) fn lacks_token(&self, cx: &mut Cx<S>) -> bool {
        let lacks = match self.has_pod() && self.nr_running() >= self.attrs.target {
            true => Budget::is_spoken_for,
            false => Budget::is_used_up,
        };
        self.manages() && self.nr_running() > 0 && self.finds(cx, lacks)
    }

    /// Starts a worker if one is needed (kernel `kick_pool`). True if it did.
    pub(super) fn kick(&mut self, cx: &mut Cx<S>) -> bool {
        self.start(cx, Asks::Event, None)
    }

    /// Starts a worker, if the verdict is so: `receiver`, which is awake already, or the last one
    /// that went idle, or a new one.
    pub(super) fn start(&mut self, cx: &mut Cx<S>, asks: Asks, receiver: Option<WorkerId>) -> bool {
        self.worklist.look_for_room(cx.now);
        if self.nr_unattended() > 0 && self.nr_running() > 0 {
            self.brief.looked(cx.now);
        }
        self.look_at_budget(cx);
        let verdict = self.start_verdict(cx, asks);
        hit!(StartNoToken if verdict == Start::NoToken);
        let (running, spare) = (self.nr_running(), self.nr_unattended());
        let started = match verdict {
            Start::NothingWaits | Start::EnoughRun | Start::NoToken | Start::NoThread => false,
            Start::Look => self.ask_for_look(cx),
            Start::Worker => self.wake(cx, receiver),
            Start::Create => self.spawn(cx),
        };
        let decided = match verdict {
            // Another pool was quicker.
            Start::Worker if !started => Start::NoToken,
            verdict => verdict,
        };
        self.denied = decided == Start::NoToken;
        self.decisions.note(decided, cx.now, running, spare);
        started
    }

    /// Growth wants to know what the busy workers wait for. Nobody is started for now.
    pub(super) fn ask_for_look(&mut self, cx: &mut Cx<S>) -> bool {
        if self.growth.ask() {
            hit!(GrowthAsks);
            self.push(cx, Action::Inspect);
        }
        false
    }

    /// Is it the last one that could start, so that a spare is to be created before it works?
    pub(super) fn lacks_spare(&self) -> bool {
        !self.may_start_working() && !broken!(NoSpare)
    }

    /// May a worker create another one? One at a time.
    pub(super) fn may_manage(&self, now: Time) -> bool {
        (self.crew.manager().is_none() && self.may_create(now)) || broken!(TwoManagers)
    }

    /// Keep working? Not while too many run, if this worker has just arrived or stands in the way.
    pub(super) fn keep_working(&mut self, cx: &mut Cx<S>, id: WorkerId, from: State) -> bool {
        let ended = from == State::Between;
        self.worklist.look_for_room(cx.now);
        let verdict = self.start_verdict(cx, Asks::Worker(from));
        match verdict {
            Start::NothingWaits => self.find_nothing(ended),
            _ if self.is_served_without(id, cx.now) => false,
            Start::EnoughRun | Start::NoToken
                if !ended || self.is_crowded(id) || self.gives_back(cx) =>
            {
                hit!(WorkerCrowded if ended && self.is_crowded(id));
                hit!(GaveBack if ended && !self.is_crowded(id));
                self.denied |= verdict == Start::NoToken;
                self.stats.step_backs += u64::from(ended);
                false
            }
            _ => from != State::Creating || self.admit_new(cx, verdict),
        }
    }

    fn find_nothing(&mut self, ended: bool) -> bool {
        let convoy = ended && self.worklist.nr_aside() > 0;
        hit!(WorkerConvoy if convoy);
        self.stats.convoy_step_backs += u64::from(convoy);
        false
    }

    /// Lets a new worker start at once, if growth would start one now.
    fn admit_new(&mut self, cx: &mut Cx<S>, verdict: Start) -> bool {
        let admitted = verdict == Start::Worker || self.ask_for_look(cx);
        hit!(WorkerIsSpare if !admitted);
        admitted
    }

    /// Has it found others waiting for its CPU so often that it is to step back?
    fn is_crowded(&self, id: WorkerId) -> bool {
        self.crew.get(id).crowded >= self.most_crowded()
    }

    /// Too many seem to run: does somebody wait for this worker's CPU right now? If nobody does,
    /// going idle would only idle the CPU, whatever the estimate says.
    pub(super) fn should_yield(&mut self, cx: &mut Cx<S>, id: WorkerId) -> bool {
        let verdict = |cx| self.start_verdict(cx, Asks::Worker(State::Between));
        self.crew.get(id).asks && matches!(verdict(cx), Start::EnoughRun | Start::NoToken)
    }

    /// How often in a row others may want its CPU before a worker steps back. A per-CPU pool has
    /// one CPU: there the estimate counts who is on it, and the kernel steps back at once.
    pub(super) fn most_crowded(&self) -> u32 {
        match self.attrs.rule {
            Rule::PerCpu => 1,
            _ => CROWDED,
        }
    }
}
