//! Who waits for a lock to be released, and does not take it.

use cmwq_policy::Time;
use cmwq_policy::time::MICROSECOND;
use cmwq_sim::*;

const US: u64 = MICROSECOND;

fn machine(cpus: &str) -> Machine {
    Machine::new(Options::of(Topology::synthetic(cpus).unwrap()))
}

/// A thread that does these acts, from then on.
fn start(machine: &Machine, at: u64, acts: Vec<Act>) -> ThreadId {
    let mut acts = std::iter::once(Act::Sleep(at * US))
        .chain(acts)
        .collect::<Vec<_>>()
        .into_iter();
    machine.spawn(
        ThreadSpec::named("t"),
        Box::new(move |_: &mut ProgramCx<'_>, _: Option<Answer>| acts.next().unwrap_or(Act::End)),
    )
}

fn end(machine: &Machine, thread: ThreadId) -> u64 {
    let trace = machine.trace();
    let line = trace
        .iter()
        .find(|l| l.thread == thread && l.what == What::Exit);
    line.expect("it has ended").at.0 / US
}

fn burn(us: u64) -> Act {
    Act::Burn(us * US)
}

/// An owner from 10 to 110 us, and three who pass at 20, 30 and 40 and then burn 5 us: their ends,
/// and the CPU time that each of them had.
fn ends(cpus: &str, spec: LockSpec) -> Vec<(u64, u64)> {
    let machine = machine(cpus);
    let lock = machine.lock(spec);
    start(
        &machine,
        10,
        vec![Act::Lock(lock), burn(100), Act::Unlock(lock)],
    );
    let pass = |at| start(&machine, at, vec![Act::Pass(lock), burn(5)]);
    let passers = [20, 30, 40].map(pass);
    machine.run();
    assert_eq!(machine.lock_stats(lock).acquired, 1);
    let had = |t: &ThreadId| (end(&machine, *t), machine.thread_stats(*t).cpu_ns / US);
    passers.iter().map(had).collect()
}

#[test]
fn all_go_on_at_once_when_it_is_released() {
    let asleep = ends("core:4 pu:1", LockSpec::new("l"));
    assert_eq!(asleep, [(115, 5), (115, 5), (115, 5)]);
    // Whoever is given the lock does not keep them.
    assert_eq!(ends("core:4 pu:1", LockSpec::new("l").handoff()), asleep);
}

#[test]
fn they_spin_first() {
    let spun = ends("core:4 pu:1", LockSpec::new("l").spin(1000 * US));
    assert_eq!(spun, [(115, 95), (115, 85), (115, 75)]);
    let partly = ends("core:4 pu:1", LockSpec::new("l").spin(75 * US));
    // The second one spins until 105, and sleeps until 110; the third one spins to the end.
    assert_eq!(partly, [(115, 80), (115, 80), (115, 75)]);
}

#[test]
fn an_optimistic_one_does_not_spin_for_an_owner_that_sleeps() {
    let machine = machine("core:4 pu:1");
    let spec = LockSpec {
        optimistic: true,
        ..LockSpec::new("l").spin(1000 * US)
    };
    let lock = machine.lock(spec);
    start(
        &machine,
        10,
        vec![Act::Lock(lock), Act::Sleep(100 * US), Act::Unlock(lock)],
    );
    let passer = start(&machine, 20, vec![Act::Pass(lock), burn(5)]);
    machine.run();
    assert_eq!(
        (
            end(&machine, passer),
            machine.thread_stats(passer).cpu_ns / US
        ),
        (115, 5)
    );
}

#[test]
fn a_free_lock_keeps_nobody() {
    let machine = machine("pu:1");
    let lock = machine.lock(LockSpec::new("l"));
    let passer = start(
        &machine,
        20,
        vec![Act::Pass(lock), Act::Lock(lock), Act::Unlock(lock), burn(5)],
    );
    machine.run_until(Time(1000 * US));
    assert_eq!(end(&machine, passer), 25);
}
