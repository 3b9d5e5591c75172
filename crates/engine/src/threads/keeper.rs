//! The thread that stands for this process to its helper: it forks the helper, waits for its end,
//! and reaps it.
//!
//! It holds a lock, by whose loss the helper notices that the process has gone. It has no
//! descriptors and runs no code of the program.

use std::io;

use cmwq_os::helper::{self, Helper};
use cmwq_os::{clock, memory, thread};
use cmwq_policy::form::{self, CanaryReason, Lives};

use crate::base::Base;
use crate::signals::canaries::{Canaries, Home};
use crate::signals::watch;

const STACK: usize = 128 * 1024;

/// Starts the thread.
pub(super) fn start(base: &'static Base, helper: &'static Helper) -> io::Result<()> {
    thread::spawn("cmwq/keeper", STACK, move || {
        let why = keep(base.canaries(), helper);
        if let Err(why) = why {
            let (wish, heap) = (base.canary_wish(), memory::private());
            let form = form::instead(wish, heap, why);
            base.canaries().settle(form);
        }
    })
}

/// Until it cannot have a helper any more, and why; or canaries are denied.
fn keep(canaries: &Canaries, helper: &Helper) -> Result<(), CanaryReason> {
    let denied = |error: io::Error| CanaryReason::Denied(error.raw_os_error().unwrap_or(0));
    helper::leave_descriptors().map_err(denied)?;
    helper.hold().map_err(denied)?;
    let mut lives = Lives::default();
    loop {
        canaries.note_home(Home::read());
        let born = clock::now();
        let pid = helper.start(watch::in_helper).map_err(denied)?;
        canaries.forked();
        helper.wait(pid);
        canaries.helper_ended();
        if canaries.is_leaving() {
            return Ok(());
        }
        if let Some(error) = helper.denied() {
            canaries.deny(error);
            return Ok(());
        }
        let moved = canaries.take_move();
        if !moved && !lives.ended(clock::now().since(born)) {
            return Err(CanaryReason::Ended);
        }
    }
}
