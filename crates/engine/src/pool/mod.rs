//! A worker pool: the core under its lock, and what others may know without it. What an event asks
//! for is carried out in `events.rs`, by the threads of `threads/`. `README.md` in this folder: how
//! nothing is lost between them.

mod attached;
mod current;
pub(crate) mod hand;
mod hold;
mod inbox;
#[cfg(all(test, loom))]
mod loom_tests;
mod row;
mod slot;
mod table;
mod taken;
mod tray;

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};

use cmwq_os::sched;
use cmwq_policy::affinity::Near;
use cmwq_policy::pool::{PoolKey, tray, trays};
use cmwq_policy::{Actions, CpuMask, MAX_CPUS, Nanos, PoolAttrs, Published, WorkerId, WorkerPool};

use crate::base::Base;
use crate::item::Header;
use crate::queue::pwq::Items;
use crate::queue::pwq::{PwqRef, name_of};
use crate::sync::{Futex, Mutex};
use crate::tracepoints::{Activated, Activations};
pub(crate) use current::{CURRENT, Current, executes_for};
use hand::Hand;
pub(crate) use hold::{Asked, News, check_whole};
use inbox::Inbox;
pub(crate) use inbox::{Before, Leaves, View};
use row::{LinedUp, Row};
pub(crate) use slot::{NOWHERE, Slot};
use table::Table;
use taken::Taken;

/// What an event asks for.
pub(crate) type PoolActions = Actions<PwqRef>;

/// A pool. Never freed: canaries and items refer to it without a lock.
pub(crate) struct Pool {
    base: &'static Base,
    id: u32,
    key: PoolKey,
    core: Mutex<Core>,
    /// Items that were queued without that lock.
    inbox: Inbox,
    /// Items that workers begin in order.
    row: Row,
    /// CPUs that its workers may use, for canaries: a bit each.
    serves: [AtomicU64; MAX_CPUS / 64],
    /// Counts the changes of that mask.
    serves_version: AtomicU32,
    /// Worker number -> its slot; null until the number is first used.
    slots: Table<Slot>,
    /// The idle worker that a canary wakes; null: none.
    standby: AtomicPtr<Slot>,
    /// CPUs whose canaries have reported, a bit each.
    reports: [AtomicU64; MAX_CPUS / 64],
    /// Bumped when a flush or drain may have ended; their waiters sleep on it.
    progress: Futex,
    /// A thread to create, by number + 1: asked by those who may not create it themselves.
    spawn_request: AtomicU32,
    /// Of items that come from several pods: how far CPUs are from each other.
    near: Option<Arc<Near>>,
    /// Workers that were brought back to where items waited for them.
    repatriated: AtomicU64,
    /// Items that have become active, for who executes the next one to say so.
    activated: Activations,
    /// Growth waits for a look at the workers.
    inspect_request: crate::sync::AtomicBool,
}

struct Core {
    pool: WorkerPool<Items>,
    /// What was published last.
    published: Published,
    standby: Option<WorkerId>,
    taken: Taken,
    /// The hands that are out, and whose.
    out: Vec<(WorkerId, &'static Hand)>,
    lined_up: LinedUp,
    /// What the present event asks for.
    actions: PoolActions,
}

// SAFETY: the core holds pointers to items and queues, which are only followed under its lock, by
// whichever thread holds it; items may be sent between threads (their owners require `Send`).
unsafe impl Send for Core {}

impl Pool {
    pub(crate) fn new(
        base: &'static Base,
        key: PoolKey,
        attrs: PoolAttrs,
        near: Option<Arc<Near>>,
        cpus: &CpuMask,
    ) -> Self {
        let pool = WorkerPool::new(attrs);
        let core = Core {
            pool: match &near {
                Some(near) => pool.with_near(near.clone()),
                None => pool,
            },
            published: Published::default(),
            standby: None,
            taken: Taken::default(),
            out: Vec::new(),
            lined_up: LinedUp::default(),
            actions: PoolActions::default(),
        };
        Pool {
            base,
            id: attrs.id,
            key,
            core: Mutex::new(core),
            inbox: Inbox::new(trays(near.as_deref())),
            row: Row::default(),
            serves: std::array::from_fn(|word| AtomicU64::new(cpus.words()[word])),
            serves_version: AtomicU32::new(1),
            slots: Table::default(),
            standby: AtomicPtr::default(),
            reports: std::array::from_fn(|_| AtomicU64::new(0)),
            progress: Futex::new(0),
            spawn_request: AtomicU32::new(0),
            near,
            repatriated: AtomicU64::new(0),
            activated: Activations::default(),
            inspect_request: crate::sync::AtomicBool::new(false),
        }
    }

