//! The room of items alone, with seeds that are always the same.
//! `CMWQ_STRESS_SEED` begins with another one, `CMWQ_STRESS_OPS` does so many calls with each,
//! `CMWQ_STRESS_SEEDS` takes so many one after the other.

use cmwq_soak::rooms::items;

fn number(variable: &str, otherwise: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{variable}={text} is no number")),
        Err(_) => otherwise,
    }
}

#[test]
fn items_and_queues_keep_their_promises() {
    let (first, seeds) = (
        number("CMWQ_STRESS_SEED", 1),
        number("CMWQ_STRESS_SEEDS", 4),
    );
    let ops = number("CMWQ_STRESS_OPS", 5_000) as usize;
    // All that a pool can know of itself, after one in so many of its events, and counts after
    // each.
    cmwq::check_whole(number("CMWQ_STRESS_CHECK", 64) as u32);
    let mut checks = [0; 6];
    for seed in first..first + seeds {
        let made = items::run(seed, ops, false);
        let made = made.unwrap_or_else(|wrong| panic!("seed {seed}:\n{}", wrong.join("\n")));
        println!("seed {seed}: {made:?}");
        checks
            .iter_mut()
            .zip(made)
            .for_each(|(all, made)| *all += made);
    }
    let claimed = cmwq::stats().claimed;
    println!("{claimed} claimed");
    // Whoever asks for a few calls does not ask for all checks.
    assert!(
        ops < 5_000 || !checks.contains(&0) && claimed > 0,
        "not checked: {checks:?}, {claimed}"
    );
}
