//! Foreign load: threads that have nothing to do with queues, and want CPU time.

use cmwq_policy::time::MILLISECOND;
use cmwq_policy::{Nanos, Time};

use crate::api::act::{Act, Answer};
use crate::machine::{Program, ProgramCx};

/// A program that burns CPU time, for ever or with pauses.
///
/// While one without an end runs, [`Machine::run`](crate::Machine::run) does not come to an end:
/// use [`run_until`](crate::Machine::run_until) or [`run_while`](crate::Machine::run_while).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    burn: Nanos,
    pause: Nanos,
    vary: u32,
    until: Option<Time>,
    pauses: bool,
}

impl Load {
    /// Burns without a pause.
    pub fn endless() -> Load {
        // Short enough for an end to come in time, long enough to cost little.
        Load::duty(10 * MILLISECOND, 0)
    }

    /// Burns so many nanoseconds (at least 1), sleeps so many, and so on.
    pub fn duty(burn: Nanos, pause: Nanos) -> Load {
        Load {
            burn: burn.max(1),
            pause,
            vary: 0,
            until: None,
            pauses: false,
        }
    }

    /// The same, each time up to so many thousandths more or less, 0..=1000.
    #[must_use]
    pub fn varied(self, per_mille: u32) -> Load {
        Load {
            vary: per_mille,
            ..self
        }
    }

    /// The same, until this time: its last burn ends there if it has the CPU for itself.
    #[must_use]
    pub fn until(self, end: Time) -> Load {
        Load {
            until: Some(end),
            ..self
        }
    }

    /// The same, as the body of a thread.
    pub fn boxed(self) -> Box<dyn Program> {
        Box::new(self)
    }
}

impl Program for Load {
    fn next(&mut self, cx: &mut ProgramCx<'_>, _: Option<Answer>) -> Act {
        let left = self.until.map_or(Nanos::MAX, |end| end.since(cx.now()));
        if left == 0 {
            return Act::End;
        }
        let pauses = self.pauses;
        self.pauses = self.pause > 0 && !pauses;
        let takes = if pauses { self.pause } else { self.burn };
        // At least 1, or no time passes.
        let takes = cx.random().around(takes, self.vary).clamp(1, left);
        if pauses {
            Act::Sleep(takes)
        } else {
            Act::Burn(takes)
        }
    }
}
