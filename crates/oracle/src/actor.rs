//! The interpreter: what the main thread, a thread or one execution of an item does, as a state
//! machine that any kind of thread, real or simulated, can carry out.

use crate::ledger::{Cond, Ledger, Seat};
use crate::op::{Call, Context, MS, Name, Nanos, Op, Step};
use crate::record::Record;
use crate::scenario::{Body, Scenario, Script};
use std::sync::Arc;

/// How long a script waits for something before it gives up.
const PATIENCE: Nanos = 20_000 * MS;
/// After the end of an item: until its worker has left it.
const LEAVING: Nanos = 2 * MS;
/// Between two rounds of `until`.
const ROUND: Nanos = MS * 3 / 20;

/// What an actor does next.
#[derive(Debug)]
pub enum Act {
    /// Use the CPU so long.
    Burn(Nanos),
    /// Use the CPU until a latch is open.
    SpinUntil(Name),
    /// Block so long.
    Sleep(Nanos),
    /// Block until a latch is open.
    Wait(Name),
    /// A latch is open from now on: who waits for it goes on.
    Open(Name),
    /// Block until something has happened, at most so long. Answered with a truth value: whether
    /// it has.
    Await(Cond, Nanos),
    /// A thread of its own begins to act.
    Start(Box<Actor>, RunsOn),
    /// A call of the implementation, answered with its result.
    Call(Call),
    /// Nothing more.
    End,
}

/// Where a new thread runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunsOn {
    /// Anywhere.
    Free,
    /// On this CPU only.
    Cpu(u32),
    /// On the CPU of who starts it, in no thread of the script: a timer or an interrupt.
    Here,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It has none.
    Void,
    /// A truth value.
    Bool(bool),
    /// A number, or a negative errno.
    Number(i64),
    /// Words.
    Text(String),
}

impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Answer::Void => f.write_str("void"),
            Answer::Bool(truth) => truth.fmt(f),
            Answer::Number(number) => number.fmt(f),
            Answer::Text(text) => f.write_str(text),
        }
    }
}

/// One run of one scenario.
#[derive(Debug, Clone)]
pub struct Play {
    script: Arc<Script>,
    ledger: Arc<Ledger>,
}

impl Play {
    /// Nothing has happened yet.
    pub fn new(scenario: &Scenario) -> Play {
        Play {
            script: Arc::new(scenario.script.clone()),
            ledger: Arc::default(),
        }
    }

    /// The main thread.
    pub fn main(&self) -> Actor {
        self.actor(Who::Main, "main".into(), self.script.main.clone())
    }

    /// One execution of an item begins.
    ///
    /// # Panics
    /// The script has no such item.
    pub fn execution(&self, item: &str, seat: Seat, now: Nanos) -> Actor {
        let (item, of) = self.script.items.get_key_value(item).expect("a known item");
        let n = self.ledger.start(item, seat, now).unwrap_or(0);
        let who = Who::Execution(item.clone(), n);
        self.actor(who, format!("{item}#{n}"), of.body.clone())
    }

    fn actor(&self, who: Who, name: String, body: Body) -> Actor {
        Actor {
            play: self.clone(),
            who,
            name,
            body,
            at: 0,
            loops: Vec::new(),
            doing: None,
            ended: None,
            last: None,
        }
    }

    /// Whether what an actor waits for has happened.
    pub fn holds(&self, cond: &Cond) -> bool {
        self.ledger.holds(cond)
    }

    /// Whether a latch is open. At the end of the script all are.
    pub fn is_open(&self, latch: &str) -> bool {
        self.ledger.is_open(latch)
    }

    /// Whether the main thread is at its end: nothing is recorded any more.
    pub fn is_over(&self) -> bool {
        self.ledger.is_over()
    }

    /// The implementation reported misuse, or refused something.
    pub fn misuse(&self, text: impl Into<String>) {
        self.ledger.misuse(text.into());
    }

    /// Opens all latches and ends the recording. The main thread's end does that too.
    pub fn close(&self) {
        self.ledger.close();
    }

    /// What has happened so far.
    pub fn record(&self) -> Record {
        self.ledger.record()
    }
}

#[derive(Debug)]
enum Who {
    Main,
    Thread(Name),
    Execution(Name, u32),
    Aside(u64),
}

/// Something that carries out a body of operations.
#[derive(Debug)]
pub struct Actor {
    play: Play,
    who: Who,
    /// As results are filed.
    name: String,
    body: Body,
    at: usize,
    loops: Vec<Loop>,
    doing: Option<(Arc<Step>, Doing)>,
    /// How often what the operation waits for had ended when it began.
    ended: Option<u32>,
    /// The last result.
    last: Option<String>,
}

/// An operation that is done more than once.
#[derive(Debug)]
struct Loop {
    step: Arc<Step>,
    inner: Arc<Step>,
    until: Until,
}

