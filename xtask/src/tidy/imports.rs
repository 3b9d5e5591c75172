//! Which of our crates may import which, compared with what the manifests say.

use super::Violation;
use super::tree::Tree;
use toml::Table;

/// One crate of ours: its folder, its package, and the packages of ours it may import.
struct Member {
    folder: &'static str,
    package: &'static str,
    may_import: &'static [&'static str],
}

/// The import arrows. A new crate starts with a line here.
const MEMBERS: [Member; 14] = [
    Member {
        folder: "crates/policy",
        package: "cmwq-policy",
        may_import: &[],
    },
    Member {
        folder: "crates/admission",
        package: "cmwq-admission",
        may_import: &["cmwq-policy"],
    },
    Member {
        folder: "crates/os",
        package: "cmwq-os",
        may_import: &["cmwq-policy"],
    },
    Member {
        folder: "crates/stats",
        package: "cmwq-stats",
        may_import: &["cmwq-policy"],
    },
    Member {
        folder: "crates/engine",
        package: "cmwq-engine",
        may_import: &["cmwq-policy", "cmwq-os", "cmwq-stats"],
    },
    Member {
        folder: "crates/runtime",
        package: "cmwq",
        may_import: &["cmwq-engine", "cmwq-policy", "cmwq-os"],
    },
    Member {
        folder: "crates/capi",
        package: "cmwq-capi",
        may_import: &["cmwq-engine", "cmwq-policy", "cmwq-os"],
    },
    Member {
        folder: "crates/prometheus",
        package: "cmwq-prometheus",
        may_import: &["cmwq-engine", "cmwq-os", "cmwq-stats"],
    },
    Member {
        folder: "crates/sim",
        package: "cmwq-sim",
        may_import: &["cmwq-policy"],
    },
    Member {
        folder: "crates/swarm",
        package: "cmwq-swarm",
        may_import: &["cmwq-policy", "cmwq-sim"],
    },
    Member {
        folder: "crates/soak",
        package: "cmwq-soak",
        may_import: &["cmwq"],
    },
    Member {
        folder: "crates/oracle",
        package: "cmwq-oracle",
        may_import: &["cmwq", "cmwq-os", "cmwq-policy", "cmwq-sim"],
    },
    Member {
        folder: "crates/cli",
        package: "cmwq-cli",
        may_import: &[
            "cmwq",
            "cmwq-admission",
            "cmwq-os",
            "cmwq-sim",
            "cmwq-stats",
        ],
    },
    Member {
        folder: "xtask",
        package: "xtask",
        may_import: &[],
    },
];

/// A line of a manifest that names another package.
pub(super) struct Dependency {
    /// The name the crate uses for it.
    pub(super) key: String,
    /// The package's own name, where the line renames it.
    pub(super) package: String,
    /// From 1.
    pub(super) line: usize,
    path: bool,
}

/// Checks every manifest of the workspace.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    manifests(tree)
        .iter()
        .flat_map(|(path, text)| manifest(path, text))
        .collect()
}

/// The folders of the members: every crate and xtask.
pub(super) fn folders(tree: &Tree) -> impl Iterator<Item = String> {
    let crates = tree.folders("crates").into_iter();
    crates
        .map(|name| format!("crates/{name}"))
        .chain(["xtask".to_string()])
}

/// The manifests of the members.
pub(super) fn manifests(tree: &Tree) -> Vec<(String, &str)> {
    folders(tree)
        .map(|folder| format!("{folder}/Cargo.toml"))
        .filter_map(|path| Some((tree.text(&path)?, path)))
        .map(|(text, path)| (path, text))
        .collect()
}

fn manifest(path: &str, text: &str) -> Vec<Violation> {
    let table = match text.parse::<Table>() {
        Ok(table) => table,
        Err(error) => return vec![Violation::new(path, 1, format!("not a manifest: {error}"))],
    };
    let folder = path.trim_end_matches("/Cargo.toml");
    let Some(member) = MEMBERS.iter().find(|m| m.folder == folder) else {
        let what = "a crate that is not in the import table: add it to the table of tidy, with what it may import";
        return vec![Violation::new(path, 1, what)];
    };
    let mut found = Vec::new();
    let name = table.get("package").and_then(|p| p.get("name")?.as_str());
    if name != Some(member.package) {
        let what = format!(
            "the package of {folder} is called `{}` in the import table: rename one of them",
            member.package
        );
        found.push(Violation::new(path, 1, what));
    }
    found.extend(forbidden_imports(path, text, member));
    found
}

