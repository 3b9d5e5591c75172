//! How long files and functions may get.

use super::source::Source;
use super::{Violation, in_core};

/// Lines of a file of the core, tests in it included.
const CORE_FILE: usize = 700;
/// Lines of any other Rust file.
const ANY_FILE: usize = 1000;
/// Lines between the braces of a function of the core. A ratchet: it only goes down.
const CORE_FUNCTION: usize = 70;

/// Checks one file.
pub(super) fn check(source: &Source) -> Vec<Violation> {
    let core = in_core(source.path);
    let mut found: Vec<Violation> = file_length(source, core).into_iter().collect();
    if core {
        found.extend(long_functions(source));
    }
    found
}

fn file_length(source: &Source, core: bool) -> Option<Violation> {
    let limit = if core { CORE_FILE } else { ANY_FILE };
    let lines = source.text.lines().count();
    let what = format!("{lines} lines, {limit} are allowed here: split the file by subject");
    (lines > limit).then(|| Violation::new(source.path, limit + 1, what))
}

fn long_functions<'a>(source: &'a Source) -> impl Iterator<Item = Violation> + 'a {
    let fns = (0..source.code.len()).filter(|&i| source.is(i, "fn") && !source.is(i + 1, "("));
    fns.filter_map(|i| {
        let open = body(source, i)?;
        let last = source.code[source.partner(open)].line;
        let lines = last.saturating_sub(source.code[open].line + 1);
        let name = source.code[i + 1].text;
        let what = format!(
            "the body of `{name}` has {lines} lines, {CORE_FUNCTION} are allowed in the core: \
             take parts out"
        );
        (lines > CORE_FUNCTION).then(|| Violation::new(source.path, source.code[i].line, what))
    })
}

/// The opening brace of the body of the function at `i`; a declaration has none.
fn body(source: &Source, i: usize) -> Option<usize> {
    let level = source.around(i);
    let ends =
        |&at: &usize| source.around(at) == level && (source.is(at, "{") || source.is(at, ";"));
    (i..source.code.len())
        .find(ends)
        .filter(|&at| source.is(at, "{"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, src: &str) -> Vec<usize> {
        let found = check(&Source::new(path, src));
        found.iter().map(|v| v.line).collect()
    }

    #[test]
    fn the_core_has_shorter_files() {
        let long = "//\n".repeat(701);
        assert_eq!(lines("crates/os/src/a.rs", &long), [701]);
        assert!(lines("crates/os/src/a.rs", &long[3..]).is_empty());
        assert!(lines("crates/os/tests/a.rs", &long).is_empty());
        assert_eq!(lines("xtask/src/a.rs", &"//\n".repeat(1001)), [1001]);
    }

    #[test]
    fn long_functions_are_found_in_the_core() {
        let with = |n| {
            format!(
                "trait T {{ fn d(); }}\nfn f(a: [u8; 2]) -> u8\nwhere A: B {{\n{}}}",
                "g();\n".repeat(n)
            )
        };
        assert!(lines("crates/policy/src/a.rs", &with(70)).is_empty());
        assert_eq!(lines("crates/policy/src/a.rs", &with(71)), [2]);
        assert!(lines("crates/cli/src/a.rs", &with(71)).is_empty());
    }
}
