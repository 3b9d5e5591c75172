//! What has to come out right: tickets for closures and values, and what goes wrong.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

static PROGRESS: AtomicU64 = AtomicU64::new(0);
static FAILED: AtomicBool = AtomicBool::new(false);
static STOPPED: AtomicBool = AtomicBool::new(false);
static OPEN: Mutex<Vec<Arc<Ticket>>> = Mutex::new(Vec::new());

/// Something was done: the process does not hang.
pub(crate) fn step() {
    PROGRESS.fetch_add(1, SeqCst);
}

/// How much was done.
pub(crate) fn progress() -> u64 {
    PROGRESS.load(SeqCst)
}

/// Writes without a lock: a thread that holds that of standard error may not exist in a forked
/// child.
pub(crate) fn say(text: &str) {
    let line = format!("{text}\n");
    // SAFETY: the buffer lives. What is not written is lost.
    unsafe { libc::write(2, line.as_ptr().cast(), line.len()) };
}

/// Something is wrong. Said at once, as the process may not come to its end.
pub fn fail(what: &str) {
    // Not in the words of a test runner: in its own tests they would end up in its lines.
    say(&format!("soak: wrong: {what}"));
    FAILED.store(true, SeqCst);
}

/// Whether something was wrong.
pub fn has_failed() -> bool {
    FAILED.load(SeqCst)
}

/// Rooms begin nothing more.
pub(crate) fn stop() {
    STOPPED.store(true, SeqCst);
}

/// Whether rooms are to end.
pub(crate) fn is_over() -> bool {
    STOPPED.load(SeqCst) || has_failed()
}

fn open() -> MutexGuard<'static, Vec<Arc<Ticket>>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Made and dropped values of one kind.
#[derive(Debug, Default)]
pub(crate) struct Count {
    made: AtomicU32,
    dropped: AtomicU32,
}

impl Count {
    pub(crate) fn make(&self) {
        self.made.fetch_add(1, SeqCst);
    }

    /// False: more were dropped than made.
    pub(crate) fn dropped(&self) -> bool {
        self.dropped.fetch_add(1, SeqCst) < self.made.load(SeqCst)
    }

    fn left(&self) -> i64 {
        i64::from(self.made.load(SeqCst)) - i64::from(self.dropped.load(SeqCst))
    }
}

/// What belongs to a closure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// It is captured by the closure.
    Captured,
    /// The closure has returned it, or it is what an item carries.
    Returned,
    /// The closure has panicked with it. Whoever catches a payload may forget it.
    Payload,
}

/// The books of one closure that was handed over.
#[derive(Debug, Default)]
pub(crate) struct Ticket {
    what: String,
    /// It may also have been refused, or cancelled.
    may_not_run: AtomicBool,
    /// Somebody has forgotten a handle: what the closure returned may never be dropped.
    may_leak: AtomicBool,
    runs: AtomicU32,
    /// What became of its handle, for people.
    handle: AtomicU32,
    counts: [Count; 3],
}

impl Ticket {
    pub(crate) fn new(what: impl Into<String>) -> Arc<Self> {
        let ticket = Arc::new(Ticket {
            what: what.into(),
            ..Ticket::default()
        });
        open().push(ticket.clone());
        ticket
    }

    pub(crate) fn count(&self, part: Part) -> &Count {
        &self.counts[part as usize]
    }

    pub(crate) fn may_not_run(&self) {
        self.may_not_run.store(true, SeqCst);
    }

    pub(crate) fn may_leak(&self) {
        self.may_leak.store(true, SeqCst);
    }

    /// Its handle is about to be made (1), is there (2), or is gone (3).
    pub(crate) fn handle(&self, stage: u32) {
        self.handle.store(stage, SeqCst);
    }

    /// The closure begins.
    pub(crate) fn runs(&self) {
        step();
        if self.runs.fetch_add(1, SeqCst) > 0 {
            fail(&format!("{} runs a second time", self.what));
        }
    }

    pub(crate) fn dropped(&self, part: Part) {
        step();
        if !self.count(part).dropped() {
            fail(&format!("{part:?} of {} is dropped twice", self.what));
        }
    }

    fn is_balanced(&self) -> bool {
        let runs = self.runs.load(SeqCst);
        let ran = runs == 1 || runs == 0 && self.may_not_run.load(SeqCst);
        let gone = |part| self.count(part).left() == 0;
        let leaks = self.may_leak.load(SeqCst);
        ran && gone(Part::Captured) && (leaks || gone(Part::Returned))
    }
}

/// Forgets the tickets that are balanced: how many are left.
pub(crate) fn prune() -> usize {
    let mut open = open();
    // A ticket that somebody still has may become unbalanced again.
    open.retain(|ticket| Arc::strong_count(ticket) > 1 || !ticket.is_balanced());
    open.iter().filter(|ticket| !ticket.is_balanced()).count()
}

/// The first of those that are not balanced.
pub(crate) fn unbalanced() -> Vec<String> {
    let open = open();
    let unbalanced = open.iter().filter(|ticket| !ticket.is_balanced());
    unbalanced
        .take(10)
        .map(|ticket| format!("{ticket:?}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_balanced_when_all_has_happened_once() {
        let ticket = Ticket::default();
        assert!(!ticket.is_balanced(), "it has not run");
        ticket.may_not_run();
        assert!(ticket.is_balanced());
        ticket.count(Part::Captured).make();
        assert!(!ticket.is_balanced(), "what it captured is there");
        ticket.dropped(Part::Captured);
        ticket.count(Part::Returned).make();
        assert!(!ticket.is_balanced(), "what it returned is there");
        ticket.may_leak();
        assert!(ticket.is_balanced());
        assert!(ticket.count(Part::Returned).dropped());
        assert!(!ticket.count(Part::Returned).dropped(), "twice");
    }

    #[test]
    fn what_happens_twice_is_a_failure() {
        let ticket = Ticket::default();
        ticket.runs();
        assert!(ticket.is_balanced());
        ticket.runs();
        assert!(!ticket.is_balanced() && has_failed());
    }
}
