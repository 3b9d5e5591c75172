//! The end of what an attempt has left behind.

use super::Session;
use super::title::Title;
use crate::run::leftovers::{Leftovers, Pauses, signal_after};
use crate::run::process_job::Body;
use crate::run::vigil::GRACE;
use rustix::process::Signal;

/// How long they are waited for before somebody is told: SIGKILL ends what can be ended at once.
const LONG: std::time::Duration = GRACE.saturating_mul(2);

impl Session {
    /// Ends what an attempt has left of its tree: SIGTERM, or the signal that ends the run, and
    /// SIGKILL some seconds later. If the job is tried again it waits for their end however long it
    /// takes, so that no two attempts run at a time. `told`: what the group of `body` was sent.
    pub(super) fn clear(
        &self,
        title: &Title,
        body: Body,
        told: Option<Signal>,
        is_tried_again: bool,
    ) {
        let _counted = self.control.clears();
        let mut leftovers = Leftovers::new(body.group(), title.sequence + 1, told);
        let (age, mut pauses) = (self.age(), Pauses::new());
        let mut is_told = false;
        loop {
            let waited = age();
            let Some(signal) = signal_after(waited, self.control.ends_with()) else {
                return;
            };
            let Some(left) = leftovers.tell(signal) else {
                return;
            };
            let is_awaited = is_tried_again && !self.control.is_stopped();
            if waited >= LONG && !is_told {
                is_told = self.tell_of_leftover(title, left, is_awaited);
            }
            match is_awaited {
                true => _ = self.control.rest(pauses.next()),
                false if waited >= LONG => return,
                false => std::thread::sleep(pauses.next()),
            }
        }
    }
    /// Says that the process `left` of a job does not end. False: standard error had no room.
    fn tell_of_leftover(&self, title: &Title, left: i32, is_awaited: bool) -> bool {
        let what = match is_awaited {
            true => "the retry waits",
            false => "it is left",
        };
        let why = format!("process {left} of it does not end, {what}");
        self.output.note_at_once(&title.says(&why))
    }
}
