//! A machine of make-believe threads around the real core.

use super::super::{
    Cx, ItemReport, PoolAttrs, Published, Queueing, Seen, SeenState, Shortage, Step, Stuck,
    WorkerPool, seen::Plan,
};
use super::check::{self, Memory};
use super::inboxes::Inboxed;
use super::ops::{Flushing, Queue};
use super::store::TestStore;
use crate::action::Action;
use crate::time::{MILLISECOND, Nanos, Time};
use crate::worker::{Execution, State, Wait, WorkerId};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::vec::Vec;

pub(super) type Pool = WorkerPool<TestStore>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    Parked,
    /// Is about to ask for its next step.
    Awake,
    /// Creates another thread.
    Managing,
    Running(usize),
    /// A rescuer that has found nothing more to do.
    Leaving,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Thread {
    pub(super) doing: Doing,
    /// A wake-up that came while it did not sleep.
    pub(super) woken: bool,
}

/// Something that was asked for and is not carried out yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Todo {
    Wake(WorkerId),
    Spawn(WorkerId),
    /// The first creates the second.
    Create(WorkerId, WorkerId),
    Activate(usize),
    Emptied(usize),
    Released(usize),
    Mayday(usize),
    Undefer(Execution),
    /// Who has queued an item of this pool behind an execution looks whether it still goes on.
    Confirm(Execution),
    /// Who owns the item queues it through the pwq.
    Insert(usize, usize, Queueing),
    /// Who has taken the item back lets it go.
    Disown(usize),
}

impl Todo {
    /// What an action leaves to be done; nothing if somebody is only told. No queue is spread here.
    fn of(action: Action<usize>) -> Option<Todo> {
        match action {
            Action::Wake(id) | Action::WakeNear(id, _) => Some(Todo::Wake(id)),
            Action::Spawn(id) => Some(Todo::Spawn(id)),
            Action::Released(pwq) | Action::Spread(pwq) | Action::Gather(pwq) => {
                Some(Todo::Released(pwq))
            }
            Action::Emptied(pwq) => Some(Todo::Emptied(pwq)),
            Action::Activate(pwq) => Some(Todo::Activate(pwq)),
            Action::Mayday(pwq) => Some(Todo::Mayday(pwq)),
            Action::Undefer { execution, .. } => Some(Todo::Undefer(execution)),
            Action::Inspect | Action::Flushed(_) | Action::Drained(_) | Action::FailWait(_) => None,
        }
    }

    /// The pwq whose queue is kept until this is done.
    pub(super) fn keeps(self) -> Option<usize> {
        match self {
            Todo::Activate(pwq) | Todo::Emptied(pwq) | Todo::Released(pwq) | Todo::Mayday(pwq) => {
                Some(pwq)
            }
            _ => None,
        }
    }
}

pub(super) struct Rig {
    pub(super) store: TestStore,
    pub(super) pools: Vec<Pool>,
    pub(super) queues: Vec<Queue>,
    /// The threads of each pool, and the rescuers that help it just then.
    pub(super) threads: Vec<BTreeMap<WorkerId, Thread>>,
    pub(super) now: Time,
    /// The CPU that everything happens on.
    pub(super) cpu: u32,
    /// Each with the pool that it is for.
    pub(super) todo: Vec<(usize, Todo)>,
    /// Every action so far, with its pool.
    pub(super) said: Vec<(usize, Action<usize>)>,
    /// Items and barriers in the order they were started.
    pub(super) started: Vec<usize>,
    /// Flushes that are not over.
    pub(super) flushes: Vec<Flushing>,
    pub(super) spawns_fail: bool,
    /// How long a yield takes.
    pub(super) yield_takes: Nanos,
    pub(super) yields: u32,
    /// Items that were dealt and are not begun: in no list.
    pub(super) dealt: Rc<RefCell<Vec<usize>>>,
    /// Of each pool, if they [deal](Rig::that_deals).
    pub(super) inboxes: Vec<Rc<RefCell<Inboxed>>>,
    /// So many items that were queued before it may wait when an item begins.
    pub(super) may_pass: u64,
    memory: Memory,
}

impl Rig {
    pub(super) fn new(pools: impl IntoIterator<Item = PoolAttrs>) -> Rig {
        let mut rig = Rig {
            store: TestStore::default(),
            pools: Vec::new(),
            queues: Vec::new(),
            threads: Vec::new(),
            now: Time(0),
            cpu: 0,
            todo: Vec::new(),
            said: Vec::new(),
            started: Vec::new(),
            flushes: Vec::new(),
            spawns_fail: false,
            yield_takes: MILLISECOND,
            yields: 0,
            dealt: Rc::default(),
            inboxes: Vec::new(),
            may_pass: 0,
            memory: Memory::default(),
        };
        pools.into_iter().for_each(|attrs| _ = rig.add_pool(attrs));
        rig
    }

