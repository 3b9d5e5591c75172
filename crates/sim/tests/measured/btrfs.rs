//! `btrfs.toml`, shortened: the more items at a time, the less gets done.

#[test]
fn fewer_is_better_and_the_limit_had_better_be_the_machine_s() {
    let set = ["machine.duration=600ms", "machine.warmup=200ms"];
    let cells = super::cells_by("kernel", "btrfs.toml", &set);
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
