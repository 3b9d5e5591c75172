//! The word between the thread that does a chunk and whoever claims the rest of it.

/// A chunk was claimed, or there is none: nothing more of it begins.
const CLOSED: u64 = 1 << 63;

/// How much of a chunk has begun, in units from its beginning: the front of its work. An atomic
/// word; these are its steps.
///
/// * The thread whose chunk it is *advances* it before each step.
/// * Any other thread *closes* it, and with that has everything behind the front.
///
/// Each unit is so given away once: by the compare-exchange that moved the front over it, or by the
/// one that closed the word in front of it. `crates/engine/src/job/README.md` has the whole
/// protocol.
///
/// ```
/// use cmwq_policy::job::Front;
/// let front = Front::OPEN.advance(0, 10).unwrap();
/// let (closed, begun) = front.close().unwrap();
/// assert_eq!(begun, 10);
/// assert!(closed.advance(10, 20).is_none() && closed.close().is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Front(u64);

impl Front {
    /// Of a chunk that has just been taken.
    pub const OPEN: Front = Front(0);
    /// Of a thread without a chunk.
    pub const NONE: Front = Front(CLOSED);

    /// From the atomic word.
    pub fn from_word(word: u64) -> Self {
        Front(word)
    }

    /// For the atomic word.
    pub fn to_word(self) -> u64 {
        self.0
    }

    /// The owner begins the units from `from`, where its last step ended, to `to`. `None`: the rest
    /// was claimed.
    pub fn advance(self, from: u64, to: u64) -> Option<Front> {
        debug_assert!(from < to && to < CLOSED, "a step of {from} to {to}");
        (self.0 == from).then_some(Front(to))
    }

    /// Takes everything behind the front away: the word from now on, and how much had begun. `None`
    /// if somebody else has.
    pub fn close(self) -> Option<(Front, u64)> {
        let begun = self.begun()?;
        Some((Front(begun | CLOSED), begun))
    }

    /// How much has begun; `None` when closed.
    pub fn begun(self) -> Option<u64> {
        (self.0 & CLOSED == 0).then_some(self.0)
    }
}
