//! A worker as others see it.

use std::ptr::NonNull;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32};
use std::sync::{Arc, OnceLock};

use cmwq_os::inspect;
use cmwq_os::observe::tree::Tree;
use cmwq_os::observe::{TaskFiles, TaskState};
use cmwq_os::{futex, sched, thread};
use cmwq_policy::pool::{Ended, SeenState, Was, goes_on_alone, is_its_own};
use cmwq_policy::work::WorkWord;
use cmwq_policy::{CpuMask, ItemKey, ItemReport, Time, WorkerId};

use super::Pool;
use super::attached::Attachments;
use super::hand::{Hand, Item};
use crate::item::Header;
use crate::park::Parker;
use crate::queue::pwq::PwqRef;
use crate::report::Awaited;
use crate::sync::Mutex;

/// Whoever wakes a worker has narrowed its mask, or is at it.
const NARROWED: u32 = 1;
const NARROWS: u32 = 2;
/// Instead of the CPU of a thread that has parked: it has not, or has been woken.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// What others need of a worker's thread. Leaked: a canary may hold it while the worker retires.
pub(crate) struct Slot {
    pub(crate) pool: &'static Pool,
    pub(crate) id: WorkerId,
    pub(crate) parker: Parker,
    /// The thread, 0 while there is none.
    pub(crate) tid: AtomicI32,
    /// The thread that executes what it has claimed, 0 while there is none. Apart from `tid`:
    /// nobody wakes it, and nobody may change its mask.
    visitor: AtomicI32,
    /// Of a claim: the worker or claim whose item called.
    beneath: AtomicPtr<Slot>,
    /// The process whose tree stands for this worker, if any does.
    attached: Attachments,
    /// What is known of that tree from earlier looks.
    tree: Mutex<Option<Tree>>,
    pub(crate) wait_failed: AtomicBool,
    /// Its wait was given up for others. Changed under the lock of the graph of waits.
    pub(crate) gave_up: AtomicBool,
    /// The CPU that the worker is parked on, where the kernel will try to wake it; else
    /// [`NOWHERE`].
    pub(crate) parked_on: AtomicU32,
    /// [`NARROWED`] if whoever woke it has narrowed the thread's mask, and [`NARROWS`] for each
    /// that is about to. While it is not zero nobody else can be blamed for the mask.
    narrow: AtomicU32,
    /// Counts the worker's waits.
    waits: AtomicU32,
    /// A rescuer's, not one of the pool's workers.
    pub(crate) rescues: AtomicBool,
    /// What people are told of the item, if it says anything.
    desc: Mutex<String>,
    /// What the item waits for, while it is in a call that waits: whose, and which if it is one.
    awaits: Mutex<Option<(Arc<str>, Option<&'static str>)>>,
    described: AtomicBool,
    /// What it was dealt, if it ever was.
    hand: OnceLock<Box<Hand>>,
    /// The thread's files in /proc, opened by whoever looks first.
    files: Mutex<Option<(i32, TaskFiles)>>,
}

/// For flags that only the worker's thread sets: a look is cheaper than a store that nobody needs.
fn clear(flag: &AtomicBool) {
    if flag.load(SeqCst) {
        flag.store(false, SeqCst);
    }
}

impl Slot {
    pub(crate) fn new(pool: &'static Pool, id: WorkerId) -> Self {
        Slot {
            pool,
            id,
            parker: Parker::default(),
            tid: AtomicI32::new(0),
            visitor: AtomicI32::new(0),
            beneath: AtomicPtr::default(),
            attached: Attachments::default(),
            tree: Mutex::new(None),
            wait_failed: AtomicBool::new(false),
            gave_up: AtomicBool::new(false),
            parked_on: AtomicU32::new(NOWHERE),
            narrow: AtomicU32::new(0),
            waits: AtomicU32::new(0),
            rescues: AtomicBool::new(false),
            desc: Mutex::default(),
            awaits: Mutex::default(),
            described: AtomicBool::new(false),
            hand: OnceLock::new(),
            files: Mutex::new(None),
        }
    }

    pub(crate) fn unpark(&self) {
        self.parker.unpark();
    }

    /// The worker has a hand from now on: made before the pool's lock is taken.
    pub(crate) fn make_hand(&self) {
        self.hand.get_or_init(|| Box::new(Hand::new()));
    }

