//! Work items as the core's store sees them: intrusive headers that are embedded in whatever owns
//! them (a reusable `Work`, a spawned closure, later a C struct).
//!
//! Who may touch what of a header:
//!
//! | field | by whom |
//! | --- | --- |
//! | `word` | anybody, atomically; while PENDING only its owner changes what it says |
//! | `next`, `prev` | under the lock of the pool that the item is queued in |
//! | `func` | constant |

use std::cell::{Cell, UnsafeCell};
use std::ptr::NonNull;

use cmwq_policy::list::Links;
use cmwq_policy::work::WorkWord;
use cmwq_policy::{Budget, BusyKey, PoolWorkqueue, Store};

use crate::pool::Pool;
use crate::sync::{AtomicU64, SeqCst};

/// What an item's function is called with: its own header.
pub(crate) type WorkFn = unsafe fn(NonNull<Header>);

/// The part of an item that queues and pools work with. 32 bytes.
#[repr(C)]
pub(crate) struct Header {
    word: AtomicU64,
    next: Cell<Option<NonNull<Header>>>,
    prev: Cell<Option<NonNull<Header>>>,
    func: WorkFn,
}

impl Header {
    pub(crate) fn new(func: WorkFn) -> Self {
        Header {
            word: AtomicU64::new(WorkWord::NEW.0),
            next: Cell::new(None),
            prev: Cell::new(None),
            func,
        }
    }

    pub(crate) fn word(&self) -> WorkWord {
        WorkWord(self.word.load(SeqCst))
    }

    /// Marks the item pending; false if it already is: then the pending execution sees what the
    /// caller stored before.
    ///
    /// That is why a refusal writes the word too, as it found it (kernel `test_and_set_bit`), and why
    /// nobody ever just stores to it: each read-modify-write passes on to the next what came before
    /// it, so that the last one, of `set_running`, has the stores of everybody who was refused.
    pub(crate) fn try_pend(&self) -> bool {
        let step = |word| Some(WorkWord(word).try_pend().map_or(word, |next| next.0));
        let before = self.word.fetch_update(SeqCst, SeqCst, step);
        before.is_ok_and(|word| !WorkWord(word).is_pending())
    }

    /// Takes the pending mark back: the item was not queued after all, or was cancelled.
    pub(crate) fn unpend(&self) {
        let pool = self.word().last_pool();
        self.set_word(pool.map_or(WorkWord::NEW, WorkWord::off_queue));
    }

    /// Changes the word of a pending item.
    pub(crate) fn set_word(&self, next: WorkWord) {
        self.word.swap(next.0, SeqCst);
    }

    pub(crate) fn func(&self) -> WorkFn {
        self.func
    }
}

/// Where one queue meets one pool. Its address goes into items' words, hence the alignment.
#[repr(C, align(256))]
pub(crate) struct Pwq {
    core: UnsafeCell<PoolWorkqueue<Items>>,
    /// Names the queue in the busy table.
    pub(crate) queue_id: u64,
}

impl Pwq {
    pub(crate) fn new(max_active: u32, queue_id: u64) -> Self {
        Pwq {
            core: UnsafeCell::new(PoolWorkqueue::new(max_active)),
            queue_id,
        }
    }
}

/// A pwq as the core knows it.
pub(crate) type PwqRef = NonNull<Pwq>;

/// The items of one pool, for the time that its lock is held.
pub(crate) struct Items {
    pool: &'static Pool,
}

impl Items {
    /// # Safety
    /// The caller holds the lock of `pool`, for as long as the value lives.
    pub(crate) unsafe fn of(pool: &'static Pool) -> Self {
        Items { pool }
    }
}

fn header<'a>(work: NonNull<Header>) -> &'a Header {
    // SAFETY: whoever queues an item keeps its header in place until its function is called, and
    // the core only names items that are queued.
    unsafe { work.as_ref() }
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

    fn pwq_of(&self, work: NonNull<Header>) -> PwqRef {
        let (addr, _) = header(work).word().pwq().expect("the item is queued");
        NonNull::new(std::ptr::with_exposed_provenance_mut(addr as usize)).expect("not null")
    }

    fn pwq(&mut self, pwq: PwqRef) -> &mut PoolWorkqueue<Items> {
        // SAFETY: a queue is not freed before nothing of it is in flight, so the pwq is there; the
        // pool's lock, which is held, guards its core, and `&mut self` is the only way to it.
        unsafe { &mut *pwq.as_ref().core.get() }
    }

    fn colour_of(&self, work: NonNull<Header>) -> u8 {
        header(work).word().pwq().expect("the item is queued").1
    }

    fn set_queued(&mut self, work: NonNull<Header>, pwq: PwqRef, colour: u8, inactive: bool) {
        let addr = pwq.as_ptr().expose_provenance() as u64;
        let word = WorkWord::queued(addr, colour, inactive);
        header(work).set_word(word);
    }

    fn set_running(&mut self, work: NonNull<Header>) {
        // From here a queueing makes the item pending anew. Whoever was refused until now has its
        // stores seen by the function, see `try_pend` (kernel set_work_pool_and_clear_pending).
        header(work).set_word(WorkWord::off_queue(self.pool.id()));
    }

    fn busy_key(&self, work: NonNull<Header>) -> BusyKey {
        // SAFETY: as in `pwq`; the id is constant.
        let queue = unsafe { self.pwq_of(work).as_ref().queue_id };
        BusyKey {
            addr: work.addr().get() as u64,
            func: header(work).func as usize as u64,
            queue,
        }
    }

    fn step_budget(&mut self, step: impl Fn(Budget) -> Option<Budget>) -> bool {
        let step = |used| step(Budget { used }).map(|next| next.used);
        self.pool
            .engine()
            .budget()
            .fetch_update(SeqCst, SeqCst, step)
            .is_ok()
    }
}
