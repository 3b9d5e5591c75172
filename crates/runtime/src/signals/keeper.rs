//! The thread that stands for this process to its helper: forks it, waits for its end, and reaps it.
//!
//! It holds the lock by whose loss the helper notices that the process has gone, and has no descriptors. It runs
//! no code of the program.

use std::io;

use cmwq_os::helper::{self, Helper};
use cmwq_os::{clock, memory, session, thread};
use cmwq_policy::form::{self, CanaryReason, Lives};

use super::canary::Canaries;
use super::watch;
use crate::engine::Engine;

const STACK: usize = 128 * 1024;

/// What decides beside whom the kernel weighs a process: its session (autogroup) and its control groups. A helper
/// that is not where its parent is would see idle CPUs where there are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Home {
    session: i32,
    cgroups: Option<String>,
}

impl Home {
    pub(super) fn read() -> Self {
        Home {
            session: session::session(),
            cgroups: std::fs::read_to_string("/proc/self/cgroup").ok(),
        }
    }
}

/// Starts the thread.
pub(super) fn start(engine: &'static Engine, helper: &'static Helper) -> io::Result<()> {
    thread::spawn("cmwq/keeper", STACK, move || {
        let why = keep(engine.canaries(), helper);
        if let Err(why) = why {
            let (wish, heap) = (engine.canary_wish(), memory::private());
            let form = form::instead(wish, heap, why);
            engine.canaries().settle(form);
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
