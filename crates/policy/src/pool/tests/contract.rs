//! The protocols over more than one pool, on the rig: every queue has one pwq, of its number.

use super::*;
use crate::attrs::Spread;
use crate::contract::{self, Freezer, Machine, QueueInfo, TimersOf};
use crate::cpumask::CpuMask;
use crate::pool::tests::rig::Pool;
use crate::pool::tests::store::TestStore;
use crate::queue::{Attrs, Kind, Queue, QueueAttrs, Refused};
use crate::store::{ItemKey, PwqInfo, Store};
use crate::work::WorkWord;
use crate::{Cx, Nanos};
use core::cell::{Cell, RefCell};
use core::convert::Infallible;

pub(super) struct OnRig {
    rig: RefCell<Rig>,
    pub(super) queues: Vec<RefCell<Queue<usize>>>,
    timers: RefCell<TimersOf<OnRig>>,
    /// Timers of which somebody heard that their items were dropped.
    dropped: Cell<u32>,
    /// What was said of limits of one item, and what the pools knew of the limit then.
    ones: RefCell<Vec<(bool, u32)>>,
    /// Items that are waited for together.
    pub(super) groups: RefCell<Vec<Vec<usize>>>,
}

impl OnRig {
    /// So many pools, each with a queue of its number.
    pub(super) fn new(pools: usize) -> OnRig {
        OnRig::with_limit(pools, 10, false)
    }

    /// The same with this limit, which somebody has chosen or not.
    pub(super) fn with_limit(pools: usize, max_active: u32, dfl_active: bool) -> OnRig {
        let made = QueueAttrs {
            kind: Kind::Managed,
            attrs: Attrs::default(),
            max_active,
            dfl_active,
            exact: false,
            cpu_intensive: false,
            mem_reclaim: false,
            freezable: true,
        };
        let mut rig = Rig::new((0..pools).map(|_| attrs(2)));
        let mut queues = Vec::new();
        for pool in 0..pools {
            let mut queue = Queue::new(made);
            queue.add(rig.pwq(pool, made.max_active));
            queues.push(RefCell::new(queue));
        }
        let machine = OnRig {
            rig: RefCell::new(rig),
            queues,
            timers: RefCell::default(),
            dropped: Cell::default(),
            ones: RefCell::default(),
            groups: RefCell::default(),
        };
        for pwq in 0..pools {
            machine.with_queue(pwq, |q| contract::limit(&machine, q, pwq));
        }
        machine
    }

    pub(super) fn rig<R>(&self, act: impl FnOnce(&mut Rig) -> R) -> R {
        act(&mut self.rig.borrow_mut())
    }
}

/// One call of the core, after which the items know what they wait for.
fn call<R>(
    rig: &mut Rig,
    pool: usize,
    event: impl FnOnce(&mut Pool, &mut Cx<TestStore>) -> R,
) -> R {
    rig.call(pool, |core, cx| {
        let result = event(core, cx);
        for work in 0..cx.store.items.len() {
            let behind = core.deferred_for(work);
            cx.store.items[work].behind = behind.or(cx.store.items[work].behind);
        }
        result
    })
}

impl Machine for OnRig {
    type Store = TestStore;
    type Queue = usize;
    type NoPool = Infallible;
    type Group = usize;

    fn with_pool<R>(&self, pool: u32, event: impl FnOnce(&mut Pool, &mut Cx<TestStore>) -> R) -> R {
        self.rig(|rig| call(rig, pool as usize, event))
    }
    fn with_queue<R>(&self, queue: usize, act: impl FnOnce(&mut Queue<usize>) -> R) -> R {
        act(&mut self.queues[queue].borrow_mut())
    }
    fn with_timers<R>(&self, act: impl FnOnce(&mut TimersOf<OnRig>) -> R) -> R {
        act(&mut self.timers.borrow_mut())
    }
    fn timer_armed(&self, _: Time) {}
    fn now(&self) -> Time {
        self.rig(|rig| rig.now)
    }

    fn word(&self, work: usize) -> WorkWord {
        self.rig(|rig| rig.store.items[work].word)
    }
    fn step_word(
        &self,
        work: usize,
        step: impl Fn(WorkWord) -> Option<WorkWord>,
    ) -> Result<WorkWord, WorkWord> {
        let before = self.word(work);
        let next = step(before).ok_or(before)?;
        self.rig(|rig| rig.store.items[work].word = next);
        Ok(before)
    }
    fn key(&self, work: usize) -> ItemKey {
        self.rig(|rig| rig.store.items[work].key)
    }
    fn home(&self, _: usize, _: Option<usize>) -> u32 {
        0
    }
    fn retain(&self, _: usize) {}
    fn release(&self, _: usize) {}
    fn retain_queue(&self, _: usize) {}
    fn timer_dropped(&self, _: usize) {
        self.dropped.set(self.dropped.get() + 1);
    }
    fn release_queue(&self, _: usize) {}

