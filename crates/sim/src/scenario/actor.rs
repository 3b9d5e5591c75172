//! The program of an item or a thread of a scenario.

use std::rc::Rc;

use cmwq_policy::Nanos;

use super::acts::{Queueing, Step, Then};
use super::code::{Code, Op};
use super::units::Amount;
use super::world::{Request, World};
use crate::{Act, Answer, Call, Completion, ItemId, LockId, Program, ProgramCx, SemId};

/// Something that is in the middle of its code.
pub(crate) struct Actor {
    world: Rc<World>,
    code: Rc<Code>,
    at: usize,
    /// By loop: how many times it is still to be run through.
    loops: Vec<u64>,
    /// The thread that it is, or works for.
    owner: usize,
    /// `None` before it has begun.
    request: Option<Rc<Request>>,
    /// The instance that it is; `None`: a thread.
    instance: Option<usize>,
    held: Vec<LockId>,
    /// What is to be seen to when its act is over.
    then: After,
    /// It has told that it is over.
    closed: bool,
    /// A thread begins so late.
    delay: Nanos,
    /// Where it has queued last.
    last_queue: Option<crate::QueueId>,
    /// The job that it has called, and is in.
    job: Option<Box<dyn Program>>,
}

enum After {
    Nothing,
    /// It has taken a semaphore with which requests are handed over.
    Taken(SemId),
    /// It has tried to queue this instance.
    Queued(usize),
    /// It has tried to cancel this one.
    Cancelled(usize),
}

impl Actor {
    /// A thread that begins after so many nanoseconds.
    pub(crate) fn thread(world: Rc<World>, owner: usize, code: Rc<Code>, delay: Nanos) -> Actor {
        Actor::new(world, owner, code, None, delay)
    }

    /// An execution of an instance.
    pub(crate) fn item(world: Rc<World>, instance: usize) -> Actor {
        let code = world.code_of(instance);
        let owner = world.started(instance).request.owner();
        Actor::new(world, owner, code, Some(instance), 0)
    }

    fn new(
        world: Rc<World>,
        owner: usize,
        code: Rc<Code>,
        instance: Option<usize>,
        delay: Nanos,
    ) -> Actor {
        Actor {
            world,
            at: 0,
            loops: vec![0; code.loops],
            code,
            owner,
            request: None,
            instance,
            held: Vec::new(),
            then: After::Nothing,
            closed: false,
            delay,
            last_queue: None,
            job: None,
        }
    }

    fn begin(&mut self, cx: &ProgramCx<'_>) {
        let request = match self.instance {
            None => self.world.request(cx.machine(), self.owner),
            Some(instance) => {
                let started = self.world.started(instance);
                let (cpu, queued) = started.from;
                let distance = cx.machine().topology().distance(cpu, cx.cpu());
                let mut tally = self.world.tally.borrow_mut();
                tally.execution(cx.now(), started.queue, distance, queued);
                started.request
            }
        };
        self.request = Some(request);
    }

    fn request(&self) -> &Rc<Request> {
        self.request.as_ref().expect("it has begun")
    }

    /// Sees to what the last act has led to.
    fn see_to(&mut self, cx: &ProgramCx<'_>, answer: Option<Answer>) {
        match std::mem::replace(&mut self.then, After::Nothing) {
            After::Nothing => {}
            After::Taken(sem) => {
                let number = cx
                    .machine()
                    .take_brought(sem)
                    .expect("a request comes with each post");
                self.request = Some(self.world.handed(number, self.owner));
            }
            After::Queued(instance) if answer != Some(Answer::Bool(true)) => {
                let queue = self.world.started(instance).queue;
                self.world.tally.borrow_mut().refused(queue);
                self.take_back(instance, cx);
            }
            After::Cancelled(instance) if answer == Some(Answer::Bool(true)) => {
                self.take_back(instance, cx);
            }
            After::Queued(_) | After::Cancelled(_) => {}
        }
    }

    /// The instance will not run.
    fn take_back(&mut self, instance: usize, cx: &ProgramCx<'_>) {
        let all_done = self.world.over(instance);
        self.world.free(instance);
        all_done.into_iter().for_each(|sem| cx.machine().post(sem));
    }

    fn who(&self) -> String {
        let owner = &self.world.owners[self.owner].name;
        match self.instance {
            None => format!("thread `{owner}`"),
            Some(instance) => {
                let item = self.world.kind_name(instance);
                format!("item `{item}` of thread `{owner}`")
            }
        }
    }

    fn fail(&self, message: &str) -> Option<Act> {
        self.world.fail(format!("{} {message}", self.who()));
        None
    }

