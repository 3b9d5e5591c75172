//! What holds of a pool after every event, whatever was reported, delayed or refused.
//!
//! [`WorkerPool::check`] looks at counts only, and whoever drives a pool asks for it after each
//! event of a debug build. [`WorkerPool::check_whole`] walks workers and lists as well: for the
//! tests of the rules, the swarm, and the stress tests. What holds over several pools, or of items
//! that are in none, only the tests can know.

use alloc::vec::Vec;

use super::WorkerPool;
use super::crew::Worker;
use crate::list::List;
use crate::store::Store;
use crate::worker::{State, WorkerId};

impl<S: Store> WorkerPool<S> {
    /// The cheap part: some comparisons.
    ///
    /// # Panics
    /// If something does not hold.
    pub fn check(&self) {
        let c = self.crew.counts();
        assert!(
            c.hinted + c.asleep + self.estimate.presumed() <= c.executing + c.extra,
            "more sleep than execute: {c:?}"
        );
        assert!(
            c.claims_added <= c.claims && c.claims <= c.executing,
            "a claim has an item: {c:?}"
        );
        assert!(
            self.nr_running() <= self.crew.counts().busy() + c.extra,
            "{c:?}"
        );
        assert!(c.creating <= 1, "one thread in the making");
        assert!(
            c.workers + c.creating <= self.attrs.thread_limit,
            "{} threads of {}",
            c.workers + c.creating,
            self.attrs.thread_limit
        );
        // Some more may be on their way out.
        let not_executing = self.nr_idle() + c.waking + c.between;
        assert!(not_executing <= c.workers, "{} idle, {c:?}", self.nr_idle());
        assert_eq!(self.estimate.tokens(), self.due_tokens(), "tokens");
        let needs = self.need_more_worker() && !self.may_start_working();
        assert_eq!(self.needs_since.is_some(), needs, "when to call rescuers");
        assert!(
            self.worklist.held() <= self.worklist.list().len(),
            "held entries"
        );
        let listed: usize = self.worklist.lists().map(List::len).sum();
        let here = listed as u64 + u64::from(c.executing);
        assert!(here <= self.nr_in_flight, "{here} of {}", self.nr_in_flight);
    }

    /// All that can be known of one pool.
    ///
    /// # Panics
    /// If something does not hold.
    pub fn check_whole(&self, store: &mut S) {
        self.check();
        self.counts_are_exact();
        self.estimate_is_in_bounds();
        self.idle_list_is_the_idle_workers();
        self.the_manager_chooses();
        self.rescuers_do_not_count();
        self.claims_count_once();
        self.entries_are_where_they_say(store);
        self.who_waits_for_slots_is_known(store);
        self.worklist.lanes_are_right(store, &self.crew);
    }

    /// Tokens of the budget that it should hold: one for each that runs but the first.
    pub(super) fn due_tokens(&self) -> u32 {
        match self.manages() {
            true if self.has_pod() => self.nr_running(),
            true => self.nr_running().saturating_sub(1),
            false => 0,
        }
    }

    fn count(&self, is: impl Fn(&Worker<S>) -> bool) -> u32 {
        self.crew.all().filter(|(_, worker)| is(worker)).count() as u32
    }

    fn counts_are_exact(&self) {
        let c = self.crew.counts();
        let in_state = |state: State| self.count(|worker| worker.state() == state);
        assert_eq!(c.executing, in_state(State::Executing));
        assert_eq!(c.waking, in_state(State::Waking));
        assert_eq!(c.between, in_state(State::Between));
        assert_eq!(c.creating, in_state(State::Creating), "in the making");
        let exist = self.count(|worker| !matches!(worker.state(), State::Free | State::Creating));
        let rescuers = self.count(|worker| worker.rescues.is_some());
        assert_eq!(c.workers + rescuers + c.claims, exist, "who is here");
        for (_, worker) in self.crew.all() {
            if worker.state() != State::Executing {
                assert!(worker.current.is_none() && worker.waiting().is_none());
                assert!(
                    worker.hints() == 0
                        && !worker.is_asleep()
                        && worker.futex.or(worker.waits_at).is_none()
                );
                assert_eq!(worker.extra(), 0);
                assert!(worker.scheduled.is_empty(), "items nobody would find");
            }
        }
        let waiting = |rescues| {
            let waits = |w: &Worker<_>| w.waiting().is_some() && w.rescues.is_some() == rescues;
            self.count(waits)
        };
        assert_eq!(c.waiting, waiting(false));
        assert_eq!(c.rescuers_waiting, waiting(true));
    }

    fn estimate_is_in_bounds(&self) {
        let c = self.crew.counts();
        assert_eq!(c.hinted, self.count(|worker| worker.hints() > 0));
        assert_eq!(c.asleep, self.count(|worker| worker.is_asleep()));
        let twice = self.count(|worker| worker.is_asleep() && worker.hints() > 0);
        assert_eq!(twice, 0, "counted twice");
        let extra: u32 = self.crew.all().map(|(_, worker)| worker.extra()).sum();
        assert_eq!(c.extra, extra, "threads beyond one each");
        let asleep = |worker: &Worker<_>| worker.is_asleep() || worker.hints() > 0;
        let runs_asleep = self.count(|worker| worker.extra() > 0 && asleep(worker));
        assert_eq!(runs_asleep, 0, "runs asleep");
    }

