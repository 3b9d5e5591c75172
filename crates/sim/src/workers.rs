//! Worker threads: the loop that the runtime's workers run (`crates/runtime/src/pool/worker.rs`), as
//! a state machine.

use cmwq_policy::leftovers::Suspects;
use cmwq_policy::pool::Step;
use cmwq_policy::{ItemReport, Time, WorkerId, sampling};

use crate::api::names::{Execution, ItemId, PoolId, PwqId, QueueId, WorkerRef};
use crate::api::trace::What;
use crate::cpu::{ThreadId, ThreadStats};
use crate::machine::{Event, Machine};
use crate::threads::{NewThread, Sleep};
use crate::waits::Awaited;

/// The part of a thread that makes it a worker.
pub(crate) struct Worker {
    /// The worker that it is; of a rescuer: while it is in a pool.
    pub(crate) who: Option<WorkerRef>,
    pub(crate) rescuer: Option<Rescuer>,
    running: Option<Running>,
    /// What it has to say of the item it has just ended.
    ended: Option<ItemReport>,
    /// It has yielded, at this time.
    yielded: Option<Time>,
    /// It has parked: reports may have come for it.
    parked: bool,
    /// A report has narrowed its mask to the CPU that it was about.
    pub(crate) narrowed: bool,
    /// An item has left another one behind: this one is set before the worker is of use again.
    pub(crate) own_mask: Option<cmwq_policy::CpuMask>,
    /// The nice level that it should have.
    pub(crate) nice: i32,
    /// Items that may have left something behind in its thread.
    pub(crate) suspects: Suspects,
    /// The last one has, and its thread is not fit for another one.
    lost: bool,
    meter: Meter,
}

/// What makes a worker a rescuer.
#[derive(Clone, Copy)]
pub(crate) struct Rescuer {
    pub(crate) queue: QueueId,
    /// For whom it is where it is.
    pub(crate) pwq: Option<PwqId>,
    /// Items it has run there.
    pub(crate) done: u32,
}

#[derive(Clone, Copy)]
pub(crate) struct Running {
    execution: Execution,
    pwq: PwqId,
    /// Hints that the item has begun.
    hints: u32,
    /// Its pool was told that it sleeps.
    told: bool,
    /// Items of its own pool that it waits for.
    awaits: Awaited,
    /// That will never be.
    pub(crate) failed: bool,
}

/// What a worker measures of its own items. When: `cmwq_policy::sampling`.
#[derive(Clone, Copy, Default)]
struct Meter {
    /// What the thread had had at the last look, and when that was.
    used: ThreadStats,
    looked: Time,
    begun: Time,
}

impl Worker {
    fn new(who: Option<WorkerRef>, rescuer: Option<Rescuer>, nice: i8, now: Time) -> Worker {
        Worker {
            who,
            rescuer,
            running: None,
            ended: None,
            yielded: None,
            parked: false,
            narrowed: false,
            own_mask: None,
            nice: nice.into(),
            suspects: Suspects::default(),
            lost: false,
            meter: Meter {
                looked: now,
                ..Meter::default()
            },
        }
    }

    pub(crate) fn rescuer(queue: QueueId, nice: i8, now: Time) -> Worker {
        let rescuer = Rescuer {
            queue,
            pwq: None,
            done: 0,
        };
        Worker::new(None, Some(rescuer), nice, now)
    }

    pub(crate) fn execution(&self) -> Option<Execution> {
        self.running.map(|running| running.execution)
    }

    /// What it has to say of the item that it has just ended.
    pub(crate) fn take_report(&mut self) -> Option<ItemReport> {
        self.ended.take()
    }
}

impl Meter {
    fn end(&mut self, now: Time, used: ThreadStats) -> ItemReport {
        match sampling::ask_switches(now.since(self.begun)) {
            true => self.look(now, used),
            false => ItemReport::default(),
        }
    }

    /// Whether the thread has slept since the last look, and if not, how long it had no CPU.
    fn look(&mut self, now: Time, used: ThreadStats) -> ItemReport {
        let before = std::mem::replace(&mut self.used, used);
        let passed = now.since(std::mem::replace(&mut self.looked, now));
        let slept = used.voluntary_switches != before.voluntary_switches;
        ItemReport {
            slept: Some(slept),
            waited: (!slept).then(|| passed - (used.cpu_ns - before.cpu_ns)),
            ..ItemReport::default()
        }
    }
}

impl Machine {
    pub(crate) fn worker<R>(&self, id: ThreadId, look: impl FnOnce(&mut Worker) -> R) -> R {
        self.frame(id, |f| look(f.worker.as_mut().expect("a worker")))
    }

