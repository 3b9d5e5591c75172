//! The last decisions about starting workers, one of each sort, with their reasons. They answer why
//! so many or so few run.

use super::start::Start;
use crate::time::Time;

/// What asked whether a worker is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// An item was queued, began or ended, or a limit changed.
    Event,
    /// A canary reported that its CPU would idle.
    CpuIdle,
    /// The tick has looked at the workers.
    Look,
    /// An item said that it is about to block.
    Hint,
}

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// A worker was woken.
    Woken,
    /// A thread was asked for.
    Created,
    /// None, as enough run in this pool.
    EnoughRun,
    /// None, as all pools together keep enough running.
    NoToken,
    /// None, before somebody has looked whether more would only queue up at a lock.
    HeldBack,
    /// None, as no thread may be made at this time.
    NoThread,
}

const CAUSES: usize = Cause::ALL.len();
const OUTCOMES: usize = Outcome::ALL.len();

impl Cause {
    const ALL: [Cause; 4] = [Cause::Event, Cause::CpuIdle, Cause::Look, Cause::Hint];

    fn words(self) -> &'static str {
        match self {
            Cause::Event => "an item was queued, began or ended",
            Cause::CpuIdle => "a CPU reported that it would idle",
            Cause::Look => "the tick looked at the workers",
            Cause::Hint => "an item said that it blocks",
        }
    }
}

impl Outcome {
    const ALL: [Outcome; 6] = [
        Outcome::Woken,
        Outcome::Created,
        Outcome::EnoughRun,
        Outcome::NoToken,
        Outcome::HeldBack,
        Outcome::NoThread,
    ];

    /// `None` where there was nothing to decide.
    fn of(verdict: Start) -> Option<Outcome> {
        match verdict {
            Start::NothingWaits => None,
            Start::EnoughRun => Some(Outcome::EnoughRun),
            Start::NoToken => Some(Outcome::NoToken),
            Start::Look => Some(Outcome::HeldBack),
            Start::Worker => Some(Outcome::Woken),
            Start::Create => Some(Outcome::Created),
            Start::NoThread => Some(Outcome::NoThread),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Outcome::Woken => "a worker was woken",
            Outcome::Created => "a thread was asked for",
            Outcome::EnoughRun => "no start, as many run as the CPUs serve",
            Outcome::NoToken => "no start, all pools together run as many as the CPUs serve",
            Outcome::HeldBack => "no start before a look: more might only queue up at a lock",
            Outcome::NoThread => "no start, a thread is being made already or cannot be made now",
        }
    }
}

/// The last decision of one sort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decided {
    /// When that was.
    pub at: Time,
    /// How often it was decided so.
    pub times: u64,
    /// Workers that counted as runnable.
    pub running: u32,
    /// Items that waited for a worker and had none on its way.
    pub spare: u32,
}

/// The last decision of each sort.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decisions {
    last: [[Decided; OUTCOMES]; CAUSES],
    cause: Cause,
}

impl Default for Decisions {
    fn default() -> Self {
        Decisions {
            last: [[Decided::default(); OUTCOMES]; CAUSES],
            cause: Cause::Event,
        }
    }
}

impl Decisions {
    /// What is decided from now on is decided because of this; what it was before.
    pub(super) fn because(&mut self, cause: Cause) -> Cause {
        core::mem::replace(&mut self.cause, cause)
    }

    pub(super) fn note(&mut self, verdict: Start, at: Time, running: u32, spare: u32) {
        if let Some(outcome) = Outcome::of(verdict) {
            let slot = &mut self.last[self.cause as usize][outcome as usize];
            *slot = Decided {
                at,
                times: slot.times + 1,
                running,
                spare,
            };
        }
    }

    /// All that were ever made, with what asked and what was decided, in words.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'static str, &'static str, Decided)> + '_ {
        Cause::ALL.into_iter().flat_map(move |cause| {
            let of = move |outcome: Outcome| {
                let decided = self.last[cause as usize][outcome as usize];
                (cause.words(), outcome.words(), decided)
            };
            let made = |(_, _, decided): &(_, _, Decided)| decided.times > 0;
            Outcome::ALL.into_iter().map(of).filter(made)
        })
    }
}
