//! Queues behind their pointers.
//!
//! | pointer | is |
//! | --- | --- |
//! | 0 | NULL |
//! | 1 to 63 | a system queue by its number, made at first use in each process |
//! | others | a [`Queue`] that `cmwq_queue_create` has returned |
//!
//! A destroyed queue's memory stays a [`Queue`] for ever, so a stale pointer is noticed. It may
//! become another queue after [`QUARANTINE`] others were destroyed; never under `CMWQ_CHECKED=1`.

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;

use cmwq_engine::error::BuildError;
use cmwq_engine::sync::Mutex;
use cmwq_engine::{Process, QueueSpec, RawQueue};
use cmwq_policy::pwq::MAX_ACTIVE_RANGE;
use cmwq_policy::queue::Kind;

use crate::errno::{EINVAL, ESHUTDOWN, Errno};
use crate::say::misuse;
use crate::{checked, mode};

/// In use.
const LIVE: u32 = 0x636d_7771;
/// Being destroyed: its own items may still queue.
const CLOSING: u32 = LIVE + 1;
/// Destroyed.
const DEAD: u32 = LIVE + 2;

/// How many destroyed queues are kept before the memory of the first is used again.
const QUARANTINE: usize = 1024;

/// What `struct cmwq_queue *` points to.
#[derive(Debug)]
pub(crate) struct Queue {
    state: AtomicU32,
    raw: UnsafeCell<Option<RawQueue>>,
}

/// A pointer to a queue, from the program.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueuePtr(*mut Queue);

/// What a destroyed queue has left.
#[derive(Default)]
struct Destroyed(Mutex<VecDeque<Address>>);

/// The address of a queue that is in nobody's hands.
struct Address(*mut Queue);

// SAFETY: whoever takes it out of the list is the only one to have it.
unsafe impl Send for Address {}

impl QueuePtr {
    /// Makes a queue.
    pub(crate) fn make(name: &str, spec: &QueueSpec) -> Result<QueuePtr, BuildError> {
        let process = Process::get().map_err(BuildError::System)?;
        let raw = RawQueue::make(process, name, spec)?;
        let queue = match reusable(process) {
            Some(Address(old)) => old,
            None => Box::into_raw(Box::new(Queue {
                state: AtomicU32::new(DEAD),
                raw: UnsafeCell::new(None),
            })),
        };
        // SAFETY: nobody else has it.
        let place = unsafe { &*queue };
        // SAFETY: as above.
        unsafe { *place.raw.get() = Some(raw) };
        place.state.store(LIVE, SeqCst);
        checked::queue_made(queue.addr(), name);
        Ok(QueuePtr(queue))
    }

    /// The queue, for a call of this name.
    ///
    /// # Errors
    /// What the call returns if there is none.
    #[inline]
    pub(crate) fn get(self, call: &str) -> Result<&'static RawQueue, c_int> {
        if self.0.addr() <= LAST {
            return system(self.0.addr(), call);
        }
        if mode::is_checked() {
            checked::queue(self.0.addr(), call);
        }
        if !self.0.is_aligned() {
            return Err(misuse(call, "the pointer is no queue"));
        }
        // SAFETY: the program says that it is a queue, or was one.
        let queue = unsafe { &*self.0 };
        match queue.state.load(SeqCst) {
            // SAFETY: while its state is one of these it is only read.
            LIVE | CLOSING => match unsafe { &*queue.raw.get() } {
                Some(raw) => Ok(raw),
                None => Err(EINVAL),
            },
            DEAD => {
                misuse(call, "the queue was destroyed");
                Err(ESHUTDOWN)
            }
            _ => Err(misuse(call, "the pointer is no queue")),
        }
    }

    /// Waits for all items and takes the queue away.
    pub(crate) fn destroy(self, call: &str) -> c_int {
        let raw = match self.get(call) {
            Ok(_) if self.0.addr() <= LAST => {
                return misuse(call, "system queues are not destroyed");
            }
            Ok(raw) => raw,
            Err(error) => return error,
        };
        // SAFETY: `get` has found it.
        let queue = unsafe { &*self.0 };
        let closing = queue.state.compare_exchange(LIVE, CLOSING, SeqCst, SeqCst);
        if closing.is_err() {
            let _ = misuse(call, "the queue is being destroyed already");
            return -ESHUTDOWN;
        }
        // Where waiting would never end, the last item ends the queue.
        let _ = raw.close(None);
        mode::waited();
        checked::queue_destroyed(self.0.addr());
        queue.state.store(DEAD, SeqCst);
        // SAFETY: the program uses it no more, but for its own items, which have ended.
        let raw = unsafe { (*queue.raw.get()).take() };
        drop(raw);
        if let Some(process) = Process::existing() {
            let destroyed = &process.state::<Destroyed>().0;
            let mut destroyed = destroyed.lock().expect("nobody panics with it");
            destroyed.push_back(Address(self.0));
        }
        0
    }
}

