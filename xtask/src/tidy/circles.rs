//! No circle among the modules of a crate: whoever reads one of them need not read all.

use super::Violation;
use super::modules::{Arrow, Crate};
use super::tree::Tree;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Checks the crate in `folder`.
pub(super) fn check(tree: &Tree, folder: &str) -> Vec<Violation> {
    Crate::read(tree, folder).map_or(Vec::new(), |found| circles(&found))
}

/// The shortest circle of each knot of modules.
fn circles(of: &Crate) -> Vec<Violation> {
    let mut arrows: BTreeMap<usize, Vec<Arrow>> = BTreeMap::new();
    for arrow in &of.arrows {
        arrows.entry(arrow.from).or_default().push(*arrow);
    }
    let mut told = BTreeSet::new();
    let mut found = Vec::new();
    for start in 0..of.modules.len() {
        let knot: Vec<usize> = reached(&arrows, start)
            .into_iter()
            .filter(|&other| reached(&arrows, other).contains(&start))
            .collect();
        if !knot.is_empty() && told.insert(knot.clone()) {
            let rings = knot.iter().map(|&at| ring(&arrows, at));
            let shortest = rings.min_by_key(Vec::len);
            found.extend(shortest.map(|ring| violation(of, &ring, knot.len())));
        }
    }
    found
}

fn next<'a>(
    arrows: &'a BTreeMap<usize, Vec<Arrow>>,
    at: usize,
) -> impl Iterator<Item = &'a Arrow> + 'a {
    arrows.get(&at).into_iter().flatten()
}

/// All modules that arrows lead to from `start`, itself among them if it is in a circle.
fn reached(arrows: &BTreeMap<usize, Vec<Arrow>>, start: usize) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut left = vec![start];
    while let Some(at) = left.pop() {
        left.extend(
            next(arrows, at)
                .map(|a| a.to)
                .filter(|&to| found.insert(to)),
        );
    }
    found
}

/// The shortest way from `start` back to it, which there is.
fn ring(arrows: &BTreeMap<usize, Vec<Arrow>>, start: usize) -> Vec<Arrow> {
    let mut ways = VecDeque::from([Vec::new()]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        let at = way.last().map_or(start, |arrow: &Arrow| arrow.to);
        for arrow in next(arrows, at) {
            let longer = [&way[..], &[*arrow]].concat();
            if arrow.to == start {
                return longer;
            }
            if seen.insert(arrow.to) {
                ways.push_back(longer);
            }
        }
    }
    Vec::new()
}

fn violation(of: &Crate, ring: &[Arrow], knot: usize) -> Violation {
    let path = |at: usize| of.modules[at].source.path;
    let name = |at: usize| of.modules[at].name.join("::");
    let step = |a: &Arrow| format!("`{}` ({}:{})", name(a.from), path(a.from), a.line);
    let steps: Vec<String> = ring.iter().map(step).collect();
    let first = ring[0];
    let what = format!(
        "a circle of {} modules, each of which imports the next, in a knot of {knot}: {}; move \
         what both sides need to one below them",
        ring.len(),
        steps.join(" -> ")
    );
    Violation::new(path(first.from), first.line, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(folder: &str, files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, &str)> = files
            .iter()
            .map(|(path, text)| (format!("{folder}/src/{path}"), *text))
            .collect();
        let files = files.iter().map(|(p, t)| (p.as_str(), *t));
        let files: Vec<(&str, &str)> = files.collect();
        let found = check(&Tree::of(&files), folder);
        found.iter().map(ToString::to_string).collect()
    }

    const CIRCLE: [(&str, &str); 5] = [
        ("lib.rs", "mod a; mod b; mod c; mod d;"),
        ("a.rs", "\nuse crate::b::B;\nuse crate::c::C;"),
        ("b.rs", "use super::c;"),
        ("c.rs", "use super::a;"),
        ("d.rs", "use super::a;"),
    ];

    #[test]
    fn each_knot_is_told_of_by_its_shortest_circle() {
        let got = found("crates/a", &CIRCLE);
        assert_eq!(got.len(), 1, "{got:?}");
        assert!(got[0].starts_with("crates/a/src/a.rs:3: a circle of 2 modules"));
        let steps = "in a knot of 3: `a` (crates/a/src/a.rs:3) -> `c` (crates/a/src/c.rs:1);";
        assert!(got[0].contains(steps), "{got:?}");
    }

    #[test]
    fn what_has_floors_passes() {
        assert!(found("crates/a", &CIRCLE[..3]).is_empty());
        assert!(found("crates/a", &[]).is_empty());
    }
}
