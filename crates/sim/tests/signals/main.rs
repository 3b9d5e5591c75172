//! Signals as user space has them: what each of them does alone, that together they do about what
//! exact knowledge does, and that none of them is needed for anything to end.

mod liveness;
mod mix;
mod rules;

use cmwq_policy::time::{MILLISECOND, SECOND};
use cmwq_sim::{SignalCosts, Signals, UserSignals};

/// The signals of user space without cost, each of them switched off.
fn none() -> UserSignals {
    UserSignals {
        canaries: false,
        hints: false,
        tick: u64::MAX,
        costs: SignalCosts::NONE,
        ..UserSignals::default()
    }
}

/// Every way to be told: each signal alone, all together, and all of them unreliable.
fn modes() -> Vec<(&'static str, Signals)> {
    let all = UserSignals::default();
    let user = |name, signals| (name, Signals::User(signals));
    vec![
        ("exact", Signals::Exact),
        user("all", all),
        user(
            "canaries",
            UserSignals {
                // A pool with backlog has a tick in any case: it makes up for failures.
                tick: SECOND,
                hints: false,
                ..all
            },
        ),
        user(
            "tick",
            UserSignals {
                canaries: false,
                hints: false,
                ..all
            },
        ),
        user("all lost", UserSignals { lost: 1000, ..all }),
        user(
            "blind",
            UserSignals {
                canaries: false,
                hints: false,
                unseen: 1000,
                cpu_told: false,
                ..all
            },
        ),
        user(
            "cpu time only",
            UserSignals {
                canaries: false,
                hints: false,
                unseen: 1000,
                ..all
            },
        ),
        user(
            "unreliable",
            UserSignals {
                late: 10 * MILLISECOND,
                lost: 300,
                spurious: 300,
                ..all
            },
        ),
    ]
}
