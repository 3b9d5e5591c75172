//! A queue as a whole: flushed, drained, limited, changed, frozen.

use alloc::vec::Vec;

use super::{Machine, PwqOf};
use crate::attrs::Spread;
use crate::colours::Flush;
use crate::pool::{Cx, WorkerPool};
use crate::probe::{broken, hit};
use crate::pwq::clamp_max_active;
use crate::queue::{Attrs, Kind, Queue};
use crate::store::Store;

/// A flush of one pool workqueue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PwqFlush<P> {
    /// Which one.
    pub pwq: P,
    /// Its pool.
    pub pool: u32,
    /// What it waits for; `None`: it has found all colours in use and asks again.
    pub(super) ticket: Option<u64>,
}

impl<P> PwqFlush<P> {
    /// Of everything in flight, of whatever is queued on too.
    pub fn of_all(pwq: P, pool: u32) -> Self {
        let ticket = None;
        PwqFlush { pwq, pool, ticket }
    }
}

/// Starts a flush of everything queued so far; the parts of it that are not over.
pub fn begin_flush<M: Machine>(m: &M, queue: M::Queue) -> Vec<PwqFlush<PwqOf<M>>> {
    let mut parts = Vec::new();
    for pwq in m.with_queue(queue, |q| q.pwqs()) {
        let mut part = PwqFlush {
            pwq,
            pool: m.info(pwq).pool,
            ticket: None,
        };
        if !m.with_pool(part.pool, |core, cx| flush_step(core, cx, &mut part)) {
            parts.push(part);
        }
    }
    parts
}

/// One look of a flusher at one part, in that part's pool: takes its ticket first, then asks
/// whether it is done.
pub fn flush_step<S: Store>(
    core: &mut WorkerPool<S>,
    cx: &mut Cx<S>,
    part: &mut PwqFlush<S::Pwq>,
) -> bool {
    if part.ticket.is_none() {
        match core.begin_flush(cx, part.pwq) {
            Flush::Done => return true,
            Flush::Full => return false,
            Flush::Wait(new) => part.ticket = Some(new),
        }
    }
    core.is_flushed(cx, part.pwq, part.ticket.expect("taken above"))
}

/// Whether nothing of the queue is in flight. Its items may queue on from one pool to another, so
/// one look at each pool in turn may miss them. Two such looks count if nothing was queued between
/// them.
pub fn is_drained<M: Machine>(m: &M, queue: M::Queue) -> bool {
    let first = nr_queued_if_empty(m, queue);
    first.is_some() && first == nr_queued_if_empty(m, queue)
}

/// How many items were ever queued, if each pool workqueue was found empty.
fn nr_queued_if_empty<M: Machine>(m: &M, queue: M::Queue) -> Option<u64> {
    let pwqs = m.with_queue(queue, |q| q.pwqs());
    let counts = pwqs.into_iter().map(|pwq| {
        m.with_pool(m.info(pwq).pool, |_, cx| {
            let state = cx.store.pwq(pwq);
            let forgets = broken!(DrainedEarly) && state.nr_active() == 0;
            (state.nr_in_flight() == 0 || forgets).then_some(state.nr_queued())
        })
    });
    counts.sum()
}

/// Whether items of the queue hold slots: of a frozen queue, those that were begun before.
pub(super) fn is_active<M: Machine>(m: &M, queue: M::Queue) -> bool {
    let pwqs = m.with_queue(queue, |q| q.pwqs());
    pwqs.into_iter().any(|pwq| {
        let pool = m.info(pwq).pool;
        m.with_pool(pool, |_, cx| cx.store.pwq(pwq).nr_active() > 0)
    })
}

/// It may be the turn of this pool workqueue to have a slot: `Activate` was said.
pub fn activate<M: Machine>(m: &M, pwq: PwqOf<M>) {
    m.activate(m.info(pwq).pool, pwq);
}

/// Changes the limit, clamped to what limits may be. False, and nothing is changed, for queues
/// whose kind is their limit.
pub fn set_max_active<M: Machine>(m: &M, queue: M::Queue, max_active: u32) -> bool {
    m.with_queue(queue, |q| {
        let settable = q.made().kind.has_limit();
        if settable {
            respread(m, queue, q, |q| {
                q.set_max_active(clamp_max_active(max_active));
                apply_max(m, queue, q);
            });
        }
        settable
    })
}

/// Changes what each node is granted at least, up to the limit. False for queues that are not
/// limited by node.
pub fn set_min_active<M: Machine>(m: &M, queue: M::Queue, min_active: u32) -> bool {
    m.with_queue(queue, |q| {
        let settable = q.made().kind.is_limited_by_node();
        if settable {
            q.set_min_active(min_active);
            apply_limit(m, q);
        }
        settable
    })
}

