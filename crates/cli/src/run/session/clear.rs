//! The end of what an attempt has left behind.

use super::{Session, Title};
use crate::run::leftovers::{Leftovers, Pauses};
use crate::run::vigil::GRACE;
use rustix::process::{Pid, Signal};
use std::time::Instant;

/// How long they are waited for before somebody is told: SIGKILL ends what can be ended at once.
const LONG: std::time::Duration = GRACE.saturating_mul(2);

impl Session {
    /// Ends what an attempt has left of its tree: SIGTERM, and SIGKILL some seconds later. If the
    /// job is tried again it waits for their end however long it takes, so that no two attempts
    /// run at a time.
    pub(super) fn clear(&self, title: &Title, group: Pid, is_tried_again: bool) {
        let mut leftovers = Leftovers::new(group, title.sequence + 1);
        let (began, mut pauses) = (Instant::now(), Pauses::new());
        let mut is_told = false;
        loop {
            let waited = began.elapsed();
            let signal = match waited < GRACE {
                true => Signal::TERM,
                false => Signal::KILL,
            };
            let Some(left) = leftovers.tell(signal) else {
                return;
            };
            let is_long = waited >= LONG;
            if is_long && !is_tried_again {
                return;
            }
            if is_long && !is_told {
                let why = format!("process {left} of it does not end, the retry waits");
                is_told = self.output.note_at_once(&title.says(&why));
            }
            if !is_tried_again {
                std::thread::sleep(pauses.next());
            } else if !self.control.rest(pauses.next()) {
                return;
            }
        }
    }
}
