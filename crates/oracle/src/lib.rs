//! Replays what a real kernel's workqueues answered, and says where ours answer otherwise.
//!
//! A [`Scenario`] is a small script with the answers of a real kernel. A [`Backend`] carries the
//! script out: it runs [`Actor`]s, which decide what comes next, and answers their calls.
//! [`compare`] names the differences, a [`Table`] says which of them are meant, and [`replay`]
//! puts all of it together.
//!
//! # Floors
//!
//! Lowest first; a module imports from its own floor and from those below.
//!
//! 1. `error`, `op`, `spin`: the words of a script
//! 2. `parse`
//! 3. `scenario`: a script, with the answers of a real kernel
//! 4. `record`, `trace`, `ledger`: what happened in a run
//! 5. `actor`, `compare`, `table`: what comes next in it; what differs, and whether that is meant
//! 6. `replay`: what a backend is
//! 7. `virt`
//! 8. `real`

mod actor;
mod compare;
mod error;
mod ledger;
mod op;
mod parse;
mod real;
mod record;
mod replay;
mod scenario;
mod spin;
mod table;
mod trace;
mod virt;

pub use actor::{Act, Actor, Answer, Play, RunsOn};
pub use compare::{Difference, Switches, compare};
pub use error::{Error, ScriptError};
pub use ledger::{Cond, Seat};
pub use op::{
    Attrs, Call, Context, Cpus, Delayed, Flag, Flags, ItemCall, MS, Name, Nanos, Op, Path,
    QueueCall, Scope, Step, Target,
};
pub use real::{Execute, Face, MakeFace, Real, Run};
pub use record::{Edge, Event, Record, Settled};
pub use replay::{Backend, NotApplicable, Outcome, Replay, replay};
pub use scenario::{
    Aspect, Body, Execution, Item, Kind, Observed, Returned, Scenario, Script, Seen, Thread, Times,
};
pub use table::{Row, Sort, Table};
pub use virt::{Virtual, VirtualExact};
