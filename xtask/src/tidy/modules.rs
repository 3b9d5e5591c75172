//! The modules of a crate, a file each, and which of them import which.
//!
//! A module may use what it declares, and the other way round: arrows between a module and those
//! below it say nothing. An import through a re-export leads to where the item is.

use super::source::Source;
use super::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};

/// A name of a module: the names on the way from the crate's root, which has none.
pub(super) type Name = Vec<String>;

/// An import: `from` and `to` are places in [`Crate::modules`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Arrow {
    pub(super) from: usize,
    pub(super) to: usize,
    /// Of the import, from 1.
    pub(super) line: usize,
}

/// One module in a file of its own.
pub(super) struct Module<'a> {
    pub(super) name: Name,
    pub(super) source: Source<'a>,
}

/// The shipped modules of a crate; the root comes first.
pub(super) struct Crate<'a> {
    pub(super) modules: Vec<Module<'a>>,
    pub(super) arrows: Vec<Arrow>,
}

/// A path as it stands in the text, and the name that a `use` gives to what it leads to.
struct Path<'a> {
    words: Vec<&'a str>,
    line: usize,
    binds: Option<&'a str>,
    /// Modules in the same file around it.
    inline: usize,
}

impl<'a> Crate<'a> {
    /// The crate in `folder`; `None` if there is none. Where there are a library and a binary, the
    /// library: the binary imports it by its name.
    pub(super) fn read(tree: &'a Tree, folder: &str) -> Option<Crate<'a>> {
        let within = format!("{folder}/src/");
        let roots = ["lib.rs", "main.rs"].map(|root| format!("{within}{root}"));
        let root = roots.iter().find(|root| tree.text(root).is_some())?;
        let files = tree.with_extension("rs");
        let files = files.filter(|(path, _)| path.starts_with(&within));
        let sources: Vec<Source> = files.map(|(path, text)| Source::new(path, text)).collect();
        let tests: Vec<String> = sources.iter().flat_map(Source::test_files).collect();
        let other = |path: &str| roots.iter().any(|r| r == path && r != root);
        let mut modules: Vec<Module> = sources
            .into_iter()
            .filter(|s| !other(s.path) && !tests.iter().any(|test| is_below(s.path, test)))
            .map(|source| Module {
                name: name_of(&source.path[within.len()..]),
                source,
            })
            .collect();
        modules.sort_by(|a, b| a.name.cmp(&b.name));
        let mut found = Crate {
            modules,
            arrows: Vec::new(),
        };
        found.arrows = found.resolve_all();
        Some(found)
    }

    /// The modules that the root declares.
    pub(super) fn on_top(&self) -> impl Iterator<Item = &str> {
        let top = self.modules.iter().filter(|m| m.name.len() == 1);
        top.map(|m| m.name[0].as_str())
    }

    fn place(&self, name: &[String]) -> Option<usize> {
        let found = self.modules.binary_search_by(|m| m.name[..].cmp(name));
        found.ok()
    }

    fn resolve_all(&self) -> Vec<Arrow> {
        let paths: Vec<Vec<Path>> = self.modules.iter().map(|m| paths(&m.source)).collect();
        let bindings: Vec<BTreeMap<&str, &Path>> = paths
            .iter()
            .map(|of| of.iter().filter_map(|p| Some((p.binds?, p))).collect())
            .collect();
        let mut arrows = BTreeSet::new();
        for (from, of) in paths.iter().enumerate() {
            for path in of {
                for to in self.targets(from, path, &bindings) {
                    let line = path.line;
                    arrows.insert(Arrow { from, to, line });
                }
            }
        }
        let told = |a: &Arrow| !self.is_family(a.from, a.to);
        arrows.into_iter().filter(told).collect()
    }

    /// Whether one is the other, or below it.
    fn is_family(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.modules[a].name, &self.modules[b].name);
        a.starts_with(b) || b.starts_with(a)
    }

    /// The modules that a path leads to: the one that it names, and through re-exports further.
    fn targets(&self, from: usize, path: &Path, bindings: &[BTreeMap<&str, &Path>]) -> Vec<usize> {
        let mut found = Vec::new();
        let mut next = self.walk(from, path.inline, &path.words);
        while let Some((to, rest)) = next {
            // Whoever re-exports from himself is looked at once.
            if found.contains(&to) {
                break;
            }
            found.push(to);
            next = rest.first().and_then(|word| {
                let path = bindings[to].get(word).filter(|p| p.inline == 0)?;
                let words: Vec<&str> = path.words.iter().chain(&rest[1..]).copied().collect();
                self.walk(to, 0, &words)
            });
        }
        found
    }

    /// Goes along `words` as far as there are modules; what is left then. `None` if it leads to
    /// another crate, or to a module in the same file.
    fn walk<'w>(
        &self,
        from: usize,
        mut inline: usize,
        words: &[&'w str],
    ) -> Option<(usize, Vec<&'w str>)> {
        let mut name = self.modules[from].name.clone();
        let mut rest = words.iter().copied().peekable();
        match *rest.peek()? {
            "crate" => {
                name.clear();
                inline = 0;
            }
            "self" | "super" => {}
            child if inline == 0 => {
                let child = child.to_owned();
                self.place(&[&name[..], &[child]].concat())?;
            }
            _ => return None,
        }
        while let Some(word) = rest.next_if(|w| ["crate", "self", "super"].contains(w)) {
            match word {
                "super" if inline > 0 => inline -= 1,
                "super" => drop(name.pop()?),
                _ => {}
            }
        }
        if inline > 0 {
            return None;
        }
        let mut at = self.place(&name)?;
        while let Some(word) = rest.peek() {
            name.push((*word).to_owned());
            let Some(child) = self.place(&name) else {
                break;
            };
            at = child;
            rest.next();
        }
        Some((at, rest.collect()))
    }
}

