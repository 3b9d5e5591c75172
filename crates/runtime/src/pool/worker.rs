//! Worker threads: they ask the core for the next step and take it.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32};

use cmwq_os::observe::{Sample, TaskFiles};
use cmwq_os::usage::{self, Rusage};
use cmwq_os::{clock, sched, thread};
use cmwq_policy::pool::{Step, Stuck};
use cmwq_policy::worker::Wait;
use cmwq_policy::{CpuMask, Cx, ItemReport, Time, WorkerId, WorkerPool, sampling};

use super::Pool;
use crate::item::{Header, Items, PwqRef};
use crate::park::Parker;

/// What others need of a worker's thread. Leaked: a canary may hold it while the worker retires.
pub(crate) struct Slot {
    pool: &'static Pool,
    id: WorkerId,
    parker: Parker,
    /// The thread, 0 while there is none.
    tid: AtomicI32,
    /// The process whose tree stands for this worker; 0: the thread itself.
    attached: AtomicI32,
    /// A process tree stood for this worker at some time of the current item.
    was_foreign: AtomicBool,
    wait_failed: AtomicBool,
    /// The CPU that the worker last parked on: the kernel will try to wake it there.
    parked_on: AtomicU32,
    /// A canary has narrowed the thread's mask to its own CPU.
    pinned: AtomicBool,
    /// Counts the worker's waits.
    waits: AtomicU32,
    /// The thread's files in /proc, opened by whoever looks first.
    files: Mutex<Option<(i32, TaskFiles)>>,
}

/// A worker's place, from the inside: what items may ask for.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    slot: &'static Slot,
}

/// One wait of a worker, so that news of an earlier one are known as such.
#[derive(Clone, Copy)]
pub(crate) struct WaitRef {
    slot: &'static Slot,
    number: u32,
}

/// The item that the current worker executes.
#[derive(Clone, Copy)]
pub(crate) struct Current {
    slot: &'static Slot,
    pwq: Option<PwqRef>,
}

thread_local! {
    // Constant and without a destructor, so that it can be used at any moment of a thread's life.
    static CURRENT: Cell<Option<Current>> = const { Cell::new(None) };
}

/// The calling thread's place, if it is a worker of this process.
pub(crate) fn current() -> Option<Place> {
    let current = CURRENT.get()?;
    // In a forked child this thread is no worker any more.
    current
        .slot
        .pool
        .engine()
        .is_ours()
        .then_some(Place { slot: current.slot })
}

/// The pwq whose item the calling worker executes.
pub(crate) fn current_pwq() -> Option<PwqRef> {
    current().and(CURRENT.get()?.pwq)
}

