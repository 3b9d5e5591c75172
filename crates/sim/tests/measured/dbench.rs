//! `dbench-uma.toml` and `dbench-numa.toml`, shortened: what stacking does, and where clients go.

use std::collections::BTreeMap;

use cmwq_sim::scenario::Report;

/// What came of so many clients, by `plain` and `stacking`.
fn both(name: &str, clients: &str, more: &[&str]) -> BTreeMap<String, Report> {
    let clients = format!("constants.clients={clients}");
    let mut set = vec![
        clients.as_str(),
        "machine.duration=1200ms",
        "machine.warmup=300ms",
    ];
    set.extend(more);
    super::cells_by("kernel", name, &set)
}

/// Stacking's mean time for a load file by the plain kernel's.
fn ratio(name: &str, clients: &str) -> f64 {
    let both = both(name, clients, &[]);
    let mean = |kernel: &str| both[kernel].spans["loadfile"].mean_ns as f64;
    mean("stacking") / mean("plain")
}

#[test]
fn on_two_large_caches_stacking_helps_the_less_the_more_clients_there_are() {
    let ratios = ["1", "4", "16"].map(|clients| ratio("dbench-numa.toml", clients));
    assert!((0.49..0.54).contains(&ratios[0]), "{ratios:?}");
    assert!((0.63..0.77).contains(&ratios[1]), "{ratios:?}");
    assert!((0.86..1.02).contains(&ratios[2]), "{ratios:?}");
}

#[test]
fn on_one_small_cache_it_helps_a_little() {
    let ratios = ["1", "8"].map(|clients| ratio("dbench-uma.toml", clients));
    assert!((0.88..0.94).contains(&ratios[0]), "{ratios:?}");
    assert!((0.93..1.07).contains(&ratios[1]), "{ratios:?}");
}

/// Migrations by load file.
fn migrations(report: &Report) -> f64 {
    report.cpu.migrations.total() as f64 / report.spans["loadfile"].count as f64
}

#[test]
fn without_stacking_the_client_moves_with_each_flush_and_with_it_stays() {
    let both = both("dbench-numa.toml", "1", &[]);
    // 42 flushes: the client moves, and the worker that pushes the log makes way for it.
    let plain = migrations(&both["plain"]);
    assert!((40.0..90.0).contains(&plain), "{plain}");
    let stacking = migrations(&both["stacking"]);
    assert!(stacking < 1.0, "{stacking}");
    // All in one cache.
    assert_eq!(both["plain"].cpu.migrations.machine, 0);
}

#[test]
fn before_linux_5_15_it_walks_around_the_cache_and_since_then_to_and_fro() {
    // The CPUs where it has requeued: each has a pool that has executed something.
    let cpus = |recent: &str| {
        let recent = format!("machine.placement.recent={recent}");
        let both = both("dbench-numa.toml", "1", &[&recent]);
        let pools = both["plain"]
            .pools
            .iter()
            .filter(|pool| pool.executions > 0);
        pools.filter(|pool| pool.rule == "percpu").count()
    };
    assert_eq!((cpus("woke"), cpus("left")), (24, 2));
}
