//! The loop in which time passes.
//!
//! An instant goes like this: burns and slices end that end now; events happen whose time is now,
//! in the order in which they were made; then whoever has a CPU and nothing to burn acts, CPU after
//! CPU, until nobody can without time passing. So in one instant a thread that wakes up is there
//! before one that goes on acts.

mod interrupt;
mod turn;

use cmwq_policy::time::SECOND;
use cmwq_policy::{Nanos, Time};

use crate::api::act::{Act, Answer};
use crate::cpu::ThreadId;
use crate::machine::{Machine, ProgramCx};
use crate::state::event::{Event, NEVER};
use crate::state::thread::Sleep;

/// Acts in one instant beyond which a program is taken for one that lets no time pass.
const MAX_ACTS: u32 = 1_000_000;

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

impl Machine {
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
        self.lines.borrow_mut().pass_to(next);
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
        let program = self.program(id, Option::take);
        let mut program = program.expect("the thread has a program");
        let mut cx = ProgramCx {
            machine: self,
            thread: id,
            random: self.frame(id, |f| f.random),
        };
        let act = program.next(&mut cx, answer);
        let random = cx.random;
        self.frame(id, |f| f.random = random);
        self.program(id, |p| *p = Some(program));
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

    pub(crate) fn await_event(&self, id: ThreadId, nanos: Nanos) {
        let key = self.after(nanos, Event::TimeOut);
        self.awaiting.borrow_mut().insert(id, key);
        self.sleep(id, Sleep::Await);
    }
}
