//! The rules that the whole tree keeps: which crate and which module may import which, where
//! `unsafe` and weak atomic orderings are argued, how long files and lines of prose get, and that
//! the documents tell the truth.
//!
//! Each rule is a function from text to violations, so that its tests are small snippets.

mod circles;
mod docs;
mod floors;
mod imports;
mod lengths;
mod lexer;
mod modules;
mod names;
mod orderings;
mod prose;
mod purity;
mod source;
mod tree;
mod unsafe_code;

use source::Source;
use std::path::Path;
use std::{fmt, io};
use tree::Tree;

/// The core: the folders that carry the engine and keep the stricter limits.
const CORE: [&str; 4] = [
    "crates/policy/src/",
    "crates/os/src/",
    "crates/engine/src/",
    "crates/runtime/src/",
];

/// A place that breaks a rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// Relative to the root of the repository, with `/`.
    pub path: String,
    /// From 1.
    pub line: usize,
    /// What is wrong, and what to do.
    pub what: String,
}

impl Violation {
    fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Violation {
            path: path.into(),
            line,
            what: what.into(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// Applies every rule to the repository at `root`; the violations are sorted by place.
///
/// # Errors
/// When a file or folder cannot be read.
pub fn check(root: &Path) -> io::Result<Vec<Violation>> {
    let tree = Tree::read(root)?;
    let mut found = imports::check(&tree);
    found.extend(purity::check(&tree));
    found.extend(docs::check(&tree));
    found.extend(prose::check(&tree));
    for folder in imports::folders(&tree) {
        found.extend(circles::check(&tree, &folder));
        found.extend(floors::check(&tree, &folder));
    }
    for (path, text) in tree.with_extension("rs") {
        let source = Source::new(path, text);
        found.extend(unsafe_code::check(&source));
        found.extend(orderings::check(&source));
        found.extend(lengths::check(&source));
        found.extend(names::check(&source));
    }
    found.sort();
    Ok(found)
}

/// Whether `path` belongs to the core.
fn in_core(path: &str) -> bool {
    CORE.iter().any(|folder| path.starts_with(folder))
}