/// Whether `path` is the module whose file has this `stem`, or one below it.
fn is_below(path: &str, stem: &str) -> bool {
    let rest = path.strip_prefix(stem);
    rest.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

/// Of the file at this place below `src`.
fn name_of(path: &str) -> Name {
    let mut words: Vec<&str> = path.trim_end_matches(".rs").split('/').collect();
    if matches!(words[..], ["lib" | "main"] | [.., "mod"]) {
        words.pop();
    }
    words.into_iter().map(str::to_owned).collect()
}

/// The paths within the crate in the shipped code of a file.
fn paths<'a>(source: &Source<'a>) -> Vec<Path<'a>> {
    let mut found = Vec::new();
    let mut end = 0;
    for i in source.shipped() {
        if i < end {
            continue;
        }
        let declares = source.is(i, "use") && !source.is(i + 1, "<");
        let begins = ["crate", "self", "super"].iter().any(|w| source.is(i, w))
            && source.spells(i + 1, &[":", ":"])
            && (i == 0 || !source.is(i - 1, ":") && !source.is(i - 1, "in"));
        if declares || begins {
            let first = found.len();
            end = branch(source, i + usize::from(declares), &[], &mut found);
            for path in &mut found[first..] {
                path.inline = inline_modules(source, i);
                path.binds = path.binds.filter(|_| declares);
            }
        }
    }
    found
}

/// Reads a path, or all paths of a tree of them, from token `i` on; where it ends.
fn branch<'a>(
    source: &Source<'a>,
    mut i: usize,
    before: &[&'a str],
    out: &mut Vec<Path<'a>>,
) -> usize {
    let mut words = before.to_vec();
    let line = source.code.get(i).map_or(0, |t| t.line);
    loop {
        if source.is(i, "{") {
            let end = source.partner(i);
            i += 1;
            while i < end {
                i = branch(source, i, &words, out).max(i + 1);
            }
            return end + 1;
        }
        let Some(token) = source.code.get(i) else {
            break;
        };
        words.push(token.text);
        i += 1;
        if !source.spells(i, &[":", ":"]) {
            break;
        }
        i += 2;
    }
    // `a::{self}` is `a`.
    if before.len() + 1 == words.len() && !before.is_empty() && words.last() == Some(&"self") {
        words.pop();
    }
    let renamed = source.is(i, "as");
    let binds = match renamed {
        true => source.code.get(i + 1).map(|t| t.text),
        false => words.last().copied(),
    };
    out.push(Path {
        words,
        line,
        binds,
        inline: 0,
    });
    // The comma in a tree.
    i + 2 * usize::from(renamed) + usize::from(source.is(i + 2 * usize::from(renamed), ","))
}

/// How many `mod name {` are around token `i`.
fn inline_modules(source: &Source, i: usize) -> usize {
    let around = std::iter::successors(source.around(i), |&open| source.around(open));
    around
        .filter(|&open| open >= 2 && source.is(open, "{") && source.is(open - 2, "mod"))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The arrows, as "from:line to".
    pub(super) fn arrows(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, &str)> = files
            .iter()
            .map(|(path, text)| (format!("crates/a/src/{path}"), *text))
            .collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (p.as_str(), *t)).collect();
        let tree = Tree::of(&files);
        let found = Crate::read(&tree, "crates/a").unwrap();
        let name = |at: usize| found.modules[at].name.join("/");
        let arrows = found.arrows.iter();
        arrows
            .map(|a| format!("{}:{} {}", name(a.from), a.line, name(a.to)))
            .collect()
    }

    #[test]
    fn imports_are_found_in_trees_and_in_expressions() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::{\n    b::{self, B},\n    c as d,\n};"),
            (
                "b.rs",
                "fn f() {\n    super::c::g::<u8>();\n}\npub(in super::a) struct S;",
            ),
            ("c.rs", "use std::fmt; use self::inner::X;"),
        ];
        assert_eq!(arrows(&files), ["a:2 b", "a:3 c", "b:2 c"]);
    }

    #[test]
    fn families_tests_and_other_binaries_say_nothing() {
        let files = [
            ("lib.rs", "mod a;\n#[cfg(test)]\nmod checks;\npub use a::A;"),
            ("main.rs", "use crate::a::A;"),
            ("checks.rs", "use crate::a::A;"),
            (
                "a/mod.rs",
                "mod b; mod c; use b::B;\n#[cfg(test)] mod tests { use super::c::C; }",
            ),
            ("a/b.rs", "use super::A; use crate::a::c::C;"),
            ("a/c.rs", "#[cfg(test)]\nuse super::b::B;"),
        ];
        assert_eq!(arrows(&files), ["a/b:1 a/c"]);
    }

    #[test]
    fn an_import_through_a_re_export_leads_to_the_item() {
        let files = [
            ("lib.rs", "mod a; mod b;\npub use crate::b::B as Renamed;"),
            ("a.rs", "use crate::Renamed;"),
            ("b/mod.rs", "mod inner;\npub use inner::B;"),
            ("b/inner.rs", "pub struct B;"),
        ];
        assert_eq!(arrows(&files), ["a:1 b", "a:1 b/inner"]);
    }

    #[test]
    fn a_module_in_the_same_file_counts_for_super() {
        let text = "pub mod inner {\n    use super::x;\n    use super::super::b::B;\n}";
        let files = [("lib.rs", ""), ("a.rs", text), ("b.rs", "")];
        assert_eq!(arrows(&files), ["a:3 b"]);
    }
}