    fn idle_list_is_the_idle_workers(&self) {
        for &id in self.crew.idle() {
            let state = self.crew.get(id).state();
            assert!(
                matches!(state, State::Idle(_)),
                "{state:?} on the idle list"
            );
        }
        let mut listed: Vec<WorkerId> = self.crew.idle().iter().copied().collect();
        listed.sort_unstable();
        listed.dedup();
        assert_eq!(listed.len(), self.crew.idle().len(), "listed twice");
        let idle = self.count(|worker| matches!(worker.state(), State::Idle(_)));
        assert_eq!(idle, self.nr_idle(), "all of them are listed");
    }

    fn the_manager_chooses(&self) {
        if let Some(id) = self.crew.manager() {
            assert_eq!(self.crew.get(id).state(), State::Between);
        }
    }

    fn rescuers_do_not_count(&self) {
        for (id, worker) in self.crew.all() {
            let rescues = worker.rescues.is_some();
            assert_ne!(worker.claim.is_some() || rescues, !worker.is_guest());
            let visits = worker.state() == State::Visiting;
            assert!(rescues || !visits, "a claim has an item");
            let counts = worker.state() == State::Executing && worker.hints() == 0;
            assert!(!(rescues && counts), "rescuer {id} counts as running");
        }
    }

    /// A thread that has claimed an item counts for one of those on its stack, and waits for all of
    /// them.
    fn claims_count_once(&self) {
        let claims = || {
            self.crew
                .all()
                .filter_map(|(id, w)| w.claim.map(|claim| (id, w, claim)))
        };
        let added = claims().filter(|(.., claim)| claim.adds).count();
        assert_eq!(self.crew.counts().claims as usize, claims().count());
        assert_eq!(self.crew.counts().claims_added as usize, added);
        for (id, worker, claim) in claims() {
            assert_eq!(worker.state(), State::Executing);
            assert!(claim.adds || worker.hints() > 0, "{id} counts twice");
            if let Some(within) = claim.within {
                let beneath = self.crew.get(within);
                assert_eq!(
                    (beneath.above, beneath.state()),
                    (Some(id), State::Executing)
                );
                assert_eq!(beneath.waiting(), worker.waiting(), "they wait together");
            }
        }
        let within = claims().filter(|(.., claim)| claim.within.is_some());
        let above = self.count(|worker| worker.above.is_some());
        assert_eq!(
            above as usize,
            within.count(),
            "each is in the middle of one"
        );
    }

    /// Worklist and own lists: what is there is queued, here, and holds a slot unless it is a
    /// barrier.
    fn entries_are_where_they_say(&self, store: &S) {
        let deferred = self.check_list(store, self.worklist.list());
        assert!(
            deferred <= self.worklist.held(),
            "deferred entries are held"
        );
        for lane in self.worklist.lanes() {
            self.check_list(store, &lane.list);
        }
        for (id, worker) in self.crew.all() {
            let deferred = self.check_list(store, &worker.scheduled);
            assert_eq!(deferred, 0, "{id} is to run what is deferred");
            if let Some(current) = &worker.current {
                let found = self.crew.executing(&current.key);
                assert_eq!(found, Some(id), "who executes it, and nobody else");
            }
        }
        let known = self.worklist.deferred().iter().filter(|one| {
            let word = store.word(one.work);
            word.flags().deferred && word.pool() == Some(self.attrs.id)
        });
        assert_eq!(
            known.count(),
            self.worklist.deferred().len(),
            "entries for nobody"
        );
    }

    /// How many of its entries are deferred.
    fn check_list(&self, store: &S, list: &List<S>) -> usize {
        let mut entries = 0;
        let mut deferred = 0;
        // One more than there should be: a list that goes round in a circle ends too.
        for entry in list.iter(store).take(list.len() + 1) {
            let word = store.word(entry);
            assert!(word.pwq().is_some(), "{word:?} is listed but not queued");
            assert_eq!(word.pool(), Some(self.attrs.id), "{word:?} is elsewhere");
            entries += 1;
            deferred += usize::from(word.flags().deferred);
        }
        assert_eq!(entries, list.len(), "a list is as long as it says");
        deferred
    }

    /// The watchdog finds all pwqs of which items wait for a slot, and all are counted.
    fn who_waits_for_slots_is_known(&self, store: &mut S) {
        let mut all = 0;
        for (at, &pwq) in self.slots.waits().iter().enumerate() {
            assert_eq!(store.info(pwq).pool, self.attrs.id);
            let state = store.pwq(pwq);
            assert!(
                state.nr_inactive() > 0,
                "nobody waits for a slot of {pwq:?}"
            );
            assert_eq!(state.waits_at as usize, at, "{pwq:?} waits");
            all += state.nr_inactive();
        }
        assert_eq!(all, self.slots.nr_inactive(), "so many wait for slots");
        assert!(
            !self.slots.owes(),
            "a slot was passed on and not accounted for"
        );
    }
}