    #[inline]
    pub(crate) fn base(&self) -> &'static Base {
        self.base
    }

    #[inline]
    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// Its number among the pools of this process, for people.
    pub(crate) fn index(&self) -> u32 {
        self.id - self.base.nowhere() - 1
    }

    pub(crate) fn key(&self) -> &PoolKey {
        &self.key
    }

    pub(crate) fn nice(&self) -> i8 {
        self.key.nice()
    }

    /// The CPU of the calling thread, if that means anything to the core.
    fn here(&self) -> u32 {
        match self.has_pods() {
            true => sched::current_cpu() as u32,
            false => 0,
        }
    }

    /// Whether its items come from several pods.
    pub(crate) fn has_pods(&self) -> bool {
        self.near.is_some()
    }

    /// How often a worker was brought back to where items waited for it.
    pub(crate) fn repatriated(&self) -> u64 {
        self.repatriated.load(SeqCst)
    }

    /// Wakes a worker in the pod of this CPU, or of the pool.
    pub(crate) fn wake(&self, id: WorkerId, cpu: Option<u32>) {
        let slot = self.slot(id);
        let to = |last| self.wakes_in(cpu, last);
        match slot.parked_on().and_then(to) {
            None => slot.unpark(),
            Some(cpus) => {
                let moved = slot.unpark_in(&cpus);
                self.repatriated.fetch_add(u64::from(moved), SeqCst);
            }
        }
    }

    /// Where a worker is woken that was `last` there, for an item that was queued on this CPU;
    /// `None`: anywhere.
    pub(crate) fn wakes_in(&self, cpu: Option<u32>, last: usize) -> Option<CpuMask> {
        let item = self.near.as_deref().zip(cpu);
        self.key.wakes_in(item, &self.usable(), last)
    }

    /// The CPUs that its workers may use at this moment.
    pub(crate) fn usable(&self) -> CpuMask {
        CpuMask::from_words(std::array::from_fn(|word| self.serves[word].load(SeqCst)))
    }

    /// Whether its workers may use this CPU.
    pub(crate) fn serves(&self, cpu: usize) -> bool {
        self.serves[cpu / 64].load(SeqCst) & (1 << (cpu % 64)) != 0
    }

    /// Whether the CPU mask was set since the version that the caller has seen.
    #[inline]
    pub(crate) fn has_newer_cpus(&self, seen: u32) -> bool {
        self.serves_version.load(SeqCst) != seen
    }

    /// The version of the CPU mask, and the mask if the caller has not seen that version.
    pub(crate) fn cpu_mask(&self, seen: u32) -> (u32, Option<CpuMask>) {
        let version = self.serves_version.load(SeqCst);
        (version, (version != seen).then(|| self.usable()))
    }

    /// Its workers may use these from now on. Follow with telling the core.
    pub(crate) fn set_cpus(&self, cpus: &CpuMask) {
        for (word, bits) in self.serves.iter().zip(cpus.words()) {
            word.store(*bits, SeqCst);
        }
        // After the mask: whoever sees the new version sees the new mask.
        self.serves_version.fetch_add(1, SeqCst);
    }

    /// Whether this is the address of its lock, or of that of its row.
    pub(crate) fn has_lock_at(&self, addr: u64) -> bool {
        let has = |lock: usize, size: usize| (lock..lock + size).contains(&(addr as usize));
        has((&raw const self.core).addr(), size_of_val(&self.core))
            || has((&raw const self.row).addr(), size_of_val(&self.row))
    }

    /// The tray of the inbox for an item that is queued on this CPU, of a queue that lets one at a
    /// time run or not.
    #[inline]
    pub(crate) fn tray(&self, home: u32, one_at_a_time: bool) -> usize {
        tray(self.near.as_deref(), home, one_at_a_time)
    }

    /// Where items are left without the pool's lock.
    #[inline]
    pub(crate) fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// Where workers of a FIFO queue take their items one after the other.
    #[inline]
    fn row(&self) -> &Row {
        &self.row
    }

