//! Differences are sorted by the table, and the table is held to what it says.

mod common;

use cmwq_oracle::{
    Backend, NotApplicable, Outcome, Record, Replay, Scenario, Switches, Table, replay,
};
use common::{ALL, CUT, Puppet, scenarios};

/// Does what the kernel did, but for some scenarios.
struct Other<F>(F);

impl<F: Fn(&Scenario, &mut Record) -> Result<(), NotApplicable>> Backend for Other<F> {
    fn name(&self) -> &str {
        "other"
    }

    fn run(&self, scenario: &Scenario) -> Result<Record, NotApplicable> {
        let mut record = Puppet.run(scenario)?;
        (self.0)(scenario, &mut record).map(|()| record)
    }

    fn switches(&self, _: &Scenario) -> Switches {
        ALL
    }
}

const HEADS: [&str; 3] = ["Differs on purpose", "Not applicable", "Not yet"];

/// A document with these rows below the three headings.
fn table(rows: [&str; 3]) -> Table {
    let part = |(head, rows): (&str, &str)| format!("## {head}\n{rows}\n");
    let text: String = HEADS.into_iter().zip(rows).map(part).collect();
    Table::parse(&text).expect("a good table")
}

fn told() -> Vec<Scenario> {
    let mut all = scenarios();
    all.retain(|s| s.id != CUT && s.group == "drain");
    all
}

fn spoil(record: &mut Record, op: &str) {
    let mut all = record.returns.values_mut().flatten();
    let result = all
        .find(|r| r.0.starts_with(op))
        .expect("such an operation");
    result.1 = "spoilt".into();
}

fn stale(replay: &Replay, scenarios: &[Scenario], table: &Table) -> String {
    replay.stale(scenarios, table).join("\n")
}

#[test]
fn what_agrees_passes() {
    let (scenarios, table) = (told(), table(["", "", ""]));
    let replay = replay(&scenarios, &[&Puppet], &table);
    assert!(replay.failures().is_empty());
    let expected = format!(
        "{} passed, 0 differ on purpose, 0 not applicable, 0 not yet",
        scenarios.len()
    );
    assert_eq!(replay.to_string(), expected);
    assert_eq!(replay.ran()["puppet"], scenarios.len());
    assert_eq!(stale(&replay, &scenarios, &table), "");
}

#[test]
fn an_unexplained_difference_is_named() {
    let backend = Other(|s: &Scenario, record: &mut Record| {
        if s.id == "drain/overlimit" {
            spoil(record, "executions i6");
        }
        Ok(())
    });
    let scenarios = told();
    let explained = "| `drain/overlimit` | `executions i6` | why |";
    for row in ["", "| `drain/overlimit` | `work_busy *` | why |"] {
        let replay = replay(&scenarios, &[&Puppet, &backend], &table([row, "", ""]));
        let name = "drain/overlimit: main op 9 `executions i6`: kernel `1`, ours `spoilt` (other)";
        assert_eq!(replay.failures(), [name]);
        assert!(replay.to_string().ends_with("1 FAILED"), "{replay}");
    }
    let table = table([explained, "", ""]);
    let replay = replay(&scenarios, &[&Puppet, &backend], &table);
    assert!(replay.failures().is_empty());
    assert_eq!(replay.outcome("drain/overlimit"), Some(&Outcome::Differs));
    assert_eq!(stale(&replay, &scenarios, &table), "");
}