impl Place {
    pub(crate) fn pool(self) -> &'static Pool {
        self.slot.pool
    }

    /// Runs `wait`, which blocks, with the worker counted as blocked.
    pub(crate) fn blocking<R>(self, wait: impl FnOnce() -> R) -> R {
        self.pool()
            .with(|core, cx| core.hint_begin(cx, self.slot.id));
        let _end = OnDrop(|| self.leave(|core, cx| core.hint_end(cx, self.slot.id)));
        wait()
    }

    /// Ends what the item has begun in the core; not in a child that it has forked meanwhile, where
    /// the pool's lock may be held by a thread that is not there.
    fn leave(self, event: impl FnOnce(&mut WorkerPool<Items>, &mut Cx<Items>)) {
        if self.pool().engine().is_ours() {
            self.pool().with(event);
        }
    }

    /// The number of the worker's next wait, for whoever will end it.
    pub(crate) fn next_wait(self) -> WaitRef {
        let number = self.slot.waits.fetch_add(1, SeqCst).wrapping_add(1);
        WaitRef {
            slot: self.slot,
            number,
        }
    }

    /// Runs `body`, which waits for items of this worker's pool, unless the wait could never end or
    /// is `over`. What it returns is whether it did end: it looks at [`has_failed`](Self::has_failed)
    /// as well.
    fn waiting(
        self,
        wait: Wait<PwqRef>,
        over: impl FnOnce(&mut WorkerPool<Items>, &mut Cx<Items>) -> bool,
        body: impl FnOnce() -> bool,
    ) -> Result<(), Stuck> {
        let slot = self.slot;
        let begun = self.pool().with(|core, cx| {
            slot.wait_failed.store(false, SeqCst);
            // Looked at under the lock: whoever ends the wait later says so under the lock. A worker
            // that counted as waiting for what is over would make others' waits fail.
            match over(core, cx) {
                true => Ok(false),
                false => core.wait_begin(cx, slot.id, wait).map(|()| true),
            }
        })?;
        if !begun {
            return Ok(());
        }
        let _end = OnDrop(|| self.leave(|core, cx| core.wait_end(cx, slot.id)));
        if body() { Ok(()) } else { Err(Stuck) }
    }

    fn has_failed(self) -> bool {
        self.slot.wait_failed.load(SeqCst)
    }

    /// Waits until `done`, for items that were queued through `pwq` of this worker's pool. Whoever
    /// makes it done says [`WaitRef::is_over`].
    pub(crate) fn wait_for(self, pwq: PwqRef, done: impl Fn() -> bool) -> Result<(), Stuck> {
        self.waiting(
            Wait::Items(pwq),
            |_, _| done(),
            || {
                while !done() && !self.has_failed() {
                    self.slot.parker.park(None);
                }
                done()
            },
        )
    }

    /// Waits until `done` says so under the lock of `pool`, which it asks at each flush or drain of
    /// `pwq` that moves on.
    pub(crate) fn wait_flush(
        self,
        pool: &'static Pool,
        pwq: PwqRef,
        done: impl FnMut(&mut WorkerPool<Items>, &mut Cx<Items>) -> bool,
    ) -> Result<(), Stuck> {
        if pool != self.pool() {
            self.blocking(|| pool.wait_progress(None, done));
            return Ok(());
        }
        // A wait like others: late news of an earlier one that has failed do not end it.
        self.next_wait();
        let done = RefCell::new(done);
        self.waiting(
            Wait::Flush(pwq),
            |core, cx| (done.borrow_mut())(core, cx),
            || {
                let mut over = false;
                pool.wait_progress(None, |core, cx| {
                    over = (done.borrow_mut())(core, cx);
                    let gives_up = !over
                        && (self.has_failed()
                            || core.wait_on(cx, self.slot.id, Wait::Flush(pwq)).is_err());
                    over || gives_up
                });
                over
            },
        )
    }

    /// Parks until `done`, in a hint: what is waited for belongs to another pool.
    pub(crate) fn wait_elsewhere(self, done: impl Fn() -> bool) {
        self.blocking(|| {
            while !done() {
                self.slot.parker.park(None);
            }
        });
    }

    /// From now on the worker's state is that of this process tree; returns what it was before.
    pub(crate) fn attach(self, pid: i32) -> i32 {
        self.slot.was_foreign.store(true, SeqCst);
        self.slot.attached.swap(pid, SeqCst)
    }
}

impl WaitRef {
    /// What the worker waits for has happened, unless it has gone on to another wait.
    pub(crate) fn is_over(self) {
        let slot = self.slot;
        slot.pool.with(|core, _| {
            if slot.waits.load(SeqCst) == self.number {
                core.wait_over(slot.id);
            }
        });
        slot.parker.unpark();
    }
}

struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

impl Slot {
    pub(super) fn new(pool: &'static Pool, id: WorkerId) -> Self {
        Slot {
            pool,
            id,
            parker: Parker::default(),
            tid: AtomicI32::new(0),
            attached: AtomicI32::new(0),
            was_foreign: AtomicBool::new(false),
            wait_failed: AtomicBool::new(false),
            parked_on: AtomicU32::new(u32::MAX),
            pinned: AtomicBool::new(false),
            waits: AtomicU32::new(0),
            files: Mutex::new(None),
        }
    }

