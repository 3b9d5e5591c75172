//! What the core of a pool works on while its lock is held.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicI32;
use std::sync::atomic::Ordering::SeqCst;

use cmwq_policy::list::Links;
use cmwq_policy::pwq::PwqFlags;
use cmwq_policy::stats::Stamp;
use cmwq_policy::store::{Home, PwqInfo};
use cmwq_policy::work::{PWQ_ALIGN, WorkWord};
use cmwq_policy::{Budget, ItemKey, PoolWorkqueue, Store};
use loom::cell::UnsafeCell;

use super::item::header;
use crate::item::Header;
use crate::limit::LimitCell;

/// Pool workqueues and limits, as the store knows them.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) pwqs: Vec<Part>,
    pub(super) limits: Vec<LimitCell<usize>>,
}

pub(super) struct Part {
    core: UnsafeCell<PoolWorkqueue<Items>>,
    pub(super) info: PwqInfo,
    /// Which limit its items count for.
    limit: usize,
    /// References of actions and waiters.
    pub(super) held: AtomicI32,
}

// SAFETY: loom watches the cells, and who holds which pool.
unsafe impl Send for Parts {}
// SAFETY: as above.
unsafe impl Sync for Parts {}

impl Part {
    pub(super) fn new(info: PwqInfo, limit: usize) -> Self {
        Part {
            core: UnsafeCell::new(PoolWorkqueue::new(PwqFlags::default())),
            info,
            limit,
            held: AtomicI32::new(0),
        }
    }
}

impl Parts {
    pub(super) fn unhold(&self, pwq: usize) {
        self.pwqs[pwq].held.fetch_sub(1, SeqCst);
    }
}

/// The store of one pool, while its lock is held.
pub(in crate::loom_tests) struct Items {
    pub(super) parts: Arc<Parts>,
    pub(super) pool: u32,
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
    type Pwq = usize;
    type Limit = LimitCell<usize>;

    fn word(&self, work: NonNull<Header>) -> WorkWord {
        header(work).word()
    }

    fn set_word(&mut self, work: NonNull<Header>, word: WorkWord) {
        header(work).set_word(word);
    }

    fn key(&self, work: NonNull<Header>) -> ItemKey {
        header(work).key()
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

    fn pwq_addr(&self, pwq: usize) -> u64 {
        (pwq as u64 + 1) * PWQ_ALIGN
    }

    fn pwq_at(&self, addr: u64) -> usize {
        (addr / PWQ_ALIGN) as usize - 1
    }

    fn info(&self, pwq: usize) -> PwqInfo {
        self.parts.pwqs[pwq].info
    }

    fn pwq(&mut self, pwq: usize) -> &mut PoolWorkqueue<Items> {
        let part = &self.parts.pwqs[pwq];
        assert_eq!(part.info.pool, self.pool, "of a pool that is not held");
        // SAFETY: the pool's lock is held, and `&mut self` is the only way to it; loom has looked.
        unsafe { &mut *part.core.with_mut(|core| core) }
    }

    fn limit(&self, pwq: usize) -> &LimitCell<usize> {
        &self.parts.limits[self.parts.pwqs[pwq].limit]
    }

    fn hold(&mut self, pwq: usize) {
        self.parts.pwqs[pwq].held.fetch_add(1, SeqCst);
    }

    fn step_budget(&mut self, _: impl Fn(Budget) -> Option<Budget>) -> bool {
        unreachable!("unmanaged pools use no budget");
    }

    fn budget(&mut self) -> Budget {
        unreachable!("nor do they look at it");
    }
}
