//! All scenarios on all backends, sorted by what the table says of their differences.

use crate::compare::{Difference, Switches, compare};
use crate::record::Record;
use crate::scenario::Scenario;
use crate::table::{Row, Sort, Table};
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Something that can carry out scripts.
pub trait Backend {
    /// What it is called in messages.
    fn name(&self) -> &str;

    /// Carries out one scenario, from a fresh start.
    ///
    /// # Errors
    /// The scenario needs what this backend has not.
    fn run(&self, scenario: &Scenario) -> Result<Record, NotApplicable>;

    /// What of a record that it has just made is worth comparing.
    fn switches(&self, scenario: &Scenario) -> Switches;
}

/// Why a backend does not run a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotApplicable(pub String);

/// What became of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// All that is compared agrees, on each backend that ran it.
    Passed,
    /// It differs, and the table says why.
    Differs,
    /// It has no meaning in user space.
    NotApplicable,
    /// It differs so until an issue brings what it needs.
    NotYet(Vec<String>),
    /// It differs, or cannot be run, and the table does not say so.
    Failed(Vec<String>),
}

/// What became of all scenarios.
#[derive(Debug, Default)]
pub struct Replay {
    outcomes: BTreeMap<String, Outcome>,
    ran: BTreeMap<String, usize>,
    /// By line of the row: which scenarios it explains a difference of, and which it need not.
    explained: BTreeMap<usize, Uses>,
}

#[derive(Debug, Default)]
struct Uses {
    differ: Vec<String>,
    agree: Vec<String>,
}

/// Runs every scenario on every backend that can.
pub fn replay(scenarios: &[Scenario], backends: &[&dyn Backend], table: &Table) -> Replay {
    let mut replay = Replay::default();
    for scenario in scenarios {
        let outcome = replay.one(scenario, backends, table);
        replay.outcomes.insert(scenario.id.clone(), outcome);
    }
    replay
}

impl Replay {
    fn one(&mut self, scenario: &Scenario, backends: &[&dyn Backend], table: &Table) -> Outcome {
        if table
            .covering(Sort::NotApplicable, scenario)
            .next()
            .is_some()
        {
            return Outcome::NotApplicable;
        }
        let rows: Vec<&Row> = table.covering(Sort::Differs, scenario).collect();
        let mut failed = Vec::new();
        let mut explained = Vec::new();
        let mut refused = Vec::new();
        for backend in backends {
            match attempt(*backend, scenario) {
                Err(panic) => {
                    failed.push(format!("{} on {}: {panic}", scenario.id, backend.name()))
                }
                Ok(Err(NotApplicable(why))) => refused.push(format!("{}: {why}", backend.name())),
                Ok(Ok(differences)) => {
                    *self.ran.entry(backend.name().into()).or_default() += 1;
                    for difference in differences {
                        match rows.iter().find(|row| row.explains(&difference)) {
                            Some(row) => explained.push(row.line),
                            None => failed.push(format!("{difference} ({})", backend.name())),
                        }
                    }
                }
            }
        }
        if refused.len() == backends.len() {
            failed.push(format!(
                "{}: nothing runs it: {}",
                scenario.id,
                refused.join("; ")
            ));
        } else {
            self.note_uses(scenario, &rows, &explained);
        }
        let awaited = table.covering(Sort::NotYet, scenario).next().is_some();
        match (failed.is_empty(), explained.is_empty()) {
            (true, true) => Outcome::Passed,
            (true, false) => Outcome::Differs,
            (false, _) if awaited => Outcome::NotYet(failed),
            (false, _) => Outcome::Failed(failed),
        }
    }

    fn note_uses(&mut self, scenario: &Scenario, rows: &[&Row], explained: &[usize]) {
        for row in rows {
            let uses = self.explained.entry(row.line).or_default();
            if explained.contains(&row.line) {
                uses.differ.push(scenario.id.clone());
            } else if row.could_explain(scenario) {
                uses.agree.push(scenario.id.clone());
            }
        }
    }

