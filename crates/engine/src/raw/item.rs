//! Items by their headers: whatever embeds one can be queued, cancelled, disabled and waited for.

use std::ptr::NonNull;

use cmwq_policy::contract::{self, Machine, Target, Until};
use cmwq_policy::pool::Waits;

use crate::engine::{self, Real};
use crate::error::{FlushError, WouldDeadlock};
use crate::item::Header;
use crate::queue::QueueRef;
use crate::queue::pwq::{PwqRef, queue_of, unhold};
use crate::report::{self, Report};
use crate::start;
use crate::wait::barrier::Barrier;
use crate::wait::this_worker;

/// An item of a face. Compares as its address does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawItem(NonNull<Header>);

/// What an item is doing. A hint: it may change at any time (kernel `work_busy`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Busy {
    /// Queued and not begun, or its timer is armed.
    pub pending: bool,
    /// Being executed.
    pub running: bool,
}

/// What a wait for an item is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    Flush,
    Cancel,
}

impl RawItem {
    /// The item with this header.
    ///
    /// # Safety
    /// The header stays valid and in place while this value or a copy of it is used. It also does
    /// while the item is queued: [`count`](crate::item::Vtable::count) counts the queue's
    /// reference. The item's function may run on any thread.
    pub unsafe fn new(header: NonNull<Header>) -> Self {
        RawItem(header)
    }

    /// Its header.
    pub fn header(self) -> NonNull<Header> {
        self.0
    }

    fn get<'a>(self) -> &'a Header {
        // SAFETY: it is valid, as the caller of `new` has promised.
        unsafe { self.0.as_ref() }
    }

    /// The name of its function, for people.
    pub fn name(self) -> &'static str {
        self.get().name()
    }

    /// Whether it is queued and has not begun, or its timer is armed. A hint.
    pub fn is_pending(self) -> bool {
        engine::existing().is_some_and(|engine| Real(engine).word(self.0).is_pending())
    }

    /// What it is doing. A hint.
    pub fn busy(self) -> Busy {
        let Some(engine) = engine::existing() else {
            return Busy::default();
        };
        let contract::Busy { pending, running } = contract::busy(&Real(engine), self.0);
        Busy { pending, running }
    }

    /// Why it has not begun; `None` if it is not pending. A hint.
    pub fn waits(self) -> Option<Waits> {
        contract::waits(&Real(engine::existing()?), self.0)
    }

    /// Whether the calling thread executes it.
    pub fn is_current(self) -> bool {
        this_worker::current_key() == Some(self.get().key())
    }

    /// Takes it off its queue, or disarms its timer (kernel `cancel_work`). True if it was pending:
    /// then that instance does not run.
    pub fn cancel(self) -> bool {
        engine::existing().is_some_and(|engine| contract::cancel(&Real(engine), self.0))
    }

    /// As [`cancel`](Self::cancel), and waits for an execution that has begun; whoever queues it
    /// meanwhile is refused (kernel `cancel_work_sync`).
    ///
    /// # Errors
    /// If it is called by the item itself, or by one that it waits for. It is cancelled then.
    pub fn cancel_sync(self) -> Result<bool, WouldDeadlock> {
        let Some(engine) = engine::existing() else {
            return Ok(false);
        };
        let m = Real(engine);
        let disabled = contract::disable(&m, self.0);
        let waited = self.wait_for_execution(Why::Cancel);
        if !disabled.overflow {
            contract::enable(&m, self.0);
        }
        waited.map(|_| disabled.was_pending)
    }

    /// Cancels it, and refuses to queue it until it is [enabled](Self::enable) as often (kernel
    /// `disable_work`): at most 65,535 times, more are reported and not counted. True if it was
    /// pending.
    pub fn disable(self) -> bool {
        let Ok(engine) = start::get() else {
            return false;
        };
        let disabled = contract::disable(&Real(engine), self.0);
        if disabled.overflow {
            report::say(&Report::DisableOverflow { item: self.name() });
        }
        disabled.was_pending
    }

    /// As [`disable`](Self::disable), and waits for an execution that has begun (kernel
    /// `disable_work_sync`).
    ///
    /// # Errors
    /// As [`cancel_sync`](Self::cancel_sync); it is disabled all the same.
    pub fn disable_sync(self) -> Result<bool, WouldDeadlock> {
        let was_pending = self.disable();
        self.wait_for_execution(Why::Cancel).map(|_| was_pending)
    }

    /// Takes one disable back (kernel `enable_work`). True if it can be queued now. Where it was
    /// not disabled that is reported, and nothing changes.
    pub fn enable(self) -> bool {
        let Ok(engine) = start::get() else {
            return false;
        };
        let enabled = contract::enable(&Real(engine), self.0);
        if enabled.underflow {
            report::say(&Report::EnableUnderflow { item: self.name() });
        }
        enabled.enabled
    }

    /// Waits until the instance that was queued last has ended: the pending one, or else the one
    /// that runs (kernel `flush_work`). True if there was something to wait for. Not for a timer.
    ///
    /// # Errors
    /// If it is called by the item itself or by one that it waits for, or where nobody could ever
    /// do what is waited for.
    pub fn flush(self) -> Result<bool, FlushError> {
        self.wait_for_execution(Why::Flush)
            .map_err(FlushError::WouldDeadlock)
    }

    /// If its timer is armed, queues it at once; then as [`flush`](Self::flush) (kernel
    /// `flush_delayed_work`). True if it was armed, or if there was something to wait for.
    ///
    /// # Errors
    /// As `flush`.
    pub fn flush_delayed(self) -> Result<bool, FlushError> {
        let Some(engine) = engine::existing() else {
            return Ok(false);
        };
        let (m, mut was_armed) = (Real(engine), false);
        let waited = self.wait_barrier(Why::Flush, |barrier| {
            // It may end before the barrier is there.
            // SAFETY: the timer's reference to the queue is ours until it has been dealt with.
            let admits = |queue: QueueRef| unsafe { queue.as_ref() }.admits_here();
            was_armed = contract::hurry(&m, self.0, admits);
            contract::flush_item(&m, self.0, barrier)
        });
        let waited = waited.map_err(FlushError::WouldDeadlock)?;
        Ok(waited || was_armed)
    }

    fn wait_for_execution(self, why: Why) -> Result<bool, WouldDeadlock> {
        let Some(engine) = engine::existing() else {
            return Ok(false);
        };
        let insert = |barrier| contract::flush_item(&Real(engine), self.0, barrier);
        self.wait_barrier(why, insert)
    }

    /// Puts a barrier somewhere and waits for it. False if there was nothing to wait for.
    fn wait_barrier(
        self,
        why: Why,
        insert: impl FnOnce(NonNull<Header>) -> Option<PwqRef>,
    ) -> Result<bool, WouldDeadlock> {
        if self.is_current() {
            return Err(this_worker::waits_for_itself());
        }
        let barrier = Barrier::new();
        let Some(pwq) = insert(barrier.work()) else {
            return Ok(false);
        };
        let _held = Held(pwq);
        // SAFETY: the queue is held.
        let queue = unsafe { queue_of(pwq).as_ref() };
        if why == Why::Flush {
            queue.check_dependency();
        }
        let target = Target::Barrier {
            barrier: barrier.work(),
            item: self.0,
        };
        queue.wait_latch(
            pwq,
            barrier.latch(),
            Some(self.name()),
            (Until::All, &[target]),
        )?;
        Ok(true)
    }
}

/// A pwq whose queue was kept for us.
struct Held(PwqRef);

impl Drop for Held {
    fn drop(&mut self) {
        unhold(self.0);
    }
}
