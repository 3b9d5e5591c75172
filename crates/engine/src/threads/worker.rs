//! Worker threads: they ask the core for the next step and take it.

mod linger;

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::SeqCst;

use cmwq_os::stopwatch::Stopwatch;
use cmwq_os::{clock, sched, thread};
use cmwq_policy::lately::Whose;
use cmwq_policy::linger::Linger;
use cmwq_policy::pool::{PoolKey, Step};
use cmwq_policy::sampling::Beginnings;
use cmwq_policy::{CpuMask, ItemReport, Nanos, Rule, Time, WorkerId, sampling};

use super::mask::{is_items_mask, set_pool_mask};
use super::meter::{Found, Meter, Tidiness};
use super::stall;
use crate::base::Base;
use crate::item::Header;
use crate::options::ThreadHook;
use crate::pool::{CURRENT, Current, Pool, Slot};
use crate::queue::pwq::{PwqRef, name_of, queue_of};
use crate::report::{self, Report};
use crate::tracepoints;
use crate::user;
use crate::wait::this_worker::as_stranger;

/// What came of an item.
pub(super) struct Executed {
    pub(super) report: ItemReport,
    /// When it ended, or until when the worker has lingered after that.
    at: Time,
    /// How long it took, and its function.
    item: (Nanos, u64),
}

/// A thread that executes items: what workers, rescuers and claims have in common.
pub(super) struct Hands {
    pub(super) slot: &'static Slot,
    meter: Meter,
    watch: Stopwatch,
    /// What it stood for before.
    before: Option<Current>,
}

impl Hands {
    /// From now on the calling thread stands for this slot.
    pub(super) fn take(slot: &'static Slot) -> Self {
        slot.tid.store(thread::gettid(), SeqCst);
        Hands::stand_for(slot)
    }

    /// The same for a thread of others, until this is dropped.
    pub(super) fn stand_for(slot: &'static Slot) -> Self {
        let before = CURRENT.replace(Some(Current { slot, item: None }));
        Hands {
            slot,
            meter: Meter::new(),
            watch: Stopwatch::default(),
            before,
        }
    }

    /// Executes an item, from then on; `None`: from now on. Compiled into the worker's loop: what
    /// came of an item would be handed over in memory, which takes 5 ns more.
    #[inline(always)]
    pub(super) fn execute(
        &mut self,
        work: NonNull<Header>,
        pwq: PwqRef,
        begun: Option<Time>,
    ) -> Executed {
        // SAFETY: the item was just taken off its queue; its header is alive until its function
        // is called.
        let (key, run) = unsafe { (work.as_ref().key(), work.as_ref().vtable().run) };
        let (slot, base) = (self.slot, self.slot.pool.base());
        CURRENT.set(Some(Current {
            slot,
            item: Some((pwq, key)),
        }));
        slot.begins_item();
        let begun = begun.unwrap_or_else(|| self.watch.now());
        // SAFETY: the function that the item was made with, called once per queueing. From here on
        // the item may be gone.
        //
        // It catches the panics of the user's function itself. What is left are values that panic
        // when they are dropped.
        let function = || user::run(|| unsafe { run(work) });
        slot.pool.say_activated();
        let seen = base.recorder().begins();
        tracepoints::execute(name_of(pwq), key, function);
        CURRENT.set(Some(Current { slot, item: None }));
        let was_foreign = slot.ends_item();
        let at = self.watch.now();
        // In a child that was forked meanwhile somebody who is not there may hold its lock.
        if base.recorder().is_on() && base.is_ours() {
            let (item, pool) = ((name_of(pwq), key), slot.pool.index());
            base.recorder().ran(item, pool, (begun, at), seen);
        }
        let ran = at.since(begun);
        let (report, cpu) = self.meter.end(at, ran, was_foreign);
        if let Some(cpu) = cpu.filter(|_| base.is_ours()) {
            self.note_cpu(at, pwq, key.func, cpu);
        }
        Executed {
            report,
            at,
            item: (ran, key.func),
        }
    }

