//! `cmwq bench stack` as a user calls it.

use std::process::{Command, Output};

use serde_json::Value;

fn stack(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cmwq"));
    command.args(["bench", "stack", "--ops", "50"]).args(args);
    command.output().expect("cmwq starts")
}

fn text(args: &[&str]) -> String {
    let output = stack(args);
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_run_is_a_line_of_json() {
    let text = text(&[
        "--clients",
        "1,3",
        "--runs",
        "2",
        "--sleep-us",
        "50",
        "--json",
    ]);
    let rows: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let cells: Vec<_> = rows
        .iter()
        .map(|row| {
            (
                row["setting"].as_str().unwrap(),
                row["clients"].as_u64().unwrap(),
            )
        })
        .collect();
    let turn = [
        ("ping-pong", 1),
        ("unstacked", 1),
        ("stacked", 1),
        ("unclaimed", 1),
        ("claimed", 1),
        ("unstacked", 3),
        ("stacked", 3),
        ("unclaimed", 3),
        ("claimed", 3),
    ];
    assert_eq!(cells, [turn, turn].concat());
    for row in &rows {
        let figure = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key}: {row}"));
        // An item that sleeps 50 us takes at least that.
        assert!(
            figure("p50_us") >= 50.0 && figure("p99_us") >= figure("p50_us"),
            "{row}"
        );
        assert!((0.0..=10.0).contains(&figure("migrations_per_op")), "{row}");
        assert!(
            figure("cpus_touched") >= 1.0 && figure("ops_per_s") > 0.0,
            "{row}"
        );
        assert_eq!(figure("ops"), 50.0);
        let claimed = figure("claimed_per_op");
        let may = row["setting"] == "claimed";
        assert!(
            (0.0..=1.0).contains(&claimed) && (may || claimed == 0.0),
            "{row}"
        );
    }
}

#[test]
fn a_table_has_medians_beside_the_ping_pong() {
    let text = text(&["--clients", "1"]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 6, "{text}");
    assert!(
        lines[0].ends_with("x ping-pong") && lines[1].ends_with(" 1.00"),
        "{text}"
    );
}

#[test]
fn arguments_that_cannot_be_are_named() {
    for (args, named) in [
        (["--clients", "0"], "--clients"),
        (["--runs", "0"], "--runs"),
    ] {
        let output = stack(&args);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(named), "{error}");
    }
}
