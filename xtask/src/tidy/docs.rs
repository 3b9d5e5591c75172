//! What the documents and every other text promise: links lead somewhere, each dependency is
//! accounted for, each guarantee names tests that there are, and nothing of one developer's machine
//! or half-done work is left in.

use super::Violation;
use super::imports::{self, is_ours};
use super::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};

const ACCOUNT: &str = "docs/contributing/dependencies.md";
const GUARANTEES: &str = "docs/guarantees.md";

/// What no file holds, and what to do instead. Split, so that this file does not hold it either.
const FORBIDDEN: [(&str, &str); 6] = [
    (
        concat!("/wo", "rk/"),
        "a path of one machine: make it relative",
    ),
    (
        concat!("/ro", "ot/"),
        "a path of one machine: make it relative",
    ),
    (
        concat!("/fa", "rm/"),
        "a path of one machine: make it relative",
    ),
    (
        concat!("to", "do!"),
        "half-done work: finish it or leave it out",
    ),
    (
        concat!("unimple", "mented!"),
        "half-done work: finish it or leave it out",
    ),
    (
        concat!("#[ig", "nore"),
        "a test that does not run: repair it or delete it",
    ),
];

/// Checks every text of the repository.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = accounts(tree);
    found.extend(guarantees(tree));
    for (path, text) in tree.texts() {
        found.extend(forbidden(path, text));
    }
    for (path, text) in tree.with_extension("md") {
        found.extend(dead_links(tree, path, text));
    }
    found
}

fn forbidden(path: &str, text: &str) -> Vec<Violation> {
    let lines = (1..).zip(text.lines());
    lines
        .flat_map(|(at, line)| {
            let hits = FORBIDDEN.iter().filter(move |(what, _)| holds(line, what));
            hits.map(move |(what, why)| Violation::new(path, at, format!("`{what}` is {why}")))
        })
        .collect()
}

/// In the midst of a longer path, or of an address, such a folder is no path of a machine.
fn holds(line: &str, what: &str) -> bool {
    let joined =
        |before: &str| before.ends_with(|c: char| c.is_alphanumeric() || "_-.~}*".contains(c));
    line.match_indices(what).any(|(at, _)| !joined(&line[..at]))
}

fn dead_links(tree: &Tree, path: &str, text: &str) -> Vec<Violation> {
    let mut fenced = false;
    let mut found = Vec::new();
    for (at, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        let targets = if fenced { Vec::new() } else { links(line) };
        let dead = targets
            .into_iter()
            .filter(|target| !resolves(tree, path, target));
        found.extend(dead.map(|target| {
            Violation::new(
                path,
                at,
                format!("the link to `{target}` leads nowhere: correct it"),
            )
        }));
    }
    found
}

/// The relative targets of the links of a line: `[text](target)` and `[name]: target`.
fn links(line: &str) -> Vec<&str> {
    let inline = line
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', ' ']).next());
    let named = line
        .starts_with('[')
        .then(|| line.split_once("]: "))
        .flatten();
    let all = inline.chain(named.and_then(|(_, target)| target.split_whitespace().next()));
    all.map(|target| target.trim_matches(['<', '>']))
        .filter(|target| !is_remote(target))
        .collect()
}

fn is_remote(target: &str) -> bool {
    target.starts_with('#') || target.contains("://") || target.starts_with("mailto:")
}

fn resolves(tree: &Tree, from: &str, target: &str) -> bool {
    let target = target.split('#').next().unwrap_or_default();
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut at: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.trim_end_matches('/').split('/') {
        match part {
            "." => {}
            ".." if at.pop().is_none() => return false,
            ".." => {}
            _ => at.push(part),
        }
    }
    tree.exists(&at.join("/"))
}

/// Compares the account of dependencies with the manifests, both ways.
fn accounts(tree: &Tree) -> Vec<Violation> {
    let account = tree.text(ACCOUNT).unwrap_or_default();
    let lines: BTreeMap<&str, usize> = (1..)
        .zip(account.lines())
        .filter_map(|(at, line)| Some((row_name(line)?, at)))
        .collect();
    let sections = ["dependencies", "build-dependencies", "dev-dependencies"];
    let mut used = BTreeMap::new();
    for (path, text) in imports::manifests(tree) {
        let list = imports::dependencies(text, &sections);
        for d in list.into_iter().filter(|d| !is_ours(d)) {
            used.insert(d.package, (path.clone(), d.line));
        }
    }
    let missing = used
        .iter()
        .filter(|(name, _)| !lines.contains_key(name.as_str()));
    let missing = missing.map(|(name, (path, line))| {
        Violation::new(
            path,
            *line,
            format!("`{name}` has no line in {ACCOUNT}: say there why it is worth its weight"),
        )
    });
    let stale = lines.iter().filter(|(name, _)| !used.contains_key(**name));
    let stale = stale.map(|(name, line)| {
        Violation::new(
            ACCOUNT,
            *line,
            format!("no manifest uses `{name}`: delete the line"),
        )
    });
    missing.chain(stale).collect()
}

