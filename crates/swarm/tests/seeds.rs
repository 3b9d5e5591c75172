//! Some seeds; a larger number of them is a step of CI of its own.

use cmwq_swarm::swarm::swarm;
use cmwq_swarm::{Plan, run};

#[test]
fn nothing_is_violated() {
    let totals = swarm(0..150, 2, 1);
    let failed: Vec<String> = totals
        .failed
        .iter()
        .map(|(seed, how)| format!("{how}; again: cargo xtask swarm --seed {seed}"))
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(totals.fewest >= 2000, "{} events", totals.fewest);
}

#[test]
fn a_seed_does_the_same_again() {
    for seed in 0..20 {
        let [first, second] = [(); 2].map(|()| run(&Plan::of(seed), true));
        assert!(first.trace.len() >= 10, "{:?}", first.trace);
        assert_eq!(first.trace, second.trace, "seed {seed}");
        assert_eq!((first.events, first.time), (second.events, second.time));
    }
}
