//! Which worker is woken or made once `start.rs` has decided to start one, and on which CPU.

use super::worklist::NEAR_WINDOW;
use super::{Cx, WorkerPool};
use crate::action::Action;
use crate::affinity::Near;
use crate::probe::{broken, hit};
use crate::store::Store;
use crate::worker::{State, WorkerId};

impl<S: Store> WorkerPool<S> {
    /// Wakes `receiver`, or the idle worker that suits best. False if another pool has just taken
    /// the last token.
    pub(super) fn wake(&mut self, cx: &mut Cx<S>, receiver: Option<WorkerId>) -> bool {
        let is_idle = |id: &WorkerId| matches!(self.crew.get(*id).state(), State::Idle(_));
        let receiver = receiver.filter(is_idle);
        let id = receiver.or_else(|| self.choose_idle(cx));
        let id = id.expect("somebody is idle");
        if !self.take_token(cx) {
            return false;
        }
        let action = receiver.is_none().then(|| self.wake_action(cx, id));
        self.crew.wake(id);
        self.brief.moved(id, cx.now);
        hit!(WorkerReceiver if action.is_none());
        if let Some(action) = action.filter(|_| !broken!(WakeLost)) {
            self.push(cx, action);
        }
        true
    }

    /// Where the first item was queued that nobody is on the way to, if that matters.
    fn spare_home(&self, cx: &Cx<S>) -> Option<(&Near, u32)> {
        self.worklist
            .spare_home(cx, self.crew.counts().on_their_way())
    }

    /// The idle worker to wake: the last that went idle. A pool that brings workers home prefers
    /// one that was last in the pod of the item that it is for.
    fn choose_idle(&self, cx: &Cx<S>) -> Option<WorkerId> {
        let Some((near, home)) = self.spare_home(cx) else {
            return self.standby();
        };
        let at_home = |id: &&WorkerId| near.distance(home, self.crew.get(**id).cpu) == 0;
        let found = self
            .crew
            .idle()
            .iter()
            .rev()
            .take(NEAR_WINDOW)
            .find(at_home);
        found.copied().or_else(|| self.standby())
    }

    /// How a worker is woken that is about to be on its way.
    fn wake_action(&mut self, cx: &Cx<S>, id: WorkerId) -> Action<S::Pwq> {
        let last = self.crew.get(id).cpu;
        let spare = self.spare_home(cx);
        match spare.filter(|(near, home)| near.distance(*home, last) > 0) {
            None => Action::Wake(id),
            Some((_, home)) => Action::WakeNear(id, home),
        }
    }

    /// Asks for a new thread, unless a worker is about to make one.
    pub(super) fn spawn(&mut self, cx: &mut Cx<S>) -> bool {
        // A worker that creates another one starts that.
        let may = self.crew.manager().is_none();
        if may {
            let new = self.crew.create();
            self.push(cx, Action::Spawn(new));
        }
        may
    }

    /// The first runnable worker is started in any case, each further one takes a token of the
    /// budget.
    fn take_token(&mut self, cx: &mut Cx<S>) -> bool {
        let limit = self.attrs.budget;
        if self.nr_running() == 0 || !self.manages() {
            if self.has_pod() {
                self.estimate.grant_token(cx.store);
            }
            return true;
        }
        // Another pool may just have taken the last one.
        let taken = self.estimate.take_token(cx.store, limit);
        hit!(Borrowed if taken && self.nr_running() >= self.attrs.target);
        taken
    }
}