    /// A worker between two items asks for its next step, and takes it.
    pub(crate) fn work(&self, id: ThreadId) {
        if let Some(rescuer) = self.worker(id, |w| w.rescuer) {
            return self.rescue(id, rescuer);
        }
        let who = self.worker_of(id).expect("it has a pool");
        if self.worker(id, |w| w.lost) {
            let ended = self.worker(id, Worker::take_report);
            return self.give_up(id, who, ended);
        }
        if self.worker(id, |w| std::mem::take(&mut w.parked)) && self.receive(id, who) {
            return;
        }
        match self.ask_core(id, who) {
            Step::Run(item, pwq) => {
                self.widen(id, who.pool);
                self.begin(id, item, pwq);
            }
            Step::Create(new) if self.is_lost(id, who) => {
                // A thread has what its creator has: another one makes it.
                self.spawn_worker(who.pool, new);
                self.give_up(id, who, None);
            }
            Step::Create(new) => {
                self.request_worker(who.pool, new, Some(id));
                self.put_back(id);
            }
            Step::Park if self.is_lost(id, who) => self.give_up(id, who, None),
            Step::Park => {
                self.worker(id, |w| w.parked = true);
                self.park(id);
                self.put_back(id);
            }
            Step::Yield => self.yield_cpu(id),
            Step::Retire => self.retire(id, who),
        }
    }

    fn ask_core(&self, id: ThreadId, who: WorkerRef) -> Step<ItemId, PwqId> {
        let (ended, yielded) = self.worker(id, |w| (w.ended.take(), w.yielded.take()));
        let took = yielded.map(|at| self.now().since(at));
        if ended.is_some() {
            self.drop_reports(who.pool);
        }
        self.in_pool(who.pool, |core, cx| {
            if let Some(took) = took {
                core.yielded(cx, who.id, took);
            }
            if let Some(report) = ended {
                core.item_ended(cx, who.id, report);
            }
            core.next(cx, who.id)
        })
    }

    /// The worker executes this item.
    pub(crate) fn begin(&self, id: ThreadId, work: ItemId, pwq: PwqId) {
        let (number, body, is_barrier) = {
            let mut items = self.items.borrow_mut();
            let item = items.item_mut(work);
            item.started += 1;
            // From here on the item is its function's.
            item.references -= 1;
            (item.started, item.body.clone(), item.is_barrier)
        };
        let execution = Execution { item: work, number };
        self.worker(id, |w| {
            w.running = Some(Running {
                execution,
                pwq,
                hints: 0,
                told: false,
                awaits: None,
                failed: false,
            });
            w.meter.begun = self.now();
        });
        if !is_barrier {
            let queue = self.items.borrow().queue_of(pwq);
            self.note(id, What::Start(execution, queue));
        }
        let program = body(number);
        let random = self.random.of_execution(execution);
        self.frame(id, |f| (f.program, f.random) = (Some(program), random));
    }

    /// The item's function has returned.
    pub(crate) fn item_over(&self, id: ThreadId) {
        let used = self.thread_stats(id);
        let now = self.now();
        let (over, ran) = self.worker(id, |w| {
            w.ended = Some(w.meter.end(now, used));
            let over = w.running.take().expect("it has executed an item");
            (over, now.since(w.meter.begun))
        });
        let is_barrier = self.items.borrow().item(over.execution.item).is_barrier;
        if !is_barrier {
            self.note(id, What::End(over.execution));
        }
        let lost = self.tidy_up(id, ran);
        self.worker(id, |w| w.lost = lost);
        self.put_back(id);
    }

    pub(crate) fn park(&self, id: ThreadId) {
        if !self.frame(id, |f| std::mem::take(&mut f.token)) {
            self.sleep(id, Sleep::Parked);
        }
    }

    /// Wakes an idle worker; one that does not sleep will not, the next time it parks.
    pub(crate) fn unpark(&self, id: ThreadId) {
        let parked = self.frame(id, |f| {
            let parked = matches!(f.sleep, Sleep::Parked);
            f.token |= !parked;
            parked
        });
        if parked {
            // It has slept of its own: that says nothing of the next item.
            let (used, looked) = (self.thread_stats(id), self.now());
            self.frame(id, |f| {
                if let Some(worker) = &mut f.worker {
                    (worker.meter.used, worker.meter.looked) = (used, looked);
                }
            });
            self.wake(id);
        }
    }

    fn yield_cpu(&self, id: ThreadId) {
        self.worker(id, |w| w.yielded = Some(self.now()));
        self.sched().yield_now(self.now(), id);
    }

    fn retire(&self, id: ThreadId, who: WorkerRef) {
        self.pool(who.pool).forget(who.id, id);
        self.exit_worker(id);
    }