    /// What the worker is dealt, if it has a hand.
    #[inline]
    pub(super) fn hand(&self) -> Option<&Hand> {
        self.hand.get().map(|hand| &**hand)
    }

    /// The worker, which is the caller, has ended an item then, of which it reports that, and goes
    /// on to the next one that it was dealt, if it was, or to the first one in the row. All are of
    /// this pwq. Tells whether it took a lock for that, and somebody else had that.
    #[inline]
    pub(crate) fn go_on(
        &'static self,
        pwq: PwqRef,
        at: Time,
        report: &ItemReport,
    ) -> Option<(NonNull<Header>, (bool, bool))> {
        let hand = self.hand.get()?;
        let goes_on = || goes_on_alone(report, &hand.dealer(), at);
        let ran = report.ran.filter(|_| goes_on())?;
        let (in_row, lingered) = (hand.is_in_row(), report.lingered);
        let ended = Ended { at, ran, lingered };
        let asks = hand.wants_more(at, || self.pool.inbox().has_rest());
        let waited = if asks {
            self.pool.deal_more(at, hand)
        } else {
            0
        };
        let (item, waited) = match in_row {
            true => self.take_of_row(hand, ended)?,
            false => (hand.go_on(ended.later(waited))?, waited > 0),
        };
        // SAFETY: it is this worker's since it was counted.
        let header = unsafe { item.work.as_ref() };
        if item.was.takes_slot_over() {
            self.pool.note_activated(pwq, header);
        }
        header.set_word(WorkWord::off_queue(self.pool.id()));
        Some((item.work, (asks || in_row, waited)))
    }

    /// The worker, which is the caller and has ended this item then, lingers before it says so, if
    /// it may: with which hand, and until when.
    #[inline]
    pub(crate) fn linger(&self, at: Time, report: &ItemReport) -> Option<(&Hand, Time)> {
        let hand = self.hand()?;
        let until = hand.linger(at, report, || self.pool.inbox().has_rest())?;
        Some((hand, until))
    }

    /// The worker takes the first item in the row. Tells whether that has taken long, or may have.
    fn take_of_row(&'static self, hand: &Hand, ended: Ended) -> Option<(Item, bool)> {
        let row = self.pool.row();
        let first = (!hand.tells(ended.at))
            .then(|| row.go_on(hand, ended))
            .flatten();
        if first.is_some() || !hand.is_in_row() {
            return first;
        }
        // It is to tell, or the row was empty.
        let ended = ended.later(self.pool.worker_tells(ended.at, self));
        let next = match hand.is_in_row() {
            true => row.go_on(hand, ended).map(|(item, _)| item),
            // It runs alone now.
            false => hand.go_on(ended),
        };
        next.map(|item| (item, true))
    }

    /// The item that the worker, which is the caller, executes has queued this one, which may be
    /// left, through this pwq and on this CPU. Whether it comes next, without the pool's lock.
    #[inline]
    pub(crate) fn keep_own(
        &self,
        work: NonNull<Header>,
        pwq: PwqRef,
        home: u32,
        own: ItemKey,
    ) -> bool {
        let Some(hand) = self.hand().filter(|hand| hand.dealer().pwq == pwq) else {
            return false;
        };
        // SAFETY: the caller has it.
        let header = unsafe { work.as_ref() };
        let (key, inbox) = (header.key(), self.pool.inbox());
        let is_new = header.is_new(self.pool.base().nowhere());
        let is_free = is_its_own(&own, &key, is_new);
        let Some(stamp) = inbox.stamp().filter(|_| is_free) else {
            return false;
        };
        header.home.set(home);
        header.stamp.set(stamp.0);
        let item = Item {
            work,
            key,
            stamp,
            was: Was::Left,
            home,
            far: false,
        };
        hand.keep_own(item, || inbox.has_rest())
    }

    /// The worker's own thread begins an item.
    #[inline]
    pub(crate) fn begins_item(&self) {
        // Of whoever ran in no item.
        self.attached.clear();
    }

    /// It has ended it; whether a process tree stood for the worker at some time.
    #[inline]
    pub(crate) fn ends_item(&self) -> bool {
        clear(&self.described);
        self.attached.clear()
    }

