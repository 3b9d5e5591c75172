//! One hold of a pool's lock: an event of the core, or a worker that is dealt more.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;

use cmwq_os::clock;
use cmwq_policy::pool::{Glance, Inbox as _};
use cmwq_policy::time::MICROSECOND;
use cmwq_policy::{Action, Cx, Nanos, Published, Time, WorkerPool};

use super::hand::Hand;
use super::{Core, Pool, PoolActions, View};
use crate::queue::pwq::Items;
use crate::sync::MutexGuard;

/// A thread that wants the lock and does not get it sleeps after about this long. To sleep and be
/// woken takes both threads more. Two workers with a backlog make a third of the futex calls that
/// they made without this.
const SPIN_LIMIT: Nanos = 5 * MICROSECOND;
/// Pauses between two of its tries, at first and at most.
const PAUSES: (u32, u32) = (8, 64);

/// What one event asks for.
#[must_use = "somebody is to be told"]
pub(crate) struct Asked {
    pub(crate) actions: Option<PoolActions>,
    pub(crate) news: News,
    /// Somebody else had the lock.
    pub(crate) waited: bool,
}

/// What has newly become true with one event.
#[must_use = "somebody is to be told"]
#[derive(Default, PartialEq, Eq)]
pub(crate) struct News {
    pub(crate) wants: bool,
    pub(crate) backlog: bool,
    pub(crate) cull: bool,
    /// Items wait for slots.
    pub(crate) slots: bool,
    /// Of limits that nobody has chosen.
    pub(crate) at_dfl: bool,
    /// Items are in the inbox, which is shut.
    pub(crate) left: bool,
}

/// After each how-manieth event pools check all that they can know, not only their counts; 0:
/// never. Only tests say so.
static CHECK_WHOLE: AtomicU32 = AtomicU32::new(0);
/// Events so far, where that is asked for.
static CHECKED: AtomicU32 = AtomicU32::new(0);

/// See [`crate::check_whole`].
pub(crate) fn check_whole(every: u32) {
    CHECK_WHOLE.store(every, SeqCst);
}

/// What holds after each event. Debug builds only.
fn check(pool: &WorkerPool<Items>, items: &mut Items, knows_all: bool) {
    if cfg!(debug_assertions) {
        let every = if knows_all {
            CHECK_WHOLE.load(SeqCst)
        } else {
            0
        };
        match every > 0 && CHECKED.fetch_add(1, SeqCst).is_multiple_of(every) {
            true => pool.check_whole(items),
            false => pool.check(),
        }
    }
}

impl Pool {
    /// Runs one event of the core under the pool's lock, for which the caller comes `now`. It
    /// recalls what has to be recalled for it. The caller carries out what it asks for. The event
    /// tells whether what is published stays as it is.
    pub(crate) fn run<R>(
        &'static self,
        now: Time,
        event: impl FnOnce(&mut WorkerPool<Items>, &mut Cx<Items>, &mut View) -> (R, bool),
    ) -> (R, Asked) {
        let (mut guard, waited) = self.lock_core();
        let (core, no_way_back) = (&mut *guard, NoWayBack);
        let now = now.after(waited);
        let (result, next, left) = self.at_hand(core, now, |pool, cx, inbox| {
            inbox.waited = waited;
            let (result, stays) = event(pool, cx, inbox);
            debug_assert!(!stays || pool.published(now).tells_no_other(&inbox.published()));
            let next = (!stays).then(|| pool.publish(cx, inbox));
            let left = next.is_some_and(|next| next.open.is_none()) && inbox.has_any();
            inbox.let_go();
            check(pool, cx.store, !inbox.is_out());
            self.activated.add(cx.store.activated());
            (result, next, left)
        });
        let mut news = next.map_or_else(News::default, |next| self.publish(core, next));
        news.left = left;
        let actions = (!core.actions.is_empty()).then(|| std::mem::take(&mut core.actions));
        drop(guard);
        std::mem::forget(no_way_back);
        let asked = Asked {
            actions,
            news,
            waited: waited > 0,
        };
        (result, asked)
    }

    /// The worker has begun all that it was dealt. If no event has come since, it is dealt more
    /// `now`: no event either. For how long somebody else had the lock.
    pub(super) fn deal_more(&'static self, now: Time, hand: &'static Hand) -> Nanos {
        let (mut guard, waited) = self.lock_core();
        let (core, no_way_back) = (&mut *guard, NoWayBack);
        let now = now.after(waited);
        if core.out.iter().any(|(_, out)| std::ptr::eq(*out, hand)) {
            self.at_hand(core, now, |pool, cx, inbox| {
                pool.waited(waited);
                pool.deal_more(cx, inbox, hand.dealer(), hand.nr_dealt());
                inbox.let_go();
            });
            debug_assert!(core.actions.is_empty(), "it is no event");
        }
        drop(guard);
        std::mem::forget(no_way_back);
        waited
    }

