//! Worker threads: the loop that the engine's workers run (`crates/engine/src/threads/worker.rs`),
//! as a state machine, but that nobody here lingers (`cmwq_policy::linger`).

use cmwq_policy::pool::{Left, Step, is_its_own};
use cmwq_policy::work::WorkWord;
use cmwq_policy::{Actions, ItemReport, Nanos, Store as _, Time, WorkerId};

use super::sharing::Before;
use crate::api::names::{Execution, ItemId, PoolId, PwqId, WorkerRef};
use crate::api::trace::What;
use crate::cpu::ThreadId;
use crate::machine::Machine;
use crate::state::event::Event;
use crate::state::pending::Awaited;
use crate::state::pool::Pool;
use crate::state::thread::Sleep;
use crate::state::worker::{Running, Worker};
use crate::threads::NewThread;

impl Machine {
    pub(crate) fn worker<R>(&self, id: ThreadId, look: impl FnOnce(&mut Worker) -> R) -> R {
        self.frame(id, |f| look(f.worker.as_mut().expect("a worker")))
    }

    /// A worker between two items asks for its next step, and takes it.
    pub(crate) fn work(&self, id: ThreadId) {
        if let Some(rescuer) = self.worker(id, |w| w.rescuer) {
            return self.rescue(id, rescuer);
        }
        let who = self.worker_of(id).expect("it has a pool");
        if self.worker(id, |w| w.lost) {
            let ended = self.worker(id, Worker::take_report);
            return self.give_up(id, who, ended);
        }
        if self.worker(id, |w| std::mem::take(&mut w.parked)) && self.receive(id, who) {
            return;
        }
        if self.asks_next(id, who) && self.waits_for_lock(id, &self.pool(who.pool)) {
            return;
        }
        let has_lock = self.worker(id, |w| w.has_lock);
        let came = has_lock.map_or(self.now(), |(came, _)| came);
        if let Some((item, pwq, (asked, waited))) = self.next_dealt(id, who, came) {
            self.widen(id, who.pool);
            let begun = self.begins(id, came, (asked, waited || came < self.now()));
            return self.begin(id, item, pwq, begun);
        }
        let (step, stays) = self.ask_core(id, who, came);
        match step {
            Step::Run(item, pwq) => {
                self.widen(id, who.pool);
                let later = !stays || came < self.now() || self.has_dealt(who);
                let begun = self.begins(id, came, (true, later));
                self.begin(id, item, pwq, begun);
            }
            Step::Create(new) if self.is_lost(id, who) => {
                // A thread has what its creator has: another one makes it.
                self.spawn_worker(who.pool, new);
                self.give_up(id, who, None);
            }
            Step::Create(new) => {
                self.request_worker(who.pool, new, Some(id));
                self.put_back(id);
            }
            Step::Park if self.is_lost(id, who) => self.give_up(id, who, None),
            Step::Park => {
                self.worker(id, |w| w.parked = true);
                self.park(id);
                self.put_back(id);
            }
            Step::Yield => self.yield_cpu(id),
            Step::Retire => self.retire(id, who),
        }
    }

    /// When the item begins, for which the worker has come at this time, and asked the pool or not.
    fn begins(&self, id: ThreadId, came: Time, (asked, later): (bool, bool)) -> Time {
        let took = self.now().since(came) + self.sched().overhead_of(id);
        let way = self.worker(id, |w| {
            let reads = w.meter.beginnings.reads(asked, later);
            let way = reads.then_some(took);
            w.meter.beginnings.begins(way);
            way
        });
        came.after(way.unwrap_or(0))
    }

    /// Whether something was dealt to the worker.
    fn has_dealt(&self, who: WorkerRef) -> bool {
        self.pool(who.pool).inbox.borrow().not_begun_by(who.id) > 0
    }

    /// Whether what the worker does next takes the pool's lock.
    fn asks_next(&self, id: ThreadId, who: WorkerRef) -> bool {
        let pool = self.pool(who.pool);
        let goes_on = |report| {
            let inbox = pool.inbox.borrow();
            let (now, id) = (self.now(), who.id);
            inbox.goes_on(id, now, &report) && inbox.has_for(id) && !inbox.tells(id, now)
        };
        !self.worker(id, |w| w.ended).is_some_and(goes_on)
    }

