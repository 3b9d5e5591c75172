//! The protocols, tried in every order that the memory model allows. Run with
//! `RUSTFLAGS="--cfg loom" cargo test --release -p cmwq-engine --lib loom`.
//!
//! A lost wake-up shows as a deadlock: loom then finds every thread asleep. What is not modelled is
//! time; a sleep that only a timeout would end counts as one that never ends, so these hand-overs
//! are proved without the tick that would repair them.
//!
//! | file | what |
//! | --- | --- |
//! | `rig/` | a process in small: the real core and the real protocols over loom's locks and words |
//! | `claims.rs` | who waits for an item executes it, or a worker does |
//! | `items.rs` | an item's word: queue, cancel, disable, enable and run at once |
//! | `dealt.rs` | an item that a worker was dealt is taken back, or waited for, while it begins |
//! | `deferral.rs` | an item runs in one pool and is queued to another |
//! | `flush.rs` | flush of an item, and of a queue with two pool workqueues |
//! | `holders.rs` | who holds a queue comes and goes |
//! | `latch.rs` | who waits for a latch by wakers or as a thread, or leaves it |
//! | `limits.rs` | two pools share one limit |
//! | `timers.rs` | arm, disarm and expire, against the sleep of the tick's thread |
//! | `workers.rs` | parker, latch, and workers that go idle while items come |
//! | `signals.rs` | canaries and tick |
//!
//! Each model has failed for the faults that it is for: its comment says for which.

mod claims;
mod dealt;
mod deferral;
mod flush;
mod holders;
mod items;
mod latch;
mod limits;
mod rig;
mod signals;
mod timers;
mod workers;

/// Explores at most this many preemptions per run. The known faults need one or two, three in a few
/// cases; models that would take minutes say less.
const PREEMPTIONS: usize = 4;

fn model(run: impl Fn() + Sync + Send + 'static) {
    bounded(PREEMPTIONS, run);
}

fn bounded(preemptions: usize, run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    builder.check(run);
}