/// The crate that a row of the table is about: "| `name` | …".
fn row_name(line: &str) -> Option<&str> {
    Some(line.strip_prefix("| `")?.split_once('`')?.0)
}

/// The last cell of each row names the tests that hold the promise.
fn guarantees(tree: &Tree) -> Vec<Violation> {
    let text = tree.text(GUARANTEES).unwrap_or_default();
    let rows = (1..)
        .zip(text.lines())
        .filter(|(_, line)| line.starts_with("| ") && !line.starts_with("| ---"));
    let functions = functions(tree);
    rows.skip_while(|(_, line)| !line.contains('`'))
        .filter(|(_, line)| !line.starts_with("| |"))
        .filter_map(|(at, line)| {
            let names: Vec<&str> = last_cell(line).split('`').skip(1).step_by(2).collect();
            let unknown = names.iter().find(|name| !functions.contains(*name));
            let why = match (unknown, names.is_empty()) {
                (Some(name), _) => format!("there is no test `{name}`: name the one that there is"),
                (None, true) => "a guarantee without a test: write one".to_owned(),
                (None, false) => return None,
            };
            Some(Violation::new(GUARANTEES, at, why))
        })
        .collect()
}

fn last_cell(row: &str) -> &str {
    let row = row.trim_end().trim_end_matches('|');
    row.rsplit(" | ").next().unwrap_or_default()
}

/// The names of all functions without arguments: tests are among them.
fn functions(tree: &Tree) -> BTreeSet<&str> {
    let sources = tree.with_extension("rs");
    let lines = sources.flat_map(|(_, text)| text.lines());
    lines
        .filter_map(|line| line.trim_start().strip_prefix("fn ")?.split_once("()"))
        .map(|(name, _)| name)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        check(&Tree::of(files))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn links_that_resolve_pass() {
        let text = "[a](b.md) [c](./sub/c.md#part \"title\") [d](https://x.org/y) [e](#here)\n\
                    [f]: sub\n```\n[g](none.md)\n```\n[h](../docs/)";
        let files = [
            ("docs/a.md", text),
            ("docs/b.md", ""),
            ("docs/sub/c.md", "[up](../../docs/b.md)"),
        ];
        assert_eq!(found(&files), Vec::<String>::new());
    }

    #[test]
    fn guarantees_name_tests_that_there_are() {
        let row = |tests: &str| {
            format!("| | promise | tests |\n| --- | --- | --- |\n| I1 | `so` it is. | {tests} |\n")
        };
        let source = (
            "crates/a.rs",
            "#[test]\n    fn it_is_so() {}\nfn helper(n: u8) {}",
        );
        let of = |tests: &str| found(&[("docs/guarantees.md", &row(tests)), source]);
        assert_eq!(of("`it_is_so`"), Vec::<String>::new());
        assert!(of("`it_is_so`, `helper`")[0].contains("no test `helper`"));
        assert!(of("it is so")[0].contains("without a test"));
    }

    #[test]
    fn dead_links_are_found() {
        let text = "[a](b.md)\n[x]: gone.md\n[up](../../b.md)";
        let got = found(&[("docs/a.md", text), ("b.md", "")]);
        assert_eq!(got.len(), 3);
        assert!(got[0].starts_with("docs/a.md:1: ") && got[0].contains("`b.md`"));
    }

    #[test]
    fn strings_of_a_machine_and_half_done_work_are_found() {
        let [wo, ro, fa, td, un, ig] = FORBIDDEN.map(|(what, _)| what);
        for text in [
            format!("cd {wo}main"),
            format!("\"{ro}x\""),
            format!("file://{fa}"),
            format!("{td}()"),
            format!("{un}()"),
            format!("{ig}]"),
        ] {
            let got = found(&[("a/b.txt", &format!("first\n{text}\n"))]);
            assert_eq!(got.len(), 1, "{text}");
            assert!(got[0].starts_with("a/b.txt:2: "));
        }
    }

    #[test]
    fn folders_of_ours_with_such_names_pass() {
        let wo = FORBIDDEN[0].0;
        let text = format!("src{wo}item.rs https://example.org{wo}a to-do\n");
        assert!(found(&[("a.txt", &text)]).is_empty());
    }

    #[test]
    fn dependencies_are_accounted_for_both_ways() {
        let manifest = (
            "crates/os/Cargo.toml",
            "[dependencies]\nlibc = \"0.2\"\ncmwq-policy.workspace = true\n[dev-dependencies]\nproptest = \"1\"\n",
        );
        let table = "| crate | why |\n| --- | --- |\n| `libc` | x |\n| `proptest` | x |\n";
        assert!(found(&[manifest, (ACCOUNT, table)]).is_empty());
        let got = found(&[manifest, (ACCOUNT, &table.replace("libc", "nix"))]);
        assert_eq!(got.len(), 2);
        assert!(got[0].starts_with("crates/os/Cargo.toml:2: `libc` has no line"));
        assert!(got[1].starts_with("docs/contributing/dependencies.md:3: no manifest uses `nix`"));
    }
}
