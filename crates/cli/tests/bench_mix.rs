//! `cmwq bench mix` as a user calls it: its JSON, its table, its errors.

use std::process::{Command, Output};

use serde_json::Value;

fn mix(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cmwq"));
    command
        .args(["bench", "mix"])
        .args(args)
        .output()
        .expect("cmwq starts")
}

fn rows(args: &[&str]) -> Vec<Value> {
    let output = mix(&[args, &["--json"]].concat());
    assert!(output.status.success(), "{args:?}: {output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn number(row: &Value, key: &str) -> f64 {
    row[key]
        .as_f64()
        .unwrap_or_else(|| panic!("{key} is no number in {row}"))
}

const KEYS: [&str; 15] = [
    "work",
    "pool",
    "items",
    "bound_s",
    "elapsed_s",
    "ratio",
    "item_p50_ms",
    "item_p99_ms",
    "sojourn_p99_ms",
    "hog_slowdown",
    "peak_runnable",
    "peak_threads",
    "voluntary_switches",
    "involuntary_switches",
    "cpu_s",
];

/// What holds of every row, on however noisy a machine.
fn check(row: &Value, work: &str, pool: &str) {
    for key in KEYS {
        assert!(row.get(key).is_some(), "{key} is missing in {row}");
    }
    assert_eq!(
        (row["work"].as_str(), row["pool"].as_str()),
        (Some(work), Some(pool))
    );
    let elapsed = number(row, "elapsed_s");
    assert!(elapsed >= number(row, "bound_s") * 0.99, "{row}");
    assert!(
        (number(row, "ratio") - number(row, "bound_s") / elapsed).abs() < 0.001,
        "{row}"
    );
    assert!(
        number(row, "item_p50_ms") <= number(row, "item_p99_ms"),
        "{row}"
    );
    // No item starts before it is queued.
    assert!(
        number(row, "item_p99_ms") <= number(row, "sojourn_p99_ms") + 0.001,
        "{row}"
    );
    assert!(
        number(row, "sojourn_p99_ms") <= elapsed * 1e3 + 0.001,
        "{row}"
    );
    assert!(
        (1.0..=number(row, "items")).contains(&number(row, "peak_runnable")),
        "{row}"
    );
    assert!(number(row, "cpu_s") > 0.0, "{row}");
}

fn smoke(work: &str, pool: &str, asked: &str, items: f64) {
    let rows = rows(&["--work", work, "--pool", pool, "--items", asked]);
    assert_eq!(rows.len(), 1);
    check(&rows[0], work, pool);
    assert_eq!(number(&rows[0], "items"), items);
    let threads: f64 = pool.strip_prefix("fixed:").unwrap().parse().unwrap();
    assert_eq!(number(&rows[0], "peak_threads"), threads);
    let beside_hogs = matches!(work, "foreign" | "asleep");
    assert_eq!(rows[0]["hog_share"].is_null(), !beside_hogs);
    // So few items can be over before a hog had a CPU.
    assert!(beside_hogs || rows[0]["hog_slowdown"].is_null());
}

#[test]
fn every_kind_of_work_runs_on_a_fixed_pool() {
    for work in [
        "block", "cpu", "mixed", "burst", "pipe", "lock", "multi", "foreign",
    ] {
        smoke(work, "fixed:4", "12", 12.0);
    }
    smoke("long", "fixed:4", "1", 1.0);
    smoke("barrier", "fixed:64", "65", 128.0);
}

#[test]
fn sleepers_have_computing_items_behind_them() {
    let rows = rows(&["--work", "asleep", "--pool", "fixed:16", "--items", "10"]);
    assert_eq!(number(&rows[0], "items"), 12.0);
    assert!(number(&rows[0], "backlog_s") <= number(&rows[0], "elapsed_s"));
    let share = number(&rows[0], "hog_share");
    assert!(share > 0.0 && share <= 1.1, "{share}");
}

#[test]
fn our_pool_has_every_item_done() {
    for work in ["block", "multi"] {
        let rows = rows(&["--work", work, "--pool", "cmwq", "--items", "24"]);
        check(&rows[0], work, "cmwq");
        assert!(rows[0]["cmwq"]["ticks"].is_u64(), "{}", rows[0]);
    }
}

#[test]
fn a_sweep_marks_its_fastest() {
    let rows = rows(&["--work", "block", "--pool", "sweep", "--items", "8"]);
    assert_eq!(rows.len(), 9);
    let best: Vec<&Value> = rows.iter().filter(|row| row["best"] == true).collect();
    assert_eq!(best.len(), 1);
    let fastest = number(best[0], "elapsed_s");
    assert!(rows.iter().all(|row| number(row, "elapsed_s") >= fastest));
}

#[test]
fn several_pools_and_repeats_are_one_row_each() {
    let rows = rows(&[
        "--work",
        "cpu",
        "--pool",
        "fixed:1,fixed:2",
        "--pool",
        "fixed:3",
        "--items",
        "2",
        "--repeat",
        "2",
    ]);
    let pools: Vec<&str> = rows
        .iter()
        .map(|row| row["pool"].as_str().unwrap())
        .collect();
    assert_eq!(
        pools,
        [
            "fixed:1", "fixed:2", "fixed:3", "fixed:1", "fixed:2", "fixed:3"
        ]
    );
}

/// One thread needs 0.6 s for 200 items of 3 ms of its own CPU time, and has them twice.
#[test]
fn a_warm_up_is_as_much_again_and_not_measured() {
    let began = std::time::Instant::now();
    let words = "--work cpu --pool fixed:1 --items 200 --warm-up";
    let rows = rows(&words.split(' ').collect::<Vec<_>>());
    let all = began.elapsed().as_secs_f64();
    assert_eq!(rows.len(), 1);
    check(&rows[0], "cpu", "fixed:1");
    let measured = number(&rows[0], "elapsed_s");
    assert!(
        all >= measured + 0.6,
        "{all} s for {measured} s and a warm-up"
    );
}

#[test]
fn processes_that_begin_together_give_a_row_each() {
    let rows = rows(&[
        "--work",
        "cpu",
        "--pool",
        "fixed:2",
        "--items",
        "2",
        "--processes",
        "2",
    ]);
    assert_eq!(rows.len(), 2);
    rows.iter().for_each(|row| check(row, "cpu", "fixed:2"));
}

#[test]
fn the_table_has_a_header_and_says_what_bound_means() {
    let output = mix(&["--work", "cpu", "--pool", "fixed:2", "--items", "4"]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(KEYS.iter().all(|key| lines[0].contains(key)), "{text}");
    assert_eq!(lines[0].len(), lines[1].len(), "{text}");
    assert!(lines[2].starts_with("bound_s:"), "{text}");
}

fn refused(args: &[&str], naming: &str) {
    let output = mix(args);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
    assert!(error.contains(naming), "{args:?}: {error}");
    assert!(output.stdout.is_empty(), "{args:?}");
}

#[test]
fn bad_arguments_are_named() {
    refused(&["--work", "nap"], "nap");
    refused(
        &["--work", "cpu", "--warm-up", "--processes", "2"],
        "--warm-up",
    );
    refused(&["--work", "cpu", "--pool", "threads"], "threads");
    refused(&["--work", "cpu", "--pool", "fixed:0"], "fixed:0");
    refused(&["--work", "cpu", "--pool", "fixed:x"], "fixed:x");
    refused(&["--work", "cpu", "--items", "0"], "0");
    refused(&["--work", "barrier", "--pool", "fixed:2"], "fixed:2");
    refused(&["--pool", "fixed:2"], "--work");
}

#[cfg(not(feature = "peers"))]
#[test]
fn a_peer_that_is_not_built_in_is_named() {
    for peer in ["rayon", "tokio", "tokio-spawn"] {
        refused(&["--work", "cpu", "--pool", peer], "--features peers");
    }
}

#[cfg(feature = "peers")]
#[test]
fn peers_run() {
    for peer in ["rayon", "tokio", "tokio-spawn"] {
        let rows = rows(&["--work", "mixed", "--pool", peer, "--items", "12"]);
        check(&rows[0], "mixed", peer);
    }
}