    pub(super) fn unpark(&self) {
        self.parker.unpark();
    }

    /// Wakes the worker on this CPU: left alone, the kernel often wakes it where it last ran, behind
    /// somebody else. Its mask is narrowed before the wake, and widened by the worker.
    pub(super) fn unpark_on(&self, cpu: usize) {
        let tid = self.tid.load(SeqCst);
        if tid != 0 && self.parked_on.load(SeqCst) != cpu as u32 {
            let only: CpuMask = [cpu].into_iter().collect();
            if sched::set_affinity(tid, &only).is_ok() {
                // Only now: a worker that somebody else woke meanwhile looks again at its next item.
                self.pinned.store(true, SeqCst);
            }
        }
        self.parker.unpark();
    }

    pub(super) fn fail_wait(&self) {
        self.wait_failed.store(true, SeqCst);
    }

    pub(super) fn spawn(&'static self) -> std::io::Result<()> {
        let name = format!("cmwq/u{}:{}", self.pool.id, self.id);
        thread::spawn(&name, self.pool.engine().stack_size(), move || {
            Worker::new(self).run()
        })
    }

    /// The calling thread has retired. Its number is free, so another thread may be here already.
    fn thread_ends(&self) {
        let _ = self
            .tid
            .compare_exchange(thread::gettid(), 0, SeqCst, SeqCst);
    }

    /// Looks at the worker from outside: its thread, or the process tree that stands for it.
    pub(crate) fn look(&self) -> Option<Sample> {
        let attached = self.attached.load(SeqCst);
        if attached != 0 {
            return Some(crate::process::look(attached));
        }
        let tid = self.tid.load(SeqCst);
        if tid == 0 {
            return None;
        }
        // Not waited for: who looks at this worker at this moment may be at nice 19.
        let mut files = self.files.try_lock().ok()?;
        if files.as_ref().is_none_or(|(of, _)| *of != tid) {
            *files = Some((tid, TaskFiles::new(tid)));
        }
        files.as_ref().map(|(_, files)| files.sample())
    }
}

/// The thread of a worker.
struct Worker {
    slot: &'static Slot,
    meter: Meter,
    cpus_seen: u32,
}

impl Worker {
    /// Runs in the new thread, which has its creator's policy, nice level and mask.
    fn new(slot: &'static Slot) -> Self {
        let engine = slot.pool.engine();
        if !sched::is_normal_policy_self() {
            let _ = sched::set_normal_policy_self();
        }
        if sched::set_nice_self(i32::from(slot.pool.nice)).is_err() {
            engine.note_denied_nice();
        }
        slot.tid.store(thread::gettid(), SeqCst);
        CURRENT.set(Some(Current { slot, pwq: None }));
        let mut worker = Worker {
            slot,
            meter: Meter::new(),
            cpus_seen: 0,
        };
        worker.follow_cpus();
        worker
    }

    /// Takes over the process's CPU mask, if it has changed since this worker last looked, or was
    /// narrowed for its wake.
    fn follow_cpus(&mut self) {
        if self.slot.pinned.load(SeqCst) && self.slot.pinned.swap(false, SeqCst) {
            self.cpus_seen = 0;
        }
        let (version, mask) = self.slot.pool.engine().cpu_mask(self.cpus_seen);
        if let Some(mask) = mask {
            // Denied or a mask without CPUs: the thread stays where the kernel put it.
            let _ = sched::set_affinity_self(&mask);
        }
        self.cpus_seen = version;
    }

    fn run(mut self) {
        let mut ended = None;
        loop {
            match self.ask(ended.take()) {
                Step::Run(work, pwq) => {
                    self.follow_cpus();
                    ended = Some(self.execute(work, pwq));
                    if !self.slot.pool.engine().is_ours() {
                        // The item has forked and returned in the child, where its thread is the
                        // only one: the other items are the parent's, so the child ends.
                        return;
                    }
                }
                Step::Create(id) => self.slot.pool.create_thread(id),
                Step::Park => self.park(),
                Step::Yield => self.yield_once(),
                Step::Retire => {
                    // Destructors of the thread's locals run in no item.
                    CURRENT.set(None);
                    return self.slot.thread_ends();
                }
            }
        }
    }