    /// One pool with one queue, number 0.
    pub(super) fn one(attrs: PoolAttrs, max_active: u32) -> Rig {
        let mut rig = Rig::new([attrs]);
        rig.pwq(0, max_active);
        rig
    }

    pub(super) fn add_pool(&mut self, attrs: PoolAttrs) -> usize {
        let id = self.pools.len() as u32;
        self.pools.push(WorkerPool::new(PoolAttrs { id, ..attrs }));
        self.threads.push(BTreeMap::new());
        id as usize
    }

    /// One call of the core, then the invariants.
    pub(super) fn call<R>(
        &mut self,
        pool: usize,
        act: impl FnOnce(&mut Pool, &mut Cx<TestStore>) -> R,
    ) -> R {
        if self.inboxes.is_empty() {
            return self.call_that_knows(pool, |pool, cx| (act(pool, cx), true));
        }
        self.call_that_recalls(pool, act)
    }

    /// The same. Tells whether the core knows all that its workers have done: else less holds.
    pub(super) fn call_that_knows<R>(
        &mut self,
        pool: usize,
        act: impl FnOnce(&mut Pool, &mut Cx<TestStore>) -> (R, bool),
    ) -> R {
        let ((result, knows_all), out) = self.hold(pool, act);
        for (locked, pool) in self.pools.iter().enumerate() {
            self.store.locked = Some(locked);
            match knows_all && !super::inboxes::has_news(&self.inboxes, locked) {
                true => pool.check_whole(&mut self.store),
                false => pool.check(),
            }
        }
        self.store.locked = None;
        self.note_own_lists(pool);
        for action in out.iter() {
            self.said.push((pool, action));
            let at = match action {
                Action::Undefer { pool, .. } => pool as usize,
                Action::Activate(pwq) => self.store.pwqs[pwq].pool,
                _ => pool,
            };
            self.todo.extend(Todo::of(action).map(|todo| (at, todo)));
        }
        let mut memory = core::mem::take(&mut self.memory);
        match knows_all && !self.has_news() {
            true => check::after_a_call(self, &mut memory),
            false => check::limits_are_kept(self, &mut memory),
        }
        self.memory = memory;
        self.forget_flushes();
        result
    }

    pub(super) fn thread(&mut self, pool: usize, id: WorkerId) -> &mut Thread {
        self.threads[pool].get_mut(&id).expect("the thread exists")
    }

    pub(super) fn own_list(&self, pool: usize, id: WorkerId) -> Vec<usize> {
        let list = &self.pools[pool].crew.get(id).scheduled;
        list.iter(&self.store).collect()
    }

    /// An awake worker asks for its next step and takes it.
    pub(super) fn ask(&mut self, pool: usize, id: WorkerId) {
        if self.thread(pool, id).doing == Doing::Leaving {
            return self.rescuer_leaves(pool, id);
        }
        self.step(pool, id, None);
    }

    fn note_own_lists(&mut self, pool: usize) {
        let ids: Vec<WorkerId> = self.pools[pool].crew.ids().collect();
        let own = ids.into_iter().flat_map(|id| self.own_list(pool, id));
        for work in own.collect::<Vec<_>>() {
            let item = &mut self.store.items[work];
            item.went_behind = item.stamp;
        }
    }

    /// A worker ends its item and asks, under one lock. Who stands behind it comes next.
    pub(super) fn end(&mut self, pool: usize, id: WorkerId, report: ItemReport) {
        let Doing::Running(work) = self.thread(pool, id).doing else {
            panic!("worker {id} runs nothing");
        };
        let next = self.barriers_behind(work);
        if self.goes_on(pool, id, &report) {
            return assert!(next.is_empty(), "{next:?} behind {work}");
        }
        self.thread(pool, id).doing = Doing::Awake;
        self.step(pool, id, Some(report));
        if !next.is_empty() {
            let doing = self.thread(pool, id).doing;
            let comes_next = |&barrier| doing == Doing::Running(barrier);
            assert!(next.iter().any(comes_next), "{next:?} behind {work}");
        }
    }

    fn step(&mut self, pool: usize, id: WorkerId, ended: Option<ItemReport>) {
        if self.pools[pool].crew.get(id).rescues.is_some() {
            return self.rescuer_step(pool, id, ended);
        }
        if self.pools[pool].crew.get(id).claim.is_some() {
            return self.claim_ends(pool, id, ended.expect("it has one item"));
        }
        let own = self.own_list(pool, id);
        let step = self.question(pool, id, ended);
        self.follow(pool, id, &own, step);
    }