    fn jump(&mut self, op: &Op) {
        match *op {
            Op::Do(_) => unreachable!("it is done"),
            Op::Jump(target) => self.at = target,
            Op::Begin { slot, times } => self.loops[slot] = times,
            Op::Again { slot, target } => {
                self.loops[slot] -= 1;
                if self.loops[slot] > 0 {
                    self.at = target;
                }
            }
            Op::Unless { share, target } => {
                let drawn = self.request().random.borrow_mut().below(1_000_000);
                if drawn >= u64::from(share) {
                    self.at = target;
                }
            }
            Op::AtMost {
                slot,
                times,
                target,
            } => {
                let passed = &mut self
                    .request
                    .as_ref()
                    .expect("it has begun")
                    .limits
                    .borrow_mut()[slot];
                match *passed < times {
                    true => *passed += 1,
                    false => self.at = target,
                }
            }
        }
    }

    fn draw(&self, amount: Amount) -> Nanos {
        amount.draw(&mut self.request().random.borrow_mut())
    }

    /// Does a step; `None`: no act of the machine comes of it.
    fn act(&mut self, cx: &mut ProgramCx<'_>, step: &Step) -> Option<Act> {
        let owner = self.request().owner();
        match step {
            Step::Burn(amount) => Some(Act::Burn(self.draw(*amount))),
            Step::Sleep(amount) => Some(Act::Sleep(self.draw(*amount))),
            Step::Lock(lock) => self.lock(*lock),
            Step::Unlock(lock) => self.unlock(*lock),
            Step::Pass(lock) => self.pass(*lock),
            Step::Take(group) => {
                // Who serves others takes what is its own, and goes on for them.
                let sem = self.world.semaphores[*group].of(self.owner);
                if self.world.hands_over[*group] {
                    self.then = After::Taken(sem);
                }
                Some(Act::Take(sem))
            }
            Step::Post(group) => {
                let sem = self.world.semaphores[*group].of(owner);
                if self.world.hands_over[*group] {
                    cx.machine()
                        .bring(sem, self.world.hand_over(self.request()));
                }
                Some(Act::Post(sem))
            }
            Step::Io(device, bytes) => Some(Act::Io(self.world.devices[*device].of(owner), *bytes)),
            Step::Submit(device, bytes, then) => Some(self.submit(cx, *device, *bytes, then)),
            Step::Touch(data, bytes) => {
                let data = data.map_or(self.request().data, |at| self.world.data[at].of(owner));
                Some(Act::Touch(data, *bytes))
            }
            Step::Queue(queueing) => Some(self.queue(cx, queueing)),
            Step::FlushQueue(queue) => {
                let queue = self.world.queues[*queue].of(owner);
                Some(Act::Call(Call::FlushWorkqueue(queue)))
            }
            Step::FlushItem(kind) => self.await_item(*kind, "flushes", Call::FlushWork),
            Step::Join(kind) => self.await_item(*kind, "joins", Call::Join),
            Step::Cancel { item, sync } => self.cancel(*item, *sync),
            Step::Wait => self.wait(cx),
            Step::Job(queue, spec) => {
                let queue = self.world.queues[*queue].of(owner);
                self.job = Some(cx.machine().job(queue, *spec).caller(cx.machine()));
                self.in_job(cx, None)
            }
            Step::Yield => Some(Act::Yield),
            Step::Hint(begins) => Some(Act::Hint(*begins)),
            step => {
                self.note(cx, step);
                None
            }
        }
    }

    /// Waits by this call for the last instance of this kind that the request has queued.
    fn await_item(&mut self, kind: usize, does: &str, call: fn(ItemId) -> Call) -> Option<Act> {
        let (instance, item) = self.world.last(self.request(), kind)?;
        if self.instance == Some(instance) {
            return self.fail(&format!("{does} itself: it would wait forever"));
        }
        Some(Act::Call(call(item)))
    }

    fn note(&mut self, cx: &ProgramCx<'_>, step: &Step) {
        let now = cx.now();
        match *step {
            Step::Count(counter, by) => self.world.tally.borrow_mut().count(now, counter, by),
            Step::MarkBegin(span) => self.request().marks.borrow_mut()[span] = Some(now),
            Step::MarkEnd(span) => {
                let began = self.request().marks.borrow_mut()[span].take();
                if let Some(began) = began {
                    self.world.tally.borrow_mut().span(now, span, began);
                }
            }
            Step::Request => self.request = Some(self.world.request(cx.machine(), self.owner)),
            ref step => unreachable!("{step:?} is an act of the machine"),
        }
    }

    fn lock(&mut self, group: usize) -> Option<Act> {
        let group = &self.world.locks[group];
        let lock = group.of(self.owner);
        if self.held.contains(&lock) {
            return self.fail(&format!("locks `{}`, which it has already", group.name));
        }
        self.held.push(lock);
        Some(Act::Lock(lock))
    }

    fn pass(&mut self, group: usize) -> Option<Act> {
        let group = &self.world.locks[group];
        let lock = group.of(self.owner);
        match self.held.contains(&lock) {
            true => self.fail(&format!("waits for `{}`, which it has itself", group.name)),
            false => Some(Act::Pass(lock)),
        }
    }

