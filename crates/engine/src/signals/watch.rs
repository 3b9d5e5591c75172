//! What a canary does, whether it is a thread of a helper process or of this one.
//!
//! A helper has nothing of this process but code and the board. So nothing here, or called from
//! here, allocates, locks, panics, or uses the C library or thread-locals.

use cmwq_os::helper::inside;
use cmwq_policy::canary::{Canary, Confirm, LINGER_YIELDS, Settle};

use super::bell::Bell;
use super::board::Board;

/// One canary.
pub(crate) struct Watch<'a> {
    board: &'a Board,
    bell: &'a Bell,
    cpu: usize,
}

/// A thread of a helper that is pinned to this CPU.
pub(crate) extern "C" fn in_helper(board: *mut std::ffi::c_void, cpu: usize) -> ! {
    // SAFETY: the board that `Ground` has put there. The helper ends before it does.
    let board = unsafe { &*board.cast::<Board>() };
    let watch = Watch::new(board, cpu);
    watch.settle();
    loop {
        if watch.watch() {
            board.seat(cpu).relay.unpark();
        }
        watch.linger();
    }
}

impl<'a> Watch<'a> {
    pub(crate) fn new(board: &'a Board, cpu: usize) -> Self {
        let bell = &board.seat(cpu).bell;
        Watch { board, bell, cpu }
    }

    /// The calling thread has just become a canary: yields until that tells something of its CPU.
    pub(crate) fn settle(&self) {
        let mut settle = Settle::default();
        let mut before = inside::now();
        loop {
            inside::yield_now();
            let after = inside::now();
            if settle.yielded(after.saturating_sub(before)) {
                return;
            }
            before = after;
        }
    }

    /// While armed and wanted: true once it is alone on its CPU, and has taken the right to say so.
    pub(crate) fn watch(&self) -> bool {
        let mut confirm = Confirm::default();
        let mut before = inside::now();
        while self.is_on_duty() {
            inside::yield_now();
            let after = inside::now();
            if inside::current_cpu() != self.cpu {
                // Somebody outside has given all threads another mask (`taskset -ap`).
                confirm = Confirm::default();
                if !inside::pin(self.cpu) && self.bell.fire(&self.board.off_duty) {
                    // Nothing to report. A tick arms it again while its CPU is thought to be there.
                    return false;
                }
            } else if confirm.yielded(after.saturating_sub(before))
                && self.bell.fire(&self.board.off_duty)
            {
                return true;
            }
            before = after;
        }
        false
    }

    /// Yields a few times more, so that an arming which comes at once needs no wake-up; then parks.
    pub(crate) fn linger(&self) {
        let mut left = LINGER_YIELDS;
        while left > 0 {
            if self.is_on_duty() {
                return;
            }
            inside::yield_now();
            left -= 1;
        }
        let wanted = || self.board.anybody_wants();
        self.bell.park(&self.board.off_duty, wanted);
    }

    fn is_on_duty(&self) -> bool {
        self.bell.state() == Canary::Armed && self.board.anybody_wants()
    }
}
