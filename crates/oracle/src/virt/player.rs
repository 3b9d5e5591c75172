//! A program of the simulated machine that is an actor.

use super::calls;
use super::reply::{Reading, Reply};
use super::stage::Stage;
use crate::actor::{Act, Actor, Answer, RunsOn};
use crate::ledger::{Cond, Seat};
use crate::op::{Name, Nanos};
use cmwq_sim::{Program, ProgramCx, ThreadSpec};
use std::rc::Rc;

pub(super) struct Player {
    stage: Rc<Stage>,
    actor: Option<Actor>,
    /// What is executed, before it has begun.
    item: Option<Name>,
    /// What it waits for, and how long.
    awaits: Option<Awaited>,
    /// What it has just waited for came, or did not.
    came: Option<bool>,
    /// What the answer to its call means.
    reads: Option<Reading>,
}

struct Awaited {
    cond: Cond,
    since: Nanos,
    patience: Nanos,
}

impl Player {
    pub(super) fn of_thread(stage: &Rc<Stage>, actor: Actor) -> Box<dyn Program> {
        Box::new(Player {
            stage: stage.clone(),
            actor: Some(actor),
            item: None,
            awaits: None,
            came: None,
            reads: None,
        })
    }

    /// One execution: it begins when it is first asked what it does.
    pub(super) fn of_item(stage: &Rc<Stage>, item: &Name) -> Box<dyn Program> {
        Box::new(Player {
            stage: stage.clone(),
            actor: None,
            item: Some(item.clone()),
            awaits: None,
            came: None,
            reads: None,
        })
    }

    fn begin(&mut self, cx: &ProgramCx<'_>) {
        if let Some(item) = self.item.take() {
            let seat = Seat {
                cpu: cx.cpu() as u32,
                worker: u64::from(cx.thread().0),
                nice: i32::from(cx.nice()),
            };
            let play = &self.stage.play;
            self.actor = Some(play.execution(&item, seat, cx.now().0));
        }
    }

    fn step(&mut self, now: Nanos, answer: Option<Answer>) -> Act {
        let actor = self.actor.as_mut().expect("it has begun");
        let act = actor.next(now, answer);
        self.stage.at(actor.name(), actor.op());
        act
    }

    fn start(&self, cx: &mut ProgramCx<'_>, actor: Actor, place: RunsOn) {
        let named = ThreadSpec::named(actor.name());
        let spec = match place {
            RunsOn::Free => named,
            RunsOn::Cpu(cpu) => named.on(cpu as usize),
            RunsOn::Here => named.on(cx.cpu()),
        };
        cx.spawn(spec, Player::of_thread(&self.stage, actor));
    }

    /// What to do while it waits for something; none: it does not. A wait that is over ends with an
    /// act of its own, so that the machine does not take the next one for the same.
    fn wait(&mut self, now: Nanos) -> Option<cmwq_sim::Act> {
        let waits = self.awaits.as_ref()?;
        let came = self.stage.play.holds(&waits.cond);
        if !came && now - waits.since < waits.patience {
            return Some(cmwq_sim::Act::Await(waits.patience));
        }
        self.awaits = None;
        self.came = Some(came);
        Some(cmwq_sim::Act::Burn(0))
    }
}

/// What comes after an act of an actor.
enum Next {
    Do(cmwq_sim::Act),
    /// It is done: the actor goes on.
    Done(Option<Answer>),
}

impl Player {
    fn perform(&mut self, cx: &mut ProgramCx<'_>, act: Act) -> Next {
        let latch = |name| self.stage.latch(cx.machine(), name);
        let act = match act {
            Act::Burn(time) => cmwq_sim::Act::Burn(time),
            Act::Sleep(time) => cmwq_sim::Act::Sleep(time),
            Act::SpinUntil(name) => cmwq_sim::Act::SpinUntil(latch(&name)),
            Act::Wait(name) => cmwq_sim::Act::Wait(latch(&name)),
            Act::End => cmwq_sim::Act::End,
            Act::Open(name) => {
                let latch = latch(&name);
                cx.open(latch);
                return Next::Done(None);
            }
            Act::Await(cond, patience) => {
                let since = cx.now().0;
                self.awaits = Some(Awaited {
                    cond,
                    since,
                    patience,
                });
                return Next::Done(None);
            }
            Act::Start(actor, place) => {
                self.start(cx, *actor, place);
                return Next::Done(None);
            }
            Act::Call(call) => match calls::call(&self.stage, cx, call) {
                Reply::Now(answer) => return Next::Done(Some(answer)),
                Reply::Ask(call, reading) => {
                    self.reads = reading;
                    cmwq_sim::Act::Call(call)
                }
            },
        };
        Next::Do(act)
    }
}

impl Program for Player {
    fn next(&mut self, cx: &mut ProgramCx<'_>, answer: Option<cmwq_sim::Answer>) -> cmwq_sim::Act {
        self.begin(cx);
        let now = cx.now().0;
        let mut answer = answer.map(|answer| match self.reads.take() {
            Some(read) => read(&self.stage, answer),
            None => calls::waited(&self.stage, answer),
        });
        loop {
            if let Some(act) = self.wait(now) {
                return act;
            }
            let came = self.came.take().map(Answer::Bool);
            let act = self.step(now, answer.take().or(came));
            match self.perform(cx, act) {
                Next::Do(act) => return act,
                Next::Done(done) => answer = done,
            }
        }
    }
}
