//! `cmwq bench items`: what an empty item costs, beside other pools.
//!
//! * *outside*: one thread that is no worker queues all items and waits until all have run.
//! * *outside2*: two such threads queue half of them each.
//! * *inside*: one item queues all others.
//! * *chain*: each item queues the next.
//! * *trip*: a thread queues one item, which wakes it, and again.
//!
//! An item captures one word, so that no pool gets away without memory for it, and counts itself.
//! How the end is noticed is the same for every pool: see [`tally`]. A pool, a shape and a round
//! have a process of their own, so that no pool inherits threads or memory of another.

mod args;
mod closures;
mod load;
mod measure;
mod row;
mod shape;
mod tally;
mod turns;
mod works;

use super::parent::Failure;
pub(super) use args::ItemsArgs;

/// Measures in this process, if it was started to, or else everything in processes of their own.
pub(super) fn run(args: &ItemsArgs) -> Result<(), Failure> {
    match args.child {
        Some(parent) => measure::child(args, parent).map_err(Failure::Run),
        None => turns::measure_all(args).map_err(Failure::Run),
    }
}
