//! A machine of make-believe threads around the real core.

use super::super::{
    Cx, ItemReport, PoolAttrs, Published, Seen, SeenState, Step, Stuck, WorkerPool, signals::Plan,
};
use super::check::{Memory, check};
use crate::action::{Action, Actions};
use crate::budget::Budget;
use crate::list::Links;
use crate::pwq::PoolWorkqueue;
use crate::store::{BusyKey, Store};
use crate::time::{MILLISECOND, Nanos, Time};
use crate::worker::{State, Wait, WorkerId};
use std::collections::BTreeMap;
use std::vec::Vec;

pub(super) type Pool = WorkerPool<TestStore>;

/// One item: what the runtime keeps in its header.
#[derive(Clone, Debug, Default)]
pub(super) struct Item {
    next: Option<usize>,
    prev: Option<usize>,
    pub(super) pwq: usize,
    pub(super) colour: u8,
    pub(super) pending: bool,
    pub(super) inactive: bool,
    /// When it was queued last, as a count of queueings.
    pub(super) stamp: u64,
    pub(super) starts: u32,
}

#[derive(Default)]
pub(super) struct TestStore {
    pub(super) items: Vec<Item>,
    /// With the pool that each belongs to.
    pub(super) pwqs: Vec<(usize, PoolWorkqueue<TestStore>)>,
    pub(super) budget: Budget,
}

impl Links for TestStore {
    type Work = usize;
    fn next(&self, work: usize) -> Option<usize> {
        self.items[work].next
    }
    fn prev(&self, work: usize) -> Option<usize> {
        self.items[work].prev
    }
    fn set_next(&mut self, work: usize, next: Option<usize>) {
        self.items[work].next = next;
    }
    fn set_prev(&mut self, work: usize, prev: Option<usize>) {
        self.items[work].prev = prev;
    }
}

impl Store for TestStore {
    type Pwq = usize;
    fn pwq_of(&self, work: usize) -> usize {
        self.items[work].pwq
    }
    fn pwq(&mut self, pwq: usize) -> &mut PoolWorkqueue<Self> {
        &mut self.pwqs[pwq].1
    }
    fn colour_of(&self, work: usize) -> u8 {
        self.items[work].colour
    }
    fn set_queued(&mut self, work: usize, pwq: usize, colour: u8, inactive: bool) {
        let item = &mut self.items[work];
        assert!(item.pending, "item {work} is queued but not pending");
        (item.pwq, item.colour, item.inactive) = (pwq, colour, inactive);
    }
    fn set_running(&mut self, work: usize) {
        let item = &mut self.items[work];
        assert!(item.pending, "item {work} starts but was not queued");
        item.pending = false;
        item.starts += 1;
    }
    fn busy_key(&self, work: usize) -> BusyKey {
        BusyKey {
            addr: 64 * work as u64,
            func: 7,
            queue: self.items[work].pwq as u64,
        }
    }
    fn step_budget(&mut self, step: impl Fn(Budget) -> Option<Budget>) -> bool {
        let next = step(self.budget);
        self.budget = next.unwrap_or(self.budget);
        next.is_some()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    Parked,
    /// Is about to ask for its next step.
    Awake,
    /// Creates another thread.
    Managing,
    Running(usize),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Thread {
    pub(super) doing: Doing,
    /// A wake-up that came while it did not sleep.
    token: bool,
}

/// Something that was asked for and is not carried out yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Todo {
    Wake(WorkerId),
    Spawn(WorkerId),
    /// The first creates the second.
    Create(WorkerId, WorkerId),
}

pub(super) struct Rig {
    pub(super) store: TestStore,
    pub(super) pools: Vec<Pool>,
    pub(super) threads: Vec<BTreeMap<WorkerId, Thread>>,
    pub(super) now: Time,
    pub(super) todo: Vec<(usize, Todo)>,
    /// Every action so far, with its pool.
    pub(super) said: Vec<(usize, Action<usize>)>,
    /// Items in the order they were started.
    pub(super) started: Vec<usize>,
    pub(super) spawns_fail: bool,
    /// How long a yield takes.
    pub(super) yield_takes: Nanos,
    memory: Memory,
    stamps: u64,
}

/// Attributes of a pool that has the machine to itself, and threads enough.
pub(super) fn attrs(target: u32) -> PoolAttrs {
    PoolAttrs {
        nice: 0,
        target,
        budget: target,
        thread_limit: 512,
    }
}

impl Rig {
    pub(super) fn new(pools: impl IntoIterator<Item = PoolAttrs>) -> Rig {
        let pools: Vec<Pool> = pools.into_iter().map(WorkerPool::new).collect();
        Rig {
            store: TestStore::default(),
            threads: pools.iter().map(|_| BTreeMap::new()).collect(),
            pools,
            now: Time(0),
            todo: Vec::new(),
            said: Vec::new(),
            started: Vec::new(),
            spawns_fail: false,
            yield_takes: MILLISECOND,
            memory: Memory::default(),
            stamps: 0,
        }
    }