    /// The worker goes on to the next item that it was dealt, if its last one was so short. Tells
    /// whether the pool had to deal it more.
    fn next_dealt(
        &self,
        id: ThreadId,
        who: WorkerRef,
        now: Time,
    ) -> Option<(ItemId, PwqId, (bool, bool))> {
        let (ended, ran) = self.worker(id, |w| (w.ended, now.since(w.meter.begun)));
        let report = ItemReport {
            ran: Some(ran),
            ..ended?
        };
        let pool = self.pool(who.pool);
        let goes_on = pool.inbox.borrow().goes_on(who.id, now, &report);
        let in_row = pool.inbox.borrow().is_in_row(who.id);
        // It may have come for the lock when the row was empty.
        let tells = in_row && (self.has_lock(id) || pool.inbox.borrow().tells(who.id, now));
        if goes_on && tells {
            self.tell(who, self.now().since(now));
        }
        // It may run alone now.
        let in_row = pool.inbox.borrow().is_in_row(who.id);
        let asked = goes_on && self.deal_more(&pool, who.id, self.now().since(now));
        let before = Before::of(&pool.inbox.borrow());
        let next = pool.inbox.borrow_mut().go_on(who.id, self.now(), &report)?;
        let waited = in_row && self.charge_row(id, &pool, &before);
        self.worker(id, |w| w.ended = None);
        let word = WorkWord::off_queue(who.pool.0);
        self.items.borrow_mut().set_word(next.0, word);
        if self.observer.get().is_some() {
            // Who watches looks at the pool after each step, and then it may not change.
            self.with_inbox(who.pool, |_, _, _| ());
        }
        Some((next.0, next.1, (asked || in_row, waited || tells)))
    }

    /// The worker tells the pool what it has taken of the row, for which it has waited so long.
    fn tell(&self, who: WorkerRef, wait: Nanos) {
        self.drop_reports(who.pool);
        let pool = self.pool(who.pool);
        let before = pool.published.get();
        let stays = self.beside_dealt(who.pool, |core, cx, inbox| {
            core.waited(wait);
            core.tells(cx, (inbox, &before), who.id)
        });
        let after = pool.published.get();
        assert!(
            !stays || after.tells_no_other(&before),
            "{before:?}: {after:?}"
        );
    }

    /// The worker is dealt more, if it has begun all that it was dealt. No event. Whether it has
    /// asked.
    fn deal_more(&self, pool: &Pool, id: WorkerId, wait: Nanos) -> bool {
        let mut inbox = pool.inbox.borrow_mut();
        let Some((dealer, dealt)) = inbox.wants_more(id, self.now()) else {
            return false;
        };
        let before = Before::of(&inbox);
        let mut out = Actions::default();
        self.hold_core(pool, &mut out, |core, cx| {
            core.waited(wait);
            core.deal_more(cx, &mut *inbox, dealer, dealt);
        });
        debug_assert!(out.is_empty(), "it is no event");
        self.charge_hold(pool, 0, &before, &inbox);
        true
    }

    /// Its next step, and whether it goes on by the quick way.
    fn ask_core(&self, id: ThreadId, who: WorkerRef, came: Time) -> (Step<ItemId, PwqId>, bool) {
        let (ended, yielded) = self.worker(id, |w| (w.ended.take(), w.yielded.take()));
        let took = yielded.map(|at| came.since(at));
        if ended.is_some() {
            self.drop_reports(who.pool);
        }
        let pool = self.pool(who.pool);
        let before = pool.published.get();
        let (step, stays) = self.beside_dealt(who.pool, |core, cx, inbox| {
            core.waited(self.now().since(came));
            if let Some(took) = took {
                core.recall(cx, inbox, None);
                core.yielded(cx, who.id, took);
            }
            match ended {
                Some(report) => core.ended_beside(cx, (inbox, &before), who.id, report),
                None => (core.next_beside(cx, (inbox, &before), who.id), false),
            }
        });
        // Here it is published all the same.
        let after = pool.published.get();
        assert!(
            !stays || after.tells_no_other(&before),
            "{before:?}: {after:?}"
        );
        (step, stays)
    }

    /// The worker executes this item, from then on.
    pub(crate) fn begin(&self, id: ThreadId, work: ItemId, pwq: PwqId, begun: Time) {
        let running = self.take_off(work, pwq);
        self.worker(id, |w| {
            w.running = Some(running);
            w.meter.begun = begun;
        });
        self.charge_execution(id, work);
        self.execute(id, &running);
    }

    /// An execution of an item that is on no list any more: from here on the item is its
    /// function's.
    pub(crate) fn take_off(&self, work: ItemId, pwq: PwqId) -> Running {
        let mut items = self.items.borrow_mut();
        let item = items.item_mut(work);
        item.started += 1;
        item.references -= 1;
        let number = item.started;
        Running::new(Execution { item: work, number }, pwq)
    }

