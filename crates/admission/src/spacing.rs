//! A time between the starts of two processes, where the user asks for one.

use cmwq_policy::time::Nanos;

/// Whose turn is when. Times are of any one clock.
#[derive(Clone, Copy, Debug)]
pub struct Spacing {
    between: Nanos,
    next: Nanos,
}

impl Spacing {
    /// Two starts are so far apart, at least.
    pub fn new(between: Nanos) -> Spacing {
        Spacing { between, next: 0 }
    }

    /// When a process may start for which somebody asks now: each that asks has a turn of its own.
    pub fn turn(&mut self, now: Nanos) -> Nanos {
        let at = self.next.max(now);
        self.next = at.saturating_add(self.between);
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_turn_after_the_one_before() {
        let mut spacing = Spacing::new(2);
        let turns = [0, 0, 1, 9, 9].map(|now| spacing.turn(now));
        assert_eq!(turns, [0, 2, 4, 9, 11]);
    }
}
