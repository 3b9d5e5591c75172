//! A process in small: the protocols of `cmwq_policy::contract` and the pools' core, as they are,
//! over loom's locks and words. Items have the engine's headers, limits are the engine's.
//!
//! What only keeps books of a run (counts, wakes of workers) is in the standard library's words:
//! loom runs one thread at a time, and does not switch at them.
//!
//! | file | |
//! | --- | --- |
//! | `mod.rs` | pools, workers, and what the engine's handles do with the protocols |
//! | `machine.rs` | what the protocols run on |
//! | `store.rs` | what the core of a pool works on |
//! | `item.rs` | items |
//! | `dealing.rs` | a pool that deals to its worker |

mod dealing;
mod item;
mod machine;
mod store;

use std::ptr::NonNull;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicI32};
use std::sync::{Arc, Mutex as Books};

use cmwq_policy::contract::{self, Machine, QueueInfo, TimersOf};
use cmwq_policy::pool::{Claimant, Step};
use cmwq_policy::queue::{Attrs, Kind, Queue, QueueAttrs};
use cmwq_policy::store::{PwqInfo, SharedLimit};
use cmwq_policy::{Action, Cx, ItemReport, PoolAttrs, Rule, Time, WorkerId, WorkerPool};
use loom::sync::Mutex;
use loom::thread::{self, JoinHandle, Thread};

use crate::item::Header;
use crate::limit::LimitCell;
use crate::park::Parker;
use crate::sync::Futex;
use crate::wait::barrier::Barrier;
use dealing::Dealing;
pub(super) use item::Item;
use item::run;
use store::{Items, Part, Parts};

/// The only worker of each pool.
const WORKER: WorkerId = WorkerId(0);

/// What is due at this time is due; timers armed for later are far away.
pub(super) const SOON: Time = Time(100);

/// Where each queue meets pools, as it is made: one pool workqueue in each of these.
pub(super) struct Made {
    pub(super) kind: Kind,
    pub(super) max_active: u32,
    pub(super) pools: &'static [u32],
    /// The node of each of them, of which each has an equal part of the limit; empty: one limit for
    /// all.
    pub(super) nodes: &'static [u32],
}

impl Made {
    pub(super) const fn managed(pools: &'static [u32]) -> Self {
        Made {
            kind: Kind::Managed,
            max_active: 8,
            pools,
            nodes: &[],
        }
    }

    pub(super) const fn limited(max_active: u32, pools: &'static [u32]) -> Self {
        Made {
            max_active,
            ..Made::managed(pools)
        }
    }

    pub(super) const fn on_nodes(
        max_active: u32,
        pools: &'static [u32],
        nodes: &'static [u32],
    ) -> Self {
        Made {
            nodes,
            ..Made::limited(max_active, pools)
        }
    }

    pub(super) const fn ordered(pools: &'static [u32]) -> Self {
        Made {
            kind: Kind::Ordered,
            ..Made::limited(1, pools)
        }
    }
}

/// The machine.
pub(super) struct Rig {
    pools: Vec<Pool>,
    parts: Arc<Parts>,
    queues: Vec<QueueState>,
    timers: Mutex<TimersOf<Rig>>,
    pub(super) tick: Parker,
    /// The models' end.
    over: AtomicBool,
}

struct Pool {
    core: Mutex<WorkerPool<Items>>,
    /// If it deals.
    dealing: Option<Dealing>,
    worker: Caller,
    progress: Futex,
}

/// A worker's parking place: `park.rs` is proved by itself.
#[derive(Default)]
struct Caller {
    woken: AtomicBool,
    /// The worker, while it parks. At no other time: loom would let it into a lock that it waits
    /// for.
    parked: Books<Option<Thread>>,
}

struct QueueState {
    core: Mutex<Queue<usize>>,
    info: QueueInfo,
    pwqs: Vec<usize>,
    /// Parts of its limit.
    nodes: u32,
    /// References of timers and actions.
    held: AtomicI32,
}

// SAFETY: items are shared between threads as the protocols say; loom watches links and cells.
unsafe impl Send for Rig {}
// SAFETY: as above.
unsafe impl Sync for Rig {}

impl Rig {
    /// `pools` pools of one worker each, and these queues.
    pub(super) fn new(pools: u32, queues: &[Made]) -> Arc<Rig> {
        Rig::of((0..pools).map(Pool::new).collect(), queues)
    }

    /// A pool that deals to its worker, and these queues.
    pub(super) fn dealing(queues: &[Made]) -> Arc<Rig> {
        Rig::of(vec![Pool::dealing(0)], queues)
    }

