//! A smaller plan that fails the same way.

use crate::check::Invariant;
use crate::plan::{Feature, Plan};
use crate::run::run;

/// Runs that shrinking may take.
const TRIES: u32 = 3000;

/// The smallest plan found that violates the same invariant: fewer features, threads, items, queues
/// and events.
pub fn shrink(plan: &Plan, invariant: Invariant) -> Plan {
    let mut best = *plan;
    let mut tries = TRIES;
    while let Some(smaller) = step(&best, invariant, &mut tries) {
        best = smaller;
    }
    best
}

fn step(plan: &Plan, invariant: Invariant, tries: &mut u32) -> Option<Plan> {
    smaller(plan).into_iter().find(|candidate| {
        if *tries == 0 {
            return false;
        }
        *tries -= 1;
        let violation = run(candidate, false).violation;
        violation.is_some_and(|v| v.invariant == invariant)
    })
}

/// Plans that are a little smaller, the much smaller ones first.
fn smaller(plan: &Plan) -> Vec<Plan> {
    let mut all = Vec::new();
    for less in [|n: u32| n / 2, |n: u32| n.saturating_sub(1)] {
        all.extend([
            Plan {
                threads: less(plan.threads).max(1),
                ..*plan
            },
            Plan {
                items: less(plan.items).max(1),
                ..*plan
            },
            Plan {
                queues: less(plan.queues).max(1),
                ..*plan
            },
            Plan {
                events: u64::from(less(plan.events as u32)),
                ..*plan
            },
        ]);
    }
    all.extend(Feature::ALL.iter().map(|&f| plan.without(f)));
    all.retain(|one| one != plan);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smaller_plans_are_smaller() {
        let plan = Plan::of(5);
        let size = |p: &Plan| {
            let counts = u64::from(p.threads + p.items + p.queues) + p.events;
            counts + p.features().count() as u64
        };
        let all = smaller(&plan);
        assert!(all.len() > 20);
        assert!(all.iter().all(|one| size(one) < size(&plan)));
    }
}