/// From now on new items wait; what is active goes on to its end.
pub fn freeze<M: Machine>(m: &M, queue: M::Queue) {
    set_frozen(m, queue, true);
}

/// Items go on.
pub fn thaw<M: Machine>(m: &M, queue: M::Queue) {
    set_frozen(m, queue, false);
}

fn set_frozen<M: Machine>(m: &M, queue: M::Queue, frozen: bool) {
    m.with_queue(queue, |q| {
        q.set_frozen(frozen);
        apply_limit(m, q);
    });
}

/// Gives all pool workqueues their parts of a new `max_active`. Items of a queue whose limit is one
/// are left in one tray: that is said first, so that pools then take in what lies in others.
pub(super) fn apply_max<M: Machine>(m: &M, queue: M::Queue, q: &mut Queue<PwqOf<M>>) {
    let one = q.is_one_at_a_time();
    if one {
        m.one_at_a_time(queue, true);
    }
    apply_limit(m, q);
    if !one {
        m.one_at_a_time(queue, false);
    }
}

pub(super) fn apply_limit<M: Machine>(m: &M, q: &mut Queue<PwqOf<M>>) {
    for pwq in q.pwqs() {
        limit(m, q, pwq);
    }
}

/// Gives a pool workqueue its part of the limit of its queue, which the caller holds.
pub fn limit<M: Machine>(m: &M, q: &Queue<PwqOf<M>>, pwq: PwqOf<M>) {
    let info = m.info(pwq);
    let max = match q.effective_max() {
        max if max == 0 || q.made().kind.is_per_cpu() => max,
        max => m.share(&q.attrs(), info.node, max, q.min_active()),
    };
    let may_rise = q.may_rise();
    m.with_pool(info.pool, |core, cx| {
        core.let_limit_rise(cx, pwq, may_rise);
        core.set_limit(cx, pwq, max);
    });
}

/// Changes the attributes. New items go by the new ones; old ones end where they are, and come
/// first on an ordered queue. False, and nothing is changed, for per-CPU queues (kernel: unbound
/// only).
pub fn apply_attrs<M: Machine>(m: &M, queue: M::Queue, attrs: Attrs) -> Result<bool, M::NoPool> {
    m.with_queue(queue, |q| {
        if q.made().kind.is_per_cpu() {
            return Ok(false);
        }
        fit(m, queue, q, attrs)?;
        Ok(true)
    })
}

/// `Spread` was said of a pool workqueue of this queue, which is not per CPU.
pub fn spread<M: Machine>(m: &M, queue: M::Queue) {
    m.with_queue(queue, |q| respread(m, queue, q, Queue::spread_out));
}

/// `Gather` was said.
pub fn gather<M: Machine>(m: &M, queue: M::Queue) {
    m.with_queue(queue, |q| respread(m, queue, q, Queue::gather));
}

/// After this change new items may go elsewhere. Where there is no pool the queue stays where it
/// is, until the next change.
fn respread<M: Machine>(
    m: &M,
    queue: M::Queue,
    q: &mut Queue<PwqOf<M>>,
    change: impl FnOnce(&mut Queue<PwqOf<M>>),
) {
    change(q);
    if q.spread() != q.routed() && fit(m, queue, q, q.attrs()).is_ok() {
        hit!(q.spread() == Spread::Shards => QueueSpread, QueueGathered);
    }
}

/// What decides where queues go has changed: CPUs have come or gone, or what holds for all queues.
/// Nothing is changed if there is no pool; nor for per-CPU queues.
pub fn refit<M: Machine>(m: &M, queue: M::Queue) -> Result<(), M::NoPool> {
    m.with_queue(queue, |q| match q.made().kind.is_per_cpu() {
        true => Ok(()),
        false => fit(m, queue, q, q.attrs()),
    })
}

fn fit<M: Machine>(
    m: &M,
    queue: M::Queue,
    q: &mut Queue<PwqOf<M>>,
    attrs: Attrs,
) -> Result<(), M::NoPool> {
    let cpus = m.routed(queue);
    // All of them or none: whatever can fail comes first.
    let spread = q.spread();
    let pools = cpus
        .iter()
        .map(|cpu| m.pool_for(queue, &attrs, spread, cpu));
    let pools = pools.collect::<Result<Vec<u32>, _>>()?;
    q.set_attrs(attrs);
    q.set_routed();
    m.route_by(queue, &attrs, spread);
    for (cpu, pool) in cpus.iter().zip(pools) {
        move_to(m, queue, q, cpu, pool);
    }
    apply_limit(m, q);
    Ok(())
}