    pub(crate) fn exit_worker(&self, id: ThreadId) {
        self.note(id, What::Exit);
        self.sched().exit(self.now(), id);
    }

    /// Asks for the thread of a worker; `manager` waits until it is there.
    pub(crate) fn request_worker(&self, pool: PoolId, id: WorkerId, manager: Option<ThreadId>) {
        let takes = self.spawn_takes();
        if takes == 0 {
            return self.create_worker(pool, id);
        }
        self.after(takes, Event::Spawned(pool, id, manager));
        if let Some(manager) = manager {
            self.sleep(manager, Sleep::Event);
        }
    }

    /// Creates the thread of a worker, or tells the core that it could not.
    pub(crate) fn create_worker(&self, pool: PoolId, id: WorkerId) {
        if self.does_spawn_fail() {
            self.spawn_failures.set(self.spawn_failures.get() + 1);
            return self.in_pool(pool, |core, cx| core.spawn_failed(cx, id));
        }
        let who = WorkerRef { pool, id };
        let pool = self.pool(pool);
        let thread = self.create(NewThread {
            name: pool.worker_name(id),
            allowed: pool.key.reach().allowed,
            nice: pool.key.nice(),
            idle_class: false,
            footprint: self.options.costs.worker_footprint,
            program: None,
            worker: Some(Worker::new(Some(who), None, pool.key.nice(), self.now())),
        });
        pool.enter(id, thread);
    }

    /// The thread sleeps: if it executes an item, its pool may hear of it.
    pub(crate) fn item_sleeps(&self, id: ThreadId) {
        let told = self.frame(id, |f| self.is_told(&f.sleep));
        if let Some(who) = self.executing_worker(id).filter(|_| told) {
            self.running(id, |running| running.told = true);
            let awaits = self.awaited(id);
            self.in_pool(who.pool, |core, cx| match awaits {
                Some(wait) => core.wait_begin(cx, who.id, wait).expect("asked before"),
                None => core.hint_begin(cx, who.id),
            });
        }
    }

    /// And of the end of that.
    pub(crate) fn item_wakes(&self, id: ThreadId) {
        let Some(who) = self.executing_worker(id) else {
            return;
        };
        let (told, awaits) = self.running(id, |running| {
            (
                std::mem::take(&mut running.told),
                std::mem::take(&mut running.awaits),
            )
        });
        if told {
            self.in_pool(who.pool, |core, cx| match awaits {
                Some(_) => core.wait_end(cx, who.id),
                None => core.hint_end(cx, who.id),
            });
        }
    }

    /// What the item of this thread waits for.
    pub(crate) fn awaited(&self, id: ThreadId) -> Awaited {
        self.frame(id, |f| f.worker.as_ref()?.running?.awaits)
    }

    /// The item of this thread waits for that from now on; what it has waited for before, and whether
    /// that has failed.
    pub(crate) fn set_awaited(&self, id: ThreadId, on: Awaited) -> (Awaited, bool) {
        self.running(id, |running| {
            let failed = std::mem::take(&mut running.failed);
            (std::mem::replace(&mut running.awaits, on), failed)
        })
    }

    /// The item of this thread says that it is about to block, or that it is back.
    ///
    /// # Panics
    /// If it is back from where it has not said that it goes.
    pub(crate) fn hint(&self, id: ThreadId, begins: bool) {
        let Some(who) = self.executing_worker(id) else {
            return;
        };
        let open = self.running(id, |running| {
            let left = running.hints.checked_sub(1);
            running.hints = if begins { running.hints + 1 } else { left? };
            Some(())
        });
        assert!(
            open.is_some(),
            "{} ends a hint that it has not begun",
            self.thread_name(id)
        );
        if self.hears_hints(begins) {
            self.in_pool(who.pool, |core, cx| match begins {
                true => core.hint_begin(cx, who.id),
                false => core.hint_end(cx, who.id),
            });
        }
    }

    pub(crate) fn running<R>(&self, id: ThreadId, look: impl FnOnce(&mut Running) -> R) -> R {
        self.worker(id, |w| {
            look(w.running.as_mut().expect("it executes an item"))
        })
    }

    pub(crate) fn executing_worker(&self, id: ThreadId) -> Option<WorkerRef> {
        self.frame(id, |f| {
            let worker = f.worker.as_ref()?;
            worker.running.and(worker.who)
        })
    }

    /// The pwq through which the item was queued that the thread executes.
    pub fn pwq_executed(&self, id: ThreadId) -> Option<PwqId> {
        self.frame(id, |f| Some(f.worker.as_ref()?.running?.pwq))
    }
}
