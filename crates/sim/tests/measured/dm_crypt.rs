//! `dm-crypt.toml`, shortened: where scopes make a difference, and where not.

use std::collections::BTreeMap;

use cmwq_sim::scenario::Report;

/// What came of so many jobs, by affinity.
fn jobs(count: &str, more: &[&str]) -> BTreeMap<String, Report> {
    let count = format!("thread.fio.count={count}");
    let base = [count.as_str(), "machine.warmup=200ms"];
    super::cells_by("affinity", "dm-crypt.toml", &[&base, more].concat())
}

/// MiB/s, by affinity.
fn bandwidths(cells: &BTreeMap<String, Report>) -> [f64; 3] {
    ["system", "cache", "cache strict"]
        .map(|name| cells[name].counters["read"].per_second / f64::from(1 << 20))
}

#[test]
fn with_few_jobs_locality_costs_bandwidth_and_strictness_more() {
    let cells = jobs("4", &["machine.duration=1500ms"]);
    let [system, cache, strict] = bandwidths(&cells);
    assert!((930.0..1060.0).contains(&system), "{system}");
    assert!((0.87..0.98).contains(&(cache / system)), "{cache} {system}");
    assert!(
        (0.75..0.95).contains(&(strict / system)),
        "{strict} {system}"
    );
    assert!(strict < cache, "{strict} {cache}");
    let local = |name: &str| cells[name].queues["kcryptd"].local;
    assert!((0.2..0.3).contains(&local("system")), "{}", local("system"));
    assert!((0.8..0.99).contains(&local("cache")), "{}", local("cache"));
    assert_eq!(local("cache strict"), 1.0);
    let busy = |name: &str| cells[name].cpu.utilisation;
    assert!(busy("cache strict") < busy("cache") && busy("cache") < busy("system"));
}

#[test]
fn with_enough_jobs_all_saturate_the_machine() {
    let [system, cache, strict] = bandwidths(&jobs("24", &["machine.duration=700ms"]));
    assert!((1080.0..1240.0).contains(&system), "{system}");
    for other in [cache, strict] {
        assert!((0.98..1.03).contains(&(other / system)), "{other} {system}");
    }
}

#[test]
fn that_takes_cpus_that_look_for_work_in_other_caches_as_soon_as_they_idle() {
    // Those of a cache without a job do not get one otherwise.
    let cache = "variants.affinity=cache";
    let set = [
        "machine.duration=700ms",
        cache,
        "machine.placement.balance.newidle_cost=1s",
    ];
    let eager = &jobs("24", &set[..2])["cache"];
    let patient = &jobs("24", &set)["cache"];
    let [eager, patient] = [eager, patient].map(|report| report.cpu.utilisation);
    assert!(eager > 0.96, "{eager}");
    assert!(patient < eager - 0.02, "{patient} {eager}");
}

/// A managed queue, by the kernel's best column. Whatever that is: with few jobs the system, with
/// many the cache.
#[test]
fn ours_loses_nothing_whatever_is_best_there() {
    for (count, local) in [("24", 0.7), ("8", 0.45), ("4", 0.2)] {
        let cells = jobs(count, &["machine.duration=1500ms"]);
        let best = bandwidths(&cells).into_iter().fold(0.0, f64::max);
        let ours = &cells["managed"];
        let ratio = ours.counters["read"].per_second / f64::from(1 << 20) / best;
        let share = ours.queues["kcryptd"].local;
        assert!(ratio > 0.98, "{count} jobs: {ratio} of {best}");
        assert!(share > local, "{count} jobs: {share} in the issuer's cache");
    }
}

#[test]
fn bringing_workers_home_costs_bandwidth_where_items_do_not_need_it() {
    let cells = jobs("4", &["machine.duration=1500ms"]);
    let read = |name: &str| cells[name].counters["read"].per_second;
    let local = |name: &str| cells[name].queues["kcryptd"].local;
    assert!(read("managed local") < 0.93 * read("managed"));
    assert!(local("managed local") > local("managed") + 0.3);
    assert_eq!(local("managed strict"), 1.0);
}