/// The queue is new, and not per CPU: it has its first pool workqueue from now on.
pub fn first_pwq<M: Machine>(m: &M, queue: M::Queue) -> Result<(), M::NoPool> {
    m.with_queue(queue, |q| {
        q.set_routed();
        m.route_by(queue, &q.attrs(), q.spread());
    });
    pwq_for(m, queue, 0).map(drop)
}

/// The pool workqueue for a CPU of this queue, which is not per CPU: made now if nothing was
/// published for it. Where there is no pool for it, what the queue has for another CPU.
pub fn pwq_for<M: Machine>(m: &M, queue: M::Queue, cpu: usize) -> Result<PwqOf<M>, M::NoPool> {
    m.with_queue(queue, |q| {
        if let Some(there) = m.routed_to(queue, cpu) {
            return Ok(there);
        }
        match m.pool_for(queue, &q.attrs(), q.spread(), cpu) {
            Ok(pool) => Ok(publish(m, queue, q, cpu, pool, false)),
            Err(no_pool) => {
                let other = m.routed(queue).iter().next();
                other.and_then(|cpu| m.routed_to(queue, cpu)).ok_or(no_pool)
            }
        }
    })
}

fn move_to<M: Machine>(m: &M, queue: M::Queue, q: &mut Queue<PwqOf<M>>, cpu: usize, pool: u32) {
    let old = m.routed_to(queue, cpu).expect("it is routed");
    if m.info(old).pool == pool {
        return;
    }
    // The new one is plugged, of an ordered queue, until everything older has ended.
    publish(m, queue, q, cpu, pool, q.made().kind == Kind::Ordered);
    let routed = m.routed(queue);
    let is_used = routed.iter().any(|c| m.routed_to(queue, c) == Some(old));
    if !is_used && m.with_pool(m.info(old).pool, |core, cx| core.retire_pwq(cx, old)) {
        retire(m, q, old);
    }
}

/// Items of this CPU go to this pool from now on: through what others of the pod use, where they
/// share, or what was used before, or something new.
fn publish<M: Machine>(
    m: &M,
    queue: M::Queue,
    q: &mut Queue<PwqOf<M>>,
    cpu: usize,
    pool: u32,
    plugged: bool,
) -> PwqOf<M> {
    let pwq = match shared(m, queue, q, pool) {
        Some(pwq) => pwq,
        None => {
            let pwq = make(m, queue, q, pool, plugged);
            q.add(pwq);
            limit(m, q, pwq);
            pwq
        }
    };
    m.publish(queue, cpu, pwq);
    pwq
}

fn shared<M: Machine>(m: &M, queue: M::Queue, q: &Queue<PwqOf<M>>, pool: u32) -> Option<PwqOf<M>> {
    let routed = m.routed(queue);
    let mut pwqs = routed.iter().filter_map(|cpu| m.routed_to(queue, cpu));
    let found = pwqs.find(|&pwq| m.info(pwq).pool == pool);
    found.filter(|_| q.made().kind.shares_pwq())
}

fn make<M: Machine>(
    m: &M,
    queue: M::Queue,
    q: &mut Queue<PwqOf<M>>,
    pool: u32,
    plugged: bool,
) -> PwqOf<M> {
    let spare = q.take_spare(|spare| m.info(spare).pool == pool);
    match spare {
        Some(spare) => {
            m.with_pool(pool, |core, cx| core.reuse_pwq(cx, spare, plugged));
            spare
        }
        None => m.new_pwq(queue, q, pool, plugged),
    }
}

/// `Emptied` was said: nothing is in flight of a pool workqueue that is not used any more.
pub fn pwq_emptied<M: Machine>(m: &M, queue: M::Queue, pwq: PwqOf<M>) {
    m.with_queue(queue, |q| {
        let pool = m.info(pwq).pool;
        // A self-requeueing item may have come back to it, or it may be in use again.
        let unused = m.with_pool(pool, |core, cx| core.is_retired_and_empty(cx, pwq));
        if unused {
            retire(m, q, pwq);
        }
    });
}

fn retire<M: Machine>(m: &M, q: &mut Queue<PwqOf<M>>, pwq: PwqOf<M>) {
    q.emptied(pwq);
    if let Some(oldest) = q.oldest() {
        m.with_pool(m.info(oldest).pool, |core, cx| {
            if cx.store.pwq(oldest).is_plugged() {
                core.unplug(cx, oldest);
            }
        });
    }
}

/// Whether items wait for a slot; of a per-CPU queue, on this CPU or the caller's.
pub fn is_congested<M: Machine>(m: &M, queue: M::Queue, cpu: Option<usize>) -> bool {
    let pwq = m.route(queue, cpu);
    m.with_pool(m.info(pwq).pool, |_, cx| {
        cx.store.pwq(pwq).nr_inactive() > 0
    })
}
