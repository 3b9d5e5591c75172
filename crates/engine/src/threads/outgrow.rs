//! Limits that nobody has chosen are raised where nothing moves under them.

use std::path::Path;

use cmwq_os::memory::Memory;
use cmwq_os::{clock, limits};
use cmwq_policy::contract;
use cmwq_policy::pool::most_threads;
use cmwq_policy::pwq::DFL_ACTIVE;

use crate::engine::{Engine, Real};
use crate::options::DFL_THREAD_LIMIT;
use crate::pool::Pool;
use crate::queue::pwq::{name_of, queue_of, unhold};
use crate::report::{self, Report};

/// What the system has room for. Reads files, so no pool is held.
fn room(engine: &'static Engine) -> u32 {
    let workers = engine
        .pools()
        .map(|pool| pool.with_workers(clock::now(), |core, _| core.nr_workers()));
    let memory = Memory::find(Path::new("/")).headroom();
    most_threads(
        workers.sum(),
        memory.map(|left| left.bytes),
        limits::read().threads,
    )
}

/// Raises the limits under which items of this pool wait, if they are nobody's choice and nothing
/// moves.
pub(crate) fn look_at_limits(pool: &'static Pool) {
    let engine = pool.engine();
    let mut cursor = 0;
    let mut next = || pool.with_workers(clock::now(), |core, cx| core.next_at_dfl(cx, &mut cursor));
    while let Some(pwq) = next() {
        let raised = contract::outgrow(&Real(engine), queue_of(pwq), pwq, || room(engine));
        // Said once: later ones start from more.
        if let Some(raised) = raised.filter(|raised| raised.from == DFL_ACTIVE) {
            report::say(&Report::LimitRaised {
                queue: name_of(pwq).to_owned(),
                from: raised.from as usize,
                to: raised.to as usize,
            });
        }
        unhold(pwq);
    }
}

/// The same for its threads.
pub(crate) fn look_at_threads(pool: &'static Pool) {
    if !pool.with_workers(clock::now(), |core, cx| core.stands_at_thread_limit(cx.now)) {
        return;
    }
    let most = room(pool.engine());
    let raised = pool.with(|core, cx| core.outgrow_threads(cx, most));
    if let Some((from, to)) = raised.filter(|(from, _)| *from as usize == DFL_THREAD_LIMIT) {
        report::say(&Report::ThreadLimitRaised {
            from: from as usize,
            to: to as usize,
        });
    }
}
