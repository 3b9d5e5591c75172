//! Make-believe workers around the core's pools: whatever the core asks for is done at once, and
//! each call of the core is counted.

mod store;

use std::collections::VecDeque;

use cmwq_policy::colours::Flush;
use cmwq_policy::pool::{NoInbox, Queueing, Seen, SeenState};
use cmwq_policy::time::MICROSECOND;
use cmwq_policy::{
    Action, Actions, Cx, ItemReport, PoolAttrs, Rule, Step, Time, WorkerId, WorkerPool,
    worker::Wait,
};

pub(crate) use store::Tables;

type Pool = WorkerPool<Tables>;

/// A worker: its pool and its number there.
type Member = (u32, WorkerId);

/// Pools, their workers, and what these do.
pub(crate) struct Crew {
    tables: Tables,
    pools: Vec<Pool>,
    now: Time,
    /// Calls of the core so far.
    pub(crate) events: u64,
    /// Workers that are about to ask what to do.
    awake: VecDeque<Member>,
    /// Those that execute an item, the first that began first.
    at_work: VecDeque<Member>,
    /// Those whose item has said that it blocks, for good.
    blocked: Vec<Member>,
}

impl Crew {
    /// As many pools as asked for, each with one pool workqueue, all with one limit.
    pub(crate) fn new(pools: u32, rule: Rule, target: u32, max_active: u32, items: u32) -> Crew {
        let attrs = |id| PoolAttrs {
            id,
            rule,
            nice: 0,
            target,
            beyond: 0,
            budget: target * pools,
            thread_limit: 512,
            thread_most: 0,
        };
        Crew {
            tables: Tables::new(0..pools, max_active, items),
            pools: (0..pools).map(|id| Pool::new(attrs(id))).collect(),
            now: Time(0),
            events: 0,
            awake: VecDeque::new(),
            at_work: VecDeque::new(),
            blocked: Vec::new(),
        }
    }

    /// One call of the core, a microsecond after the last one; then what it asks for.
    fn call<R>(&mut self, pool: u32, event: impl FnOnce(&mut Pool, &mut Cx<Tables>) -> R) -> R {
        self.events += 1;
        self.now = self.now.after(MICROSECOND);
        let mut out = Actions::default();
        let mut cx = Cx {
            store: &mut self.tables,
            now: self.now,
            cpu: 0,
            out: &mut out,
        };
        let result = event(&mut self.pools[pool as usize], &mut cx);
        for action in out.iter() {
            self.carry_out(pool, action);
        }
        result
    }

    fn carry_out(&mut self, pool: u32, action: Action<u32>) {
        match action {
            Action::Wake(id) | Action::WakeNear(id, _) | Action::Spawn(id) => {
                self.awake.push_back((pool, id))
            }
            Action::Activate(pwq) => {
                let pool = self.tables.pool_of(pwq);
                self.call(pool, |core, cx| core.activate(cx, &mut NoInbox, pwq));
            }
            Action::Inspect => self.scan(pool, SeenState::Runnable),
            Action::Flushed(_) => {}
            other => unreachable!("{other:?} in a benchmark without such"),
        }
    }

    /// Queues an item.
    pub(crate) fn queue(&mut self, work: u32, pwq: u32) {
        self.tables.pend(work);
        let pool = self.tables.pool_of(pwq);
        let how = Queueing::default();
        let queued = self.call(pool, |core, cx| core.queue(cx, work, pwq, how));
        queued.expect("it is in use");
    }

    /// Takes a queued item back.
    pub(crate) fn cancel(&mut self, work: u32, pwq: u32) {
        let pool = self.tables.pool_of(pwq);
        let stolen = self.call(pool, |core, cx| core.steal(cx, work));
        stolen.expect("it is queued");
        self.tables.disown(work);
    }

    /// All who are awake ask what to do, until everybody works or sleeps.
    pub(crate) fn settle(&mut self) {
        while let Some((pool, id)) = self.awake.pop_front() {
            match self.call(pool, |core, cx| core.next(cx, id)) {
                Step::Run(..) => self.at_work.push_back((pool, id)),
                Step::Create(new) => self.awake.extend([(pool, new), (pool, id)]),
                Step::Yield => {
                    self.call(pool, |core, cx| core.yielded(cx, id, MICROSECOND));
                    self.awake.push_back((pool, id));
                }
                Step::Park | Step::Retire => {}
            }
        }
    }

    /// How many items have said that they block, for good.
    pub(crate) fn nr_blocked(&self) -> usize {
        self.blocked.len()
    }

    /// The item that was begun first ends; its worker asks what to do.
    pub(crate) fn end_one(&mut self) -> bool {
        let Some((pool, id)) = self.at_work.pop_front() else {
            return false;
        };
        self.call(pool, |core, cx| {
            core.item_ended(cx, id, ItemReport::default())
        });
        self.awake.push_back((pool, id));
        self.settle();
        true
    }

    /// As [`end_one`](Self::end_one), of an item that says that it blocks, and then that it is
    /// back.
    pub(crate) fn block_and_end_one(&mut self) -> bool {
        let Some(&(pool, id)) = self.at_work.front() else {
            return false;
        };
        self.call(pool, |core, cx| core.hint_begin(cx, id));
        self.settle();
        self.call(pool, |core, cx| core.hint_end(cx, id));
        self.end_one()
    }

    /// The item that was begun first blocks for good.
    pub(crate) fn block_one(&mut self) {
        let (pool, id) = self.at_work.pop_front().expect("somebody works");
        self.blocked.push((pool, id));
        self.call(pool, |core, cx| core.hint_begin(cx, id));
        self.settle();
    }

    /// The item that blocked last waits from now on for items of the queue; false if it may not.
    pub(crate) fn wait_for_items(&mut self, pwq: u32) -> bool {
        let &(pool, id) = self.blocked.last().expect("somebody is blocked");
        let wait = Wait::Items(pwq);
        self.call(pool, |core, cx| core.wait_begin(cx, id, wait))
            .is_ok()
    }

    /// A tick looks at the workers, and finds them in this state.
    pub(crate) fn scan(&mut self, pool: u32, state: SeenState) {
        let plan = self.pools[pool as usize].plan_scan();
        let seen = |(worker, item)| Seen {
            worker,
            item,
            state,
        };
        let seen: Vec<Seen> = plan.iter().map(seen).collect();
        self.call(pool, |core, cx| core.scanned(cx, &seen, true));
    }

    /// A CPU reports that it would idle.
    pub(crate) fn cpu_idle(&mut self, pool: u32) {
        self.call(pool, |core, cx| core.cpu_idle(cx, None));
        self.settle();
    }

    /// A flush of everything queued so far, one look at it included.
    pub(crate) fn flush(&mut self, pwq: u32) -> bool {
        let pool = self.tables.pool_of(pwq);
        match self.call(pool, |core, cx| core.begin_flush(cx, pwq)) {
            Flush::Wait(ticket) => self.call(pool, |core, cx| core.is_flushed(cx, pwq, ticket)),
            Flush::Done => true,
            Flush::Full => false,
        }
    }
}