    /// The thread does what the item's function does.
    pub(crate) fn execute(&self, id: ThreadId, running: &Running) {
        let execution = running.execution;
        if !self.is_barrier(execution.item) {
            let queue = self.items.borrow().queue_of(running.pwq);
            self.note(id, What::Start(execution, queue));
        }
        let body = self.bodies.borrow()[execution.item.0 as usize].clone();
        let program = body(execution.number);
        let random = self.random.of_execution(execution);
        self.frame(id, |f| f.random = random);
        self.program(id, |p| *p = Some(program));
    }

    /// Whether it is none of the program's items.
    pub(crate) fn is_barrier(&self, item: ItemId) -> bool {
        self.items.borrow().item(item).is_barrier
    }

    /// The item's function has returned.
    pub(crate) fn item_over(&self, id: ThreadId) {
        let used = self.thread_stats(id);
        let now = self.now();
        let (over, ran) = self.worker(id, |w| {
            w.ended = Some(w.meter.end(now, used));
            let over = w.running.take().expect("it has executed an item");
            let ran = now.since(w.meter.begun);
            w.meter.beginnings.ended(ran);
            (over, ran)
        });
        if !self.is_barrier(over.execution.item) {
            self.note(id, What::End(over.execution));
        }
        let lost = self.tidy_up(id, ran);
        self.worker(id, |w| w.lost = lost);
        self.put_back(id);
    }

    pub(crate) fn park(&self, id: ThreadId) {
        if !self.frame(id, |f| std::mem::take(&mut f.token)) {
            self.sleep(id, Sleep::Parked);
        }
    }

    /// Wakes an idle worker; one that does not sleep will not, the next time it parks.
    pub(crate) fn unpark(&self, id: ThreadId) {
        let parked = self.frame(id, |f| {
            let parked = matches!(f.sleep, Sleep::Parked);
            f.token |= !parked;
            parked
        });
        if parked {
            // It has slept of its own: that says nothing of the next item.
            let (used, looked) = (self.thread_stats(id), self.now());
            self.frame(id, |f| {
                if let Some(worker) = &mut f.worker {
                    (worker.meter.used, worker.meter.looked) = (used, looked);
                }
            });
            self.charge_wake();
            self.wake(id);
        }
    }

    fn yield_cpu(&self, id: ThreadId) {
        self.worker(id, |w| w.yielded = Some(self.now()));
        self.sched().yield_now(self.now(), id);
    }

    fn retire(&self, id: ThreadId, who: WorkerRef) {
        self.pool(who.pool).forget(who.id, id);
        self.exit_worker(id);
    }

    pub(crate) fn exit_worker(&self, id: ThreadId) {
        self.note(id, What::Exit);
        self.sched().exit(self.now(), id);
    }

    /// Asks for the thread of a worker; `manager` waits until it is there.
    pub(crate) fn request_worker(&self, pool: PoolId, id: WorkerId, manager: Option<ThreadId>) {
        let takes = self.spawn_takes();
        if takes == 0 {
            return self.create_worker(pool, id);
        }
        self.after(takes, Event::Spawned(pool, id, manager));
        if let Some(manager) = manager {
            self.sleep(manager, Sleep::Event);
        }
    }

    /// Creates the thread of a worker, or tells the core that it could not.
    pub(crate) fn create_worker(&self, pool: PoolId, id: WorkerId) {
        if self.does_spawn_fail() {
            self.spawn_failures.set(self.spawn_failures.get() + 1);
            return self.in_pool(pool, |core, cx| core.spawn_failed(cx, id));
        }
        let who = WorkerRef { pool, id };
        let pool = self.pool(pool);
        let thread = self.create(NewThread {
            name: pool.worker_name(id),
            allowed: pool.key.reach().allowed,
            nice: pool.key.nice(),
            idle_class: false,
            footprint: self.options.costs.worker_footprint,
            program: None,
            worker: Some(Worker::new(Some(who), None, pool.key.nice(), self.now())),
        });
        pool.enter(id, thread);
    }

    /// The thread sleeps: if it executes an item, its pool may hear of it, and those of the items
    /// beneath that one.
    pub(crate) fn item_sleeps(&self, id: ThreadId) {
        let (told, stack) = self.frame(id, |f| (self.is_told(&f.sleep), f.stack()));
        let Some((who, beneath)) = stack.split_first().filter(|_| told) else {
            return;
        };
        self.running(id, |running| running.told = true);
        let awaits = self.awaited(id);
        // Nothing comes of it before all of them know.
        self.postpone_actions();
        match awaits {
            Some(wait) => self.in_pool(who.pool, |core, cx| {
                core.wait_begin(cx, who.id, wait).expect("asked before");
            }),
            None => self.in_pool_of(who.pool, |core, cx| core.hint_begin(cx, who.id)),
        }
        beneath.iter().for_each(|&who| self.tell_hint(who, true));
        self.carry_out_postponed();
    }