    /// What the tick goes by: no event.
    pub(crate) fn at_a_glance(&'static self) -> Glance {
        let (mut guard, _) = self.lock_core();
        let look = |pool: &mut WorkerPool<Items>, cx: &mut Cx<Items>, inbox: &mut View| {
            pool.at_a_glance(inbox, cx.now)
        };
        self.at_hand(&mut guard, clock::now(), look)
    }

    /// What an event has at hand.
    fn at_hand<R>(
        &'static self,
        core: &mut Core,
        now: Time,
        act: impl FnOnce(&mut WorkerPool<Items>, &mut Cx<Items>, &mut View) -> R,
    ) -> R {
        // SAFETY: the caller has the lock, and keeps it until after the last use of the items.
        let mut items = unsafe { Items::of(self.base, self.id) };
        let mut cx = Cx {
            store: &mut items,
            now,
            cpu: self.here(),
            out: &mut core.actions,
        };
        let mut inbox = View {
            inbox: &self.inbox,
            taken: &mut core.taken,
            out: &mut core.out,
            row: &self.row,
            lined_up: &mut core.lined_up,
            own: None,
            published: core.published,
            now,
            waited: 0,
        };
        act(&mut core.pool, &mut cx, &mut inbox)
    }

    /// Publishes what changed. The stores are ordered by the lock; who reads them without it is
    /// woken through the engine, after a fence.
    fn publish(&'static self, core: &mut Core, next: Published) -> News {
        let before = std::mem::replace(&mut core.published, next);
        if before.wants != next.wants {
            let index = self.base.index_of(self.id);
            self.base.canaries().set_wanting(index, next.wants);
        }
        if before.backlog != next.backlog {
            self.base.tick().set_backlog(next.backlog);
        }
        let standby = core.pool.standby();
        if core.standby != standby {
            core.standby = standby;
            let slot = standby.map_or(std::ptr::null_mut(), |id| self.slot_ptr(id));
            self.standby.store(slot, SeqCst);
        }
        for action in core.actions.iter() {
            if let Action::FailWait(id) = action {
                // Under the lock, so that it cannot hit a later wait of the same worker.
                self.slot(id).fail_wait();
            }
        }
        News {
            wants: next.wants && !before.wants,
            backlog: next.backlog && !before.backlog,
            cull: core.pool.cull_at().is_some(),
            slots: core.pool.waits_for_slots(),
            at_dfl: core.pool.waits_at_dfl(),
            left: false,
        }
    }

    /// Its lock, and for how long somebody else had it; 0: nobody had.
    fn lock_core(&self) -> (MutexGuard<'_, Core>, Nanos) {
        if let Ok(core) = self.core.try_lock() {
            return (core, 0);
        }
        let came = clock::now();
        let spun = self.spin_for_core(came);
        let core = spun.unwrap_or_else(|| self.core.lock().expect("the core does not panic"));
        let waited = clock::now().since(came).max(1);
        (core, waited)
    }

    /// Its lock, if whoever has it lets it go soon, as most do. Tries more and more rarely, so that
    /// many who wait leave its line to the one who has it. Where that one has lost its CPU, perhaps
    /// to the caller, the time is lost.
    fn spin_for_core(&self, came: Time) -> Option<MutexGuard<'_, Core>> {
        // Loom tries all orders, those in which it sleeps among them.
        if cfg!(loom) {
            return None;
        }
        let (mut pauses, most) = PAUSES;
        while clock::now().since(came) < SPIN_LIMIT {
            (0..pauses).for_each(|_| std::hint::spin_loop());
            pauses = (2 * pauses).min(most);
            if let Ok(core) = self.core.try_lock() {
                return Some(core);
            }
        }
        None
    }
}

/// The core does not panic, unless somebody has overwritten an item that was queued, which C can.
/// Then its lists are in the middle of a change, and everybody would wait for ever: dropping this
/// while it panics ends the process.
struct NoWayBack;

impl Drop for NoWayBack {
    fn drop(&mut self) {
        if !cfg!(loom) {
            eprintln!(
                "cmwq: a list of queued items is broken: was an item overwritten, or its memory \
                 used again, while it was queued? (CMWQ_CHECKED=1 finds out.)"
            );
            std::process::abort();
        }
    }
}
