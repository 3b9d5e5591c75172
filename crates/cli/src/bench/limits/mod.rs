//! `cmwq bench limits`: what a queue's `max_active` is worth when items queue up at one lock, and
//! whether a queue without one finds as good a number by itself.
//!
//! The shape is that of the report that made the kernel's limits system-wide: 32 writers keep 32
//! requests each in flight; every request checksums 64 KiB on the CPU, outside of any lock, then
//! puts the checksum into one shared tree. Throughput there was 2495 MiB/s with a limit of 8 and
//! 1276 with one of 768. See [`log`] for what is under the lock here, and why.

mod args;
mod crc32c;
mod load;
mod log;
mod measure;
mod row;
mod scratch;
mod turns;

use super::parent::Failure;
pub(super) use args::LimitsArgs;

/// Measures in this process, if it was started to, or else every setting in a process of its own.
pub(super) fn run(args: &LimitsArgs) -> Result<(), Failure> {
    match args.child {
        Some(parent) => measure::child(args, parent),
        None => turns::measure_all(args),
    }
}
