//! What may happen to the machine of the property tests, and how often.

use super::machine::Machine;
use super::*;
use crate::pool::Rule;
use crate::time::MICROSECOND;
use proptest::prelude::*;
use proptest::sample::Index;
use std::vec;

/// What may happen. An [`Index`] picks among those that can do it just then.
#[derive(Clone, Debug)]
pub(super) enum Event {
    /// An item, a pwq; whether the item is owned for a while before it is queued.
    Queue(Index, Index, bool),
    /// Whoever takes the item back may own it for a while.
    Steal(Index, bool),
    Barrier(Index),
    /// An item is claimed: by the worker of one, or by a thread that counts elsewhere or not.
    Claim(Index, Option<Index>, bool),
    Deliver(Index),
    Ask(Index),
    /// A parked worker wakes up although nobody chose it.
    Spurious(Index),
    End(Index, ItemReport),
    /// Everybody does what can be done without time passing.
    Settle,
    CpuIdle(Index, Option<Index>),
    /// A scan that reads now and reports later.
    Plan(Index),
    /// What was planned was found thus, right or wrong; bit by bit asleep.
    Scanned(u16, bool),
    /// A whole look finds all asleep at one lock.
    Convoy(Index),
    HintBegin(Index),
    HintEnd(Index),
    Wait(Index, Index),
    WaitOver(Index),
    Flush(Index),
    Drain(Index, bool),
    MaxActive(Index, u32),
    /// A queue's attributes change: its items go to another pool.
    Replace(Index, Index),
    Target(Index, u32, u32),
    /// The CPU of a per-CPU pool goes, or is back.
    Rule(Index),
    /// An item is found CPU-intensive.
    Hog(Index),
    CallRescuers(Index),
    SpawnsFail(bool),
    Cull(Index),
    Pass(u64),
}

use Event::*;

fn at() -> impl Strategy<Value = Index> {
    any::<Index>()
}

fn report() -> impl Strategy<Value = ItemReport> {
    let options = (any::<Option<bool>>(), any::<Option<bool>>());
    let report = (options, any::<bool>(), any::<bool>());
    report.prop_map(|((slept, delayed), foreign, lingered)| ItemReport {
        // Those that are not asked are brief.
        ran: slept.is_none().then_some(100),
        slept,
        waited: delayed.map(|d| if d { MILLISECOND } else { 0 }),
        foreign,
        lingered,
    })
}

fn pass() -> impl Strategy<Value = u64> {
    prop_oneof![
        10 => 0..300 * MICROSECOND,
        5 => 0..5 * MILLISECOND,
        2 => Just(SECOND),
        1 => Just(301 * SECOND),
    ]
}

fn usual() -> impl Strategy<Value = Event> {
    prop_oneof![
        10 => (at(), at(), any::<bool>()).prop_map(|(i, q, s)| Queue(i, q, s)),
        10 => at().prop_map(Deliver),
        10 => at().prop_map(Ask),
        10 => (at(), report()).prop_map(|(i, r)| End(i, r)),
        1 => Just(Settle),
        3 => (at(), any::<Option<Index>>()).prop_map(|(p, r)| CpuIdle(p, r)),
        2 => at().prop_map(Plan),
        3 => (any::<u16>(), any::<bool>()).prop_map(|(bits, all)| Scanned(bits, all)),
        1 => at().prop_map(Convoy),
        3 => pass().prop_map(Pass),
    ]
}

/// What users of queues do now and then.
fn of_users() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (at(), any::<bool>()).prop_map(|(i, s)| Steal(i, s)),
        4 => at().prop_map(Barrier),
        4 => (at(), any::<Option<Index>>(), any::<bool>()).prop_map(|(i, w, c)| Claim(i, w, c)),
        1 => at().prop_map(Flush),
        1 => (at(), any::<bool>()).prop_map(|(q, o)| Drain(q, o)),
        2 => (at(), 0..6u32).prop_map(|(q, n)| MaxActive(q, n)),
        2 => (at(), at()).prop_map(|(q, p)| Replace(q, p)),
    ]
}

/// What happens to workers and CPUs now and then.
fn of_workers() -> impl Strategy<Value = Event> {
    prop_oneof![
        1 => at().prop_map(Spurious),
        3 => at().prop_map(HintBegin),
        3 => at().prop_map(HintEnd),
        3 => (at(), at()).prop_map(|(i, q)| Wait(i, q)),
        1 => at().prop_map(WaitOver),
        1 => (at(), 1..5u32, 0..3u32).prop_map(|(p, n, beyond)| Target(p, n, beyond)),
        1 => at().prop_map(Event::Rule),
        2 => any::<bool>().prop_map(SpawnsFail),
        2 => at().prop_map(CallRescuers),
        1 => at().prop_map(Hog),
        1 => at().prop_map(Cull),
    ]
}

pub(super) fn event() -> impl Strategy<Value = Event> {
    prop_oneof![6 => usual(), 1 => of_users(), 1 => of_workers()]
}

fn pool() -> impl Strategy<Value = PoolAttrs> {
    let rule = prop_oneof![
        4 => Just(Rule::Managed),
        2 => Just(Rule::PerCpu),
        1 => Just(Rule::Unmanaged),
        1 => Just(Rule::Bh),
    ];
    let threads = prop_oneof![1..4u32, Just(40)];
    let beyond = prop_oneof![Just(0), 1..4u32];
    (rule, 1..4u32, beyond, threads).prop_map(|(rule, target, beyond, threads)| PoolAttrs {
        rule,
        target: if rule == Rule::PerCpu { 1 } else { target },
        beyond: if rule == Rule::Managed { beyond } else { 0 },
        thread_limit: if rule == Rule::Bh { 1 } else { threads },
        ..attrs(1)
    })
}

fn pools() -> impl Strategy<Value = Vec<PoolAttrs>> {
    (1..4u32, proptest::collection::vec(pool(), 1..=3)).prop_map(|(budget, pools)| {
        let with = |attrs| PoolAttrs { budget, ..attrs };
        pools.into_iter().map(with).collect()
    })
}

/// Pools, and so many items: few ones meet themselves often, many fill the queues.
fn made_of() -> impl Strategy<Value = (Vec<PoolAttrs>, usize)> {
    (pools(), prop_oneof![Just(2), Just(5), Just(24)])
}

pub(super) fn machine() -> impl Strategy<Value = Machine> {
    made_of().prop_map(|(pools, items)| Machine::new(pools, items))
}

/// Two machines that are made of the same.
pub(super) fn twins() -> impl Strategy<Value = [Machine; 2]> {
    made_of().prop_map(|(pools, items)| [(); 2].map(|()| Machine::new(pools.clone(), items)))
}