    fn of(pools: Vec<Pool>, queues: &[Made]) -> Arc<Rig> {
        let mut parts = Parts::default();
        let queues = queues
            .iter()
            .enumerate()
            .map(|(id, made)| QueueState::new(id as u64, made, &mut parts));
        Arc::new(Rig {
            queues: queues.collect(),
            parts: Arc::new(parts),
            pools,
            timers: Mutex::new(TimersOf::<Rig>::default()),
            tick: Parker::default(),
            over: AtomicBool::new(false),
        })
    }

    /// A thread that is the worker of this pool, until [`end`](Self::end).
    pub(super) fn worker(self: &Arc<Self>, pool: u32) -> JoinHandle<()> {
        let rig = self.clone();
        thread::spawn(move || rig.live(pool))
    }

    fn live(&self, pool: u32) {
        let caller = &self.pools[pool as usize].worker;
        loop {
            if caller.woken.swap(false, SeqCst) {
                self.serve(pool);
            } else if self.over.load(SeqCst) {
                return;
            } else {
                *caller.parked.lock().unwrap() = Some(thread::current());
                thread::park();
            }
        }
    }

    /// What a woken worker does until it parks: `Worker::run`.
    fn serve(&self, pool: u32) {
        let mut ended: Option<ItemReport> = None;
        loop {
            let step = self.ask(pool, ended.take());
            match step {
                Step::Run(work, _) => {
                    run(work);
                    while let Some(next) = self.go_on(pool) {
                        run(next);
                    }
                    ended = Some(ItemReport::default());
                }
                Step::Park => return,
                step => unreachable!("{step:?}"),
            }
        }
    }

    fn ask(&self, pool: u32, ended: Option<ItemReport>) -> Step<NonNull<Header>, usize> {
        self.hold(pool, |core, cx, dealing| {
            if let Some(dealing) = dealing {
                return dealing.worker_asks(core, cx, ended.is_some());
            }
            if let Some(report) = ended {
                core.item_ended(cx, WORKER, report);
            }
            core.next(cx, WORKER)
        })
    }

    /// Lets the workers end what they have been woken for, and everything else end.
    pub(super) fn end(&self, workers: impl IntoIterator<Item = JoinHandle<()>>) {
        self.over.store(true, SeqCst);
        self.pools.iter().for_each(|pool| pool.worker.rouse());
        self.tick.unpark();
        for worker in workers {
            worker.join().unwrap();
        }
        // Those that have no thread in this model.
        while let Some(pool) = self.called() {
            self.serve(pool);
        }
        self.assert_idle();
    }

    fn called(&self) -> Option<u32> {
        let called = |pool: &Pool| pool.worker.woken.swap(false, SeqCst);
        self.pools.iter().position(called).map(|pool| pool as u32)
    }

    /// Nothing is queued, held or counted any more.
    fn assert_idle(&self) {
        for (id, pool) in self.pools.iter().enumerate() {
            let core = pool.core.lock().unwrap();
            assert_eq!(core.nr_in_flight(), 0, "left in pool {id}");
        }
        for (id, limit) in self.parts.limits.iter().enumerate() {
            let limit = limit.step(|_| None).unwrap_err();
            assert_eq!((limit.nr(), limit.waiting()), (0, false), "limit {id}");
        }
        let parts = self.parts.pwqs.iter().map(|part| &part.held);
        let queues = self.queues.iter().map(|queue| &queue.held);
        let held: i32 = parts.chain(queues).map(|held| held.load(SeqCst)).sum();
        assert_eq!(held, 0, "queues are kept");
        assert!(self.timers.lock().unwrap().is_empty());
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.load(SeqCst)
    }

    /// `Work::wait_barrier`: puts a barrier somewhere and waits for it.
    pub(super) fn wait_barrier(
        &self,
        insert: impl FnOnce(NonNull<Header>) -> Option<usize>,
    ) -> bool {
        let barrier = Barrier::new();
        let Some(pwq) = insert(barrier.work()) else {
            return false;
        };
        let latch = barrier.latch();
        if !latch.is_set() {
            latch.announce();
        }
        while !latch.is_set() {
            thread::park();
        }
        self.parts.unhold(pwq);
        true
    }

    /// `Work::flush`.
    pub(super) fn flush(&self, item: &Item) -> bool {
        self.wait_barrier(|barrier| contract::flush_item(self, item.work(), barrier))
    }

    /// `Work::disable_sync`. True if it was pending.
    pub(super) fn disable_sync(&self, item: &Item) -> bool {
        let was_pending = contract::disable(self, item.work()).was_pending;
        self.flush(item);
        was_pending
    }

    /// `Work::cancel_sync`. True if it was pending.
    pub(super) fn cancel_sync(&self, item: &Item) -> bool {
        let was_pending = self.disable_sync(item);
        contract::enable(self, item.work());
        was_pending
    }