fn forbidden_imports(path: &str, text: &str, member: &Member) -> Vec<Violation> {
    let allowed = |d: &Dependency| member.may_import.contains(&d.package.as_str());
    dependencies(text, &["dependencies", "build-dependencies"])
        .into_iter()
        .filter(|d| is_ours(d) && !allowed(d))
        .map(|d| {
            let may = match member.may_import {
                [] => "nothing of ours".into(),
                list => format!("only {}", list.join(", ")),
            };
            Violation::new(
                path,
                d.line,
                format!(
                    "{} imports `{}` but may import {may}: turn the arrow round or move the code",
                    member.package, d.package
                ),
            )
        })
        .collect()
}

/// Whether a dependency is a package of this repository.
pub(super) fn is_ours(dependency: &Dependency) -> bool {
    dependency.path || MEMBERS.iter().any(|m| m.package == dependency.package)
}

/// What the `sections` of a manifest list, also those under `[target.….]`. Text that is no manifest
/// lists nothing: the import rule reports it.
pub(super) fn dependencies(text: &str, sections: &[&str]) -> Vec<Dependency> {
    let table: Table = text.parse().unwrap_or_default();
    let targets = table.get("target").and_then(|t| t.as_table());
    let targets = targets
        .into_iter()
        .flat_map(|t| t.values())
        .filter_map(|t| t.as_table());
    let tables = [&table].into_iter().chain(targets);
    let lists = tables.flat_map(|t| sections.iter().filter_map(|s| t.get(*s)?.as_table()));
    lists
        .flat_map(|list| list.iter().map(|(key, value)| dependency(text, key, value)))
        .collect()
}

fn dependency(text: &str, key: &str, value: &toml::Value) -> Dependency {
    let package = value.get("package").and_then(|p| p.as_str()).unwrap_or(key);
    Dependency {
        key: key.into(),
        package: package.into(),
        line: line_of(text, key),
        path: value.get("path").is_some(),
    }
}

/// The first line that assigns to `key` or heads its table. The parser keeps no places.
fn line_of(text: &str, key: &str) -> usize {
    let assigns = |line: &str| {
        line.trim_start()
            .trim_start_matches('"')
            .strip_prefix(key)
            .is_some_and(|rest| rest.starts_with(['.', ' ', '=', '"']))
    };
    let heads = |line: &str| line.trim().ends_with(&format!("ependencies.{key}]"));
    text.lines()
        .position(|line| assigns(line) || heads(line))
        .map_or(1, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        check(&Tree::of(&[(path, text)]))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn allowed_arrows_pass() {
        let os = "[package]\nname = \"cmwq-os\"\n[dependencies]\ncmwq-policy.workspace = true\nlibc = \"0.2\"\n";
        assert!(found("crates/os/Cargo.toml", os).is_empty());
        let policy = "[package]\nname = \"cmwq-policy\"\n[dev-dependencies]\ncmwq = \"0.1\"\n";
        assert!(
            found("crates/policy/Cargo.toml", policy).is_empty(),
            "tests may import anything"
        );
    }

    #[test]
    fn forbidden_arrows_are_found() {
        let head = "[package]\nname = \"cmwq-os\"\n";
        for line in [
            "[dependencies]\ncmwq.workspace = true",
            "[build-dependencies]\ncmwq = \"0.1\"",
            "[target.'cfg(unix)'.dependencies]\ncmwq = \"0.1\"",
            "[dependencies]\nother = { package = \"cmwq\", version = \"1\" }",
        ] {
            let got = found("crates/os/Cargo.toml", &format!("{head}{line}\n"));
            assert_eq!(got.len(), 1, "{line}");
            assert!(
                got[0].starts_with("crates/os/Cargo.toml:4: cmwq-os imports `cmwq`"),
                "{}",
                got[0]
            );
        }
        let path = format!("{head}[dependencies]\nhelper = {{ path = \"../helper\" }}\n");
        assert_eq!(
            found("crates/os/Cargo.toml", &path).len(),
            1,
            "a path is ours"
        );
    }

    #[test]
    fn unknown_crates_and_names_are_found() {
        let got = found("crates/extra/Cargo.toml", "[package]\nname = \"extra\"\n");
        assert!(got[0].contains("not in the import table"));
        let got = found("crates/os/Cargo.toml", "[package]\nname = \"os\"\n");
        assert!(got[0].contains("`cmwq-os`"));
        let got = found("crates/os/Cargo.toml", "[package\n");
        assert!(got[0].contains("not a manifest"));
    }
}
