//! One item: queued, cancelled, disabled, flushed.

use super::{Machine, PwqOf, WorkOf};
use crate::pool::{Executing, Queueing};
use crate::probe::broken;
use crate::store::PwqInfo;
use crate::work::{MAX_DISABLE_DEPTH, NotPended, WorkWord};

/// Queues an item. The caller keeps its memory until this returns, the queue from then on.
///
/// A caller that is refused because the item is pending has written the word all the same. Each
/// read-modify-write passes on what came before it, and the execution begins with one. So the
/// execution sees what was stored before this call (kernel `test_and_set_bit` in `queue_work_on`).
pub fn queue<M: Machine>(
    m: &M,
    queue: M::Queue,
    cpu: Option<usize>,
    work: WorkOf<M>,
) -> Result<(), NotPended> {
    pend(m, work)?;
    enqueue(m, queue, cpu, work);
    Ok(())
}

/// Takes the right to queue the item, with a reference for the queue.
pub(super) fn pend<M: Machine>(m: &M, work: WorkOf<M>) -> Result<(), NotPended> {
    let before = m.step_word(work, |word| Some(word.try_pend().unwrap_or(word)));
    let before = before.unwrap_or_else(|word| word);
    let refused = before.try_pend().err();
    refused.map_or(Ok(()), Err)?;
    m.retain(work);
    Ok(())
}

/// Queues an item that the caller owns. It may be gone when this returns. Returns where it went.
#[inline]
pub fn enqueue<M: Machine>(
    m: &M,
    queue: M::Queue,
    cpu: Option<usize>,
    work: WorkOf<M>,
) -> PwqOf<M> {
    let last = m.word(work).pool();
    m.queueing(queue, cpu, work);
    loop {
        let pwq = m.route(queue, cpu);
        let pool = m.info(pwq).pool;
        let running = last
            .filter(|&last| last != pool)
            .filter(|_| !broken!(ReentrantAcrossPools))
            .and_then(|last| executing(m, last, work));
        let how = Queueing {
            home: m.home(pwq, cpu),
            ..Queueing::default()
        };
        match running {
            None => {
                if m.leave(queue, work, pwq, how.home) || insert(m, pwq, work, how) {
                    return pwq;
                }
            }
            Some(running) if redirects(m, queue, running) => {
                let how = Queueing {
                    redirected: true,
                    ..how
                };
                // Refused if that has ended, and was the last one of a retired pwq.
                if insert(m, running.pwq, work, how) {
                    return running.pwq;
                }
            }
            Some(running) => {
                if defer(m, pwq, work, running, how) {
                    return pwq;
                }
            }
        }
    }
}

/// Does the item go where it is being executed? Not to another queue's pool workqueue; and not past
/// the newest one of an ordered queue, whose order keeps it from running twice (kernel 6.12).
fn redirects<M: Machine>(m: &M, queue: M::Queue, running: Executing<PwqOf<M>>) -> bool {
    let info = m.queue_info(queue);
    running.queue == info.id && !info.ordered
}

fn executing<M: Machine>(m: &M, pool: u32, work: WorkOf<M>) -> Option<Executing<PwqOf<M>>> {
    let key = m.key(work);
    m.with_pool(pool, |core, cx| core.executing(cx, &key))
}

/// False if the attributes of the queue have changed in between.
fn insert<M: Machine>(m: &M, pwq: PwqOf<M>, work: WorkOf<M>, how: Queueing) -> bool {
    let pool = m.info(pwq).pool;
    m.with_pool(pool, |core, cx| core.queue(cx, work, pwq, how))
        .is_ok()
}

/// Queues an item that runs in another pool: it begins after that. False if the caller is to look
/// again.
///
/// The execution remembers one pool that it tells of its end, so only the item's owner may name it.
/// Once the item is queued, a thief may queue it elsewhere, and name that pool. The execution may
/// end before the item is there to be told. So it is asked again afterwards.
fn defer<M: Machine>(
    m: &M,
    pwq: PwqOf<M>,
    work: WorkOf<M>,
    running: Executing<PwqOf<M>>,
    how: Queueing,
) -> bool {
    let (PwqInfo { pool, queue, .. }, execution) = (m.info(pwq), running.execution);
    let how = Queueing {
        deferred: Some(execution),
        ..how
    };
    let named = m.with_pool(execution.pool, |core, _| {
        core.defer_behind(execution, pool, queue)
    });
    if !named || !insert(m, pwq, work, how) {
        return false;
    }
    // From here on the item may be anywhere: only the name of the execution is used.
    if !m.with_pool(execution.pool, |core, _| core.goes_on(execution)) {
        m.with_pool(pool, |core, cx| core.undefer(cx, execution));
    }
    true
}

/// How the caller came to own an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grab {
    /// It was idle.
    Idle,
    /// It was pending: queued, or its timer was armed.
    Stolen,
}

/// Takes an item from whatever state it is in (kernel `work_grab_pending`), to queue it. The caller
/// owns it and has, where it was stolen, the queue's reference. `None`: it is disabled.
pub(super) fn grab<M: Machine>(m: &M, work: WorkOf<M>) -> Option<Grab> {
    loop {
        match m.step_word(work, |word| word.try_pend().ok()) {
            Ok(_) => return Some(Grab::Idle),
            Err(word) if !word.is_pending() => return None,
            Err(word) if take(m, work, word) => return Some(Grab::Stolen),
            Err(_) => give_way(m),
        }
    }
}

/// Somebody owns an item for a moment: he is in the middle of a call, or has left it in an inbox,
/// or a worker was dealt it.
pub(super) fn give_way<M: Machine>(m: &M) {
    if !m.take_in() {
        m.relax();
    }
}

