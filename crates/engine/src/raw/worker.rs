//! What an item can ask of its worker. Outside of items these calls do nothing.

use std::fmt;
use std::marker::PhantomData;

use cmwq_policy::attrs::Kind;

use crate::item::Header;
use crate::pool::Slot;
use crate::queue::pwq::name_of;
use crate::wait::this_worker;

/// Runs `wait`, which blocks: another worker may take the CPU meanwhile.
pub fn blocking<R>(wait: impl FnOnce() -> R) -> R {
    match this_worker::current() {
        Some(worker) => worker.blocking(wait),
        None => wait(),
    }
}

/// From now on the calling item blocks, until what this returns is dropped, on the same thread. For
/// a language that has no closures to hand over; otherwise [`blocking`] is hard to use wrongly.
pub fn hint() -> Option<impl Drop + 'static> {
    this_worker::current().map(this_worker::ThisWorker::hint)
}

/// The queue of the item that the calling thread executes, and the name of its function (kernel
/// `current_work`).
pub fn current_work() -> Option<(String, &'static str)> {
    let (pwq, key) = this_worker::current_pwq().zip(this_worker::current_key())?;
    Some((name_of(pwq).to_owned(), Header::name_of(key)))
}

/// The address of the header of the item that the calling thread executes, and the function that
/// it was made [with](Header::with_func), if it was (kernel `current_work`). The item may be gone:
/// it may free itself.
pub fn current_item() -> Option<(usize, Option<usize>)> {
    let key = this_worker::current_key()?;
    Some((key.addr as usize, Header::func_of(key)))
}

/// Items that find the same number here run one after the other: they share a limit of one, or the
/// pool of a BH queue. None: the calling item may run beside any other.
pub fn series() -> Option<usize> {
    // SAFETY: its queue keeps it while the calling item runs.
    let pwq = unsafe { this_worker::current_pwq()?.as_ref() };
    // SAFETY: as above.
    let kind = unsafe { pwq.queue().as_ref() }.made().kind;
    match kind {
        Kind::Bh => this_worker::current().map(|worker| worker.pool_address()),
        _ => pwq.series(),
    }
}

/// Whether anything waits for the slot or the worker of the calling item.
pub fn others_waiting() -> bool {
    this_worker::current()
        .is_some_and(|worker| this_worker::current_pwq().is_some() && worker.others_waiting())
}

/// What people are told of the calling item (kernel `set_worker_desc`).
pub fn describe(text: &str) {
    if let Some(worker) = this_worker::current() {
        worker.describe(text);
    }
}

/// Whether the calling thread executes an item.
pub fn is_current() -> bool {
    this_worker::current().is_some()
}

/// Whether the calling thread is a rescuer (kernel `current_is_workqueue_rescuer`).
pub fn is_rescuer() -> bool {
    this_worker::current().is_some_and(|worker| worker.is_rescuer())
}

/// Until the calling item ends, or another one is attached, the worker is as busy as this process
/// and its descendants; 0: as itself. What held before.
pub fn attach(pid: i32) -> i32 {
    this_worker::current().map_or(0, |worker| worker.attach(pid))
}

/// As [`attach`], until what this returns is dropped, on the same thread. Several may be dropped in
/// any order: of those that are left, the last one counts. One that outlives its item does nothing.
pub fn attached(pid: i32) -> Attached {
    let hold = |worker: this_worker::ThisWorker| (worker.slot, worker.slot.hold_attached(pid));
    Attached {
        held: this_worker::current().map(hold),
        not_send: PhantomData,
    }
}

/// While it lives, a process stands for the worker.
#[must_use = "the worker speaks for itself again when this is dropped"]
pub struct Attached {
    held: Option<(&'static Slot, u64)>,
    /// It is the worker's thread that may let it go.
    not_send: PhantomData<*const ()>,
}

impl Drop for Attached {
    fn drop(&mut self) {
        if let Some((slot, number)) = self.held {
            slot.let_attached_go(number);
        }
    }
}

impl fmt::Debug for Attached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attached").finish_non_exhaustive()
    }
}