    fn unlock(&mut self, group: usize) -> Option<Act> {
        let group = &self.world.locks[group];
        let lock = group.of(self.owner);
        let Some(at) = self.held.iter().position(|held| *held == lock) else {
            return self.fail(&format!(
                "unlocks `{}`, which it has not locked",
                group.name
            ));
        };
        self.held.remove(at);
        Some(Act::Unlock(lock))
    }

    fn queue(&mut self, cx: &ProgramCx<'_>, what: &Queueing) -> Act {
        let now = what.after.is_none().then(|| cx.now());
        let (instance, item) = self.instance_of(cx, what, now);
        let queue = self.world.queues[what.queue].of(self.request().owner());
        let delay = what.after.map(|after| self.draw(after));
        self.then = After::Queued(instance);
        self.last_queue = Some(queue);
        Act::Call(match delay {
            None => Call::QueueWork {
                queue,
                cpu: what.cpu,
                item,
            },
            Some(delay) => Call::QueueDelayedWork(queue, what.cpu, item, delay),
        })
    }

    fn instance_of(
        &self,
        cx: &ProgramCx<'_>,
        what: &Queueing,
        now: Option<cmwq_policy::Time>,
    ) -> (usize, crate::ItemId) {
        let from = (what.cpu.unwrap_or_else(|| cx.cpu()), now);
        let make = |at, name: &str| {
            let world = self.world.clone();
            let body = move |_| -> Box<dyn Program> { Box::new(Actor::item(world.clone(), at)) };
            cx.machine().item(name, body)
        };
        let kind = (what.item, what.queue);
        self.world.instance(kind, self.request(), from, make)
    }

    fn submit(&mut self, cx: &ProgramCx<'_>, device: usize, bytes: u64, then: &Then) -> Act {
        let owner = self.request().owner();
        let completion = match then {
            Then::Nothing => Completion::Nothing,
            Then::Post(group) => {
                let sem = self.world.semaphores[*group].of(owner);
                match self.world.hands_over[*group] {
                    true => Completion::Bring(sem, self.world.hand_over(self.request())),
                    false => Completion::Post(sem),
                }
            }
            Then::Queue(what) => {
                let (_, item) = self.instance_of(cx, what, None);
                let queue = self.world.queues[what.queue].of(owner);
                Completion::Queue { queue, item }
            }
        };
        Act::Submit(self.world.devices[device].of(owner), bytes, completion)
    }

    fn cancel(&mut self, kind: usize, sync: bool) -> Option<Act> {
        let (instance, item) = self.world.last(self.request(), kind)?;
        if self.instance == Some(instance) && sync {
            return self.fail("cancels itself and waits for that: it would wait forever");
        }
        self.then = After::Cancelled(instance);
        Some(Act::Call(match sync {
            true => Call::CancelWorkSync(item),
            false => Call::CancelWork(item),
        }))
    }

    fn wait(&mut self, cx: &ProgramCx<'_>) -> Option<Act> {
        let owner = &self.world.owners[self.owner];
        if owner.is_quiet() {
            return None;
        }
        owner.waits.set(true);
        if let Some(queue) = self.last_queue {
            cx.machine().wait_beside(cx.thread, queue);
        }
        Some(Act::Take(owner.all_done))
    }

    /// What comes next in the job that it is in; `None`: it is in none any more.
    fn in_job(&mut self, cx: &mut ProgramCx<'_>, answer: Option<Answer>) -> Option<Act> {
        let act = self.job.as_mut()?.next(cx, answer);
        if act == Act::End {
            self.job = None;
            return None;
        }
        Some(act)
    }

    /// Its code is over. An item tells its thread first.
    fn end(&mut self) -> Act {
        if !self.held.is_empty() && !self.world.is_in_trouble() {
            self.fail("ends with a lock that it has not unlocked");
        }
        let Some(instance) = self.instance else {
            self.world.owners[self.owner].done.set(true);
            return Act::End;
        };
        if !std::mem::replace(&mut self.closed, true)
            && let Some(all_done) = self.world.over(instance)
        {
            return Act::Post(all_done);
        }
        self.world.free(instance);
        Act::End
    }
}

impl Program for Actor {
    fn next(&mut self, cx: &mut ProgramCx<'_>, answer: Option<Answer>) -> Act {
        if self.delay > 0 {
            return Act::Sleep(std::mem::take(&mut self.delay));
        }
        if self.request.is_none() {
            self.begin(cx);
        }
        if let Some(act) = self.in_job(cx, answer.clone()) {
            return act;
        }
        self.see_to(cx, answer);
        let code = self.code.clone();
        while self.world.step(cx.now(), &|| self.who()) {
            let Some(op) = code.ops.get(self.at) else {
                return self.end();
            };
            self.at += 1;
            let act = match op {
                Op::Do(step) => self.act(cx, step),
                op => {
                    self.jump(op);
                    None
                }
            };
            if let Some(act) = act {
                return act;
            }
        }
        self.end()
    }
}
