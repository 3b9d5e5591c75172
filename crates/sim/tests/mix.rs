//! What it costs a short run that no item is begun before a CPU would idle: the figures of
//! `docs/benchmarks.md`.

use std::collections::BTreeMap;

use cmwq_policy::time::MILLISECOND;
use cmwq_sim::scenario::{Scenario, Use};

/// How long `mix.toml` takes with each pool, in ms, if `set` is said.
fn takes(set: &[&str]) -> BTreeMap<String, f64> {
    let path = format!("{}/scenarios/mix.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let used = Use {
        set: set.iter().map(|&set| set.to_owned()).collect(),
        ..Use::default()
    };
    let scenario = Scenario::parse("mix.toml", &text, &used).unwrap_or_else(|m| panic!("{m}"));
    let cells = scenario.run().unwrap().cells;
    let took = cells.iter().map(|cell| {
        let ns = cell.spans["run"].max_ns;
        (cell.cell["pool"].clone(), ns as f64 / MILLISECOND as f64)
    });
    took.collect()
}

/// Whether the managed queue takes so long, and all others so long.
fn assert_takes(set: &[&str], (managed, others): ([f64; 2], [f64; 2])) {
    let took = takes(set);
    assert_eq!(took.len(), 4, "{took:?}");
    for (pool, ms) in took {
        let [least, most] = match pool == "managed" {
            true => managed,
            false => others,
        };
        assert!((least..=most).contains(&ms), "{set:?}, {pool}: {ms} ms");
    }
}

#[test]
fn sixty_items_take_longer_than_in_a_pool_of_many_threads() {
    for slice in ["3ms", "1ms", "500us", "100us"] {
        let slice = format!("machine.slice={slice}");
        let set = ["constants.triples=20", &slice];
        assert_takes(&set, ([53.0, 54.0], [50.0, 53.0]));
    }
}

#[test]
fn of_six_hundred_nobody_sees_that() {
    assert_takes(&["constants.triples=200"], ([503.0, 503.5], [500.0, 502.0]));
}