    pub(super) fn follow(
        &mut self,
        pool: usize,
        id: WorkerId,
        own: &[usize],
        step: Step<usize, usize>,
    ) {
        let doing = match step {
            Step::Run(work, _) => {
                self.begins(work, own);
                Doing::Running(work)
            }
            Step::Create(new) => {
                self.todo.push((pool, Todo::Create(id, new)));
                Doing::Managing
            }
            Step::Park => Doing::Parked,
            Step::Yield => {
                self.yields += 1;
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
        if doing == Doing::Parked && core::mem::take(&mut thread.woken) {
            thread.doing = Doing::Awake;
        }
    }

    /// An item begins, of the worker's own list if it was in it.
    pub(super) fn begins(&mut self, work: usize, own: &[usize]) {
        check::begins(self, work, own.contains(&work));
        self.started.push(work);
    }

    /// Carries out one thing that was asked for.
    pub(super) fn deliver(&mut self, index: usize) {
        let (pool, todo) = self.todo.remove(index);
        if let (Some(pwq), false) = (todo.keeps(), matches!(todo, Todo::Mayday(_))) {
            self.store.pwqs[pwq].holds -= 1;
        }
        match todo {
            Todo::Wake(id) => self.wake(pool, id),
            Todo::Spawn(id) => self.create(pool, id),
            Todo::Create(manager, new) => {
                self.create(pool, new);
                self.thread(pool, manager).doing = Doing::Awake;
            }
            Todo::Activate(pwq) => self.activate(pool, pwq),
            Todo::Emptied(pwq) => self.pwq_emptied(pwq),
            Todo::Released(_) => {}
            Todo::Mayday(pwq) => self.mayday(pwq),
            Todo::Undefer(execution) => self.call(pool, |p, cx| p.undefer(cx, execution)),
            Todo::Confirm(execution) => self.confirm(pool, execution),
            Todo::Insert(work, pwq, how) => self.insert(work, pwq, how),
            Todo::Disown(work) => self.disown(work),
        }
    }

    /// Wakes a thread, also one that was not chosen. A retired one does not hear it.
    pub(super) fn wake(&mut self, pool: usize, id: WorkerId) {
        let Some(thread) = self.threads[pool].get_mut(&id) else {
            return;
        };
        match thread.doing {
            Doing::Parked => thread.doing = Doing::Awake,
            _ => thread.woken = true,
        }
    }

    fn create(&mut self, pool: usize, id: WorkerId) {
        if self.spawns_fail {
            return self.call(pool, |p, cx| p.spawn_failed(cx, id));
        }
        self.add_thread(pool, id);
    }

    pub(super) fn add_thread(&mut self, pool: usize, id: WorkerId) {
        let thread = Thread {
            doing: Doing::Awake,
            woken: false,
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
            .filter(|&(.., doing)| matches!(doing, Doing::Awake | Doing::Leaving))
            .map(|(pool, id, _)| (pool, id))
            .collect()
    }

    /// Lets everybody who can do something without time passing do it.
    pub(super) fn run(&mut self) {
        for _ in 0..10_000 {
            self.deliver_all();
            let Some(&(pool, id)) = self.awake().first() else {
                return check::at_leisure(self);
            };
            self.ask(pool, id);
        }
        panic!("the pool never comes to rest");
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

    /// The same, but for those whose threads are in the middle of a claim.
    pub(super) fn at_it(&self) -> Vec<(usize, WorkerId, usize)> {
        let mut running = self.running();
        running.retain(|&(pool, id, _)| self.pools[pool].crew.get(id).above.is_none());
        running
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

    pub(super) fn runnable_ns(&self, pool: usize) -> u128 {
        self.pools[pool].runnable_ns(self.now)
    }

    pub(super) fn published(&self, pool: usize) -> Published {
        self.pools[pool].published(self.now)
    }

    pub(super) fn idle_report(&mut self, pool: usize) -> bool {
        self.call(pool, |p, cx| p.cpu_idle(cx, None))
    }

    /// Looks at the planned workers as they are now, and reports.
    pub(super) fn scan(&mut self, pool: usize, look: impl Fn(usize) -> SeenState) -> Shortage {
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

    /// A tick period passes; the pools with backlog are scanned, and call their rescuers if it is
    /// time.
    pub(super) fn tick(&mut self, look: impl Fn(usize) -> SeenState + Copy) {
        self.advance(4 * MILLISECOND);
        for pool in 0..self.pools.len() {
            self.call(pool, |p, cx| p.call_rescuers(cx));
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
        self.pools[pool].crew.get(id).state()
    }
}
