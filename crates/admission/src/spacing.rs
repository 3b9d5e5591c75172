//! A time between the starts of two processes, where the user asks for one.

use cmwq_policy::time::Nanos;

/// Whose turn is when. Times are of any one clock.
#[derive(Clone, Copy, Debug)]
pub struct Spacing {
    between: Nanos,
    next: Nanos,
    last: Option<Nanos>,
}

impl Spacing {
    /// Two starts are so far apart, at least.
    pub fn new(between: Nanos) -> Spacing {
        Spacing {
            between,
            next: 0,
            last: None,
        }
    }

    /// When a process may start for which somebody asks now: each that asks has a turn of its own.
    pub fn turn(&mut self, now: Nanos) -> Nanos {
        let at = self.next.max(now);
        self.next = at.saturating_add(self.between);
        at
    }

    /// Whether a process whose turn has come starts now. False: it takes another turn. Everything
    /// may have stood still when it was another's, and have gone on for all of them at once. What
    /// is no more than a late wake does not count.
    pub fn starts(&mut self, now: Nanos) -> bool {
        let may = self
            .last
            .is_none_or(|last| now.saturating_sub(last) >= self.between / 2);
        if may {
            self.last = Some(now);
        }
        may
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

    #[test]
    fn turns_that_have_passed_do_not_start_at_once() {
        let mut spacing = Spacing::new(10);
        let turns = [0; 3].map(|now| spacing.turn(now));
        assert!(spacing.starts(turns[0]) && spacing.starts(turns[1] - 1));
        // The third one was held up, and so is a fourth.
        assert!(spacing.starts(50) && !spacing.starts(51));
        assert!(spacing.turn(51) >= 51 && spacing.starts(60));
    }
}
