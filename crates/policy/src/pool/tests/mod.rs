//! Tests of the pool's rules.
//!
//! `rig.rs` carries out what the pool decides, in virtual time and in any order; `check.rs` holds
//! the invariants, and the rig asks for them after every single event of every test.

mod budget;
mod check;
mod deadlock;
mod estimate;
mod growth;
mod items;
mod liveness;
mod properties;
mod rig;
mod rules;
mod timelines;

use rig::{Rig, attrs};
use std::vec::Vec;

use super::{ItemReport, PoolAttrs, Seen, SeenState};
use crate::action::Action;
use crate::time::{MILLISECOND, SECOND, Time};
use crate::worker::{State, WorkerId};
