//! The tables of what differs on purpose, has no meaning in user space, or is still to come.

use crate::compare::Difference;
use crate::error::Error;
use crate::scenario::Scenario;

/// Every group that the recorder knows, also those our copy of the data has no scenario of.
const GROUPS: [&str; 24] = [
    "states",
    "execution",
    "concurrency",
    "timeline",
    "flush",
    "cancel",
    "disable",
    "delayed",
    "rcu",
    "drain",
    "max_active",
    "max_active_unbound",
    "ordered",
    "affinity",
    "nice",
    "freeze",
    "hotplug",
    "sysfs",
    "alloc",
    "bh",
    "rescuer",
    "checks",
    "boot",
    "slow",
];

/// Which table a row stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// Our answer is another one, and meant.
    Differs,
    /// The scenario has no meaning here: it is not run.
    NotApplicable,
    /// What it needs comes with another issue.
    NotYet,
}

const SORTS: [(&str, Sort, usize); 3] = [
    ("Differs on purpose", Sort::Differs, 3),
    ("Not applicable", Sort::NotApplicable, 2),
    ("Not yet", Sort::NotYet, 3),
];

/// Rows as those of what differs, about scenarios that the recorder can ask and our copy has not.
/// The table may be missing.
const UNRECORDED: &str = "Differs on purpose, not recorded";

/// One row.
#[derive(Debug, Clone)]
pub struct Row {
    /// Which table it stands in.
    pub sort: Sort,
    /// Its line in the document, from 1.
    pub line: usize,
    scenarios: Vec<String>,
    /// Only for what differs: operations or aspects.
    answers: Vec<String>,
    /// The last cell.
    pub reason: String,
}

impl Row {
    /// Whether the row is about this scenario.
    pub fn covers(&self, scenario: &Scenario) -> bool {
        let covers = |pattern: &String| match pattern.strip_prefix("group:") {
            Some(group) => scenario.group == group,
            None => matches(pattern, &scenario.id),
        };
        self.scenarios.iter().any(covers)
    }

    /// Whether the row is about this answer of a scenario that it covers.
    pub fn explains(&self, difference: &Difference) -> bool {
        let mut answers = self.answers.iter();
        answers.any(|pattern| matches(pattern, &difference.what))
    }

    /// Whether the scenario compares anything that the row is about.
    pub fn could_explain(&self, scenario: &Scenario) -> bool {
        let ops = scenario.observed.returns.values().flatten();
        let ops = ops.map(|returned| returned.0.as_str());
        let aspects = scenario.compare.iter().map(|aspect| aspect.word());
        let mut all = ops.chain(aspects);
        all.any(|what| self.answers.iter().any(|pattern| matches(pattern, what)))
    }

    /// Whether the row is about one kind of answer in whichever scenario.
    pub fn is_general(&self) -> bool {
        self.scenarios.iter().all(|pattern| pattern == "*")
    }

    /// Whether the row names whole groups, which exist though our copy may have none of them.
    pub fn names_groups(&self) -> bool {
        self.scenarios.iter().all(|p| p.starts_with("group:"))
    }

    /// The patterns of its scenarios, for messages.
    pub fn scenarios(&self) -> String {
        self.scenarios.join(", ")
    }
}

/// All rows of the document.
#[derive(Debug, Clone, Default)]
pub struct Table {
    rows: Vec<Row>,
    unrecorded: Vec<Row>,
}

impl Table {
    /// Reads the tables below the headings `Differs on purpose`, `Not applicable`, `Not yet`, and
    /// the one of what is not recorded.
    pub fn parse(document: &str) -> Result<Table, Error> {
        let mut table = Table::default();
        let (mut sort, mut recorded) = (None, true);
        for (line, text) in (1..).zip(document.lines()) {
            if let Some(heading) = text.strip_prefix('#') {
                let heading = heading.trim_start_matches('#').trim();
                recorded = heading != UNRECORDED;
                let heading = if recorded { heading } else { SORTS[0].0 };
                sort = SORTS.iter().find(|(name, ..)| *name == heading);
            } else if let (Some(&(_, sort, cells)), true) = (sort, text.starts_with('|')) {
                let row = row(sort, cells, line, text)?;
                match recorded {
                    true => table.rows.extend(row),
                    false => table.unrecorded.extend(row),
                }
            }
        }
        for (name, sort, _) in SORTS {
            if !table.rows.iter().any(|row| row.sort == sort) && !document.contains(name) {
                let what = format!("there is no heading `{name}`");
                return Err(Error::Table { line: 1, what });
            }
        }
        Ok(table)
    }

    /// Every row about scenarios of our copy, in order.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The rows about scenarios that are not in it.
    pub fn unrecorded(&self) -> &[Row] {
        &self.unrecorded
    }

