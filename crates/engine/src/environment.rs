//! What the environment says of the affinity of all queues.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;

use cmwq_policy::affinity::Scope as AffinityScope;

use crate::report::{self, Report};

/// Names the scope of queues that name none.
const ENVIRONMENT: &str = "CMWQ_DEFAULT_AFFINITY_SCOPE";

/// What the environment says, if it names a scope.
pub(crate) fn scope() -> Option<AffinityScope> {
    AffinityScope::parse(std::env::var(ENVIRONMENT).ok()?.as_str())
}

/// Says once that the environment names something else.
pub(crate) fn check() {
    static CHECKED: AtomicBool = AtomicBool::new(false);
    if CHECKED.swap(true, SeqCst) {
        return;
    }
    let value = std::env::var_os(ENVIRONMENT).filter(|_| scope().is_none());
    if let Some(value) = value {
        report::say(&Report::Environment {
            variable: ENVIRONMENT,
            value: value.to_string_lossy().into_owned(),
            expected: AffinityScope::ALL.map(AffinityScope::name).join(", "),
        });
    }
}
