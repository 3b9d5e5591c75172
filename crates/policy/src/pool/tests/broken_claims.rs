//! As `broken.rs`, of the rules of claims.

use super::broken::{DONE, decides, fails};
use super::*;
use crate::cpumask::CpuMask;
use crate::pool::Claimant;
use crate::probe::breakage::Broken;
use crate::queue::Kind;
use crate::stacking::{Awaited, ClaimOn, Stacking, Waiter, may_claim};
use crate::worker::WorkerId;

const OUTSIDE: Claimant = Claimant {
    within: None,
    counted: false,
};

/// Two CPUs, and an item that somebody has claimed.
fn claimed() -> (Rig, WorkerId) {
    let mut rig = Rig::one(attrs(2), 10);
    rig.queue_new(1, 0);
    let claim = rig.claim(0, OUTSIDE).expect("nobody has begun it");
    (rig, claim)
}

#[test]
fn a_claimed_item_is_not_seen_to_run() {
    let runs = || {
        let (mut rig, _) = claimed();
        rig.queue(0, 0);
        rig.run();
        rig.started.clone()
    };
    fails(Broken::ClaimNotBusy, runs, std::vec![0], "nobody else");
}

#[test]
fn a_claim_counts_beside_what_it_is_in_the_middle_of() {
    let running = || {
        let mut rig = Rig::one(attrs(2), 10);
        rig.queue_and_run(1, 0);
        rig.queue_new(1, 0);
        let by = Claimant {
            within: rig.who(0).map(|(_, id)| id),
            counted: false,
        };
        rig.claim(1, by).expect("nobody has begun it");
        rig.run();
        rig.pools[0].nr_running()
    };
    fails(Broken::ClaimCountsTwice, running, 1, "claims_added: 0");
}

#[test]
fn a_claim_is_not_given_back() {
    let claims = || {
        let (mut rig, claim) = claimed();
        rig.end(0, claim, DONE);
        rig.pools[0].census().claims
    };
    fails(Broken::ClaimNotGivenBack, claims, 0, "who is here");
}

#[test]
fn what_stands_behind_a_claimed_item_is_lost() {
    let runs = || {
        let (mut rig, claim) = claimed();
        rig.queue(0, 0);
        rig.run();
        rig.end(0, claim, DONE);
        rig.run();
        rig.executing()
    };
    fails(
        Broken::ClaimLosesItems,
        runs,
        std::vec![0],
        "nobody would find",
    );
}

fn asks(kind: Kind, cpus: usize) -> Option<ClaimOn> {
    let item = Awaited {
        kind,
        nice: 0,
        cpus: CpuMask::first(2),
        stack: 0,
    };
    let waiter = Waiter {
        nice: 0,
        normal_policy: true,
        cpu: 1,
        cpus: CpuMask::first(cpus),
        stack: 0,
        nested: 0,
    };
    may_claim(Stacking::Claim, &item, &waiter)
}

#[test]
fn items_of_any_kind_are_claimed() {
    let asks = || asks(Kind::Ordered, 2);
    decides(Broken::ClaimOfAnyKind, asks, None, Some(ClaimOn::Anywhere));
}

#[test]
fn who_has_claimed_is_not_confined() {
    let asks = || asks(Kind::Managed, 4);
    let (only, free) = (ClaimOn::Only(CpuMask::first(2)), ClaimOn::Anywhere);
    decides(Broken::ClaimUnconfined, asks, Some(only), Some(free));
}
