//! What is other with exact limits than what a kernel answered.

mod common;

use std::collections::BTreeSet;
use std::path::Path;

use cmwq_oracle::{Backend, Scenario, Virtual, VirtualExact, compare};
use common::scenarios;

/// Groups that are about limits.
const GROUPS: [&str; 3] = ["max_active", "max_active_unbound", "ordered"];

/// Where a run differs from the kernel's answers, of what is worth comparing.
fn differences(backend: &dyn Backend, scenario: &Scenario) -> Vec<String> {
    let record = backend.run(scenario).expect("it can be run");
    let found = compare(scenario, &record, backend.switches(scenario));
    found.iter().map(ToString::to_string).collect()
}

/// Whether a scenario has other answers if limits are exact.
fn differs(scenario: &Scenario) -> bool {
    differences(&Virtual, scenario) != differences(&VirtualExact, scenario)
}

/// The scenarios that the page names in its section about exact limits.
fn named() -> BTreeSet<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/differences.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let section = page.split("\n## ").find(|s| s.starts_with("Exact limits"));
    let rows = section.expect("it has the section").lines();
    let ids = rows.filter_map(|row| row.strip_prefix("| `")?.split('`').next());
    ids.map(str::to_owned).collect()
}

#[test]
fn exact_limits_differ_where_the_page_says_so() {
    let scenarios = scenarios();
    let about = |scenario: &&Scenario| GROUPS.contains(&scenario.group.as_str());
    let of_limits: Vec<&Scenario> = scenarios.iter().filter(about).collect();
    assert!(of_limits.len() > 10, "{} scenarios", of_limits.len());
    let differ = of_limits.iter().filter(|scenario| differs(scenario));
    let differ: BTreeSet<String> = differ.map(|scenario| scenario.id.clone()).collect();
    assert_eq!(differ, named());
}