#[derive(Debug)]
enum Until {
    Count { left: u32, trues: u32 },
    Latch { latch: Name, paused: bool },
}

/// What the answer to the last act is for.
#[derive(Debug)]
enum Doing {
    /// The act has no result.
    Quiet,
    /// Its answer is the result.
    Call,
    /// Whether something has happened in time.
    Await,
    /// The same, and then the worker leaves.
    Leave,
    Left,
    IsDone(Name),
    /// The other context has begun.
    Aside(u64),
    /// The other context is done.
    Return(u64),
}

impl Actor {
    /// What it is called among the returns: `main`, a thread, `a#2`, `timer`, `irq`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The operation it is at, or was at last.
    pub fn op(&self) -> &str {
        let step = self.body.get(self.at.saturating_sub(1));
        step.map_or("", |step| &step.text)
    }

    /// What comes next. `answer` is that of the last act: a truth value for [`Act::Await`], the
    /// result for [`Act::Call`], ignored for the others.
    ///
    /// # Panics
    /// A call was not answered.
    pub fn next(&mut self, now: Nanos, answer: Option<Answer>) -> Act {
        if let Some((step, doing)) = self.doing.take()
            && let Some(act) = self.resume(step, doing, now, answer)
        {
            return act;
        }
        while !self.play.is_over() {
            let Some(step) = self.upcoming() else { break };
            if let Some(act) = self.begin(step) {
                return act;
            }
        }
        self.leave(now)
    }

    fn leave(&mut self, now: Nanos) -> Act {
        let ledger = &self.play.ledger;
        match &self.who {
            Who::Main => ledger.close(),
            Who::Thread(name) => ledger.thread_done(name),
            Who::Execution(item, n) => ledger.end(item, *n, now),
            Who::Aside(id) => ledger.end_aside(*id, self.last.take()),
        }
        Act::End
    }

    /// The operation that is due.
    fn upcoming(&mut self) -> Option<Arc<Step>> {
        while let Some(round) = self.loops.last_mut() {
            match round.next(&self.play.ledger) {
                Ok(step) => return Some(step),
                Err(result) => {
                    let step = round.step.clone();
                    self.loops.pop();
                    self.result(&step, Some(result));
                }
            }
        }
        let step = self.body.get(self.at)?.clone();
        self.at += 1;
        Some(Arc::new(step))
    }

    /// Begins an operation; none if it was done at once.
    fn begin(&mut self, step: Arc<Step>) -> Option<Act> {
        match &step.op {
            Op::Upto(_, inner) | Op::Only(_, inner) => {
                return self
                    .applies(&step.op)
                    .then(|| self.begin(inner.clone()))
                    .flatten();
            }
            Op::Repeat(n, inner) => return self.repeat(&step, inner, Until::count(*n)),
            Op::Until(latch, inner) => return self.repeat(&step, inner, Until::latch(latch)),
            _ => {}
        }
        if let Some(result) = self.known(&step.op) {
            self.result(&step, Some(result));
            return None;
        }
        self.ended = self.play.ledger.ended(&step.op);
        let (doing, act) = self.act(&step.op);
        self.doing = Some((step, doing));
        Some(act)
    }

    /// The result of what the ledger answers.
    fn known(&self, op: &Op) -> Option<String> {
        let ledger = &self.play.ledger;
        match op {
            Op::Executions(item) => Some(ledger.executions(item).to_string()),
            Op::MaxOverlap(item) => Some(ledger.max_overlap(item).to_string()),
            Op::RunningNow(prefix) => Some(ledger.running_now(prefix).to_string()),
            Op::DoneList(prefix) => Some(ledger.done_list(prefix)),
            _ => None,
        }
    }

    fn act(&self, op: &Op) -> (Doing, Act) {
        match op {
            Op::Call(call) => (Doing::Call, Act::Call(call.clone())),
            Op::Sleep(time) => (Doing::Quiet, Act::Sleep(*time)),
            Op::Spin(time) => (Doing::Quiet, Act::Burn(*time)),
            Op::Wait(latch) => (Doing::Quiet, Act::Wait(latch.clone())),
            Op::SpinWait(latch) => (Doing::Quiet, Act::SpinUntil(latch.clone())),
            Op::Open(latch) => {
                self.play.ledger.open(latch);
                (Doing::Quiet, Act::Open(latch.clone()))
            }
            Op::Start(thread) => (Doing::Quiet, self.start(thread)),
            Op::Aside(context, inner) => self.aside(*context, inner),
            Op::Join(thread) => (Doing::Await, wait_for(Cond::ThreadDone(thread.clone()))),
            Op::AwaitStart(item, n) => (Doing::Await, wait_for(Cond::Started(item.clone(), *n))),
            Op::AwaitEnd(item, n) => (Doing::Leave, wait_for(Cond::Ended(item.clone(), *n))),
            Op::IsDone(thread, time) => (Doing::IsDone(thread.clone()), Act::Sleep(*time)),
            other => unreachable!("`begin` does {other:?} itself"),
        }
    }

