//! Pool workqueues in memory, and the core's store: how its handles become pointers.
//!
//! A pwq belongs to its queue and is freed with it, never before. Whoever follows a pointer to one
//! has one of these:
//!
//! * a handle of the queue;
//! * the lock of a pool in which an item of the pwq is queued or executed;
//! * the pointer from an action that [holds](Items::hold) the queue.

use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::Arc;

use cmwq_policy::list::Links;
use cmwq_policy::pwq::PwqFlags;
use cmwq_policy::stats::Stamp;
use cmwq_policy::store::{Home, PwqInfo};
use cmwq_policy::work::WorkWord;
use cmwq_policy::{Budget, ItemKey, PoolWorkqueue, Store};

use super::{Queue, QueueRef};
use crate::base::Base;
use crate::item::Header;
use crate::limit::LimitCell;
use crate::sync::SeqCst;
use crate::tracepoints::Activated;

/// Where one queue meets one pool. Its address goes into items' words, hence the alignment.
#[repr(C, align(512))]
pub(crate) struct Pwq {
    fixed: Fixed,
    /// In a per-CPU queue: its limit for this CPU. Else, in the first pwq of a node: the limit of
    /// all pwqs of the queue there. It stands in front of the core because each item changes both:
    /// one cache line goes from CPU to CPU, instead of two.
    own_limit: LimitCell<PwqRef>,
    core: UnsafeCell<PoolWorkqueue<Items>>,
}

/// What does not change. It has a cache line of its own: whoever queues reads it for each item,
/// and would have to fetch it again if the worker that ends one wrote beside it.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Fixed {
    info: PwqInfo,
    /// Its pool asks where items come from.
    has_pods: bool,
    queue: QueueRef,
    /// What its items count for: its own limit, or that of another pwq of its queue.
    limit: NonNull<LimitCell<PwqRef>>,
}

/// What an idle queue has for each pool that it uses. The size is a multiple of the alignment, and
/// no byte is left: one field more doubles it. Loom's atomics and locks are larger.
#[cfg(not(loom))]
const _: () = assert!(size_of::<Pwq>() <= 512);

const _: () = assert!(std::mem::align_of::<Pwq>() as u64 == cmwq_policy::work::PWQ_ALIGN);

/// A pwq as the core knows it.
pub(crate) type PwqRef = NonNull<Pwq>;

impl Pwq {
    /// A new one on the heap. Freed by [`free`](Self::free), when its queue is.
    pub(crate) fn make(
        queue: &Queue,
        (pool, has_pods): (u32, bool),
        flags: PwqFlags,
        max_active: u32,
        node: Option<u32>,
    ) -> PwqRef {
        let pwq = Box::new(Pwq {
            fixed: Fixed {
                info: PwqInfo {
                    pool,
                    queue: queue.id(),
                    node,
                    fifo: flags.fifo,
                },
                has_pods,
                queue: queue.this(),
                limit: NonNull::dangling(),
            },
            own_limit: LimitCell::new(max_active),
            core: UnsafeCell::new(PoolWorkqueue::new(flags)),
        });
        let mut pwq = NonNull::new(Box::into_raw(pwq)).expect("a box is not null");
        // SAFETY: made above, and seen by nobody.
        let own = unsafe { NonNull::new_unchecked(&raw mut (*pwq.as_ptr()).own_limit) };
        // SAFETY: as above.
        unsafe { pwq.as_mut() }.fixed.limit = queue.shared_limit(node, own);
        pwq
    }

    /// # Safety
    /// The queue is being freed: nobody refers to it any more.
    pub(crate) unsafe fn free(pwq: PwqRef) {
        // SAFETY: made by `make`, and freed once, says the caller.
        drop(unsafe { Box::from_raw(pwq.as_ptr()) });
    }

    #[inline]
    pub(crate) fn info(&self) -> PwqInfo {
        self.fixed.info
    }

    /// What the lock of its pool guards.
    pub(super) fn core(&self) -> *mut PoolWorkqueue<Items> {
        self.core.get()
    }

    /// Whether its items come from several pods.
    pub(crate) fn has_pods(&self) -> bool {
        self.fixed.has_pods
    }

    pub(crate) fn queue(&self) -> QueueRef {
        self.fixed.queue
    }

    /// The limit that its items count for, if that lets them run one at a time.
    pub(crate) fn series(&self) -> Option<usize> {
        let limit = self.limit();
        limit.is_one().then(|| std::ptr::from_ref(limit).addr())
    }

    pub(super) fn limit(&self) -> &LimitCell<PwqRef> {
        // SAFETY: a part of itself, or of another pwq of its queue: they are freed together.
        unsafe { self.fixed.limit.as_ref() }
    }
}

/// The items of one pool, for the time that its lock is held.
pub(crate) struct Items {
    base: &'static Base,
    pool: u32,
    activated: Activated,
}