    /// The calling thread, which is the worker's, is about to park on its CPU.
    pub(crate) fn parks_here(&self) {
        self.parked_on.store(sched::current_cpu() as u32, SeqCst);
    }

    /// The CPU that its thread has parked on; `None`: it is not parked.
    pub(crate) fn parked_on(&self) -> Option<usize> {
        let last = self.parked_on.load(SeqCst);
        (last != NOWHERE).then_some(last as usize)
    }

    /// Wakes the worker on one of these CPUs: left alone, the kernel often wakes it where it last
    /// ran, behind somebody else. Its mask is narrowed before the wake, and widened by the worker.
    /// False: it is parked on one of them, or not parked.
    pub(crate) fn unpark_in(&self, cpus: &CpuMask) -> bool {
        let elsewhere = self.parked_on().is_some_and(|last| !cpus.contains(last));
        if elsewhere {
            self.narrow_to(cpus);
        }
        self.parker.unpark();
        elsewhere
    }

    /// The caller may be kept off its CPU anywhere in here, while somebody else wakes the worker.
    /// The thread does not end meanwhile, see [`let_go`](Self::let_go): its number is nobody
    /// else's.
    pub(crate) fn narrow_to(&self, cpus: &CpuMask) {
        self.narrow.fetch_add(NARROWS, SeqCst);
        // After that: either this finds no thread, or the thread finds that it is about to be
        // narrowed.
        let tid = self.tid.load(SeqCst);
        if tid != 0 {
            self.narrow_thread(tid, cpus);
        }
        self.narrow.fetch_sub(NARROWS, SeqCst);
        if self.tid.load(SeqCst) != tid {
            futex::wake(&self.narrow, u32::MAX);
        }
    }

    fn narrow_thread(&self, tid: i32, cpus: &CpuMask) {
        let set = |mask: &CpuMask| {
            if sched::set_affinity(tid, mask).is_ok() {
                self.narrow.fetch_or(NARROWED, SeqCst);
            }
        };
        set(cpus);
        if self.parked_on().is_none() {
            // It widens its mask before its next item, and not in the middle of this one. One that
            // says so later than this sees that it was narrowed.
            set(&self.pool.usable());
        }
    }

    /// Waits until nobody narrows the mask of the calling thread, which has said that it
    /// [ends](Self::thread_ends): its number may be another thread's right after. Nobody waits for
    /// a thread that does.
    pub(crate) fn let_go(&self) {
        loop {
            let narrow = self.narrow.load(SeqCst);
            if narrow < NARROWS {
                return;
            }
            futex::wait(&self.narrow, narrow, None);
        }
    }

    /// Whether the mask may be other than the worker has set it, by a canary's doing.
    pub(crate) fn may_be_narrow(&self) -> bool {
        self.narrow.load(SeqCst) != 0
    }

    /// The worker is about to set its mask; whether it was narrowed for its wake.
    pub(crate) fn widens(&self) -> bool {
        self.may_be_narrow() && self.narrow.fetch_and(!NARROWED, SeqCst) & NARROWED != 0
    }

    pub(crate) fn fail_wait(&self) {
        self.wait_failed.store(true, SeqCst);
    }

    /// What the item says of itself.
    pub(crate) fn description(&self) -> Option<String> {
        let described = self.described.load(SeqCst);
        described.then(|| self.desc.lock().expect("nobody panics with it").clone())
    }

    /// What the item waits for, if it is in a call that waits.
    pub(crate) fn awaits(&self) -> Option<Awaited> {
        let awaits = self.awaits.lock().expect("nobody panics with it");
        let (queue, item) = awaits.as_ref()?;
        Some(Awaited {
            queue: queue.to_string(),
            item: *item,
        })
    }

    /// The thread, 0 while there is none.
    pub(crate) fn tid(&self) -> i32 {
        match self.tid.load(SeqCst) {
            0 => self.visitor.load(SeqCst),
            tid => tid,
        }
    }

    /// The calling thread executes what it has claimed as this one.
    pub(crate) fn visited(&self, beneath: Option<&'static Slot>) {
        let beneath = beneath.map_or(std::ptr::null(), std::ptr::from_ref);
        self.beneath.store(beneath.cast_mut(), SeqCst);
        self.visitor.store(thread::gettid(), SeqCst);
    }