    fn info(&self, pwq: usize) -> PwqInfo {
        self.rig(|rig| rig.store.info(pwq))
    }
    fn queue_info(&self, queue: usize) -> QueueInfo {
        QueueInfo {
            id: queue as u64,
            ordered: false,
        }
    }
    fn route(&self, queue: usize, _: Option<usize>) -> usize {
        queue
    }
    fn one_at_a_time(&self, pwq: usize, is: bool) {
        let known = self.rig(|rig| rig.store.limits[pwq].now().max());
        self.ones.borrow_mut().push((is, known));
    }
    fn route_by(&self, _: usize, _: &Attrs, _: Spread) {}
    fn routed(&self, _: usize) -> CpuMask {
        [0].into_iter().collect()
    }
    fn routed_to(&self, queue: usize, _: usize) -> Option<usize> {
        Some(queue)
    }
    fn publish(&self, queue: usize, _: usize, pwq: usize) {
        assert_eq!(queue, pwq, "a queue keeps its pwq here");
    }
    fn pool_for(&self, queue: usize, _: &Attrs, _: Spread, _: usize) -> Result<u32, Infallible> {
        Ok(queue as u32)
    }
    fn share(&self, _: &Attrs, _: Option<u32>, max_active: u32, _: u32) -> u32 {
        max_active
    }
    fn new_pwq(&self, queue: usize, _: &Queue<usize>, _: u32, _: bool) -> usize {
        panic!("queue {queue} keeps its pwq here")
    }
    fn relax(&self) {
        panic!("somebody owns an item, and nobody else is here")
    }
    fn members(&self, group: usize, show: impl FnMut(usize)) {
        self.groups.borrow()[group].iter().copied().for_each(show);
    }
}

#[test]
fn a_limit_of_one_is_said_before_pools_know_it_and_taken_back_after() {
    let machine = OnRig::new(1);
    for max_active in [1, 1, 5] {
        assert!(contract::set_max_active(&machine, 0, max_active));
    }
    assert_eq!(*machine.ones.borrow(), [(true, 10), (true, 1), (false, 5)]);
}

/// What begins when an item of one pool that runs is queued in another one, and then ends.
pub(super) fn queued_elsewhere() -> (Vec<usize>, Vec<usize>) {
    let machine = OnRig::new(2);
    let work = machine.rig(|rig| rig.queue_and_run(1, 0)[0]);
    contract::queue(&machine, 1, None, work).expect("it is not pending");
    machine.rig(|rig| {
        rig.run();
        let meanwhile = rig.started.clone();
        rig.end_and_run(work, ItemReport::default());
        (meanwhile, rig.started.clone())
    })
}

#[test]
fn an_item_that_runs_elsewhere_is_waited_for() {
    assert_eq!(queued_elsewhere(), (std::vec![0], std::vec![0, 0]));
}

/// What runs when a timer has expired.
pub(super) fn expired() -> Vec<usize> {
    const DELAY: Nanos = 5 * MILLISECOND;
    let machine = OnRig::new(1);
    let work = machine.rig(|rig| rig.item());
    contract::queue_delayed(&machine, 0, None, work, DELAY).expect("it is not pending");
    let expire = |at| contract::expire(&machine, Time(at), |_| Ok(()));
    assert_eq!([expire(DELAY - 1), expire(DELAY)], [false, true]);
    machine.rig(|rig| rig.run());
    machine.rig(|rig| rig.executing())
}

#[test]
fn an_item_begins_when_its_timer_expires() {
    assert_eq!(expired(), [0]);
}

#[test]
fn an_armed_item_that_its_queue_takes_no_more_is_dropped_and_that_is_said() {
    let machine = OnRig::new(1);
    let refuses = |_| Err(Refused::Draining);
    for hurried in [false, true] {
        let work = machine.rig(|rig| rig.item());
        contract::queue_delayed(&machine, 0, None, work, 5).expect("it is not pending");
        match hurried {
            true => assert!(!contract::hurry(&machine, work, refuses)),
            false => assert!(contract::expire(&machine, Time(5), refuses)),
        }
        assert!(!machine.word(work).is_pending());
        contract::queue_delayed(&machine, 0, None, work, 5).expect("it is free");
        assert!(contract::cancel(&machine, work));
    }
    assert_eq!(machine.dropped.get(), 2);
    assert_eq!(machine.rig(|rig| rig.executing()), []);
}

#[test]
fn a_queue_that_comes_while_others_are_frozen_is_frozen_and_has_its_limit_from_the_thaw_on() {
    let machine = OnRig::new(3);
    let frozen = |queue| machine.with_queue(queue, |q| (q.is_frozen(), q.effective_max()));
    let mut freezer = Freezer::default();
    freezer.adopt(&machine, 0);
    assert_eq!(frozen(0), (false, 10));
    freezer.freeze(&machine, [0]);
    freezer.adopt(&machine, 1);
    for queue in [0, 1] {
        assert!(contract::set_max_active(&machine, queue, 1));
        assert_eq!(frozen(queue), (true, 0));
        machine.rig(|rig| rig.queue_and_run(3, queue));
    }
    assert_eq!(machine.rig(|rig| rig.executing()), []);
    assert!(!contract::is_freezing(&machine, [0, 1]));
    freezer.thaw(&machine, [0, 1]);
    machine.rig(|rig| rig.run());
    assert_eq!(machine.rig(|rig| rig.executing()), [0, 3]);
    assert_eq!([frozen(0), frozen(1)], [(false, 1); 2]);
    freezer.adopt(&machine, 2);
    assert_eq!(frozen(2), (false, 10));
}

/// Whether a queue is drained whose only item waits for a slot.
pub(super) fn drained() -> bool {
    let machine = OnRig::new(1);
    contract::freeze(&machine, 0);
    machine.rig(|rig| rig.queue_and_run(1, 0));
    contract::is_drained(&machine, 0)
}

#[test]
fn an_item_that_waits_for_a_slot_is_waited_for() {
    assert!(!drained());
}
