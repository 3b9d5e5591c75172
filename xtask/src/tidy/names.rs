//! One meaning for each word: types that are called by a word of the glossary in `ARCHITECTURE.md`
//! are declared where the glossary's thing is, and nowhere else.

use super::Violation;
use super::source::Source;

/// A word that once meant several things, and the files that may declare a type of that name.
const WORDS: [(&str, &[&str]); 7] = [
    ("Token", &[]),
    ("Job", &["crates/runtime/src/job/builder.rs"]),
    ("Verdict", &[]),
    ("Gate", &["crates/policy/src/growth/mod.rs"]),
    (
        "Pace",
        &[
            "crates/policy/src/growth/hold.rs",
            "crates/admission/src/pace.rs",
        ],
    ),
    ("Place", &["crates/policy/src/affinity/mod.rs"]),
    // The kernel's word: pending, or running (`work_busy`).
    (
        "Busy",
        &[
            "crates/policy/src/contract/items.rs",
            "crates/engine/src/raw/item.rs",
        ],
    ),
];

/// Checks the types that a file of ours declares; tests may call theirs as they like.
pub(super) fn check(source: &Source) -> Vec<Violation> {
    let path = source.path;
    if !path.starts_with("crates/") || !path.contains("/src/") || path.contains("tests") {
        return Vec::new();
    }
    let kinds = ["struct", "enum", "trait", "type", "union"];
    let declares = |at: usize, word| kinds.iter().any(|kind| source.spells(at, &[kind, word]));
    let mut found = Vec::new();
    for (word, places) in WORDS.iter().filter(|(_, places)| !places.contains(&path)) {
        let at = (0..source.code.len()).filter(|&at| declares(at, word));
        found.extend(at.map(|at| {
            let line = source.code[at].line;
            let meant = match places.first() {
                Some(place) => format!("the type of {place}"),
                None => "no type".to_owned(),
            };
            let what = format!("`{word}` means {meant} (glossary in ARCHITECTURE.md): rename this");
            Violation::new(path, line, what)
        }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(path: &str, text: &str) -> Vec<usize> {
        let found = check(&Source::new(path, text));
        found.into_iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn a_second_type_of_that_name_is_found() {
        let text = "use a::Gate;\n\npub(super) struct Gate(u32);\nimpl Gate {}\n";
        assert_eq!(violations("crates/sim/src/latch.rs", text), [3]);
        assert!(violations("crates/policy/src/growth/mod.rs", text).is_empty());
        assert!(violations("crates/sim/src/latch/tests.rs", text).is_empty());
        let text = "type Verdict = ();\nenum Verdicts {}\n";
        assert_eq!(violations("crates/swarm/src/check.rs", text), [1]);
    }
}
