//! Where chunks and steps may end.

/// More than this means this, so that no chunk is too long for the [word](super::Front) of it.
const MOST: u64 = 1 << 60;

/// Ends at multiples of `align`, and leaves nothing shorter than `min_chunk` behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    align: u64,
    min_chunk: u64,
}

impl Cut {
    /// `align`: units between two places where work may be cut; `min_chunk`: the fewest units worth
    /// a call. 0 means 1 for both, and more than 2^60 means that.
    pub fn new(align: u64, min_chunk: u64) -> Self {
        Cut {
            align: align.clamp(1, MOST),
            min_chunk: min_chunk.clamp(1, MOST),
        }
    }

    /// The fewest units in a chunk or step: `min_chunk`, rounded up to `align`.
    pub fn least(self) -> u64 {
        self.round_up(self.min_chunk)
    }

    /// Rounded up to a multiple of `align`; down if that is too large for a number.
    pub(super) fn round_up(self, units: u64) -> u64 {
        let rounded = units.checked_next_multiple_of(self.align);
        rounded.unwrap_or(units - units % self.align)
    }

    /// Where about `units` end that begin at `at`, when there is work up to `end`: at a multiple of
    /// `align`, or at `end`. Neither what ends there nor what is left is less than `min_chunk`,
    /// unless all of it is.
    pub fn after(self, at: u64, units: u64, end: u64) -> u64 {
        let longest = at.saturating_add(units.max(self.min_chunk));
        let whole = longest - longest % self.align;
        let cut = match whole.checked_sub(at) {
            Some(length) if length >= self.min_chunk => whole,
            _ => self.round_up(at.saturating_add(self.min_chunk)),
        };
        match end.checked_sub(cut) {
            Some(left) if left >= self.min_chunk && cut > at => cut,
            _ => end,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_piece_brings_the_next_ones_into_line() {
        let cut = Cut::new(64, 1);
        assert_eq!(cut.after(10, 100, 1000), 64);
        assert_eq!(cut.after(64, 100, 1000), 128);
        // Less than align is asked for.
        assert_eq!(cut.after(64, 1, 1000), 128);
        assert_eq!(cut.after(960, 100, 1000), 1000);
    }

    #[test]
    fn nothing_short_is_left() {
        let cut = Cut::new(1, 30);
        assert_eq!(cut.after(0, 30, 100), 30);
        assert_eq!(cut.after(60, 30, 100), 100);
        assert_eq!(cut.after(0, 1, 29), 29);
        // A first piece up to the next multiple may be too short: it takes one more.
        assert_eq!(Cut::new(64, 30).after(60, 40, 1000), 128);
    }

    #[test]
    fn the_largest_numbers_do_no_harm() {
        for at in [0, u64::MAX - 1] {
            assert!(Cut::new(u64::MAX, u64::MAX).after(at, u64::MAX, u64::MAX) > at);
            assert!(Cut::new(1 << 63, 3).after(at, 1, u64::MAX) > at);
        }
    }

    proptest! {
        #[test]
        fn pieces_are_in_line_and_long_enough(
            at in 0u64..5000, len in 1u64..5000, align in 1u64..200, min in 1u64..200, units in 0u64..700,
        ) {
            let (cut, end) = (Cut::new(align, min), at + len);
            let next = cut.after(at, units, end);
            prop_assert!(at < next && next <= end);
            prop_assert!(next == end || next % align == 0);
            prop_assert!(next - at >= min.min(len));
            prop_assert!(next == end || end - next >= min);
            // Not longer than asked for, but for what keeps the rules.
            prop_assert!(next - at <= units.max(min) + align + min);
        }
    }
}
