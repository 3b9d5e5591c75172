//! Times, names and what others say, fit for a terminal.

use cmwq_stats::BUCKETS;

/// A time in at most six characters.
pub(super) fn short(ns: u64) -> String {
    match ns {
        0..1_000 => format!("{ns}ns"),
        1_000..1_000_000 => format!("{}us", ns / 1_000),
        1_000_000..10_000_000_000 => format!("{}ms", ns / 1_000_000),
        _ => format!("{}s", ns / 1_000_000_000),
    }
}

/// The name of an item's function: that of a closure is the name of the function it is in.
pub(super) fn item_name(name: &str) -> String {
    clean(name.trim_end_matches("::{{closure}}"))
}

/// What another process says, fit for a terminal: no control characters, and none that reverse or
/// hide others.
pub(super) fn clean(text: &str) -> String {
    let shown = |c: char| match c.is_control() || is_unseen(c) {
        true => '\u{fffd}',
        false => c,
    };
    text.chars().map(shown).collect()
}

/// Characters that take no room: marks of direction, joiners, tags, other line ends.
fn is_unseen(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
}

/// An upper end of a bucket of a histogram of the page, in at most six
/// characters: what was counted is below it.
pub(super) fn below(ns: u64) -> String {
    // The last bucket has no end: all that is known is where it begins.
    if ns >= 1 << (BUCKETS - 1) {
        return format!(">{}", short(1 << (BUCKETS - 2)));
    }
    let (unit, name) = match ns {
        0..1_000 => return format!("<{ns}ns"),
        1_000..1_000_000 => (1_000, "us"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    // Rounded up, so that it stays true.
    let tenths = ns.div_ceil(unit / 10);
    match tenths {
        0..100 => format!("<{}.{}{name}", tenths / 10, tenths % 10),
        _ => format!("<{}{name}", ns.div_ceil(unit)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        for (ns, text) in [
            (0, "0ns"),
            (1_500, "1us"),
            (9_999_999_999, "9999ms"),
            (10_000_000_000, "10s"),
        ] {
            assert_eq!(short(ns), text);
        }
    }

    #[test]
    fn ends_of_buckets_are_said_as_ends() {
        for (bucket, text) in [
            (0, "<1ns"),
            (7, "<128ns"),
            (10, "<1.1us"),
            (16, "<66us"),
            (20, "<1.1ms"),
            (29, "<537ms"),
            (30, "<1.1s"),
            (33, "<8.6s"),
            (34, "<18s"),
            (38, "<275s"),
            (39, ">274s"),
            (63, ">274s"),
        ] {
            assert_eq!(below(1 << bucket), text);
        }
        assert!((0..64).all(|bucket| below(1 << bucket).len() <= 6));
    }
}