    /// Reports the ended item, if there is one, and asks for the next step, in one go.
    fn ask(&self, ended: Option<ItemReport>) -> Step<NonNull<Header>, PwqRef> {
        let pool = self.slot.pool;
        // Reports that came while this worker was busy are old: their CPUs look again.
        if ended.is_some() && pool.has_reports() {
            pool.drop_reports();
        }
        pool.with(|core, cx| {
            if let Some(report) = ended {
                core.item_ended(cx, self.slot.id, report);
            }
            core.next(cx, self.slot.id)
        })
    }

    fn execute(&mut self, work: NonNull<Header>, pwq: PwqRef) -> ItemReport {
        // SAFETY: the item was just taken off its queue; its header is alive until its function
        // is called.
        let func = unsafe { work.as_ref().func() };
        CURRENT.set(Some(Current {
            slot: self.slot,
            pwq: Some(pwq),
        }));
        self.slot.was_foreign.store(false, SeqCst);
        self.meter.begin();
        // SAFETY: the function that the item was made with, called once per queueing. From here on
        // the item may be gone.
        let call = AssertUnwindSafe(|| unsafe { func(work) });
        // It catches the panics of the user's function itself. What is left are values that panic
        // when they are dropped; their panic may be another such value.
        if let Err(payload) = catch_unwind(call) {
            std::mem::forget(payload);
        }
        CURRENT.set(Some(Current {
            slot: self.slot,
            pwq: None,
        }));
        self.meter.end(self.slot.was_foreign.load(SeqCst))
    }

    /// Lets others have the CPU, and says whether any did.
    fn yield_once(&self) {
        let before = clock::now();
        sched::yield_now();
        let took = clock::now().since(before);
        self.slot
            .pool
            .with(|core, cx| core.yielded(cx, self.slot.id, took));
    }

    fn park(&mut self) {
        let pool = self.slot.pool;
        self.slot
            .parked_on
            .store(sched::current_cpu() as u32, SeqCst);
        self.slot.parker.park(None);
        self.meter.restart();
        if pool.has_reports() {
            pool.handle_reports(Some(self.slot.id));
        }
    }
}

/// What a worker measures of its own items. When: `cmwq_policy::sampling`.
struct Meter {
    /// What the thread had used at the last look, and when that was.
    used: Rusage,
    looked: Time,
    begun: Time,
}

impl Meter {
    fn new() -> Self {
        let now = clock::now();
        Meter {
            used: usage::thread(),
            looked: now,
            begun: now,
        }
    }

    /// The thread has slept of its own: what it used until now says nothing of the next item.
    fn restart(&mut self) {
        *self = Meter::new();
    }

    fn begin(&mut self) {
        self.begun = clock::now();
    }

    fn end(&mut self, foreign: bool) -> ItemReport {
        let now = clock::now();
        let ran = now.since(self.begun);
        let report = ItemReport {
            foreign,
            ..ItemReport::default()
        };
        match !foreign && sampling::ask_switches(ran) {
            true => self.look(now, report),
            false => report,
        }
    }

    /// Whether the thread has blocked since the last look, and if not, how long it had no CPU.
    fn look(&mut self, now: Time, report: ItemReport) -> ItemReport {
        let before = std::mem::replace(&mut self.used, usage::thread());
        let passed = now.since(std::mem::replace(&mut self.looked, now));
        let slept = self.used.voluntary_switches != before.voluntary_switches;
        let cpu = self.used.cpu_ns() - before.cpu_ns();
        let waited = (!slept).then(|| passed.saturating_sub(cpu));
        ItemReport {
            slept: Some(slept),
            waited,
            ..report
        }
    }
}