    /// Of a claim: the worker or claim whose item called.
    pub(crate) fn beneath(&self) -> Option<&'static Slot> {
        // SAFETY: null or a leaked slot.
        unsafe { self.beneath.load(SeqCst).as_ref() }
    }

    /// Whether a thread of others executes what it has claimed.
    pub(crate) fn is_visited(&self) -> bool {
        self.visitor.load(SeqCst) != 0
    }

    /// The worker begins its next wait: which number that has.
    pub(crate) fn next_wait(&self) -> u32 {
        self.waits.fetch_add(1, SeqCst).wrapping_add(1)
    }

    /// The number of the last wait that has begun.
    pub(crate) fn last_wait(&self) -> u32 {
        self.waits.load(SeqCst)
    }

    /// Until its item ends, the worker's state is that of this process tree, or its own with 0;
    /// what it was before.
    pub(crate) fn attach(&self, pid: i32) -> i32 {
        self.attached.set(pid)
    }

    /// The same until the number that this returns is let go.
    pub(crate) fn hold_attached(&self, pid: i32) -> u64 {
        self.attached.hold(pid)
    }

    /// In any order; on the worker's thread.
    pub(crate) fn let_attached_go(&self, number: u64) {
        self.attached.let_go(number);
    }

    /// People are told this of the item.
    pub(crate) fn describe(&self, text: &str) {
        *self.desc.lock().expect("nobody panics with it") = text.to_owned();
        self.described.store(true, SeqCst);
    }

    /// They are told that it waits for this.
    pub(crate) fn set_awaits(&self, awaited: Option<(Arc<str>, Option<&'static str>)>) {
        *self.awaits.lock().expect("nobody panics with it") = awaited;
    }

    pub(crate) fn visit_ends(&self) {
        self.visitor.store(0, SeqCst);
        self.beneath.store(std::ptr::null_mut(), SeqCst);
    }

    /// The calling thread has retired. Its number is free, so another thread may be here already.
    pub(crate) fn thread_ends(&self) {
        let _ = self
            .tid
            .compare_exchange(thread::gettid(), 0, SeqCst, SeqCst);
    }

    /// Looks at the worker from outside: its thread, or the process tree that stands for it, of
    /// which `threads` that run are enough.
    pub(crate) fn look(&self, threads: u32) -> Option<SeenState> {
        match self.attached.leader() {
            0 => self.look_at_thread(),
            leader => self.look_at_tree(leader, threads),
        }
    }

    fn look_at_tree(&self, leader: i32, threads: u32) -> Option<SeenState> {
        // Not waited for, as the files of a thread below.
        let mut tree = self.tree.try_lock().ok()?;
        if tree.as_ref().is_none_or(|tree| tree.leader() != leader) {
            *tree = Some(Tree::new(leader));
        }
        let tree = tree.as_mut()?;
        Some(state_of(tree, threads))
    }

    fn look_at_thread(&self) -> Option<SeenState> {
        let tid = self.tid();
        if tid == 0 {
            return None;
        }
        // Not waited for: who looks at this worker at this moment may be at nice 19.
        let mut files = self.files.try_lock().ok()?;
        if files.as_ref().is_none_or(|(of, _)| *of != tid) {
            *files = Some((tid, TaskFiles::new(tid)));
        }
        let sample = files.as_ref().map(|(_, files)| files.sample())?;
        if matches!(sample.state, TaskState::Dead | TaskState::Unknown) {
            // It executes an item, so it is there.
            return Some(SeenState::Unknown(inspect::thread_cpu(tid)));
        }
        let at_lock = sample.futex.is_some_and(|addr| self.pool.has_lock_at(addr));
        let asleep = sample.state.is_asleep();
        Some(SeenState::of_thread(asleep, sample.futex, at_lock))
    }
}

/// What a look at a process tree says of the worker that it stands for, where so many threads are
/// as good as more.
fn state_of(tree: &mut Tree, threads: u32) -> SeenState {
    let seen = tree.look(threads.max(1) as usize);
    if !seen.seen {
        return SeenState::Unknown(inspect::process_cpu(tree.leader()));
    }
    SeenState::of_tree(seen.runnable as u32, seen.stopped)
}