    fn repeat(&mut self, step: &Arc<Step>, inner: &Arc<Step>, until: Until) -> Option<Act> {
        self.loops.push(Loop {
            step: step.clone(),
            inner: inner.clone(),
            until,
        });
        None
    }

    /// Whether an operation is for this execution. A thread is executed once.
    fn applies(&self, op: &Op) -> bool {
        let n = match self.who {
            Who::Execution(_, n) => n,
            _ => 1,
        };
        match op {
            Op::Upto(last, _) => n <= *last,
            Op::Only(which, _) => n == *which,
            _ => true,
        }
    }

    fn start(&self, thread: &Name) -> Act {
        let of = &self.play.script.threads[thread];
        let who = Who::Thread(thread.clone());
        let actor = self.play.actor(who, thread.to_string(), of.body.clone());
        let place = of.cpu.map_or(RunsOn::Free, RunsOn::Cpu);
        Act::Start(Box::new(actor), place)
    }

    fn aside(&self, context: Context, inner: &Arc<Step>) -> (Doing, Act) {
        let id = self.play.ledger.begin_aside();
        let body: Body = [Step::clone(inner)].into();
        let name = context.actor().to_string();
        let actor = self.play.actor(Who::Aside(id), name, body);
        (Doing::Aside(id), Act::Start(Box::new(actor), RunsOn::Here))
    }

    /// Goes on after an act; the next one belongs to the same operation, if there is any.
    fn resume(
        &mut self,
        step: Arc<Step>,
        doing: Doing,
        now: Nanos,
        answer: Option<Answer>,
    ) -> Option<Act> {
        let ledger = self.play.ledger.clone();
        let result = match doing {
            Doing::Quiet => None,
            Doing::Call => {
                if step.op.queues().is_some() {
                    ledger.queued(now);
                }
                Some(answer.expect("a call is answered").to_string())
            }
            Doing::Leave if answer == Some(Answer::Bool(true)) => {
                self.doing = Some((step, Doing::Left));
                return Some(Act::Sleep(LEAVING));
            }
            Doing::Await | Doing::Leave => Some(in_time(answer).into()),
            Doing::Left => Some("ok".into()),
            Doing::IsDone(thread) => Some(done(ledger.holds(&Cond::ThreadDone(thread))).into()),
            Doing::Aside(id) => {
                self.doing = Some((step, Doing::Return(id)));
                return Some(wait_for(Cond::AsideDone(id)));
            }
            Doing::Return(id) => {
                self.count(ledger.aside_result(id).as_deref());
                return None;
            }
        };
        let waited = step.op.settles() || ledger.ended(&step.op) != self.ended;
        if matches!(self.who, Who::Main) && waited {
            ledger.settle();
        }
        self.result(&step, result);
        None
    }

    /// An operation is done.
    fn result(&mut self, step: &Step, result: Option<String>) {
        self.count(result.as_deref());
        if let (Some(result), true) = (&result, self.loops.is_empty()) {
            self.play.ledger.returned(&self.name, &step.text, result);
        }
        self.last = result;
    }

    fn count(&mut self, result: Option<&str>) {
        let round = self.loops.last_mut().map(|round| &mut round.until);
        if let (Some("true"), Some(Until::Count { trues, .. })) = (result, round) {
            *trues += 1;
        }
    }
}

impl Loop {
    /// The operation of the next round, or the result of them all.
    fn next(&mut self, ledger: &Ledger) -> Result<Arc<Step>, String> {
        match &mut self.until {
            Until::Count { left: 0, trues } => Err(format!("true={trues}")),
            Until::Count { left, .. } => {
                *left -= 1;
                Ok(self.inner.clone())
            }
            Until::Latch { latch, .. } if ledger.is_open(latch) => Err("stopped".into()),
            Until::Latch { paused, .. } => {
                *paused = !*paused;
                Ok(match paused {
                    true => self.inner.clone(),
                    false => Arc::new(Step {
                        text: "".into(),
                        op: Op::Sleep(ROUND),
                    }),
                })
            }
        }
    }
}

impl Until {
    fn count(n: u32) -> Until {
        Until::Count { left: n, trues: 0 }
    }

    fn latch(latch: &Name) -> Until {
        Until::Latch {
            latch: latch.clone(),
            paused: false,
        }
    }
}

fn wait_for(cond: Cond) -> Act {
    Act::Await(cond, PATIENCE)
}

fn in_time(answer: Option<Answer>) -> &'static str {
    match answer {
        Some(Answer::Bool(true)) => "ok",
        _ => "timeout",
    }
}

fn done(yes: bool) -> &'static str {
    if yes { "done" } else { "blocked" }
}
