//! A worker as others see it, and as items see it from inside.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32};

use cmwq_os::inspect;
use cmwq_os::observe::tree::Tree;
use cmwq_os::observe::{TaskFiles, TaskState};
use cmwq_os::{futex, sched, thread};
use cmwq_policy::pool::{Claimant, PoolKey, SeenState, Stuck};
use cmwq_policy::worker::Wait;
use cmwq_policy::{CpuMask, Cx, ItemKey, Rule, Time, WorkerId, WorkerPool};

use super::Pool;
use super::worker::Worker;
use crate::error::WouldDeadlock;
use crate::park::Parker;
use crate::pwq::{Items, PwqRef};
use crate::queue::name_of;
use crate::report::Awaited;
use crate::sync::Mutex;

/// Whoever wakes a worker has narrowed its mask, or is at it.
const NARROWED: u32 = 1;
const NARROWS: u32 = 2;
/// Instead of the CPU of a thread that has parked: it has not, or has been woken.
pub(super) const NOWHERE: u32 = u32::MAX;

/// What others need of a worker's thread. Leaked: a canary may hold it while the worker retires.
pub(crate) struct Slot {
    pub(super) pool: &'static Pool,
    pub(super) id: WorkerId,
    pub(super) parker: Parker,
    /// The thread, 0 while there is none.
    pub(super) tid: AtomicI32,
    /// The thread that executes what it has claimed, 0 while there is none. Apart from `tid`: nobody wakes
    /// it, and nobody may change its mask.
    visitor: AtomicI32,
    /// Of a claim: the worker or claim whose item called.
    beneath: AtomicPtr<Slot>,
    /// The process whose tree stands for this worker; 0: the thread itself.
    attached: AtomicI32,
    /// What is known of that tree from earlier looks.
    tree: Mutex<Option<Tree>>,
    /// A process tree stood for this worker at some time of the current item.
    pub(super) was_foreign: AtomicBool,
    pub(super) wait_failed: AtomicBool,
    /// Its wait was given up for others. Changed under the lock of the graph of waits.
    pub(super) gave_up: AtomicBool,
    /// The CPU that the worker is parked on, where the kernel will try to wake it; else [`NOWHERE`].
    pub(super) parked_on: AtomicU32,
    /// [`NARROWED`] if whoever woke it has narrowed the thread's mask, and [`NARROWS`] for each
    /// that is about to. While it is not zero nobody else can be blamed for the mask.
    narrow: AtomicU32,
    /// Counts the worker's waits.
    waits: AtomicU32,
    /// A rescuer's, not one of the pool's workers.
    pub(super) rescues: AtomicBool,
    /// What people are told of the item, if it says anything.
    desc: Mutex<String>,
    /// What the item waits for, while it is in a call that waits: whose, and which if it is one.
    awaits: Mutex<Option<(Arc<str>, Option<&'static str>)>>,
    pub(super) described: AtomicBool,
    /// The thread's files in /proc, opened by whoever looks first.
    files: Mutex<Option<(i32, TaskFiles)>>,
}

/// A worker's place, from the inside: what items may ask for.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(super) slot: &'static Slot,
}

/// One wait of a worker, so that news of an earlier one are known as such.
#[derive(Clone, Copy)]
pub(crate) struct WaitRef {
    slot: &'static Slot,
    number: u32,
}

/// The worker that the current thread is.
#[derive(Clone, Copy)]
pub(super) struct Current {
    pub(super) slot: &'static Slot,
    /// The item that it executes, and the pwq that this was queued through.
    pub(super) item: Option<(PwqRef, ItemKey)>,
}