    /// A worker has gone on to an item that was dealt and had no slot: it became active with that.
    #[inline]
    fn note_activated(&self, pwq: PwqRef, work: &Header) {
        let mut activated = Activated::default();
        activated.note(name_of(pwq), work.key());
        self.activated.add(&mut activated);
    }

    /// Says which items have become active. Called with nothing held.
    #[inline]
    pub(crate) fn say_activated(&self) {
        self.activated.say();
    }

    pub(crate) fn request_spawn(&'static self, id: WorkerId) {
        self.spawn_request.store(id.0 + 1, SeqCst);
        self.base.tick().unpark();
    }

    pub(crate) fn take_spawn_request(&self) -> Option<WorkerId> {
        self.spawn_request
            .swap(0, SeqCst)
            .checked_sub(1)
            .map(WorkerId)
    }

    /// A look at its workers was asked for: the tick's thread has one.
    pub(crate) fn request_inspect(&self) {
        self.inspect_request.store(true, SeqCst);
        self.base.tick().unpark();
    }

    pub(crate) fn take_inspect_request(&self) -> bool {
        self.inspect_request.swap(false, SeqCst)
    }

    /// The slot of a worker that has, or had, a thread.
    pub(crate) fn slot(&self, id: WorkerId) -> &'static Slot {
        // SAFETY: set once, before the worker's first thread was created, to a leaked slot.
        unsafe { self.slot_ptr(id).as_ref() }.expect("the worker has a slot")
    }

    fn slot_ptr(&self, id: WorkerId) -> *mut Slot {
        self.slots.get(id.0 as usize)
    }

    /// The slot of a worker that may be new. Its number is the caller's.
    pub(crate) fn make_slot(&'static self, id: WorkerId) -> &'static Slot {
        if self.slot_ptr(id).is_null() {
            let slot = Box::leak(Box::new(Slot::new(self, id)));
            self.slots.set(id.0 as usize, slot);
        }
        self.slot(id)
    }

    /// A canary's report, by its thread or by the CPU's relay. Takes no lock and creates no thread:
    /// sets a bit and wakes somebody who may. The tick's thread is there, it has made the caller's.
    pub(crate) fn report_idle(&self, cpu: usize) {
        self.reports[cpu / 64].fetch_or(1 << (cpu % 64), SeqCst);
        // SAFETY: null or a leaked slot of this pool.
        match unsafe { self.standby.load(SeqCst).as_ref() } {
            Some(slot) => drop(slot.unpark_in(&[cpu].into_iter().collect())),
            None => self.base.tick().unpark(),
        }
    }

    pub(crate) fn has_standby(&self) -> bool {
        !self.standby.load(SeqCst).is_null()
    }

    /// Takes the reports that have come in.
    pub(crate) fn take_reports(&self) -> impl Iterator<Item = usize> + use<> {
        let taken: [u64; MAX_CPUS / 64] =
            std::array::from_fn(|i| match self.reports[i].load(SeqCst) {
                0 => 0,
                _ => self.reports[i].swap(0, SeqCst),
            });
        let cpus = self.base.canaries().report_words() * 64;
        (0..cpus).filter(move |cpu| taken[cpu / 64] & (1 << (cpu % 64)) != 0)
    }

    pub(crate) fn has_reports(&self) -> bool {
        let words = self.base.canaries().report_words();
        self.reports[..words]
            .iter()
            .any(|word| word.load(SeqCst) != 0)
    }

    /// A worker has ended an item: reports that came while it was busy are old, and their CPUs look
    /// again.
    pub(crate) fn drop_old_reports(&self) {
        if self.has_reports() {
            self.drop_reports();
        }
    }

    /// Drops reports that are too old to believe; if their CPUs still idle they say so again.
    pub(crate) fn drop_reports(&self) {
        let cpus: CpuMask = self.take_reports().collect();
        self.base.canaries().rearm(&cpus);
    }

    /// Somebody who waits for it may look again.
    pub(crate) fn announce_progress(&self) {
        self.progress.word.fetch_add(1, SeqCst);
        self.progress.wake(u32::MAX);
    }

    /// How often that was said, to [wait](Self::wait_news) for the next time.
    pub(crate) fn progress(&self) -> u32 {
        self.progress.word.load(SeqCst)
    }

    /// Sleeps until it is said again, at most `timeout`.
    pub(crate) fn wait_news(&self, seen: u32, timeout: Option<Nanos>) {
        self.progress.wait(seen, timeout);
    }
}

/// Pools are compared by identity.
impl PartialEq for Pool {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}
