//! `cmwq bench items` as a user calls it: its JSON, its tables, its errors.

use std::process::{Command, Output};

use serde_json::Value;

/// Pools of every binary; others come with the feature `peers`.
const OURS: [&str; 3] = ["cmwq", "cmwq-work", "cmwq-fifo"];
const SHAPES: [&str; 5] = ["outside", "outside2", "inside", "chain", "trip"];

fn items(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cmwq"));
    command.args(["bench", "items"]);
    command.args(args).output().expect("cmwq starts")
}

fn text(args: &[&str]) -> String {
    let few = ["--items", "200", "--trips", "20"];
    let output = items(&[&few[..], args].concat());
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn rows(lines: &str) -> Vec<Value> {
    let parse = |line| serde_json::from_str(line).unwrap();
    lines.lines().map(parse).collect()
}

fn names(row: &Value) -> (&str, &str) {
    let name = |key: &str| row[key].as_str().unwrap();
    (name("shape"), name("pool"))
}

/// What holds of every row, on however noisy a machine.
fn check(row: &Value) {
    let number = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key}: {row}"));
    let (trip, items) = (row["shape"] == "trip", number("items"));
    assert_eq!(items, if trip { 20.0 } else { 200.0 }, "{row}");
    let elapsed = number("ns_per_item") * items / 1e9;
    // It is rounded to microseconds.
    assert!((number("elapsed_s") - elapsed).abs() < 1e-6, "{row}");
    assert!(number("cpu_ns_per_item") > 0.0, "{row}");
    assert!(number("voluntary_switches") >= 0.0 && number("involuntary_switches") >= 0.0);
    assert!(number("peak_threads") >= 1.0, "{row}");
    match trip {
        true => assert!(0.0 < number("p50_us") && number("p50_us") <= number("p99_us")),
        false => assert!(row["p50_us"].is_null() && row["p99_us"].is_null(), "{row}"),
    }
    let ours = OURS.contains(&names(row).1);
    assert_eq!(row["cmwq"]["peak_workers"].is_u64(), ours, "{row}");
}

#[test]
fn items_spin_for_as_long_as_is_asked() {
    let args = [
        "--pool",
        "cmwq",
        "--shape",
        "outside,inside,chain",
        "--rounds",
        "1",
    ];
    let text = text(&[&args[..], &["--spin", "100000", "--json"]].concat());
    for row in rows(&text) {
        let cpu = row["cpu_ns_per_item"].as_f64().unwrap();
        // Spinning counts by the clock: who has no CPU meanwhile uses less.
        assert!(cpu > 20_000.0, "{row}");
    }
}

#[test]
fn every_pool_and_shape_has_a_row_and_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("rows");
    let tables = text(&["--rounds", "1", "--json", file.to_str().unwrap()]);
    let kept = std::fs::read_to_string(&file).unwrap();
    let rows = rows(&kept);
    rows.iter().for_each(check);
    for shape in SHAPES {
        let of_shape = rows.iter().filter(|row| row["shape"] == shape);
        let pools: Vec<&str> = of_shape.map(|row| names(row).1).collect();
        assert!(pools.starts_with(&OURS), "{kept}");
        assert_eq!(pools.len() * SHAPES.len(), rows.len(), "{kept}");
        for pool in pools {
            let line = |line: &&str| line.split_whitespace().take(2).eq([shape, pool]);
            assert_eq!(tables.lines().filter(line).count(), 1, "{tables}");
        }
    }
    // Two headers and an empty line between the tables.
    assert_eq!(tables.lines().count(), rows.len() + 3, "{tables}");
}

#[test]
fn who_is_first_changes_from_round_to_round() {
    let asked = ["--pool", "cmwq-work,cmwq", "--shape", "chain,trip"];
    let lines = text(&[&asked[..], &["--rounds", "2", "--json"]].concat());
    let rows = rows(&lines);
    rows.iter().for_each(check);
    let turns: Vec<_> = rows
        .iter()
        .map(|row| (row["round"].as_u64().unwrap(), names(row)))
        .collect();
    let expected = [
        (1, ("chain", "cmwq-work")),
        (1, ("chain", "cmwq")),
        (1, ("trip", "cmwq-work")),
        (1, ("trip", "cmwq")),
        (2, ("chain", "cmwq")),
        (2, ("chain", "cmwq-work")),
        (2, ("trip", "cmwq")),
        (2, ("trip", "cmwq-work")),
    ];
    assert_eq!(turns, expected);
}

#[test]
fn arguments_that_cannot_be_are_named() {
    for args in [
        ["--items", "0"],
        ["--rounds", "0"],
        ["--shape", "round"],
        ["--pool", "fixed"],
    ] {
        let output = items(&args);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(
            error.contains(args[0]) && error.contains(args[1]),
            "{error}"
        );
    }
}