thread_local! {
    // Constant and without a destructor, so that it can be used at any moment of a thread's life.
    pub(super) static CURRENT: Cell<Option<Current>> = const { Cell::new(None) };
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

/// Runs what is not an item's, and may wait: meanwhile the thread is no worker to the core, which knows of no
/// item that it executes.
pub(super) fn as_stranger<R>(act: impl FnOnce() -> R) -> R {
    let before = CURRENT.take();
    let _back = OnDrop(move || CURRENT.set(before));
    act()
}

fn current_item() -> Option<(PwqRef, ItemKey)> {
    current().and(CURRENT.get()?.item)
}

/// The pwq whose item the calling worker executes.
pub(crate) fn current_pwq() -> Option<PwqRef> {
    current_item().map(|(pwq, _)| pwq)
}

/// The item that the calling worker executes.
pub(crate) fn current_key() -> Option<ItemKey> {
    current_item().map(|(_, key)| key)
}

/// The error for an item that waits for itself.
pub(crate) fn waits_for_itself() -> WouldDeadlock {
    let name = current_pwq().map_or("", name_of).to_owned();
    WouldDeadlock {
        waiter: name.clone(),
        awaited: name,
    }
}

impl Place {
    pub(crate) fn pool(self) -> &'static Pool {
        self.slot.pool
    }

    /// Whether waits for items of this pool are waits for its own.
    pub(crate) fn is_of(self, pool: &'static Pool) -> bool {
        self.slot.pool == pool
    }

    /// The number of the queue in which the next instance of this item is pending.
    pub(crate) fn requeued_to(self) -> Option<u64> {
        self.pool().with(|core, _| core.requeued_to(self.slot.id))
    }

    pub(crate) fn is_rescuer(self) -> bool {
        self.stack().any(|place| place.slot.rescues.load(SeqCst))
    }

    /// Whether anything waits for the slot or the worker of this item.
    pub(crate) fn others_waiting(self) -> bool {
        self.pool()
            .with(|core, cx| core.others_waiting(cx, self.slot.id))
    }

    /// What people are told of the item.
    pub(crate) fn describe(self, text: &str) {
        *self.slot.desc.lock().expect("nobody panics with it") = text.to_owned();
        self.slot.described.store(true, SeqCst);
    }

    /// Runs `wait`, during which people are told that the item waits for this.
    pub(crate) fn awaiting<R>(
        self,
        awaited: (Arc<str>, Option<&'static str>),
        wait: impl FnOnce() -> R,
    ) -> R {
        let set = |awaited| *self.slot.awaits.lock().expect("nobody panics with it") = awaited;
        set(Some(awaited));
        // In a child that was forked meanwhile somebody who is not there may hold the lock.
        let _end = OnDrop(|| {
            if self.pool().engine().is_ours() {
                set(None);
            }
        });
        wait()
    }

    /// Itself, and for a claim those whose items are in the middle of it.
    pub(super) fn stack(self) -> impl Iterator<Item = Place> + Clone {
        std::iter::successors(Some(self), |place| place.beneath())
    }

    fn beneath(self) -> Option<Place> {
        // SAFETY: null or a leaked slot.
        let slot = unsafe { self.slot.beneath.load(SeqCst).as_ref() }?;
        Some(Place { slot })
    }

    /// How many claims the calling thread is in the middle of.
    pub(crate) fn claims(self) -> u32 {
        let claims = self.stack().filter(|p| p.slot.visitor.load(SeqCst) != 0);
        claims.count() as u32
    }

    /// Whether somebody may have narrowed the thread's mask.
    pub(super) fn may_be_narrow(self) -> bool {
        self.stack().any(|place| place.slot.may_be_narrow())
    }

    /// As the core of this pool knows the thread, if that claims an item of it.
    pub(super) fn claimant(self, pool: &'static Pool) -> Claimant {
        let is_counted = |place: Place| {
            let id = place.slot.id;
            !place.is_of(pool) && place.pool().with(|core, _| core.is_counted(id))
        };
        Claimant {
            within: self.stack().find(|p| p.is_of(pool)).map(|p| p.slot.id),
            counted: self.stack().any(is_counted),
        }
    }

    /// Runs `wait`, which blocks, with the worker counted as blocked.
    pub(crate) fn blocking<R>(self, wait: impl FnOnce() -> R) -> R {
        let _end = hint(self.stack());
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
        let _beneath = hint(self.stack().skip(1));
        if body() { Ok(()) } else { Err(Stuck) }
    }

    fn has_failed(self) -> bool {
        self.slot.wait_failed.load(SeqCst) || self.slot.gave_up.load(SeqCst)
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

    /// As [`wait_for`](Self::wait_for), for items that have all begun: they end, or fail in waits of
    /// their own.
    pub(crate) fn wait_begun(self, pwq: PwqRef, done: impl Fn() -> bool) {
        let ended = self.waiting(
            Wait::Begun(pwq),
            |_, _| done(),
            || {
                while !done() {
                    self.slot.parker.park(None);
                }
                true
            },
        );
        debug_assert!(ended.is_ok(), "such a wait never fails");
    }

    /// Waits until `done` says so under the lock of `pool`, which it asks at each flush or drain of
    /// `pwq` that moves on.
    pub(crate) fn wait_flush(
        self,
        pool: &'static Pool,
        pwq: PwqRef,
        deadline: Option<Time>,
        done: impl FnMut(&mut WorkerPool<Items>, &mut Cx<Items>) -> bool,
    ) -> Result<bool, Stuck> {
        if deadline.is_some() {
            // It ends in any case.
            return Ok(self.blocking(|| pool.wait_progress(deadline, done)));
        }
        if !self.is_of(pool) {
            return self.wait_flush_elsewhere(pool, done);
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
        .map(|()| true)
    }

    /// The same in a hint: the flush is of another pool.
    fn wait_flush_elsewhere(
        self,
        pool: &'static Pool,
        mut done: impl FnMut(&mut WorkerPool<Items>, &mut Cx<Items>) -> bool,
    ) -> Result<bool, Stuck> {
        let mut over = false;
        self.blocking(|| {
            pool.wait_progress(None, |core, cx| {
                over = done(core, cx);
                over || self.has_failed()
            })
        });
        over.then_some(true).ok_or(Stuck)
    }

    /// Parks until `done`, in a hint: what is waited for belongs to another pool.
    pub(crate) fn wait_elsewhere(self, done: impl Fn() -> bool) -> Result<(), Stuck> {
        self.blocking(|| {
            while !done() && !self.has_failed() {
                self.slot.parker.park(None);
            }
        });
        done().then_some(()).ok_or(Stuck)
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
        if !slot.pool.engine().is_ours() {
            // In a forked child: the worker is the parent's, and somebody may have held its pool.
            return;
        }
        slot.pool.with(|core, _| {
            if slot.waits.load(SeqCst) == self.number {
                core.wait_over(slot.id);
            }
        });
        slot.parker.unpark();
    }
}

/// The calling thread is about to block: all that it stands for does. Until dropped.
fn hint(stack: impl Iterator<Item = Place> + Clone) -> impl Drop {
    for place in stack.clone() {
        let id = place.slot.id;
        place.pool().with(|core, cx| core.hint_begin(cx, id));
    }
    OnDrop(move || {
        for place in stack.clone() {
            let id = place.slot.id;
            place.leave(|core, cx| core.hint_end(cx, id));
        }
    })
}

pub(super) struct OnDrop<F: FnMut()>(pub(super) F);

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
            visitor: AtomicI32::new(0),
            beneath: AtomicPtr::default(),
            attached: AtomicI32::new(0),
            tree: Mutex::new(None),
            was_foreign: AtomicBool::new(false),
            wait_failed: AtomicBool::new(false),
            gave_up: AtomicBool::new(false),
            parked_on: AtomicU32::new(NOWHERE),
            narrow: AtomicU32::new(0),
            waits: AtomicU32::new(0),
            rescues: AtomicBool::new(false),
            desc: Mutex::default(),
            awaits: Mutex::default(),
            described: AtomicBool::new(false),
            files: Mutex::new(None),
        }
    }

    pub(super) fn unpark(&self) {
        self.parker.unpark();
    }

    /// The CPU that its thread has parked on; `None`: it is not parked.
    pub(super) fn parked_on(&self) -> Option<usize> {
        let last = self.parked_on.load(SeqCst);
        (last != NOWHERE).then_some(last as usize)
    }

    /// Wakes the worker on one of these CPUs: left alone, the kernel often wakes it where it last ran,
    /// behind somebody else. Its mask is narrowed before the wake, and widened by the worker. False: it
    /// is parked on one of them, or not parked.
    pub(super) fn unpark_in(&self, cpus: &CpuMask) -> bool {
        let elsewhere = self.parked_on().is_some_and(|last| !cpus.contains(last));
        if elsewhere {
            self.narrow_to(cpus);
        }
        self.parker.unpark();
        elsewhere
    }

    /// The caller may be kept off its CPU anywhere in here, while somebody else wakes the worker. The thread
    /// does not end meanwhile, see [`let_go`](Self::let_go): its number is nobody else's.
    fn narrow_to(&self, cpus: &CpuMask) {
        self.narrow.fetch_add(NARROWS, SeqCst);
        // After that: either this finds no thread, or the thread finds that it is about to be narrowed.
        let tid = self.tid.load(SeqCst);
        if tid != 0 {
            self.narrow_thread(tid, cpus);
        }
        self.narrow.fetch_sub(NARROWS, SeqCst);
        if self.tid.load(SeqCst) != tid {
            futex::wake(&self.narrow, u32::MAX);
        }
    }

    fn narrow_thread(&self, tid: i32, cpus: &CpuMask) {
        let set = |mask: &CpuMask| {
            if sched::set_affinity(tid, mask).is_ok() {
                self.narrow.fetch_or(NARROWED, SeqCst);
            }
        };
        set(cpus);
        if self.parked_on().is_none() {
            // It widens its mask before its next item, and not in the middle of this one. One that says so
            // later than this sees that it was narrowed.
            set(&self.pool.usable());
        }
    }

    /// Waits until nobody narrows the mask of the calling thread, which has said that it [ends](Self::thread_ends):
    /// its number may be another thread's right after. Nobody waits for a thread that does.
    pub(super) fn let_go(&self) {
        loop {
            let narrow = self.narrow.load(SeqCst);
            if narrow < NARROWS {
                return;
            }
            futex::wait(&self.narrow, narrow, None);
        }
    }

    /// Whether the mask may be other than the worker has set it, by a canary's doing.
    pub(super) fn may_be_narrow(&self) -> bool {
        self.narrow.load(SeqCst) != 0
    }

    /// The worker is about to set its mask; whether it was narrowed for its wake.
    pub(super) fn widens(&self) -> bool {
        self.may_be_narrow() && self.narrow.fetch_and(!NARROWED, SeqCst) & NARROWED != 0
    }

    pub(super) fn fail_wait(&self) {
        self.wait_failed.store(true, SeqCst);
    }

    pub(super) fn spawn(&'static self) -> std::io::Result<()> {
        let name = thread_name(self.pool.key(), self.pool.place(), self.id);
        thread::spawn(&name, self.pool.engine().stack_size(), move || {
            Worker::new(self).run()
        })
    }

    /// What the item says of itself.
    pub(crate) fn description(&self) -> Option<String> {
        let described = self.described.load(SeqCst);
        described.then(|| self.desc.lock().expect("nobody panics with it").clone())
    }

    /// What the item waits for, if it is in a call that waits.
    pub(crate) fn awaits(&self) -> Option<Awaited> {
        let awaits = self.awaits.lock().expect("nobody panics with it");
        let (queue, item) = awaits.as_ref()?;
        Some(Awaited {
            queue: queue.to_string(),
            item: *item,
        })
    }

    /// The thread, 0 while there is none.
    pub(crate) fn tid(&self) -> i32 {
        match self.tid.load(SeqCst) {
            0 => self.visitor.load(SeqCst),
            tid => tid,
        }
    }

    /// The calling thread executes what it has claimed as this one.
    pub(super) fn visited(&self, beneath: Option<Place>) {
        let beneath = beneath.map_or(std::ptr::null(), |place| std::ptr::from_ref(place.slot));
        self.beneath.store(beneath.cast_mut(), SeqCst);
        self.visitor.store(thread::gettid(), SeqCst);
    }

    pub(super) fn visit_ends(&self) {
        self.visitor.store(0, SeqCst);
        self.beneath.store(std::ptr::null_mut(), SeqCst);
    }

    /// The calling thread has retired. Its number is free, so another thread may be here already.
    pub(super) fn thread_ends(&self) {
        let _ = self
            .tid
            .compare_exchange(thread::gettid(), 0, SeqCst, SeqCst);
    }

    /// Looks at the worker from outside: its thread, or the process tree that stands for it, of which
    /// `threads` that run are enough.
    pub(crate) fn look(&self, threads: u32) -> Option<SeenState> {
        match self.attached.load(SeqCst) {
            0 => self.look_at_thread(),
            leader => self.look_at_tree(leader, threads),
        }
    }

    fn look_at_tree(&self, leader: i32, threads: u32) -> Option<SeenState> {
        // Not waited for, as the files of a thread below.
        let mut tree = self.tree.try_lock().ok()?;
        if tree.as_ref().is_none_or(|tree| tree.leader() != leader) {
            *tree = Some(Tree::new(leader));
        }
        let tree = tree.as_mut()?;
        Some(crate::process::look(tree, threads))
    }

    fn look_at_thread(&self) -> Option<SeenState> {
        let tid = self.tid();
        if tid == 0 {
            return None;
        }
        // Not waited for: who looks at this worker at this moment may be at nice 19.
        let mut files = self.files.try_lock().ok()?;
        if files.as_ref().is_none_or(|(of, _)| *of != tid) {
            *files = Some((tid, TaskFiles::new(tid)));
        }
        let sample = files.as_ref().map(|(_, files)| files.sample())?;
        if matches!(sample.state, TaskState::Dead | TaskState::Unknown) {
            // It executes an item, so it is there.
            return Some(SeenState::Unknown(inspect::thread_cpu(tid)));
        }
        let at_lock = sample.futex.is_some_and(|addr| self.pool.has_lock_at(addr));
        let asleep = sample.state.is_asleep();
        Some(SeenState::of_thread(asleep, sample.futex, at_lock))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_late_canary_does_not_keep_an_item_on_its_cpu() {
        let item = crate::system().spawn(|| {
            let slot = current().expect("a worker's").slot;
            let before = sched::affinity(0).unwrap();
            let here = [sched::current_cpu()].into_iter().collect();
            // It has seen the worker parked.
            slot.narrow_to(&here);
            (before, sched::affinity(0).unwrap())
        });
        let (before, after) = item.join().unwrap();
        assert_eq!(before, after);
    }
}

/// Name of a worker's thread (kernel: `kworker/1:2H`, `kworker/u8:3`).
fn thread_name(key: &PoolKey, pool: u32, worker: WorkerId) -> String {
    let high = if key.nice() < 0 { "H" } else { "" };
    match (key.cpu(), key.rule()) {
        (Some(cpu), Rule::Bh) => format!("cmwq/b{cpu}{high}"),
        (Some(cpu), _) => format!("cmwq/{cpu}:{worker}{high}"),
        (None, _) => format!("cmwq/u{pool}:{worker}"),
    }
}
