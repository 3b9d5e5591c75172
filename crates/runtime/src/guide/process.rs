//! What does it add to my process, and how does that end?
//!
//! * Workers appear when items wait, and retire after 300 s of idleness. All queues with equal
//!   attributes share them.
//! * The first queue starts one thread. The first item that has to wait starts a small helper
//!   process, one more thread, and one thread per CPU. All sleep while nothing waits.
//! * Threads of cmwq block all signals except those that a fault raises.
//! * In a forked child the parent's queues are errors, and [`system`](crate::system) is a new
//!   queue.
//!
//! # Settings of the whole process
//!
//! Threads belong to the process, so some settings do, too. A library that you depend on may have
//! made a queue, or chosen, before you. Then [`install`](crate::Builder::install) is an error.
//! [`Builder::in_force`](crate::Builder::in_force) tells what holds. Libraries should leave all of
//! these to the program.
//!
//! | setting | when | ask |
//! | --- | --- | --- |
//! | [`Builder::stack_size`](crate::Builder::stack_size), [`thread_limit`](crate::Builder::thread_limit), [`canaries`](crate::Builder::canaries), hooks of threads | before the first queue | [`Builder::in_force`](crate::Builder::in_force) |
//! | [`set_default_affinity_scope`](crate::set_default_affinity_scope) | any time | [`default_affinity_scope`](crate::default_affinity_scope) |
//! | [`set_unbound_cpus`](crate::set_unbound_cpus) | any time | [`unbound_cpus`](crate::unbound_cpus) |
//! | [`set_watchdog_threshold`](crate::set_watchdog_threshold) | any time | [`watchdog_threshold`](crate::watchdog_threshold) |
//! | [`set_cpu_intensive_threshold`](crate::set_cpu_intensive_threshold) | any time | [`cpu_intensive_threshold`](crate::cpu_intensive_threshold) |
//! | [`set_report_hook`](crate::set_report_hook) | any time; the last one counts | |
//!
//! # The end
//!
//! Returning from `main` abandons what is still queued. [`shutdown`](crate::shutdown) finishes it
//! first, up to a deadline:
//!
//! ```
//! let report = cmwq::shutdown(std::time::Duration::from_secs(10));
//! assert!(report.is_complete());
//! ```