#[test]
fn rows_that_say_too_much_are_stale() {
    let backend = Other(|s: &Scenario, record: &mut Record| {
        if s.id == "drain/overlimit" {
            spoil(record, "executions i6");
        }
        Ok(())
    });
    let scenarios = told();
    let of = |rows| {
        let table = table(rows);
        let replay = replay(&scenarios, &[&backend], &table);
        stale(&replay, &scenarios, &table)
    };
    let wide = of(["| `drain/*` | `executions *` | why |", "", ""]);
    assert!(wide.contains("agree: narrow the pattern"), "{wide}");
    assert!(
        wide.contains("drain/chained-depth") && !wide.contains("overlimit"),
        "{wide}"
    );
    assert_eq!(
        of(["| `drain/*` | `executions i6` | why |", "", ""]),
        "",
        "only one asks that"
    );
    let needless = of(["| `drain/chained-depth` | `*` | why |", "", ""]);
    assert!(
        needless.contains("nothing differs: delete the row"),
        "{needless}"
    );
    assert_eq!(of(["| `*` | `executions *` | why |", "", ""]), "");
    let general = of(["| `*` | `comm` | why |", "", ""]);
    assert!(general.contains("nothing differs"), "{general}");
    let gone = of(["", "| `drian/*` | why |", ""]);
    assert!(gone.contains("no such scenario"), "{gone}");
    assert_eq!(
        of(["", "| `group:rcu` | why |", ""]),
        "",
        "a group that others may have"
    );
    let done = of(["", "", "| `drain/chained-*` | 5 | why |"]);
    assert!(done.contains("passes already"), "{done}");
    assert_eq!(
        of(["", "", "| `drain/*` | 5 | why |"]),
        "",
        "one of them still differs"
    );
}

#[test]
fn what_is_not_applicable_is_not_run() {
    let backend = Other(|s: &Scenario, _: &mut Record| panic!("{} was run", s.id));
    let scenarios = told();
    let table = table(["", "| `*` | why |", ""]);
    let replay = replay(&scenarios, &[&backend], &table);
    assert!(replay.failures().is_empty());
    let outcome = replay.outcome("drain/overlimit");
    assert_eq!(outcome, Some(&Outcome::NotApplicable));
}

#[test]
fn what_nothing_runs_must_be_in_the_table() {
    let backend = Other(|s: &Scenario, _: &mut Record| match s.id.as_str() {
        "drain/overlimit" => Err(NotApplicable("too many items".into())),
        _ => Ok(()),
    });
    let scenarios = told();
    let none = replay(&scenarios, &[&backend], &table(["", "", ""]));
    let why = "drain/overlimit: nothing runs it: other: too many items";
    assert_eq!(none.failures(), [why]);
    let both = replay(&scenarios, &[&backend, &Puppet], &table(["", "", ""]));
    assert!(both.failures().is_empty(), "one backend is enough");
    let row = table(["", "", "| `drain/overlimit` | 5 | why |"]);
    let awaited = replay(&scenarios, &[&backend], &row);
    let outcome = awaited.outcome("drain/overlimit");
    assert_eq!(outcome, Some(&Outcome::NotYet(vec![why.into()])));
    assert_eq!(awaited.awaited(), [why]);
    assert_eq!(stale(&awaited, &scenarios, &row), "");
}

#[test]
fn a_panic_is_a_failure_of_one_scenario() {
    let backend = Other(|s: &Scenario, _: &mut Record| {
        assert!(s.id != "drain/overlimit", "a bug");
        Ok(())
    });
    let replay = replay(&told(), &[&backend], &table(["", "", ""]));
    assert_eq!(
        replay.failures(),
        ["drain/overlimit on other: panicked: a bug"]
    );
}

#[test]
fn the_tables_of_the_project_are_readable() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/differences.md");
    let text = std::fs::read_to_string(path).expect("the document is there");
    let table = Table::parse(&text).expect("it has good tables");
    let all = scenarios();
    for row in table.rows() {
        let covers = all.iter().any(|s| row.covers(s));
        assert!(
            covers || row.names_groups(),
            "line {}: {}",
            row.line,
            row.scenarios()
        );
    }
    for row in table.unrecorded() {
        let ours = all.iter().find(|s| row.covers(s)).map(|s| &s.id);
        assert_eq!(ours, None, "line {}: it is in our copy", row.line);
    }
}
