//! Tests of the pool's rules.
//!
//! `rig.rs` carries out what the pool decides, in virtual time and in any order, on the items of
//! `store.rs`; `ops.rs` is what users of queues do, and rescuers. `check.rs` and `check_items.rs`
//! hold the invariants, and the rig asks for them after every single call of every test.
//! `properties.rs` lets anything happen (`events.rs`, `machine.rs`), `quick.rs` to two machines of
//! which one never takes a quick way, and `several.rs` to pools that deal (`inboxes.rs`). The other
//! files have tests of one rule each.

mod barriers;
mod borrow;
mod brief;
#[cfg(feature = "broken")]
mod broken;
#[cfg(feature = "broken")]
mod broken_claims;
mod budget;
mod check;
mod check_items;
mod checked;
mod claims;
mod contract;
mod deadlock;
mod deal;
mod deferred;
mod estimate;
mod events;
mod fifo;
mod growth;
mod inbox;
mod inboxes;
mod inspect;
mod items;
mod kinds;
mod knot;
mod knot_any;
mod late;
mod leaving;
mod limits;
mod lingering;
mod liveness;
mod machine;
mod near;
mod ops;
mod outgrow;
mod properties;
mod quick;
mod rescue;
mod rig;
mod rules;
mod several;
mod short;
mod starvation;
mod store;
mod timelines;
mod watch;

use rig::Rig;
use std::vec::Vec;

use super::{ItemReport, PoolAttrs, Rule, Seen, SeenState};
use crate::action::Action;
use crate::time::{MILLISECOND, SECOND, Time};
use crate::worker::{State, WorkerId};

/// Attributes of a pool that has the machine to itself, and threads enough.
fn attrs(target: u32) -> PoolAttrs {
    PoolAttrs {
        id: 0,
        rule: Rule::Managed,
        nice: 0,
        target,
        beyond: 0,
        budget: target,
        thread_limit: 512,
        thread_most: 0,
    }
}
