//! `perf-wq.toml`, a fifth of it: a concurrency managed queue costs the foreground no more than a
//! thread for each work does.

use std::collections::BTreeMap;

use cmwq_sim::scenario::Report;

/// How many seconds the foreground of 5 s takes longer, and how many times works ran, by pool.
fn extra(load: &str, burn: &str) -> BTreeMap<String, (f64, u64)> {
    let load = format!("variants.load={load}");
    let burn = format!("variants.burn={burn}");
    let set = [
        load.as_str(),
        burn.as_str(),
        "constants.foreground=5s",
        "constants.short_cycles=80",
        "constants.medium_cycles=25",
        "constants.long_cycles=8",
    ];
    let row = |report: Report| {
        let seconds = report.spans["foreground"].mean_ns as f64 / 1e9;
        (
            report.cell["pool"].clone(),
            (seconds - 5.0, report.counters["runs"].total),
        )
    };
    super::cells("perf-wq.toml", &set)
        .into_iter()
        .map(row)
        .collect()
}

#[test]
fn managed_workers_cost_no_more_than_threads_of_their_own() {
    for (load, burn) in [("wl2", "L"), ("wl2", "S"), ("wl5", "S")] {
        let got = extra(load, burn);
        let (threads, runs) = got["threads"];
        for pool in ["ordered", "percpu"] {
            let (extra, same_runs) = got[pool];
            // An item runs once, and comes again as often as a thread goes round.
            let works = same_runs as f64 / runs as f64;
            assert!((1.0..1.15).contains(&works), "{load}/{burn}: {got:?}");
            assert!(extra / works <= threads * 1.02, "{load}/{burn}: {got:?}");
            assert!(extra > threads * 0.6, "{load}/{burn}: {got:?}");
        }
    }
}

#[test]
fn more_works_and_longer_ones_take_longer() {
    let percpu = |load: &str, burn: &str| extra(load, burn)["percpu"].0;
    let (wl2, wl3, wl5) = (percpu("wl2", "S"), percpu("wl3", "S"), percpu("wl5", "S"));
    assert!(wl5 < wl3 && wl3 < wl2, "{wl5} {wl3} {wl2}");
    assert!(percpu("wl2", "L") > wl2 * 1.5);
}
