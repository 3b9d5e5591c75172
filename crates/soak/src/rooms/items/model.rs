//! What is expected of one item, beside the item and with no lock in common with it.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64};

type Count = AtomicU64;

pub(crate) fn add(count: &Count, yes: bool) {
    count.fetch_add(u64::from(yes), SeqCst);
}

/// The books of one item. They outlive it.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) id: usize,
    /// It is being executed.
    pub(crate) inside: AtomicBool,
    pub(crate) begun: Count,
    /// Executions, counted with a load and a store: an overlapping execution, or one that does not
    /// see what the last one stored, loses one.
    pub(crate) plain: Count,
    /// Calls that may queue it, its own among them, before they are made.
    pub(crate) tried: Count,
    /// Calls that said that they queued it.
    pub(crate) queued: Count,
    /// Instances whose timer a drain or the end of its queue may have dropped.
    pub(crate) perishable: Count,
    /// Calls that said that they took a pending instance away.
    pub(crate) taken: Count,
    /// Calls that may queue it, but for its own: before, and after.
    pub(crate) attempts: Window,
    /// Calls that may take it away or refuse it to others: before, and after; of a disable, after
    /// the enable.
    pub(crate) thefts: Window,
    /// `disable_sync` has returned, and the enable is not called yet: so many times.
    pub(crate) forbidden: AtomicI64,
    /// Raised before it is queued.
    pub(crate) version: Count,
    /// The version that the last execution saw when it began; told when it ended.
    pub(crate) seen: Count,
    /// How often it may still queue itself.
    pub(crate) fuel: Count,
    pub(crate) dropped: AtomicBool,
}

/// How often an item may queue itself: everything ends.
const FUEL: u64 = 200;

impl Tally {
    pub(crate) fn new(id: usize) -> Self {
        Tally {
            id,
            fuel: FUEL.into(),
            ..Tally::default()
        }
    }

    /// Not even by `cancel_sync`, for a moment.
    pub(crate) fn is_never_disabled(&self) -> bool {
        self.id.is_multiple_of(3)
    }

    /// Whether it may queue itself once more.
    pub(crate) fn take_fuel(&self) -> bool {
        let less = |fuel: u64| fuel.checked_sub(1);
        self.fuel.fetch_update(SeqCst, SeqCst, less).is_ok()
    }

    /// What is wrong with the sums, once it is idle.
    pub(crate) fn unbalanced(&self) -> Option<String> {
        let [begun, plain, queued, taken] =
            [&self.begun, &self.plain, &self.queued, &self.taken].map(|count| count.load(SeqCst));
        let least = queued.saturating_sub(self.perishable.load(SeqCst));
        let ended = begun + taken;
        if plain != begun {
            return Some(format!("{plain} executions saw the one before, of {begun}"));
        }
        let lost_or_doubled = ended < least || ended > queued;
        lost_or_doubled.then(|| {
            format!("{begun} executions and {taken} cancelled of {least} to {queued} queued")
        })
    }
}

/// What an item carries.
pub(crate) struct Item {
    pub(crate) tally: Arc<Tally>,
    /// Which numbers its executions use.
    pub(crate) rng: AtomicU64,
}

impl Drop for Item {
    fn drop(&mut self) {
        self.tally.dropped.store(true, SeqCst);
    }
}

/// Something that goes on between two counts.
#[derive(Debug, Default)]
pub(crate) struct Window {
    begun: Count,
    ended: Count,
}

impl Window {
    pub(crate) fn open(&self) {
        self.begun.fetch_add(1, SeqCst);
    }

    pub(crate) fn close(&self) {
        self.ended.fetch_add(1, SeqCst);
    }

    pub(crate) fn during<R>(&self, call: impl FnOnce() -> R) -> R {
        self.open();
        let result = call();
        self.close();
        result
    }

    pub(crate) fn begun(&self) -> u64 {
        self.begun.load(SeqCst)
    }

    /// How many there were, if none goes on.
    pub(crate) fn shut(&self) -> Option<u64> {
        // The ends first: every end that is seen then has its beginning counted.
        let ended = self.ended.load(SeqCst);
        (self.begun() == ended).then_some(ended)
    }
}

/// How often each check found nobody in its way, and so was one.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    pub(crate) idle_after_cancel: Count,
    pub(crate) done_after_flush: Count,
    pub(crate) done_after_queue_flush: Count,
    pub(crate) while_forbidden: Count,
    pub(crate) in_order: Count,
    pub(crate) joined: Count,
}

impl Checks {
    pub(crate) fn all(&self) -> [u64; 6] {
        [
            &self.idle_after_cancel,
            &self.done_after_flush,
            &self.done_after_queue_flush,
            &self.while_forbidden,
            &self.in_order,
            &self.joined,
        ]
        .map(|count| count.load(SeqCst))
    }
}
