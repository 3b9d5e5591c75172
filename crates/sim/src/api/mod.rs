//! What programs say to the machine, and what it says of itself: plain values.
//!
//! | file | |
//! | --- | --- |
//! | `names.rs` | numbers that name latches, items, queues, pools, locks |
//! | `act.rs`, `call.rs` | one thing that a program does; a call of the workqueue interface |
//! | `specs.rs`, `options.rs` | what a thread, queue, lock, device, or the machine is to be like |
//! | `trace.rs`, `report.rs` | what happened; what users are told, and onlookers see |

pub(crate) mod act;
pub(crate) mod call;
pub(crate) mod names;
pub(crate) mod options;
pub(crate) mod report;
pub(crate) mod specs;
pub(crate) mod trace;