    /// An item of this function, which is not counted out yet, has used so much CPU time.
    fn note_cpu(&self, at: Time, pwq: PwqRef, func: u64, cpu: Nanos) {
        let pool = self.slot.pool;
        // SAFETY: the item is not counted out yet, so its queue is there.
        let queue = unsafe { queue_of(pwq).as_ref() }.id();
        let whose = Whose {
            func,
            queue,
            pool: pool.index(),
        };
        pool.base().lately().note(self.slot.tid(), at, whose, cpu);
    }
}

impl Drop for Hands {
    fn drop(&mut self) {
        // Destructors of a worker's locals run in no item.
        CURRENT.set(self.before);
    }
}

/// Creates the thread of a worker, or tells the core that it could not.
pub(super) fn create(pool: &'static Pool, id: WorkerId) {
    let base = pool.base();
    let Err(error) = spawn(pool.make_slot(id)) else {
        return base.note_spawned();
    };
    base.note_spawn_failure(&error);
    pool.with(|core, cx| core.spawn_failed(cx, id));
    stall::look_at_failure(pool);
}

fn spawn(slot: &'static Slot) -> io::Result<()> {
    let pool = slot.pool;
    let base = pool.base().base_nice();
    let name = thread_name(pool.key(), base, pool.index(), slot.id);
    thread::spawn(&name, pool.base().stack_size(), move || {
        with_hooks(pool.base(), || Worker::new(slot).run())
    })
}

/// The life of a thread that executes items, between the program's hooks.
pub(super) fn with_hooks(base: &Base, live: impl FnOnce()) {
    let options = base.options();
    options.thread_start.into_iter().for_each(ThreadHook::call);
    live();
    // One that has returned in a forked child ends with that.
    if base.is_ours() {
        options.thread_stop.into_iter().for_each(ThreadHook::call);
    }
}

/// Name of a worker's thread (kernel: `kworker/1:2H`, `kworker/u8:3`).
fn thread_name(key: &PoolKey, base_nice: i32, pool: u32, worker: WorkerId) -> String {
    // Above the process's own, which may have been started with any.
    let high = if i32::from(key.nice()) < base_nice {
        "H"
    } else {
        ""
    };
    match (key.cpu(), key.rule()) {
        (Some(cpu), Rule::Bh) => format!("cmwq/b{cpu}{high}"),
        (Some(cpu), _) => format!("cmwq/{cpu}:{worker}{high}"),
        (None, _) => format!("cmwq/u{pool}:{worker}"),
    }
}

/// The thread of a worker.
struct Worker {
    hands: Hands,
    tidiness: Tidiness,
    linger: Linger,
    beginnings: Beginnings,
    cpus_seen: u32,
}

impl Worker {
    /// Runs in the new thread, which has its creator's policy, nice level and mask.
    pub(super) fn new(slot: &'static Slot) -> Self {
        let engine = slot.pool.engine();
        if !sched::is_normal_policy_self() {
            let _ = sched::set_normal_policy_self();
        }
        if sched::set_nice_self(i32::from(slot.pool.nice())).is_err() {
            engine.note_denied_nice();
        }
        // It is to set a mask that may not be right any more.
        engine.notice_cpus();
        let mut worker = Worker {
            hands: Hands::take(slot),
            tidiness: Tidiness::new(),
            linger: Linger::default(),
            beginnings: Beginnings::default(),
            cpus_seen: 0,
        };
        worker.follow_cpus();
        worker
    }

    /// Takes over the pool's CPU mask, if it has changed since this worker last looked, or was
    /// narrowed for its wake.
    #[inline]
    fn follow_cpus(&mut self) {
        let slot = self.hands.slot;
        if slot.may_be_narrow() || slot.pool.has_newer_cpus(self.cpus_seen) {
            self.take_cpus();
        }
    }

    /// Sets it, or sets it again.
    #[cold]
    fn take_cpus(&mut self) {
        let slot = self.hands.slot;
        if slot.widens() {
            self.cpus_seen = 0;
        }
        if let Some(given) = set_pool_mask(slot, &mut self.cpus_seen) {
            self.tidiness.follow_mask(given);
        }
    }

