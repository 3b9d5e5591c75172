//! Every atomic ordering other than SeqCst has a reason beside it: a comment that names the
//! ordering (or says "ordering") on its line, or above its statement.

use super::Violation;
use super::lexer::Token;
use super::source::Source;
use std::collections::BTreeMap;

const WEAK: [&str; 4] = ["Relaxed", "Acquire", "Release", "AcqRel"];

/// How many lines of consecutive atomic operations one comment above them may speak for.
const RUN: usize = 4;

/// The functions that take a bare, imported ordering.
const ATOMIC: [&str; 18] = [
    "load",
    "store",
    "swap",
    "compare_exchange",
    "compare_exchange_weak",
    "fetch_add",
    "fetch_sub",
    "fetch_and",
    "fetch_nand",
    "fetch_or",
    "fetch_xor",
    "fetch_max",
    "fetch_min",
    "fetch_update",
    "fence",
    "compiler_fence",
    "update",
    "try_update",
];

/// Checks one file.
pub(super) fn check(source: &Source) -> Vec<Violation> {
    let used: Vec<usize> = (0..source.code.len())
        .filter(|&i| is_ordering(source, i))
        .collect();
    let by_line: BTreeMap<usize, usize> = used.iter().map(|&i| (source.code[i].line, i)).collect();
    used.iter()
        .filter(|&&i| !has_reason(source, &by_line, i))
        .map(|&i| {
            let Token { text, line, .. } = source.code[i];
            let what = format!(
                "{text} without a reason: say why in a comment with the word `{text}`, \
                 on this line or directly above the statement"
            );
            Violation::new(source.path, line, what)
        })
        .collect()
}

/// Whether token `i` is a weak ordering in use: after `…Ordering::`, or bare as the argument of an
/// atomic operation. An enum of ours may have a `Release`, so the word alone says nothing.
fn is_ordering(source: &Source, i: usize) -> bool {
    if !WEAK.iter().any(|name| source.is(i, name)) {
        return false;
    }
    let path = i >= 3 && source.spells(i - 2, &[":", ":"]);
    let qualified = path && source.code[i - 3].text.ends_with("Ordering");
    (qualified || is_argument(source, i)) && !in_use(source, i)
}

fn is_argument(source: &Source, i: usize) -> bool {
    let call = source
        .around(i)
        .filter(|&open| open > 0 && source.is(open, "("));
    call.is_some_and(|open| ATOMIC.contains(&source.code[open - 1].text))
}

fn in_use(source: &Source, i: usize) -> bool {
    let code = &source.code[..i];
    let start = code.iter().rposition(|t| t.is(";") || t.is("use"));
    start.is_some_and(|at| code[at].is("use"))
}

fn has_reason(source: &Source, by_line: &BTreeMap<usize, usize>, i: usize) -> bool {
    let name = source.code[i].text;
    let mut at = i;
    for _ in 0..RUN {
        let comments = source.comments_for(at, source.line_end(at));
        if comments.iter().any(|c| explains(c, name)) {
            return true;
        }
        match by_line.get(&(source.statement_line(at) - 1)) {
            Some(&above) => at = above,
            None => return false,
        }
    }
    false
}

/// Whole words: "released" is no reason for Release.
fn explains(comment: &str, name: &str) -> bool {
    let mut words = comment.split(|c: char| !c.is_alphanumeric());
    words.any(|w| w == name || w.eq_ignore_ascii_case("ordering"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(src: &str) -> Vec<usize> {
        let found = check(&Source::new("x.rs", src));
        found.iter().map(|v| v.line).collect()
    }

    #[test]
    fn reasons_beside_or_above_pass() {
        assert!(
            lines("fn f() {\n a.load(Ordering::Relaxed); // Relaxed: a counter.\n}").is_empty()
        );
        assert!(
            lines("fn f() {\n // Any ordering does: a hint.\n let x = a.load(Relaxed);\n}")
                .is_empty()
        );
        assert!(lines("fn f() {\n // AcqRel: takes the list, gives\n // ours; Acquire: reads it.\n a.compare_exchange(\n  x,\n  y,\n  AcqRel,\n  Acquire,\n );\n}").is_empty());
        assert!(lines("fn f() {\n // Relaxed: three counters.\n a.load(Relaxed);\n b.load(Relaxed);\n c.load(Relaxed);\n}").is_empty());
    }

    #[test]
    fn missing_reasons_are_found() {
        assert_eq!(lines("fn f() {\n a.load(Ordering::Relaxed);\n}"), [2]);
        assert_eq!(
            lines("fn f() {\n a.load(atomic::Ordering::Acquire);\n}"),
            [2]
        );
        assert_eq!(lines("fn f() {\n let o = Ordering::Release;\n}"), [2]);
        assert_eq!(
            lines("fn f() {\n // Fast, the lock was released.\n a.store(1, Release);\n}"),
            [3]
        );
        assert_eq!(
            lines("fn f() {\n // Relaxed: far.\n\n a.load(Relaxed);\n}"),
            [4]
        );
        assert_eq!(
            lines("fn f() {\n // Relaxed: a.\n a.load(Relaxed);\n g();\n b.load(Relaxed);\n}"),
            [5]
        );
        assert_eq!(
            lines("fn f() {\n // Relaxed: counters.\n a.load(Relaxed);\n b.load(Acquire);\n}"),
            [4]
        );
        assert_eq!(lines("fn f() {\n g(fence(AcqRel));\n}"), [2]);
    }

    #[test]
    fn one_comment_speaks_for_a_short_run_only() {
        let src = format!(
            "fn f() {{\n // Relaxed: counters.\n{}}}",
            "a.load(Relaxed);\n".repeat(6)
        );
        assert_eq!(lines(&src), [7, 8]);
    }

    #[test]
    fn other_uses_of_the_words_pass() {
        assert!(lines("use std::sync::atomic::Ordering::{self, Acquire, Relaxed};\nuse a::Ordering::Release;").is_empty());
        assert!(
            lines("enum Step { Acquire, Release }\nfn f() { g(Step::Release); h(Release) }")
                .is_empty()
        );
        assert!(lines("fn f() { a.load(Ordering::SeqCst); a.store(1, SeqCst); x.cmp(&y) == Ordering::Less; }").is_empty());
        assert!(lines("fn f() { let s = \"Ordering::Relaxed\"; } // Ordering::Relaxed").is_empty());
    }
}