    /// One pool with one queue, number 0.
    pub(super) fn one(attrs: PoolAttrs, max_active: u32) -> Rig {
        let mut rig = Rig::new([attrs]);
        rig.pwq(0, max_active);
        rig
    }

    pub(super) fn pwq(&mut self, pool: usize, max_active: u32) -> usize {
        self.store.pwqs.push((pool, PoolWorkqueue::new(max_active)));
        self.store.pwqs.len() - 1
    }

    pub(super) fn item(&mut self) -> usize {
        self.store.items.push(Item::default());
        self.store.items.len() - 1
    }

    /// One call of the core, then the invariants.
    pub(super) fn call<R>(
        &mut self,
        pool: usize,
        act: impl FnOnce(&mut Pool, &mut Cx<TestStore>) -> R,
    ) -> R {
        let mut out = Actions::default();
        let mut cx = Cx {
            store: &mut self.store,
            now: self.now,
            out: &mut out,
        };
        let result = act(&mut self.pools[pool], &mut cx);
        for action in out.iter() {
            self.said.push((pool, action));
            match action {
                Action::Wake(id) => self.todo.push((pool, Todo::Wake(id))),
                Action::Spawn(id) => self.todo.push((pool, Todo::Spawn(id))),
                _ => {}
            }
        }
        check(&self.pools, &mut self.store, &mut self.memory);
        result
    }

    /// Queues an item; false if it is queued already.
    pub(super) fn queue(&mut self, work: usize, pwq: usize) -> bool {
        let item = &mut self.store.items[work];
        if core::mem::replace(&mut item.pending, true) {
            return false;
        }
        self.stamps += 1;
        item.stamp = self.stamps;
        let pool = self.store.pwqs[pwq].0;
        self.call(pool, |p, cx| p.queue(cx, work, pwq));
        true
    }

    /// Queues so many new items.
    pub(super) fn queue_new(&mut self, count: usize, pwq: usize) -> Vec<usize> {
        let items: Vec<usize> = (0..count).map(|_| self.item()).collect();
        for &work in &items {
            assert!(self.queue(work, pwq));
        }
        items
    }

    pub(super) fn thread(&mut self, pool: usize, id: WorkerId) -> &mut Thread {
        self.threads[pool].get_mut(&id).expect("the thread exists")
    }

    /// An awake worker asks for its next step and takes it.
    pub(super) fn ask(&mut self, pool: usize, id: WorkerId) {
        let own = self.pools[pool].workers.get(id).scheduled.first();
        let step = self.call(pool, |p, cx| p.next(cx, id));
        self.follow(pool, id, own, step);
    }

    /// A worker ends its item and asks, under one lock.
    pub(super) fn end(&mut self, pool: usize, id: WorkerId, report: ItemReport) {
        let own = self.pools[pool].workers.get(id).scheduled.first();
        let step = self.call(pool, |p, cx| {
            p.item_ended(cx, id, report);
            p.next(cx, id)
        });
        self.follow(pool, id, own, step);
    }

    fn follow(&mut self, pool: usize, id: WorkerId, own: Option<usize>, step: Step<usize, usize>) {
        let doing = match step {
            Step::Run(work, pwq) => {
                self.memory
                    .begun(pwq, self.store.items[work].stamp, own == Some(work));
                self.started.push(work);
                Doing::Running(work)
            }
            Step::Create(new) => {
                self.todo.push((pool, Todo::Create(id, new)));
                Doing::Managing
            }
            Step::Park => Doing::Parked,
            Step::Yield => {
                let took = self.yield_takes;
                self.call(pool, |p, cx| p.yielded(cx, id, took));
                Doing::Awake
            }
            Step::Retire => {
                self.threads[pool].remove(&id);
                return;
            }
        };
        let thread = self.thread(pool, id);
        thread.doing = doing;
        if doing == Doing::Parked && core::mem::take(&mut thread.token) {
            thread.doing = Doing::Awake;
        }
    }

    /// Carries out one thing that was asked for.
    pub(super) fn deliver(&mut self, index: usize) {
        let (pool, todo) = self.todo.remove(index);
        match todo {
            Todo::Wake(id) => self.wake(pool, id),
            Todo::Spawn(id) => self.create(pool, id),
            Todo::Create(manager, new) => {
                self.create(pool, new);
                self.thread(pool, manager).doing = Doing::Awake;
            }
        }
    }

    /// Wakes a thread, also one that was not chosen. A retired one does not hear it.
    pub(super) fn wake(&mut self, pool: usize, id: WorkerId) {
        let Some(thread) = self.threads[pool].get_mut(&id) else {
            return;
        };
        match thread.doing {
            Doing::Parked => thread.doing = Doing::Awake,
            _ => thread.token = true,
        }
    }

    fn create(&mut self, pool: usize, id: WorkerId) {
        if self.spawns_fail {
            return self.call(pool, |p, cx| p.spawn_failed(cx, id));
        }
        let thread = Thread {
            doing: Doing::Awake,
            token: false,
        };
        assert!(self.threads[pool].insert(id, thread).is_none());
    }

