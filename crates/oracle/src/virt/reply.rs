//! How the simulated machine answers a call of a script.

use super::stage::Stage;
use crate::actor::Answer;
use cmwq_sim::Call as Sim;

/// How a call is answered.
pub(super) enum Reply {
    /// At once.
    Now(Answer),
    /// By the machine. What its answer means, if it is not what it says.
    Ask(Sim, Option<Reading>),
}

/// What an answer of the machine means.
pub(super) type Reading = fn(&Stage, cmwq_sim::Answer) -> Answer;

pub(super) fn plain(answer: cmwq_sim::Answer) -> Answer {
    match answer {
        cmwq_sim::Answer::Void => Answer::Void,
        cmwq_sim::Answer::Bool(truth) => Answer::Bool(truth),
        cmwq_sim::Answer::Number(number) => Answer::Number(number),
        cmwq_sim::Answer::Text(text) => Answer::Text(text),
    }
}

/// A number as the kernel has it: 0, or -EINVAL.
pub(super) fn applied(_: &Stage, answer: cmwq_sim::Answer) -> Answer {
    match answer {
        cmwq_sim::Answer::Bool(true) => Answer::Number(0),
        _ => Answer::Number(-22),
    }
}