    /// What became of one scenario.
    pub fn outcome(&self, id: &str) -> Option<&Outcome> {
        self.outcomes.get(id)
    }

    /// How many scenarios each backend ran.
    pub fn ran(&self) -> &BTreeMap<String, usize> {
        &self.ran
    }

    /// Every difference that the table does not explain.
    pub fn failures(&self) -> Vec<&str> {
        let all = self.outcomes.values().filter_map(|outcome| match outcome {
            Outcome::Failed(why) => Some(why),
            _ => None,
        });
        all.flatten().map(String::as_str).collect()
    }

    /// What the scenarios lack that are not yet to agree.
    pub fn awaited(&self) -> Vec<&str> {
        let all = self.outcomes.values().filter_map(|outcome| match outcome {
            Outcome::NotYet(why) => Some(why),
            _ => None,
        });
        all.flatten().map(String::as_str).collect()
    }

    fn count(&self, which: impl Fn(&Outcome) -> bool) -> usize {
        self.outcomes.values().filter(|o| which(o)).count()
    }

    /// What the table says that is not, or no longer, so. Only for the data it was written for:
    /// elsewhere a row may well find nothing to do.
    pub fn stale(&self, scenarios: &[Scenario], table: &Table) -> Vec<String> {
        let rows = table.rows().iter();
        rows.filter_map(|row| {
            let what = self.stale_row(scenarios, row)?;
            Some(format!("line {}, {}: {what}", row.line, row.scenarios()))
        })
        .collect()
    }

    fn stale_row(&self, scenarios: &[Scenario], row: &Row) -> Option<String> {
        let mut covered = scenarios.iter().filter(|s| row.covers(s)).peekable();
        if covered.peek().is_none() && !row.names_groups() {
            return Some("there is no such scenario".into());
        }
        match row.sort {
            Sort::NotApplicable => None,
            Sort::NotYet => {
                let any = covered.any(|s| self.waits(s));
                (!any).then(|| "all of it passes already: delete the row".into())
            }
            Sort::Differs => {
                let judged = covered.any(|s| !self.waits(s));
                judged.then(|| self.needless(row)).flatten()
            }
        }
    }

    fn waits(&self, scenario: &Scenario) -> bool {
        matches!(self.outcomes.get(&scenario.id), Some(Outcome::NotYet(_)))
    }

    fn needless(&self, row: &Row) -> Option<String> {
        let uses = self.explained.get(&row.line);
        let agree = uses.map_or(&[][..], |uses| &uses.agree);
        match uses.is_none_or(|uses| uses.differ.is_empty()) {
            true => Some("nothing differs: delete the row".into()),
            false if row.is_general() || agree.is_empty() => None,
            false => Some(format!("{} agree: narrow the pattern", agree.join(", "))),
        }
    }
}

impl fmt::Display for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failed = self.count(|o| matches!(o, Outcome::Failed(_)));
        write!(
            f,
            "{} passed, {} differ on purpose, {} not applicable, {} not yet",
            self.count(|o| *o == Outcome::Passed),
            self.count(|o| *o == Outcome::Differs),
            self.count(|o| *o == Outcome::NotApplicable),
            self.count(|o| matches!(o, Outcome::NotYet(_))),
        )?;
        match failed {
            0 => Ok(()),
            _ => write!(f, ", {failed} FAILED"),
        }
    }
}

type Attempt = Result<Result<Vec<Difference>, NotApplicable>, String>;

/// One bad scenario must not hide the others: a panic is an answer like any other.
fn attempt(backend: &dyn Backend, scenario: &Scenario) -> Attempt {
    let run = || {
        let record = backend.run(scenario)?;
        Ok(compare(scenario, &record, backend.switches(scenario)))
    };
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| format!("panicked: {}", message(&*panic)))
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
}
