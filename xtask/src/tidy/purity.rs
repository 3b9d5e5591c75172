//! What decides is pure: the same state, event and time give the same answer on every machine.
//! So no foreign dependency, no `std`, no `unsafe`, no float, no hash order and no clock.

use super::Violation;
use super::lexer::{Kind, Token};
use super::source::Source;
use super::tree::Tree;

/// The crates that decide.
const PURE: [&str; 2] = ["crates/policy", "crates/admission"];

/// Words that their shipped code does not use, and why.
const BANNED: [(&str, &str); 7] = [
    (
        "f32",
        "floats round differently: use integers, with their unit in the name",
    ),
    (
        "f64",
        "floats round differently: use integers, with their unit in the name",
    ),
    ("HashMap", "its order is random: use a sorted map or a list"),
    ("HashSet", "its order is random: use a sorted set or a list"),
    ("Instant", "time is an argument: take a `Time`"),
    ("SystemTime", "time is an argument: take a `Time`"),
    ("std", "it is no_std: use `core` or `alloc`"),
];

/// Checks those of them that the tree has; that they are there is left to the import table.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    PURE.iter()
        .flat_map(|folder| check_crate(tree, folder))
        .collect()
}

fn check_crate(tree: &Tree, folder: &str) -> Vec<Violation> {
    let (manifest, lib) = (
        format!("{folder}/Cargo.toml"),
        format!("{folder}/src/lib.rs"),
    );
    let within = format!("{folder}/src/");
    let sources: Vec<Source> = tree
        .with_extension("rs")
        .filter(|(path, _)| path.starts_with(&within))
        .map(|(path, text)| Source::new(path, text))
        .collect();
    let tests: Vec<String> = sources.iter().flat_map(Source::test_files).collect();
    let is_test = |path: &str| {
        tests
            .iter()
            .any(|t| path == format!("{t}.rs") || path.starts_with(&format!("{t}/")))
    };
    let shipped = sources.iter().filter(|s| !is_test(s.path));
    let mut found: Vec<Violation> = shipped.flat_map(impure).collect();
    if let Some(text) = tree.text(&manifest) {
        found.extend(dependencies(&manifest, text));
    }
    let lib = sources.iter().filter(|s| s.path == lib);
    found.extend(lib.flat_map(missing_attributes));
    found
}

fn impure(source: &Source) -> Vec<Violation> {
    let tokens = source.shipped().into_iter().map(|i| &source.code[i]);
    tokens
        .filter_map(|t| {
            let why = banned(t)?;
            Some(Violation::new(
                source.path,
                t.line,
                format!("`{}` in a pure crate: {why}", t.text),
            ))
        })
        .collect()
}

fn banned(token: &Token) -> Option<&'static str> {
    let float = token.kind == Kind::Number && is_float(token.text);
    let word = if float { "f64" } else { token.text };
    let known = float || token.kind == Kind::Ident;
    let entry = BANNED.iter().find(|(name, _)| known && *name == word);
    entry.map(|(_, why)| *why)
}

fn is_float(number: &str) -> bool {
    let suffix = number.ends_with("f32") || number.ends_with("f64");
    number.contains('.') || (suffix && !number.starts_with("0x"))
}

/// Those of ours are in the import table.
fn dependencies(path: &str, manifest: &str) -> Vec<Violation> {
    let all = super::imports::dependencies(manifest, &["dependencies", "build-dependencies"]);
    let foreign = all.iter().filter(|d| !d.package.starts_with("cmwq"));
    let violation = |d: &super::imports::Dependency| {
        let what = format!("a pure crate depends on `{}`: do without", d.key);
        Violation::new(path, d.line, what)
    };
    foreign.map(violation).collect()
}

fn missing_attributes(lib: &Source) -> Vec<Violation> {
    let forbid = lib.has(&["#", "!", "[", "forbid", "(", "unsafe_code", ")", "]"]);
    let no_std = lib.has(&["#", "!", "[", "no_std", "]"]);
    [(forbid, "#![forbid(unsafe_code)]"), (no_std, "#![no_std]")]
        .into_iter()
        .filter(|(there, _)| !there)
        .map(|(_, line)| {
            Violation::new(
                lib.path,
                1,
                format!("a pure crate lacks `{line}`: add it at the top"),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "crates/policy/Cargo.toml";
    const LIB: &str = "crates/policy/src/lib.rs";
    const HEAD: &str = "#![no_std]\n#![forbid(unsafe_code)]\n";

    fn whats(files: &[(&str, &str)]) -> Vec<String> {
        check(&Tree::of(files))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    fn lines(code: &str) -> Vec<usize> {
        let tree = Tree::of(&[("crates/policy/src/pool.rs", code)]);
        check(&tree).iter().map(|v| v.line).collect()
    }

    #[test]
    fn pure_code_passes() {
        let code = "use core::time::Duration;\nfn f(x: u64) -> u64 { x * 3 / 4 } // 0.75, not f64\n\
                    fn g(x: (u8, (u8, u8))) { x.1.0; 0..9; 0x1f32; }";
        assert!(lines(code).is_empty());
        let manifest = "[dependencies]\n\n[dev-dependencies]\nproptest = \"1\"\n";
        assert!(whats(&[(LIB, HEAD), (MANIFEST, manifest)]).is_empty());
    }

    #[test]
    fn floats_hashes_and_clocks_are_found() {
        assert_eq!(
            lines("fn f(x: f64) {}\nfn g() { 0.5 }\nfn h() { 1f32 }"),
            [1, 2, 3]
        );
        assert_eq!(
            lines("use a::HashMap;\nfn f() { Instant::now() }\nextern crate std;"),
            [1, 2, 3]
        );
    }

    #[test]
    fn tests_of_the_core_may_use_anything() {
        assert!(
            lines("#[cfg(test)]\nmod tests { use std::time::Instant; const X: f64 = 0.5; }")
                .is_empty()
        );
        let far = "use std::collections::HashMap;";
        let pool = ("crates/policy/src/pool.rs", "#[cfg(test)]\nmod model;");
        assert!(whats(&[pool, ("crates/policy/src/pool/model.rs", far)]).is_empty());
        assert_eq!(whats(&[pool, ("crates/policy/src/model.rs", far)]).len(), 2);
    }

    #[test]
    fn the_crate_has_its_attributes_and_no_dependency() {
        let found = whats(&[
            (LIB, "#![no_std]\n"),
            (MANIFEST, "[dependencies]\nlog = \"0.4\"\n"),
        ]);
        assert_eq!(found.len(), 2);
        assert!(found[0].starts_with("crates/policy/Cargo.toml:2: ") && found[0].contains("`log`"));
        assert!(found[1].contains("forbid(unsafe_code)"));
        let target = "[target.'cfg(unix)'.dependencies]\nlibc = \"0.2\"\n";
        assert_eq!(whats(&[(LIB, HEAD), (MANIFEST, target)]).len(), 1);
        let ours = "[dependencies]\ncmwq-policy.workspace = true\nlog = \"0.4\"\n";
        let found = whats(&[("crates/admission/Cargo.toml", ours)]);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("`log`"));
    }
}