    /// The rows of one table that cover a scenario.
    pub fn covering<'a>(
        &'a self,
        sort: Sort,
        scenario: &'a Scenario,
    ) -> impl Iterator<Item = &'a Row> {
        let rows = self.rows.iter().chain(&self.unrecorded);
        rows.filter(move |row| row.sort == sort && row.covers(scenario))
    }
}

/// One line of a table; the heading of a table is no row.
fn row(sort: Sort, cells: usize, line: usize, text: &str) -> Result<Option<Row>, Error> {
    let wrong = |what: String| Error::Table { line, what };
    let inner = text.trim().trim_start_matches('|').trim_end_matches('|');
    let all: Vec<&str> = inner.split('|').map(str::trim).collect();
    if all.len() != cells {
        return Err(wrong(format!("{} cells, {cells} are wanted", all.len())));
    }
    let scenarios = ticked(all[0]);
    if scenarios.is_empty() {
        let heading = all[0] == "scenarios" || all[0].chars().all(|c| "-: ".contains(c));
        let what = || wrong(format!("no `pattern` in the first cell, `{}`", all[0]));
        return if heading { Ok(None) } else { Err(what()) };
    }
    for pattern in &scenarios {
        let group = pattern.strip_prefix("group:");
        if let Some(group) = group.filter(|group| !GROUPS.contains(group)) {
            return Err(wrong(format!("there is no group `{group}`")));
        }
    }
    let answers = match sort {
        Sort::Differs => ticked(all[1]),
        _ => Vec::new(),
    };
    if sort == Sort::Differs && answers.is_empty() {
        return Err(wrong("no `pattern` of answers in the second cell".into()));
    }
    let reason = all[cells - 1].to_string();
    if reason.is_empty() {
        return Err(wrong("no reason is given".into()));
    }
    Ok(Some(Row {
        sort,
        line,
        scenarios,
        answers,
        reason,
    }))
}

/// What stands between backticks.
fn ticked(cell: &str) -> Vec<String> {
    let parts = cell.split('`').skip(1).step_by(2);
    parts.map(str::to_string).collect()
}

/// Whether `text` fits `pattern`, in which `*` stands for any letters.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut text) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = text.find(part) else {
            return false;
        };
        text = &text[at + part.len()..];
    }
    text.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_anything() {
        let yes = [
            ("a", "a"),
            ("*", ""),
            ("*", "a/b"),
            ("a/*", "a/"),
            ("a/*/c", "a/b/c"),
            ("a/*/c", "a/b/b/c"),
            ("*b*", "abc"),
            ("state/*pending/x", "state/running+pending/x"),
        ];
        let no = [
            ("a", "ab"),
            ("a*", "ba"),
            ("*a", "ab"),
            ("a*a", "a"),
            ("a/*/c", "a/c"),
            ("*bb*b", "abb"),
        ];
        for (pattern, text) in yes {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in no {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }

    const HEAD: &str = "## Differs on purpose\n## Not applicable\n## Not yet\n";

    fn rows(document: &str) -> Result<usize, String> {
        let table = Table::parse(&format!("{HEAD}{document}"));
        table.map(|t| t.rows.len()).map_err(|e| e.to_string())
    }

    #[test]
    fn only_rows_below_the_headings_count() {
        let row = "| `a/*`, `b` | `executions *` | because |\n";
        assert_eq!(rows(&format!("# Other\n{row}")), Ok(0));
        let table = format!(
            "## Differs on purpose\n\n| scenarios | answers | why |\n| --- | --- | --- |\n{row}"
        );
        assert_eq!(rows(&table), Ok(1));
        assert_eq!(rows("### Not yet\n| `a` | 5 | because |"), Ok(1));
    }

    #[test]
    fn what_is_not_recorded_is_kept_apart() {
        let row = "| `a/*` | `executions *` | because |\n";
        let table = Table::parse(&format!("{HEAD}## {UNRECORDED}\n{row}## Other\n{row}")).unwrap();
        assert_eq!((table.rows().len(), table.unrecorded().len()), (0, 1));
        assert_eq!(table.unrecorded()[0].sort, Sort::Differs);
    }

    #[test]
    fn what_is_wrong_with_a_row_is_said() {
        let of = |row: &str| rows(&format!("## Differs on purpose\n{row}")).unwrap_err();
        assert!(of("| `a` | because |").contains("line 5: 2 cells, 3 are wanted"));
        assert!(of("| a | `order` | because |").contains("no `pattern` in the first cell"));
        assert!(of("| `a` | order | because |").contains("in the second cell"));
        assert!(of("| `a` | `order` |  |").contains("no reason"));
        assert!(of("| `group:sleep` | `order` | because |").contains("no group `sleep`"));
        let gone = Table::parse("# Not yet").unwrap_err().to_string();
        assert!(gone.contains("no heading `Differs on purpose`"), "{gone}");
    }
}
