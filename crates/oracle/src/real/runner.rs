//! Real threads that carry out actors.

use super::face::{Face, MakeFace, Run};
use super::places::CpuPairs;
use crate::actor::{Act, Actor, Answer, Play, RunsOn};
use crate::ledger::{Cond, Seat};
use crate::op::{Call, Name, Nanos};
use crate::record::Record;
use crate::scenario::Scenario;
use crate::spin::lock;
use cmwq_os::{clock, sched};
use std::collections::BTreeMap;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, Weak};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

/// How long a whole script may take, and how much longer by what it is stretched.
const WHOLE: [Duration; 2] = [Duration::from_secs(30), Duration::from_secs(10)];
/// The same for waiting for one thing: what has not come then does not come.
const ONE_THING: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(1)];
const EINVAL: i64 = -22;

/// Between two looks at whether something has happened.
const OFTEN: Duration = Duration::from_micros(200);
/// Between two looks at a latch whose opening may have been missed: somebody came just then.
const RARELY: Duration = Duration::from_millis(5);

/// One run of one script.
pub(super) struct Runner {
    play: Play,
    places: CpuPairs,
    stretch: u64,
    face: Box<dyn Face>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    main_op: Mutex<String>,
    /// Who waits at which latch.
    parked: Mutex<BTreeMap<Name, Vec<Thread>>>,
}

impl Runner {
    pub(super) fn new(
        scenario: &Scenario,
        play: Play,
        places: CpuPairs,
        stretch: u64,
        face: MakeFace,
    ) -> Arc<Runner> {
        Arc::new_cyclic(|this: &Weak<Runner>| {
            let this = this.clone();
            let execute = move |item: &Name| {
                // Nobody queues an item of a run that is over.
                if let Some(runner) = this.upgrade() {
                    runner.execute(item);
                }
            };
            let run = Run {
                id: scenario.id.clone(),
                play: play.clone(),
                stretch,
                items: scenario.script.items.keys().cloned().collect(),
                execute: Arc::new(execute),
                places: places.clone(),
            };
            Runner {
                play,
                places,
                stretch,
                face: face(run),
                threads: Mutex::default(),
                main_op: Mutex::default(),
                parked: Mutex::default(),
            }
        })
    }

    /// Carries the script out, and cleans up.
    pub(super) fn run(self: Arc<Self>) -> Record {
        let (done, ended) = mpsc::channel();
        let runner = self.clone();
        let main = thread::spawn(move || {
            pin(runner.places.main());
            runner.act(runner.play.main());
            done.send(()).ok();
        });
        let patience = self.stretched(WHOLE);
        let in_time = ended.recv_timeout(patience) != Err(RecvTimeoutError::Timeout);
        let mut record = self.play.record();
        if !record.finished {
            record.stuck = Some(format!("main waits in `{}`", lock(&self.main_op)));
        }
        self.play.close();
        self.unpark_all();
        if in_time {
            lock(&self.threads).push(main);
            self.clean_up();
        }
        record
    }

    fn clean_up(&self) {
        self.face.end();
        let threads = std::mem::take(&mut *lock(&self.threads));
        for thread in threads {
            thread.join().ok();
        }
    }

    /// An item's function.
    fn execute(self: &Arc<Self>, item: &Name) {
        let seat = Seat {
            cpu: self.places.theirs(sched::current_cpu()),
            worker: cmwq_os::thread::gettid() as u64,
            nice: sched::nice_self(),
        };
        self.act(self.play.execution(item, seat, now()));
    }

    /// Does what the actor wants until it ends.
    fn act(self: &Arc<Self>, mut actor: Actor) {
        let mut answer = None;
        loop {
            let act = actor.next(now(), answer.take());
            if actor.name() == "main" {
                *lock(&self.main_op) = actor.op().to_string();
            }
            match act {
                Act::End => return,
                Act::Call(call) => answer = Some(self.call(call)),
                Act::Await(cond, _) => answer = Some(self.wait_for(&cond)),
                act => self.perform(act),
            }
        }
    }

    /// What the harness does by itself, or the face.
    fn call(&self, call: Call) -> Answer {
        match call {
            Call::Pin(cpus) => {
                let ours = cpus.0.iter().map(|&cpu| self.places.ours(cpu));
                let pinned = sched::set_affinity_self(&ours.collect());
                Answer::Number(pinned.map_or(EINVAL, |()| 0))
            }
            Call::Cpu => Answer::Number(self.places.theirs(sched::current_cpu()).into()),
            Call::Comm => {
                let name = std::fs::read_to_string("/proc/thread-self/comm");
                Answer::Text(name.unwrap_or_default().trim().into())
            }
            call => self.face.call(call),
        }
    }

    /// What has no answer.
    fn perform(self: &Arc<Self>, act: Act) {
        match act {
            Act::Burn(time) => burn(time * self.stretch),
            Act::SpinUntil(latch) => {
                while !self.play.is_open(&latch) {
                    std::hint::spin_loop();
                }
            }
            Act::Sleep(time) => {
                let time = Duration::from_nanos(time * self.stretch);
                self.face.blocking(&mut || thread::sleep(time));
            }
            Act::Wait(latch) => self.face.blocking(&mut || self.wait_at(&latch)),
            Act::Open(latch) => {
                let waiting = lock(&self.parked).remove(&latch);
                waiting.iter().flatten().for_each(Thread::unpark);
            }
            Act::Start(actor, place) => self.start(*actor, place),
            Act::Call(_) | Act::Await(..) | Act::End => unreachable!("they are done elsewhere"),
        }
    }

    fn start(self: &Arc<Self>, actor: Actor, place: RunsOn) {
        let cpu = match place {
            RunsOn::Free => None,
            RunsOn::Cpu(cpu) => Some(self.places.ours(cpu)),
            RunsOn::Here => Some(sched::current_cpu()),
        };
        let runner = self.clone();
        let thread = thread::spawn(move || {
            pin(cpu);
            runner.act(actor);
        });
        lock(&self.threads).push(thread);
    }

    fn wait_at(&self, latch: &Name) {
        let mut all = lock(&self.parked);
        all.entry(latch.clone())
            .or_default()
            .push(thread::current());
        drop(all);
        while !self.play.is_open(latch) {
            thread::park_timeout(RARELY);
        }
    }

    fn unpark_all(&self) {
        let all = std::mem::take(&mut *lock(&self.parked));
        all.values().flatten().for_each(Thread::unpark);
    }

    fn stretched(&self, [at_least, more]: [Duration; 2]) -> Duration {
        at_least + more * self.stretch as u32
    }

    fn wait_for(&self, cond: &Cond) -> Answer {
        let end = Instant::now() + self.stretched(ONE_THING);
        let over = || self.play.holds(cond) || self.play.is_over() || Instant::now() >= end;
        self.face.blocking(&mut || {
            while !over() {
                thread::sleep(OFTEN);
            }
        });
        Answer::Bool(self.play.holds(cond))
    }
}

/// To a CPU; if it may not be there, it stays anywhere.
fn pin(cpu: Option<usize>) {
    if let Some(cpu) = cpu {
        sched::set_affinity_self(&[cpu].into_iter().collect()).ok();
    }
}

fn now() -> Nanos {
    clock::now().0
}

/// Uses so much of a CPU.
fn burn(time: Nanos) {
    let end = clock::thread_cpu() + time;
    while clock::thread_cpu() < end {
        std::hint::spin_loop();
    }
}
