//! `cmwq bench scale` as a user calls it.

use std::process::{Command, Output};

use serde_json::Value;

fn scale(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cmwq"));
    command.args(["bench", "scale"]).args(args);
    command.output().expect("cmwq starts")
}

fn text(args: &[&str]) -> String {
    let output = scale(args);
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

const FEW: [&str; 6] = ["--cpus", "1,2", "--item", "0,1000", "--items", "500"];

#[test]
fn every_run_is_a_line_of_json_and_the_same_again() {
    let json = [&FEW[..], &["--json"]].concat();
    let first = text(&json);
    assert_eq!(first, text(&json));
    let rows: Vec<Value> = first
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    // Shapes, items, machines, pools.
    assert_eq!(rows.len(), 2 * 2 * 2 * 6);
    for row in &rows {
        assert_eq!(
            (&row["simulated"], &row["items"]),
            (&true.into(), &500.into())
        );
        assert!(row["items_per_s"].as_u64().unwrap() > 10_000, "{row}");
    }
    let pools: Vec<&str> = rows[..6]
        .iter()
        .map(|row| row["pool"].as_str().unwrap())
        .collect();
    assert_eq!(
        pools,
        ["cmwq", "fifo", "one-lock", "rayon", "deques", "batches"]
    );
}

#[test]
fn longer_ways_make_a_lock_slower() {
    let per_second = |trips| {
        let args = [
            "--pool", "one-lock", "--shape", "inside", "--json", "--trip", trips,
        ];
        let text = text(&[&FEW[..], &args].concat());
        let last = text.lines().last().unwrap();
        let row: Value = serde_json::from_str(last).unwrap();
        assert_eq!(row["cpus"], 2);
        row["items_per_s"].as_u64().unwrap()
    };
    assert!(per_second("10,10,10") > per_second("100,100,100"));
}

#[test]
fn the_table_says_that_it_is_simulated() {
    let text = text(&[&FEW[..], &["--pool", "cmwq"]].concat());
    assert!(text.starts_with("simulated\n"), "{text}");
    assert_eq!(text.lines().count(), 2 + 8, "{text}");
}

#[test]
fn bad_arguments_are_named() {
    for (option, value) in [("--trip", "1,2"), ("--cpus", "0"), ("--pool", "tokio")] {
        let output = scale(&[option, value]);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(option) && error.contains(value), "{error}");
    }
}