    pub(super) fn deliver_all(&mut self) {
        while !self.todo.is_empty() {
            self.deliver(0);
        }
    }

    /// Workers that are about to ask.
    pub(super) fn awake(&self) -> Vec<(usize, WorkerId)> {
        let threads = self.threads.iter().enumerate();
        threads
            .flat_map(|(pool, threads)| threads.iter().map(move |(&id, t)| (pool, id, t.doing)))
            .filter(|&(.., doing)| doing == Doing::Awake)
            .map(|(pool, id, _)| (pool, id))
            .collect()
    }

    /// Lets everybody who can do something without time passing do it.
    pub(super) fn run(&mut self) {
        for _ in 0..10_000 {
            self.deliver_all();
            let Some(&(pool, id)) = self.awake().first() else {
                return;
            };
            self.ask(pool, id);
        }
        panic!("the pool never comes to rest");
    }

    /// Queues so many new items and lets everything settle.
    pub(super) fn queue_and_run(&mut self, count: usize, pwq: usize) -> Vec<usize> {
        let items = self.queue_new(count, pwq);
        self.run();
        items
    }

    /// Ends the item and lets everything settle.
    pub(super) fn end_and_run(&mut self, work: usize, report: ItemReport) {
        let (pool, id) = self.who(work).expect("the item runs");
        self.end(pool, id, report);
        self.run();
    }

    pub(super) fn running(&self) -> Vec<(usize, WorkerId, usize)> {
        let threads = self.threads.iter().enumerate();
        threads
            .flat_map(|(pool, threads)| threads.iter().map(move |(&id, t)| (pool, id, t.doing)))
            .filter_map(|(pool, id, doing)| match doing {
                Doing::Running(work) => Some((pool, id, work)),
                _ => None,
            })
            .collect()
    }

    /// The items being executed, in the order of their workers.
    pub(super) fn executing(&self) -> Vec<usize> {
        self.running().into_iter().map(|(.., work)| work).collect()
    }

    /// The worker that executes this item.
    pub(super) fn who(&self, work: usize) -> Option<(usize, WorkerId)> {
        let mut running = self.running().into_iter();
        let found = running.find(|&(.., w)| w == work);
        found.map(|(pool, id, _)| (pool, id))
    }

    pub(super) fn advance(&mut self, nanos: Nanos) {
        self.now = self.now.after(nanos);
    }

    pub(super) fn published(&self, pool: usize) -> Published {
        self.pools[pool].published(self.now)
    }

    pub(super) fn idle_report(&mut self, pool: usize) -> bool {
        self.call(pool, |p, cx| p.cpu_idle(cx, None))
    }

    /// Looks at the planned workers as they are now, and reports.
    pub(super) fn scan(&mut self, pool: usize, look: impl Fn(usize) -> SeenState) -> bool {
        let plan = self.pools[pool].plan_scan();
        let seen = self.seen(pool, &plan, look);
        self.call(pool, |p, cx| p.scanned(cx, &seen, true))
    }

    pub(super) fn seen(
        &self,
        pool: usize,
        plan: &Plan,
        look: impl Fn(usize) -> SeenState,
    ) -> Vec<Seen> {
        let found = plan.iter().filter_map(|(worker, item)| {
            let Doing::Running(work) = self.threads[pool].get(&worker)?.doing else {
                return None;
            };
            let state = look(work);
            Some(Seen {
                worker,
                item,
                state,
            })
        });
        found.collect()
    }

    /// A tick period passes; the pools with backlog are scanned.
    pub(super) fn tick(&mut self, look: impl Fn(usize) -> SeenState + Copy) {
        self.advance(4 * MILLISECOND);
        for pool in 0..self.pools.len() {
            if self.published(pool).backlog {
                self.scan(pool, look);
            }
        }
    }

    pub(super) fn hint_begin(&mut self, work: usize) {
        let (pool, id) = self.who(work).expect("the item runs");
        self.call(pool, |p, cx| p.hint_begin(cx, id));
    }

    pub(super) fn hint_end(&mut self, work: usize) {
        let (pool, id) = self.who(work).expect("the item runs");
        self.call(pool, |p, cx| p.hint_end(cx, id));
    }

    /// The item is about to wait for something queued through `pwq`.
    pub(super) fn wait(&mut self, work: usize, pwq: usize) -> Result<(), Stuck> {
        let (pool, id) = self.who(work).expect("the item runs");
        self.call(pool, |p, cx| p.wait_begin(cx, id, Wait::Items(pwq)))
    }

    pub(super) fn wait_end(&mut self, work: usize) {
        let (pool, id) = self.who(work).expect("the item runs");
        self.call(pool, |p, cx| p.wait_end(cx, id));
    }

    /// How often this was said.
    pub(super) fn count(&self, action: Action<usize>) -> usize {
        self.said.iter().filter(|&&(_, a)| a == action).count()
    }

    pub(super) fn state(&self, pool: usize, id: WorkerId) -> State {
        self.pools[pool].workers.get(id).state
    }
}