    /// Something was found. If it was a mask, the thread has been given its own again, as it was
    /// known before.
    fn settle(&mut self, found: &Found) {
        if found.left.cpumask.is_some() {
            self.cpus_seen = 0;
            self.follow_cpus();
        }
    }

    pub(super) fn run(mut self) {
        let slot = self.hands.slot;
        let mut ended = None;
        // The end of a short item is also the time at which the worker asks for the next one: the
        // clock is read once for both.
        let mut now = self.hands.watch.now();
        loop {
            let (step, later) = self.ask(now, ended.take());
            match step {
                Step::Run(work, pwq) => {
                    let begun = self.begins(now, true, later);
                    let Some((done, is_lost)) = self.execute(work, pwq, begun) else {
                        // An item has forked and returned in the child, where its thread is the
                        // only one: the other items are the parent's, so the child ends.
                        return;
                    };
                    if is_lost {
                        return self.give_up(Some(done.report));
                    }
                    self.beginnings.ended(done.item.0);
                    ended = Some(done.report);
                    if !sampling::ask_switches(done.item.0) {
                        now = done.at;
                        continue;
                    }
                    // What a longer one has left was looked at, which took its time.
                }
                Step::Create(id) if self.is_lost() => {
                    // A thread has what its creator has: another one makes it.
                    slot.pool.request_spawn(id);
                    return self.give_up(None);
                }
                Step::Create(id) => create(slot.pool, id),
                Step::Park if self.is_lost_for_sleep() => return self.give_up(None),
                Step::Park => self.park(),
                Step::Yield => self.yield_once(),
                Step::Retire => {
                    slot.thread_ends();
                    return slot.let_go();
                }
            }
            now = self.hands.watch.now();
        }
    }

    /// When the item begins that was to begin then, and for which the worker has asked the pool or
    /// not.
    #[inline]
    fn begins(&mut self, at: Time, asked: bool, later: bool) -> Time {
        let read = self
            .beginnings
            .reads(asked, later)
            .then(|| self.hands.watch.now());
        self.beginnings.begins(read.map(|read| read.since(at)));
        read.unwrap_or(at)
    }

    /// Executes an item, and those that the worker was dealt behind it. What came of the last one,
    /// and whether the thread is not fit for another. `None`: this is a forked child.
    #[inline]
    fn execute(
        &mut self,
        mut work: NonNull<Header>,
        pwq: PwqRef,
        mut begun: Time,
    ) -> Option<(Executed, bool)> {
        let slot = self.hands.slot;
        loop {
            self.follow_cpus();
            let was_lost = self.is_lost_before(work, begun);
            let mut done = self.hands.execute(work, pwq, Some(begun));
            if !slot.pool.base().is_ours() {
                return None;
            }
            // What could not be set right before is no doing of this item.
            let is_lost = was_lost || self.is_lost_after(&done, pwq);
            if !is_lost {
                self.linger_before_telling(&mut done);
            }
            let next = (!is_lost)
                .then(|| slot.go_on(pwq, done.at, &done.report))
                .flatten();
            let Some((next, (asked, waited))) = next else {
                return Some((done, is_lost));
            };
            self.beginnings.ended(done.item.0);
            work = next;
            begun = self.begins(done.at, asked, waited);
        }
    }

    /// Looks at what items of another function have left, which were trusted.
    #[inline]
    fn is_lost_before(&mut self, work: NonNull<Header>, begun: Time) -> bool {
        let (slot, seen) = (self.hands.slot, &mut self.cpus_seen);
        let is_items = |mask: &CpuMask| is_items_mask(slot, seen, mask);
        // SAFETY: the item was just taken off its queue; its header is alive until its function is
        // called.
        let func = || unsafe { work.as_ref().key().func };
        let found = self.tidiness.before_item(begun, func, is_items);
        found.is_some_and(|found| {
            self.settle(&found);
            // The core takes the thread to be at the item already.
            say(found, "")
        })
    }