    /// `Workqueue::flush`, outside of a worker.
    pub(super) fn flush_queue(&self, queue: usize) {
        for mut part in contract::begin_flush(self, queue) {
            let progress = &self.pools[part.pool as usize].progress;
            loop {
                let seen = progress.word.load(SeqCst);
                if self.with_pool(part.pool, |core, cx| {
                    contract::flush_step(core, cx, &mut part)
                }) {
                    break;
                }
                progress.wait(seen, None);
            }
        }
    }

    /// Queues an item where this queue meets its pool number `at`. True if it was not pending.
    pub(super) fn queue(&self, queue: usize, at: usize, item: &Item) -> bool {
        contract::queue(self, queue, Some(at), item.work()).is_ok()
    }

    /// `Pool::claim` and `Claimed::execute`, by a thread that is no worker.
    pub(super) fn claim(&self, pool: u32, item: &Item) -> bool {
        let by = Claimant::default();
        let claimed = self.with_pool(pool, |core, cx| core.claim(cx, item.work(), by));
        let Some((id, _)) = claimed else { return false };
        let mut next = Some(item.work());
        while let Some(work) = next {
            run(work);
            let ends = |core: &mut WorkerPool<Items>, cx: &mut Cx<Items>| {
                core.claim_ended(cx, id, ItemReport::default())
            };
            next = self.with_pool(pool, ends).map(|(barrier, _)| barrier);
        }
        true
    }

    pub(super) fn cancel(&self, item: &Item) -> bool {
        contract::cancel(self, item.work())
    }

    /// `Pool::carry_out`.
    fn carry_out(&self, pool: u32, action: Action<usize>) {
        match action {
            // A thread that is to be made is here, and waits for its first wake.
            Action::Wake(id) | Action::WakeNear(id, _) | Action::Spawn(id) => {
                assert_eq!(id, WORKER);
                self.pools[pool as usize].worker.unpark();
            }
            Action::Flushed(_) => {
                let progress = &self.pools[pool as usize].progress;
                progress.word.fetch_add(1, SeqCst);
                progress.wake(u32::MAX);
            }
            Action::Activate(pwq) => {
                contract::activate(self, pwq);
                self.parts.unhold(pwq);
            }
            Action::Undefer { pool, execution } => {
                self.with_pool(pool, |core, cx| core.undefer(cx, execution));
            }
            action => unreachable!("{action:?}"),
        }
    }
}

impl Pool {
    fn new(id: u32) -> Self {
        // Growth and budget are no part of what is modelled.
        let attrs = Pool::attrs(id, Rule::Unmanaged);
        Pool::of(WorkerPool::new(attrs), None)
    }

    /// Only managed ones deal. It has one worker, which needs no token.
    fn dealing(id: u32) -> Self {
        let core = WorkerPool::new(Pool::attrs(id, Rule::Managed));
        Pool::of(core.with_brief_items(), Some(Dealing::new()))
    }

    fn attrs(id: u32, rule: Rule) -> PoolAttrs {
        PoolAttrs {
            id,
            rule,
            nice: 0,
            target: 1,
            beyond: 0,
            budget: 1,
            thread_limit: 1,
            thread_most: 0,
        }
    }

    fn of(core: WorkerPool<Items>, dealing: Option<Dealing>) -> Self {
        Pool {
            core: Mutex::new(core),
            dealing,
            worker: Caller::default(),
            progress: Futex::new(0),
        }
    }
}

impl Caller {
    fn unpark(&self) {
        self.woken.store(true, SeqCst);
        self.rouse();
    }

    fn rouse(&self) {
        if let Some(thread) = self.parked.lock().unwrap().take() {
            thread.unpark();
        }
    }
}

impl QueueState {
    fn new(id: u64, made: &Made, parts: &mut Parts) -> Self {
        let mut core = Queue::new(QueueAttrs {
            kind: made.kind,
            attrs: Attrs::default(),
            max_active: made.max_active,
            dfl_active: false,
            exact: false,
            cpu_intensive: false,
            mem_reclaim: false,
            freezable: false,
        });
        let first_limit = parts.limits.len();
        let nodes = made.nodes.iter().max().map_or(1, |last| last + 1);
        let limits = (0..nodes).map(|_| LimitCell::new(made.max_active / nodes));
        parts.limits.extend(limits);
        for (at, &pool) in made.pools.iter().enumerate() {
            core.add(parts.pwqs.len());
            let node = made.nodes.get(at).copied();
            let limit = first_limit + node.unwrap_or(0) as usize;
            let info = PwqInfo {
                pool,
                queue: id,
                node,
                fifo: false,
            };
            parts.pwqs.push(Part::new(info, limit));
        }
        QueueState {
            pwqs: core.pwqs(),
            core: Mutex::new(core),
            info: QueueInfo {
                id,
                ordered: made.kind == Kind::Ordered,
            },
            nodes,
            held: AtomicI32::new(0),
        }
    }
}
