//! The floors of a crate, where its root declares them: a numbered list in its documentation,
//! the lowest floor first.
//!
//! ```text
//! //! # Floors
//! //!
//! //! 1. `random`
//! //! 2. `plan`, `machine`: what a seed draws
//! ```
//!
//! Where that documentation is for users, it is a plain comment instead (`// # Floors`).
//!
//! A module imports from its own floor and from those below it.

use super::Violation;
use super::modules::Crate;
use super::tree::Tree;
use std::collections::BTreeMap;

const HEADING: &str = " # Floors";

/// A module as the list has it.
struct Entry {
    floor: usize,
    line: usize,
}

/// Checks the crate in `folder`.
pub(super) fn check(tree: &Tree, folder: &str) -> Vec<Violation> {
    let Some(found) = Crate::read(tree, folder) else {
        return Vec::new();
    };
    let Some(floors) = floors(found.modules[0].source.text) else {
        return Vec::new();
    };
    let mut violations = unlisted(&found, &floors);
    violations.extend(upwards(&found, &floors));
    violations
}

/// The list, if there is one. An item is a number, modules in backticks and, after a colon, words.
fn floors(root: &str) -> Option<BTreeMap<&str, Entry>> {
    let mut lines = (1..).zip(root.lines());
    lines.find(|(_, line)| comment(line) == Some(HEADING))?;
    let mut found = BTreeMap::new();
    // Whether the modules of an item may go on.
    let (mut floor, mut open) = (0, false);
    for (line, text) in lines {
        let Some(text) = comment(text).filter(|t| !t.starts_with(" #")) else {
            break;
        };
        let number = text.trim_start().split_once(". ");
        if number.is_some_and(|(number, _)| number.parse::<u8>().is_ok()) {
            (floor, open) = (floor + 1, true);
        }
        if open {
            let names = text.split(':').next().unwrap_or_default();
            let names = names.split('`').skip(1).step_by(2);
            found.extend(names.map(|name| (name, Entry { floor, line })));
            open = !text.is_empty() && !text.contains(':');
        }
    }
    Some(found)
}

/// The text of a line of comment that stands alone, or of documentation.
fn comment(line: &str) -> Option<&str> {
    line.strip_prefix("//!").or_else(|| line.strip_prefix("//"))
}

/// Modules without a floor, and entries without a module.
fn unlisted(of: &Crate, floors: &BTreeMap<&str, Entry>) -> Vec<Violation> {
    let root = &of.modules[0].source;
    let declared = |name: &str| {
        let at = (0..root.code.len()).find(|&i| root.spells(i, &["mod", name]));
        at.map_or(1, |at| root.code[at].line)
    };
    let missing = of.on_top().filter(|name| !floors.contains_key(name));
    let missing = missing.map(|name| {
        let what = format!("`{name}` has no floor: add it to the list in the crate's root");
        Violation::new(root.path, declared(name), what)
    });
    let gone = floors
        .iter()
        .filter(|(name, _)| !of.on_top().any(|known| known == **name))
        .map(|(name, entry)| {
            let what = format!("there is no module `{name}`: take it off the list of floors");
            Violation::new(root.path, entry.line, what)
        });
    missing.chain(gone).collect()
}

fn upwards(of: &Crate, floors: &BTreeMap<&str, Entry>) -> Vec<Violation> {
    let top = |at: usize| of.modules[at].name.first().map(String::as_str);
    let up = of.arrows.iter().filter_map(|arrow| {
        let (from, to) = (top(arrow.from)?, top(arrow.to)?);
        let (low, high) = (floors.get(from)?.floor, floors.get(to)?.floor);
        let what = format!(
            "`{from}` on floor {low} imports `{to}` on floor {high}: move what it needs down"
        );
        let path = of.modules[arrow.from].source.path;
        (low < high).then(|| Violation::new(path, arrow.line, what))
    });
    let mut up: Vec<Violation> = up.collect();
    up.dedup();
    up
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(list: &str, files: &[(&str, &str)]) -> Vec<String> {
        let root = format!("//! A crate.\n{list}\nmod a;\nmod b;\n");
        let files: Vec<(String, &str)> = [("lib.rs", &*root)]
            .iter()
            .chain(files)
            .map(|(path, text)| (format!("crates/a/src/{path}"), *text))
            .collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (p.as_str(), *t)).collect();
        let found = check(&Tree::of(&files), "crates/a");
        found.iter().map(ToString::to_string).collect()
    }

    const LIST: &str =
        "//!\n//! # Floors\n//!\n//! 1. `a`: the `ground`\n//! 2. `b`\n//!\n//! # More";
    const B: (&str, &str) = ("b/mod.rs", "mod c;");

    #[test]
    fn imports_go_down() {
        let down = [("a.rs", ""), B, ("b/c.rs", "use crate::a::A;")];
        assert!(found(LIST, &down).is_empty());
        let up = [
            ("a.rs", "fn f() {\n    crate::b::c::g();\n}"),
            B,
            ("b/c.rs", ""),
        ];
        let got = found(LIST, &up);
        assert_eq!(got.len(), 1, "{got:?}");
        assert!(got[0].starts_with("crates/a/src/a.rs:2: `a` on floor 1 imports `b` on floor 2"));
        assert!(found("", &up).is_empty(), "only declared floors count");
    }

    #[test]
    fn the_list_has_all_modules_and_no_others() {
        let files = [("a.rs", ""), ("b.rs", "")];
        let got = found(&LIST.replace("`b`", "`d`"), &files);
        assert_eq!(got.len(), 2, "{got:?}");
        assert!(
            got[0].starts_with("crates/a/src/lib.rs:10: `b` has no floor"),
            "{got:?}"
        );
        assert!(
            got[1].starts_with("crates/a/src/lib.rs:6: there is no module `d`"),
            "{got:?}"
        );
    }
}