/// Takes an item that is pending with this word from where it is. False if it is not there any
/// more.
fn take<M: Machine>(m: &M, work: WorkOf<M>, word: WorkWord) -> bool {
    match (word.pwq(), word.pool()) {
        (Some(_), Some(pool)) => steal(m, pool, work),
        // Armed, or owned by somebody for a moment.
        _ => disarm(m, work),
    }
}

fn steal<M: Machine>(m: &M, pool: u32, work: WorkOf<M>) -> bool {
    let stolen = m.with_pool(pool, |core, cx| core.steal(cx, work));
    if let Some(Some(execution)) = stolen {
        m.with_pool(execution.pool, |core, _| core.not_deferred(execution));
    }
    stolen.is_some()
}

/// Takes an item from its timer.
pub(super) fn disarm<M: Machine>(m: &M, work: WorkOf<M>) -> bool {
    let addr = m.key(work).addr;
    let armed = m.with_timers(|timers| timers.disarm(addr));
    if let Some(armed) = &armed {
        m.release_queue(armed.queue);
    }
    armed.is_some()
}

/// Lets go of a stolen item, and of the queue's reference.
pub(super) fn let_go<M: Machine>(m: &M, work: WorkOf<M>) {
    let _ = m.step_word(work, |word| Some(word.disowned()));
    m.release(work);
}

/// Takes an item off its queue, or disarms it. True if it was pending: then that instance does not
/// run. Does not wait for one that runs. The caller keeps the item's memory.
///
/// One that is not pending is left alone: while somebody owned it, others would be refused for an
/// instance that is not there.
pub fn cancel<M: Machine>(m: &M, work: WorkOf<M>) -> bool {
    while let Ok(word) | Err(word) = m.step_word(work, Some)
        && word.is_pending()
    {
        if take(m, work, word) {
            let_go(m, work);
            return true;
        }
        give_way(m);
    }
    false
}

/// What came of a disable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disabled {
    /// It was pending, and was cancelled.
    pub was_pending: bool,
    /// It was disabled as often as can be counted: this one was not.
    pub overflow: bool,
}

/// Cancels an item and refuses to queue it until it is enabled as often as it was disabled.
pub fn disable<M: Machine>(m: &M, work: WorkOf<M>) -> Disabled {
    loop {
        match m.step_word(work, WorkWord::try_disable) {
            Ok(before) => {
                let depth = before.disable_depth();
                let overflow = depth == MAX_DISABLE_DEPTH;
                return Disabled {
                    was_pending: false,
                    overflow,
                };
            }
            Err(word) if take(m, work, word) => {
                let _ = m.step_word(work, |word| word.disowned().try_disable());
                m.release(work);
                return Disabled {
                    was_pending: true,
                    overflow: false,
                };
            }
            Err(_) => give_way(m),
        }
    }
}

/// What came of an enable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enabled {
    /// It can be queued now.
    pub enabled: bool,
    /// It was not disabled. Nothing has changed (in the kernel a pending instance is lost).
    pub underflow: bool,
}

/// Takes one disable back. One that is not disabled is left alone, pending or not.
pub fn enable<M: Machine>(m: &M, work: WorkOf<M>) -> Enabled {
    let (enabled, underflow) = match m.step_word(work, WorkWord::try_enable) {
        Ok(before) => (before.disable_depth() == 1, false),
        Err(_) => (true, true),
    };
    Enabled { enabled, underflow }
}

/// Puts a barrier behind the last queued instance of an item: the pending one, or else the one that
/// runs. Returns where that is, held; `None` if there is neither, also while only its timer is
/// armed. The barrier is a new item, of which the queue has a reference if it was put somewhere.
pub fn flush_item<M: Machine>(m: &M, work: WorkOf<M>, barrier: WorkOf<M>) -> Option<PwqOf<M>> {
    let mut word = settled(m, work);
    m.retain(barrier);
    while let Some(pool) = word.pool() {
        let place = m.with_pool(pool, |core, cx| core.insert_barrier(cx, work, barrier));
        if place.is_some() {
            return place;
        }
        // It has gone elsewhere in between, unless it is still the same.
        let before = core::mem::replace(&mut word, settled(m, work));
        if before == word {
            break;
        }
    }
    m.release(barrier);
    None
}

/// The word of an item that nobody is about to queue or to let go of. A caller that was refused
/// because the item is pending may flush it, or execute it itself. Then it finds the item in its
/// queue, or with its timer armed.
pub fn settled<M: Machine>(m: &M, work: WorkOf<M>) -> WorkWord {
    let addr = m.key(work).addr;
    loop {
        let word = m.word(work);
        let owned = word.is_pending() && word.pwq().is_none();
        if !owned || m.with_timers(|timers| timers.is_armed(addr)) {
            return word;
        }
        give_way(m);
    }
}

/// What is known of an item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Busy {
    /// Queued, or its timer is armed, or owned by somebody for a moment.
    pub pending: bool,
    /// Being executed.
    pub running: bool,
}

/// What an item is doing. A hint: it may change at any time.
pub fn busy<M: Machine>(m: &M, work: WorkOf<M>) -> Busy {
    let word = m.word(work);
    let key = m.key(work);
    let look = |pool| {
        m.with_pool(pool, |core, _| {
            let deferred = core.deferred_for(work).map(|execution| execution.pool);
            (core.executes(&key), deferred)
        })
    };
    let running = match word.pool().map(look) {
        Some((false, Some(other))) => look(other).0,
        Some((running, _)) => running,
        None => false,
    };
    Busy {
        pending: word.is_pending(),
        running,
    }
}