    /// Looks at what the item has left in the thread, if it is time.
    #[inline]
    fn is_lost_after(&mut self, done: &Executed, pwq: PwqRef) -> bool {
        let (slot, seen) = (self.hands.slot, &mut self.cpus_seen);
        let is_items = |mask: &CpuMask| is_items_mask(slot, seen, mask);
        // Mostly nothing, and what might have been is not moved then.
        let Some(found) = self.tidiness.item_ended(done.at, done.item, is_items) else {
            return false;
        };
        self.settle(&found);
        say(found, name_of(pwq))
    }

    /// Looks at what short items have left, before nobody knows for how long the thread sleeps.
    fn is_lost_for_sleep(&mut self) -> bool {
        let (slot, seen) = (self.hands.slot, &mut self.cpus_seen);
        let is_items = |mask: &CpuMask| is_items_mask(slot, seen, mask);
        let found = self.tidiness.before_parking(is_items);
        self.is_lost_with(found)
    }

    /// Sets right what was found of items that nobody can name any more.
    fn is_lost_with(&mut self, found: Option<Found>) -> bool {
        found.is_some_and(|found| {
            self.settle(&found);
            as_stranger(|| say(found, ""))
        })
    }

    /// The same, before it goes to another thread.
    fn is_lost(&mut self) -> bool {
        let (slot, seen) = (self.hands.slot, &mut self.cpus_seen);
        let is_items = |mask: &CpuMask| is_items_mask(slot, seen, mask);
        let found = self.tidiness.before_leaving(is_items);
        self.is_lost_with(found)
    }

    /// Reports the ended item, if there is one, and asks for the next step, in one go. Tells
    /// whether it has become later than `now`.
    fn ask(&self, now: Time, ended: Option<ItemReport>) -> (Step<NonNull<Header>, PwqRef>, bool) {
        let slot = self.hands.slot;
        if ended.is_some() {
            slot.pool.drop_old_reports();
        }
        slot.pool.worker_asks(now, slot, ended)
    }

    /// The thread is not fit for another item.
    fn give_up(self, ended: Option<ItemReport>) {
        let slot = self.hands.slot;
        slot.thread_ends();
        slot.pool.with(|core, cx| {
            if let Some(report) = ended {
                core.item_ended(cx, slot.id, report);
            }
            core.give_up(cx, slot.id);
        });
        slot.let_go();
    }

    /// Lets others have the CPU, and says whether any did.
    fn yield_once(&self) {
        let before = clock::now();
        sched::yield_now();
        let now = clock::now();
        let (took, slot) = (now.since(before), self.hands.slot);
        slot.pool
            .with_workers(now, |core, cx| core.yielded(cx, slot.id, took));
    }
}

/// Reports what an item has left behind. True if the thread cannot be set right.
pub(super) fn say(found: Found, queue: &str) -> bool {
    report::say(&Report::LeftBehind {
        queue: queue.to_owned(),
        items: found.suspects,
        what: found.left.to_string(),
        retired: found.lost,
    });
    found.lost
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::ptr::NonNull;
    use std::sync::OnceLock;

    use super::*;
    use crate::item::{Header, Vtable};
    use crate::raw::{Process, QueueSpec, RawItem, RawQueue};
    use crate::wait::this_worker;

    static MASKS: OnceLock<(CpuMask, CpuMask)> = OnceLock::new();
    static TABLE: Vtable = Vtable {
        run: |_| {
            let slot = this_worker::current().expect("a worker's").slot;
            let before = sched::affinity(0).unwrap();
            let here = [sched::current_cpu()].into_iter().collect();
            // It has seen the worker parked.
            slot.narrow_to(&here);
            MASKS.set((before, sched::affinity(0).unwrap())).unwrap();
        },
        count: |_, _| (),
        name: |_| "item",
    };
    static ITEM: Header = Header::new(&TABLE);

    #[test]
    fn a_late_canary_does_not_keep_an_item_on_its_cpu() {
        let queue = RawQueue::make(Process::get().unwrap(), "narrow", &QueueSpec::default());
        // SAFETY: it is there for ever.
        let item = unsafe { RawItem::new(NonNull::from(&ITEM)) };
        queue.unwrap().queue_item(None, item).unwrap();
        item.flush().unwrap();
        let (before, after) = MASKS.get().unwrap();
        assert_eq!(before, after);
    }
}
