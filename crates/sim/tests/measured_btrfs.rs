//! `btrfs.toml`, shortened: the more items at a time, the less gets done.

use std::collections::BTreeMap;

use cmwq_sim::scenario::{Report, Scenario, Use};

/// What came of it, by kernel.
fn kernels() -> BTreeMap<String, Report> {
    let path = format!("{}/scenarios/btrfs.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let set = ["machine.duration=600ms", "machine.warmup=200ms"];
    let used = Use {
        set: set.iter().map(|set| (*set).to_owned()).collect(),
        ..Use::default()
    };
    let scenario = Scenario::parse("btrfs.toml", &text, &used);
    let cells = scenario
        .unwrap_or_else(|mistake| panic!("{mistake}"))
        .run()
        .unwrap()
        .cells;
    let named = |report: Report| (report.cell["kernel"].clone(), report);
    cells.into_iter().map(named).collect()
}

#[test]
fn fewer_is_better_and_the_limit_had_better_be_the_machine_s() {
    let cells = kernels();
    let written = |name: &str| cells[name].counters["written"].per_second / f64::from(1 << 20);
    // From the best to the worst.
    let order = [
        "max_active 8",
        "8 system-wide",
        "max_active 16",
        "max_active 768",
        "8 per CPU",
    ];
    let bandwidths = order.map(written);
    assert!(
        bandwidths.is_sorted_by(|a, b| a > b),
        "{order:?} {bandwidths:?}"
    );
    assert!((2350.0..2650.0).contains(&bandwidths[0]), "{bandwidths:?}");
    let expected = [1.0..=1.0, 0.8..=0.95, 0.65..=0.8, 0.45..=0.58, 0.42..=0.55];
    for (bandwidth, ratio) in bandwidths.iter().zip(expected) {
        assert!(
            ratio.contains(&(bandwidth / bandwidths[0])),
            "{bandwidths:?}"
        );
    }
}
