//! The interpreter, stepped as the kernel went, comes to the kernel's answers.

mod common;

use cmwq_oracle::{Backend, Scenario, compare};
use common::{ALL, CUT, Puppet, scenarios};

#[test]
fn the_interpreter_answers_as_the_kernel_did() {
    let mut wrong = Vec::new();
    let scenarios = scenarios();
    let told = |s: &&Scenario| s.id != CUT;
    for scenario in scenarios.iter().filter(told) {
        let record = Puppet.run(scenario).expect("the puppet plays everything");
        wrong.extend(compare(scenario, &record, ALL));
        let counts = scenario.observed.counts.stable();
        assert!(
            counts.is_none_or(|c| *c == record.counts()),
            "{}",
            scenario.id
        );
    }
    let wrong: Vec<String> = wrong.iter().map(ToString::to_string).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
