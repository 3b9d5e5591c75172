//! Items with a timer. While it is armed, the item is pending and belongs to the timer.

use super::items::{Grab, enqueue, flush_item, grab, let_go, pend, settled};
use super::{Armed, Machine, PwqOf, WorkOf};
use crate::probe::{broken, hit};
use crate::queue::Refused;
use crate::time::{Nanos, Time};
use crate::work::NotPended;

/// Queues an item after `delay`; at once, without a timer, if that is 0. A pending one stays as it
/// is.
pub fn queue_delayed<M: Machine>(
    m: &M,
    queue: M::Queue,
    cpu: Option<usize>,
    work: WorkOf<M>,
    delay: Nanos,
) -> Result<(), NotPended> {
    pend(m, work)?;
    arm(m, Armed { work, queue, cpu }, delay);
    Ok(())
}

/// Queues an item after `delay` from now, whatever was planned before. True if it was pending.
/// `None`: it is disabled, and stays as it is.
pub fn mod_delayed<M: Machine>(
    m: &M,
    queue: M::Queue,
    cpu: Option<usize>,
    work: WorkOf<M>,
    delay: Nanos,
) -> Option<bool> {
    let grab = grab(m, work)?;
    if grab == Grab::Idle {
        m.retain(work);
    }
    arm(m, Armed { work, queue, cpu }, delay);
    Some(grab == Grab::Stolen)
}

fn arm<M: Machine>(m: &M, armed: Armed<M>, delay: Nanos) {
    let Armed { work, queue, cpu } = armed;
    if delay == 0 {
        enqueue(m, queue, cpu, work);
        return;
    }
    m.retain_queue(queue);
    let at = m.now().after(delay);
    let (addr, id) = (m.key(work).addr, m.queue_info(queue).id);
    m.with_timers(|timers| timers.arm(addr, id, at, armed));
    m.timer_armed(at);
}

/// Takes one item whose time has come; true if there was one. It is queued, or dropped where
/// `admits` refuses: a timer is no item of the queue, and may fire into a drain.
pub fn expire<M: Machine>(
    m: &M,
    now: Time,
    admits: impl FnOnce(M::Queue) -> Result<(), Refused>,
) -> bool {
    let Some((_, armed)) = m.with_timers(|timers| timers.pop_expired(now)) else {
        return false;
    };
    let Armed { work, queue, cpu } = armed;
    let admitted = admits(queue);
    match admitted {
        Ok(()) if broken!(TimerDropsItem) => let_go(m, work),
        Ok(()) => {
            enqueue(m, queue, cpu, work);
            m.timer_has_queued(queue);
        }
        Err(_) => drop_expired(m, queue, work),
    }
    m.release_queue(queue);
    true
}

/// An item that was armed cannot be queued any more (kernel: `WARN` in `__queue_work`).
fn drop_expired<M: Machine>(m: &M, queue: M::Queue, work: WorkOf<M>) {
    m.timer_dropped(queue);
    let_go(m, work);
}

/// Queues an armed item at once, then [flushes it](flush_item) like any other.
pub fn flush_delayed<M: Machine>(
    m: &M,
    work: WorkOf<M>,
    barrier: WorkOf<M>,
    admits: impl FnOnce(M::Queue) -> Result<(), Refused>,
) -> Option<PwqOf<M>> {
    hurry(m, work, admits);
    flush_item(m, work, barrier)
}

/// Queues an armed item at once, as if its time had come; true if that was done. It is dropped
/// where `admits` refuses, which is asked whether the caller may queue.
pub fn hurry<M: Machine>(
    m: &M,
    work: WorkOf<M>,
    admits: impl FnOnce(M::Queue) -> Result<(), Refused>,
) -> bool {
    let addr = m.key(work).addr;
    // Somebody may be about to arm it.
    settled(m, work);
    let armed = m.with_timers(|timers| timers.disarm(addr));
    hit!(TimerHurried if armed.is_some());
    let Some(Armed { work, queue, cpu }) = armed else {
        return false;
    };
    let admitted = admits(queue);
    match admitted {
        Ok(()) => {
            enqueue(m, queue, cpu, work);
            m.timer_has_queued(queue);
        }
        Err(_) => drop_expired(m, queue, work),
    }
    m.release_queue(queue);
    admitted.is_ok()
}

/// Disarms all items that are armed for this queue, which admits no others any more. How many.
pub fn cancel_timers<M: Machine>(m: &M, queue: M::Queue) -> usize {
    let id = m.queue_info(queue).id;
    let take = || m.with_timers(|timers| timers.disarm_group(id));
    core::iter::from_fn(take)
        .map(|(_, armed)| {
            let_go(m, armed.work);
            m.release_queue(armed.queue);
        })
        .count()
}