impl Items {
    /// # Safety
    /// The caller holds the lock of the pool with this number, for as long as the value lives.
    pub(crate) unsafe fn of(base: &'static Base, pool: u32) -> Self {
        Items {
            base,
            pool,
            activated: Activated::default(),
        }
    }

    /// What has become active since the lock was taken.
    pub(crate) fn activated(&mut self) -> &mut Activated {
        &mut self.activated
    }
}

fn header<'a>(work: NonNull<Header>) -> &'a Header {
    // SAFETY: whoever queues an item keeps its header in place until its function is called, and
    // the core only names items that are queued, or that its caller has.
    unsafe { work.as_ref() }
}

fn pwq_ref<'a>(pwq: PwqRef) -> &'a Pwq {
    // SAFETY: see the module's page; the core names pwqs of queued items and of its callers only.
    unsafe { pwq.as_ref() }
}

impl Links for Items {
    type Work = NonNull<Header>;

    fn next(&self, work: NonNull<Header>) -> Option<NonNull<Header>> {
        header(work).next.get()
    }

    fn prev(&self, work: NonNull<Header>) -> Option<NonNull<Header>> {
        header(work).prev.get()
    }

    fn set_next(&mut self, work: NonNull<Header>, next: Option<NonNull<Header>>) {
        header(work).next.set(next);
    }

    fn set_prev(&mut self, work: NonNull<Header>, prev: Option<NonNull<Header>>) {
        header(work).prev.set(prev);
    }
}

impl Store for Items {
    type Pwq = PwqRef;
    type Limit = LimitCell<PwqRef>;

    fn word(&self, work: NonNull<Header>) -> WorkWord {
        header(work).word()
    }

    fn set_word(&mut self, work: NonNull<Header>, word: WorkWord) {
        header(work).set_word(word);
    }

    fn key(&self, work: NonNull<Header>) -> ItemKey {
        header(work).key()
    }

    fn is_new(&self, work: NonNull<Header>) -> bool {
        header(work).is_new(self.base.nowhere())
    }

    fn home(&self, work: NonNull<Header>) -> Home {
        Home(header(work).home.get())
    }

    fn set_home(&mut self, work: NonNull<Header>, home: Home) {
        header(work).home.set(home.0);
    }

    fn stamp(&self, work: NonNull<Header>) -> Stamp {
        Stamp(header(work).stamp.get())
    }

    fn set_stamp(&mut self, work: NonNull<Header>, stamp: Stamp) {
        header(work).stamp.set(stamp.0);
    }

    fn pwq_addr(&self, pwq: PwqRef) -> u64 {
        pwq.as_ptr().expose_provenance() as u64
    }

    fn pwq_at(&self, addr: u64) -> PwqRef {
        NonNull::new(std::ptr::with_exposed_provenance_mut(addr as usize)).expect("not null")
    }

    fn info(&self, pwq: PwqRef) -> PwqInfo {
        pwq_ref(pwq).info()
    }

    fn pwq(&mut self, pwq: PwqRef) -> &mut PoolWorkqueue<Items> {
        debug_assert_eq!(pwq_ref(pwq).info().pool, self.pool);
        // SAFETY: the pool's lock, which is held, guards its core, and `&mut self` is the only way
        // to it.
        unsafe { &mut *pwq_ref(pwq).core() }
    }

    fn limit(&self, pwq: PwqRef) -> &LimitCell<PwqRef> {
        pwq_ref(pwq).limit()
    }

    fn hold(&mut self, pwq: PwqRef) {
        // SAFETY: the queue is in memory, and lives in an `Arc`.
        unsafe { Arc::increment_strong_count(pwq_ref(pwq).queue().as_ptr()) };
    }

    fn activated(&mut self, work: NonNull<Header>, pwq: PwqRef) {
        self.activated.note(name_of(pwq), header(work).key());
    }

    fn step_budget(&mut self, step: impl Fn(Budget) -> Option<Budget>) -> bool {
        let step = |word| step(Budget::from_word(word)).map(Budget::to_word);
        let budget = self.base.budget();
        budget.fetch_update(SeqCst, SeqCst, step).is_ok()
    }

    fn budget(&mut self) -> Budget {
        Budget::from_word(self.base.budget().load(SeqCst))
    }
}

/// Takes back what an action has held: the queue may be gone afterwards.
pub(crate) fn unhold(pwq: PwqRef) {
    // SAFETY: `hold` has counted for this, and nobody has taken it back yet.
    unsafe { Arc::decrement_strong_count(queue_of(pwq).as_ptr()) };
}

/// The queue of a pwq that the caller keeps, or whose item is being executed.
pub(crate) fn queue_of(pwq: PwqRef) -> QueueRef {
    // SAFETY: as the module's page says.
    unsafe { pwq.as_ref() }.queue()
}

pub(crate) fn name_of<'a>(pwq: PwqRef) -> &'a str {
    // SAFETY: as above; the queue outlives its pwqs.
    unsafe { queue_of(pwq).as_ref() }.name()
}