    /// And of the end of that.
    pub(crate) fn item_wakes(&self, id: ThreadId) {
        let stack = self.frame(id, |f| f.stack());
        let Some((who, beneath)) = stack.split_first() else {
            return;
        };
        let (told, awaits) = self.running(id, |running| {
            (
                std::mem::take(&mut running.told),
                std::mem::take(&mut running.awaits),
            )
        });
        if told {
            self.postpone_actions();
            beneath.iter().for_each(|&who| self.tell_hint(who, false));
            self.in_pool_of(who.pool, |core, cx| match awaits {
                Some(_) => core.wait_end(cx, who.id),
                None => core.hint_end(cx, who.id),
            });
            self.carry_out_postponed();
        }
    }

    /// The pool hears that its worker, or a guest, blocks, or that this is over.
    pub(crate) fn tell_hint(&self, who: WorkerRef, begins: bool) {
        self.in_pool_of(who.pool, |core, cx| match begins {
            true => core.hint_begin(cx, who.id),
            false => core.hint_end(cx, who.id),
        });
    }

    /// What the item of this thread waits for.
    pub(crate) fn awaited(&self, id: ThreadId) -> Awaited {
        self.frame(id, |f| f.running()?.awaits)
    }

    /// The item of this thread waits for that from now on; what it has waited for before, and
    /// whether that has failed.
    pub(crate) fn set_awaited(&self, id: ThreadId, on: Awaited) -> (Awaited, bool) {
        self.running(id, |running| {
            let failed = std::mem::take(&mut running.failed);
            (std::mem::replace(&mut running.awaits, on), failed)
        })
    }

    /// The item was queued by one that a worker of the pool executes: whether it stays with that.
    pub(crate) fn keeps_own(&self, pool: &Pool, left: &Left<ItemId, PwqId>) -> bool {
        let Some(id) = self.acting.get() else {
            return false;
        };
        let who = self.executing_worker(id);
        let Some(who) = who.filter(|who| who.pool == pool.id) else {
            return false;
        };
        let own = self.running(id, |running| running.execution.item);
        let items = self.items.borrow();
        let mut inbox = pool.inbox.borrow_mut();
        let key = items.key(left.work);
        let is_free = is_its_own(&items.key(own), &key, items.is_new(left.work));
        is_free && inbox.opening().is_some() && inbox.keep_own(who.id, left, key)
    }

    /// The item of this thread says that it is about to block, or that it is back.
    ///
    /// # Panics
    /// If it is back from where it has not said that it goes.
    pub(crate) fn hint(&self, id: ThreadId, begins: bool) {
        if self.execution_of(id).is_none() {
            return;
        }
        let open = self.running(id, |running| {
            let left = running.hints.checked_sub(1);
            running.hints = if begins { running.hints + 1 } else { left? };
            Some(())
        });
        assert!(
            open.is_some(),
            "{} ends a hint that it has not begun",
            self.thread_name(id)
        );
        if self.hears_hints(begins) {
            let stack = self.frame(id, |f| f.stack());
            stack.iter().for_each(|&who| self.tell_hint(who, begins));
        }
    }

    pub(crate) fn running<R>(&self, id: ThreadId, look: impl FnOnce(&mut Running) -> R) -> R {
        self.frame(id, |f| look(f.running_mut().expect("it executes an item")))
    }

    pub(crate) fn executing_worker(&self, id: ThreadId) -> Option<WorkerRef> {
        self.frame(id, |f| f.running().and(f.who()))
    }

    /// The pwq through which the item was queued that the thread executes.
    pub fn pwq_executed(&self, id: ThreadId) -> Option<PwqId> {
        self.frame(id, |f| Some(f.running()?.pwq))
    }

    /// The wait of this worker that goes on now fails: one that it begins later does not.
    pub(crate) fn fail_wait(&self, pool: &Pool, id: WorkerId) {
        let thread = pool.thread(id).expect("who waits is there");
        self.running(thread, |running| running.failed = true);
    }

    /// A worker that is about to run an item may be where the pool's workers may be.
    pub(crate) fn widen(&self, id: ThreadId, pool: PoolId) {
        if self.worker(id, |w| std::mem::take(&mut w.narrowed)) {
            self.pin(id, self.pool_cpus(pool));
        }
    }
}
