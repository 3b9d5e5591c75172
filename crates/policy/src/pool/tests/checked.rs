//! That a pool whose rules were broken by hand says so: each of the checks can fail.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::string::String;

use super::rig::Pool;
use super::*;

/// A pool of two that executes two items, both in one pwq, with one more that waits for a slot.
fn busy() -> Rig {
    let mut rig = Rig::one(attrs(2), 2);
    rig.queue_and_run(3, 0);
    assert_eq!(rig.executing().len(), 2);
    rig
}

/// What is said of a pool that was changed so: by the cheap part, and by the whole.
fn said(rig: Rig, breaks: impl FnOnce(&mut Rig)) -> [bool; 2] {
    let mut rig = rig;
    breaks(&mut rig);
    rig.store.locked = Some(0);
    let (pool, store) = (&rig.pools[0], &mut rig.store);
    let cheap = catch_unwind(AssertUnwindSafe(|| pool.check())).is_err();
    let whole = catch_unwind(AssertUnwindSafe(|| pool.check_whole(store))).is_err();
    [cheap, whole]
}

/// What is done to a pool, and its name.
type Break<T> = (&'static str, fn(&mut T));

const SILENT: [bool; 2] = [false, false];
const WHOLE_ONLY: [bool; 2] = [false, true];
const BOTH: [bool; 2] = [true, true];

#[test]
fn what_holds_is_not_said() {
    assert_eq!(said(busy(), |_| ()), SILENT);
}

#[test]
fn counts_that_do_not_fit_are_said_at_once() {
    let breaks: [Break<Pool>; 8] = [
        ("fewer workers than are idle", |p| {
            p.crew.break_counts().workers = 0
        }),
        ("one that sleeps twice", |p| {
            p.crew.break_counts().asleep += 3
        }),
        ("presumed asleep", |p| p.estimate.presume(3)),
        ("two in the making", |p| p.crew.break_counts().creating += 2),
        ("a claim without an item", |p| {
            p.crew.break_counts().claims_added += 1
        }),
        ("a token kept", |p| p.estimate.break_tokens()),
        ("held entries", |p| p.worklist.break_held()),
        ("an item forgotten", |p| p.nr_in_flight = 1),
    ];
    for (what, breaks) in breaks {
        let found = said(busy(), |rig| breaks(&mut rig.pools[0]));
        assert_eq!(found, BOTH, "{}", String::from(what));
    }
}

#[test]
fn what_only_shows_in_workers_and_lists_is_said_by_the_whole() {
    let breaks: [Break<Rig>; 7] = [
        ("a worker too many", |rig| {
            rig.pools[0].crew.break_counts().workers += 1;
        }),
        ("a sleeper that is not counted", |rig| {
            let (pool, id) = rig.who(0).expect("it runs");
            rig.pools[pool].crew.break_worker(id, true, 0);
        }),
        ("a worker that waits for nobody", |rig| {
            let (pool, id) = rig.who(0).expect("it runs");
            rig.pools[pool].crew.break_worker(id, false, 1);
        }),
        ("a worker that is idle twice", |rig| {
            let pool = &mut rig.pools[0];
            let id = pool.crew.break_idle().pop_back().expect("a spare one");
            let other = pool.crew.ids().find(|&other| other != id);
            pool.crew
                .break_idle()
                .push_back(other.expect("those that execute"));
        }),
        ("an entry of another pool", |rig| {
            rig.pools[0].attrs.id = 1;
        }),
        ("a manager that executes", |rig| {
            let (pool, id) = rig.who(0).expect("it runs");
            rig.pools[pool].crew.break_manager(id);
        }),
        ("who waits for slots is forgotten there", |rig| {
            rig.store.pwqs[0].state.waits_at = 7;
        }),
    ];
    for (what, breaks) in breaks {
        assert_eq!(said(busy(), breaks), WHOLE_ONLY, "{}", String::from(what));
    }
}
