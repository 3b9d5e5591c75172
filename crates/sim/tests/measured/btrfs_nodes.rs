//! `btrfs-nodes.toml`, shortened: what a limit of the whole machine means on nodes, and that it
//! does no worse than one for each node.

use std::collections::BTreeMap;

use cmwq_sim::scenario::Report;

/// Pools, and the total.
type Cells = BTreeMap<(String, String), Report>;

fn run(nodes: &str, changes: &[&str], pools: &[&str], totals: &[&str]) -> Cells {
    let nodes = format!("variants.nodes={nodes}");
    let times = ["machine.duration=400ms", "machine.warmup=150ms", &nodes];
    let scenario = super::scenario("btrfs-nodes.toml", &[&times, changes].concat());
    let is_meant = |values: &[(String, String)]| {
        let is = |axis: &str, names: &[&str]| {
            values
                .iter()
                .any(|(a, v)| a == axis && names.contains(&v.as_str()))
        };
        is("pools", pools) && is("total", totals)
    };
    let cells = scenario
        .cells()
        .iter()
        .filter(|cell| is_meant(&cell.values));
    let named = |report: Report| {
        let name = |axis| report.cell[axis].clone();
        ((name("pools"), name("total")), report)
    };
    let cells: Cells = cells.map(|cell| named(cell.run().unwrap())).collect();
    assert_eq!(cells.len(), pools.len() * totals.len());
    cells
}

fn written(report: &Report) -> f64 {
    report.counters["written"].per_second
}

/// Most items that had the lock or wanted it at a time. All pile up there.
fn most_at_a_time(report: &Report) -> u64 {
    u64::from(report.locks["tree"].max_waiters) + 1
}

const TOTALS: [&str; 4] = ["4", "8", "16", "128"];

fn a_limit_of_all_is_no_worse_than_one_for_each(nodes: &str) {
    let kernels = ["node", "cache", "shard"];
    let cells = run(nodes, &[], &[&kernels[..], &["managed"]].concat(), &TOTALS);
    let cell = |pools: &str, total: &str| &cells[&(pools.to_owned(), total.to_owned())];
    for total in TOTALS {
        let old = written(cell("node", total));
        for (pools, at_least) in [("cache", 0.85), ("shard", 0.85), ("managed", 0.95)] {
            let ratio = written(cell(pools, total)) / old;
            assert!(ratio > at_least, "{pools}, {total} in flight: {ratio:.3}");
        }
        for pools in kernels {
            let most = most_at_a_time(cell(pools, total));
            assert_eq!(most.to_string(), total, "{pools}");
        }
    }
}

#[test]
fn a_limit_of_all_is_no_worse_than_one_for_each_of_two_nodes() {
    a_limit_of_all_is_no_worse_than_one_for_each("2");
}

#[test]
fn a_limit_of_all_is_no_worse_than_one_for_each_of_four_nodes() {
    a_limit_of_all_is_no_worse_than_one_for_each("4");
}

/// What the kernel had before 6.6 is the case that each node's part is its pool's limit.
#[test]
fn one_pool_for_each_node_is_what_the_kernel_had() {
    let now = run("2", &[], &["node"], &["16"]).pop_first().unwrap().1;
    let each = ["queue.endio.max_active=8", "queue.endio.min_active=8"];
    let before = run("2", &each, &["node"], &["16"]).pop_first().unwrap().1;
    assert_eq!(written(&now), written(&before));
    assert_eq!(most_at_a_time(&before), 16);
}

/// Each node is granted 8; an exact limit grants nothing.
#[test]
fn the_floor_is_for_each_node_and_an_exact_limit_has_none() {
    let cells = run("4", &[], &["cache, floor", "cache, exact"], &["8"]);
    let cell = |pools: &str| &cells[&(pools.to_owned(), "8".to_owned())];
    assert_eq!(most_at_a_time(cell("cache, floor")), 32);
    assert_eq!(most_at_a_time(cell("cache, exact")), 8);
    assert!(written(cell("cache, floor")) < 0.6 * written(cell("cache, exact")));
}
