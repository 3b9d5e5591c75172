//! Real threads that carry out actors.

use super::calls;
use super::places::CpuPairs;
use super::stage::Stage;
use crate::actor::{Act, Actor, Answer, Play, RunsOn};
use crate::ledger::{Cond, Seat};
use crate::op::{Name, Nanos};
use crate::record::Record;
use crate::scenario::Scenario;
use crate::spin::lock;
use cmwq::{DelayedWork, Report};
use cmwq_os::{clock, sched};
use std::collections::BTreeMap;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

/// How long a whole script may take, and how much longer by what it is stretched.
const WHOLE: [Duration; 2] = [Duration::from_secs(30), Duration::from_secs(10)];
/// The same for waiting for one thing: what has not come then does not come.
const ONE_THING: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(1)];
/// Between two looks at whether something has happened.
const OFTEN: Duration = Duration::from_micros(200);
/// Between two looks at a latch whose opening may have been missed: somebody came just then.
const RARELY: Duration = Duration::from_millis(5);

/// The scenario in which a dependency was reported, and the text: a process says it once.
static DEPENDENCY: OnceLock<(String, String)> = OnceLock::new();

/// Whether that was before this scenario.
pub(super) fn said_before(id: &str) -> bool {
    DEPENDENCY.get().is_some_and(|(first, _)| first != id)
}

/// One run of one script.
pub(super) struct Runner {
    id: String,
    stage: Stage,
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
    ) -> Arc<Runner> {
        let runner = Arc::new(Runner {
            id: scenario.id.clone(),
            stage: Stage {
                play,
                places,
                stretch,
                items: Mutex::default(),
                queues: Mutex::default(),
            },
            threads: Mutex::default(),
            main_op: Mutex::default(),
            parked: Mutex::default(),
        });
        for name in scenario.script.items.keys() {
            let (of, item) = (runner.clone(), name.clone());
            let work = DelayedWork::new(move || of.execute(&item));
            lock(&runner.stage.items).insert(name.clone(), work);
        }
        runner
    }

    /// Carries the script out, and cleans up.
    pub(super) fn run(self: Arc<Self>) -> Record {
        self.listen();
        let (done, ended) = mpsc::channel();
        let runner = self.clone();
        let main = thread::spawn(move || {
            pin(runner.stage.places.main());
            runner.act(runner.stage.play.main());
            done.send(()).ok();
        });
        let patience = self.stretched(WHOLE);
        let in_time = ended.recv_timeout(patience) != Err(RecvTimeoutError::Timeout);
        let mut record = self.stage.play.record();
        if !record.finished {
            record.stuck = Some(format!("main waits in `{}`", lock(&self.main_op)));
        }
        self.stage.play.close();
        self.unpark_all();
        if in_time {
            lock(&self.threads).push(main);
            self.clean_up();
        }
        record
    }

    /// Reports of misuse go to the record.
    fn listen(&self) {
        if let Some((_, report)) = DEPENDENCY.get().filter(|(first, _)| *first == self.id) {
            // An earlier try of this scenario.
            self.stage.play.misuse(report.clone());
        }
        let (play, id) = (self.stage.play.clone(), self.id.clone());
        cmwq::set_report_hook(move |report| {
            let said = report.to_string();
            match report {
                Report::FlushDependency { .. } => {
                    DEPENDENCY.get_or_init(|| (id.clone(), said.clone()));
                }
                Report::EnableUnderflow { .. }
                | Report::DisableOverflow { .. }
                | Report::TimerDropped { .. } => {}
                _ => return,
            }
            play.misuse(said);
        });
    }

    fn clean_up(&self) {
        cmwq::freezer::thaw();
        let items = std::mem::take(&mut *lock(&self.stage.items));
        let threads = std::mem::take(&mut *lock(&self.threads));
        for item in items.values() {
            // Of those who wait for it some are still to come back; all latches are open.
            item.cancel_sync().ok();
        }
        for thread in threads {
            thread.join().ok();
        }
        drop(std::mem::take(&mut *lock(&self.stage.queues)));
        calls::set_threshold(calls::DEFAULT_THRESHOLD_US);
    }

    /// An item's function.
    fn execute(self: &Arc<Self>, item: &Name) {
        let seat = Seat {
            cpu: self.stage.places.theirs(sched::current_cpu()),
            worker: cmwq_os::thread::gettid() as u64,
            nice: sched::nice_self(),
        };
        self.act(self.stage.play.execution(item, seat, now()));
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
                Act::Call(call) => answer = Some(calls::call(&self.stage, call)),
                Act::Await(cond, _) => answer = Some(self.wait_for(&cond)),
                act => self.perform(act),
            }
        }
    }

    /// What has no answer.
    fn perform(self: &Arc<Self>, act: Act) {
        match act {
            Act::Burn(time) => burn(time * self.stage.stretch),
            Act::SpinUntil(latch) => {
                while !self.stage.play.is_open(&latch) {
                    std::hint::spin_loop();
                }
            }
            Act::Sleep(time) => {
                let time = Duration::from_nanos(time * self.stage.stretch);
                cmwq::blocking(|| thread::sleep(time));
            }
            Act::Wait(latch) => cmwq::blocking(|| self.wait_at(&latch)),
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
            RunsOn::Cpu(cpu) => Some(self.stage.places.ours(cpu)),
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
        while !self.stage.play.is_open(latch) {
            thread::park_timeout(RARELY);
        }
    }

    fn unpark_all(&self) {
        let all = std::mem::take(&mut *lock(&self.parked));
        all.values().flatten().for_each(Thread::unpark);
    }

    fn stretched(&self, [at_least, more]: [Duration; 2]) -> Duration {
        at_least + more * self.stage.stretch as u32
    }

    fn wait_for(&self, cond: &Cond) -> Answer {
        let end = Instant::now() + self.stretched(ONE_THING);
        let over =
            || self.stage.play.holds(cond) || self.stage.play.is_over() || Instant::now() >= end;
        cmwq::blocking(|| {
            while !over() {
                thread::sleep(OFTEN);
            }
        });
        Answer::Bool(self.stage.play.holds(cond))
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
