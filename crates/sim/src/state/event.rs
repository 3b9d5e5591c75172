//! What will happen, and when.

use cmwq_policy::{Nanos, Time, WorkerId};

use crate::api::names::{DeviceId, LockId, PoolId};
use crate::cpu::ThreadId;
use crate::events::EventKey;
use crate::state::device::Request;

/// The time of what never happens.
pub(crate) const NEVER: Time = Time(Nanos::MAX);

#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// A sleep is over.
    Wake(ThreadId),
    /// Somebody has waited for something long enough: it is asked anyway.
    TimeOut,
    /// A call of this thread has waited for long enough.
    CallOver(ThreadId),
    /// The thread of this worker is there, or could not be made; this one has waited for it.
    Spawned(PoolId, WorkerId, Option<ThreadId>),
    /// Somebody looks at the pools with backlog.
    Tick,
    /// A pool wants to be looked at, beside that.
    Look(PoolId),
    /// A pool may have too many idle workers.
    Cull(PoolId),
    /// Items of a pool may have waited for a slot for too long.
    Starving(PoolId),
    /// An item's timer may have expired.
    Timers,
    /// A canary's report of this CPU, for this pool, arrives.
    Report(PoolId, usize),
    /// A waiter has spun at this lock for long enough.
    SpinOver(ThreadId, LockId),
    /// The device has served this request.
    IoDone(DeviceId, Request),
}

/// An event that is to come, and when.
pub(crate) type Armed = Option<(Time, EventKey)>;