fn reusable(process: Process) -> Option<Address> {
    let destroyed = &process.state::<Destroyed>().0;
    let mut destroyed = destroyed.lock().expect("nobody panics with it");
    let enough = destroyed.len() > QUARANTINE && !mode::is_checked();
    enough.then(|| destroyed.pop_front()).flatten()
}

/// The largest pointer that means a system queue.
const LAST: usize = 63;

/// The system queues of one process, by number.
#[derive(Default)]
struct SystemQueues([OnceLock<RawQueue>; SYSTEM.len()]);

struct SystemQueue {
    name: &'static str,
    kind: Kind,
    highpri: bool,
    freezable: bool,
}

const fn of(name: &'static str, kind: Kind) -> SystemQueue {
    SystemQueue {
        name,
        kind,
        highpri: false,
        freezable: false,
    }
}

/// In the order of their numbers, from 1. The second half has the kernel's that are not among the
/// first: two names there are two queues.
const SYSTEM: [SystemQueue; 13] = [
    of("system", Kind::Managed),
    of("system_percpu", Kind::PerCpu),
    SystemQueue {
        highpri: true,
        ..of("system_highpri", Kind::PerCpu)
    },
    of("system_long", Kind::PerCpu),
    SystemQueue {
        freezable: true,
        ..of("system_freezable", Kind::PerCpu)
    },
    of("system_bh", Kind::Bh),
    SystemQueue {
        highpri: true,
        ..of("system_bh_highpri", Kind::Bh)
    },
    of("system_unmanaged", Kind::Unmanaged),
    of("events", Kind::PerCpu),
    of("events_unbound", Kind::Unmanaged),
    of("events_dfl_long", Kind::Unmanaged),
    of("events_power_efficient", Kind::PerCpu),
    SystemQueue {
        freezable: true,
        ..of("events_freezable_pwr_efficient", Kind::PerCpu)
    },
];

/// A system queue, or the error for a pointer that is none.
pub(crate) fn system(number: usize, call: &str) -> Result<&'static RawQueue, c_int> {
    let Some(index) = number.checked_sub(1).filter(|at| *at < SYSTEM.len()) else {
        let what = match number {
            0 => "the queue is NULL",
            _ => "the pointer is no queue",
        };
        return Err(checked::misuse(call, what));
    };
    let process = Process::get().map_err(|error| error.errno())?;
    let place = &process.state::<SystemQueues>().0[index];
    if let Some(queue) = place.get() {
        return Ok(queue);
    }
    let made = RawQueue::make(process, SYSTEM[index].name, &spec(&SYSTEM[index]));
    let made = made.map_err(|error| error.errno())?;
    Ok(place.get_or_init(|| made))
}

fn spec(of: &SystemQueue) -> QueueSpec {
    let unbound = of.kind == Kind::Unmanaged;
    QueueSpec {
        kind: of.kind,
        max_active: unbound.then_some(*MAX_ACTIVE_RANGE.end() as usize),
        highpri: of.highpri,
        freezable: of.freezable,
        ..QueueSpec::default()
    }
}
