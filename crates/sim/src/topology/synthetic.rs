//! Machines described as hwloc does: `pack:2 l3:4 core:3 pu:2`.
//!
//! From the outside in, each level says how many of it each of the level before has. Types are
//! `machine`, `group`, `node` (also `numa`, `numanode`), `pack` (`package`, `socket`), `die`, `l1`
//! to `l5` (also `l1d`, `l1i`, `l3u`, `l3cache`), `core` and, last, `pu`; `[numa]` attaches a node
//! to each object of the level before. If no level has a type, hwloc's choice is taken. Attributes
//! in parentheses are ignored, but for `indexes=` of `pu`.
//!
//! What decides here: `core`, else each CPU is one; `l3` as last-level cache, else the package, die
//! or node, else the whole machine; `node`, else the machine is one.
//!
//! CPUs are numbered consecutively, as in hwloc: siblings follow each other. Linux on a PC counts
//! the first siblings of all cores, then the second ones: `pu:2(indexes=...)`, or
//! [`Topology::siblings_apart`].

use std::fmt;

use cmwq_policy::MAX_CPUS;

use super::{Place, Topology};

/// What is wrong with the description of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyError {
    /// The part of the description.
    pub token: String,
    /// Where it begins, in bytes from 0 on.
    pub at: usize,
    /// What is wrong with it.
    pub problem: String,
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TopologyError { token, at, problem } = self;
        match token.is_empty() {
            true => write!(f, "column {}: {problem}", at + 1),
            false => write!(f, "`{token}` at column {}: {problem}", at + 1),
        }
    }
}

impl std::error::Error for TopologyError {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Decides nothing: groups, inner caches.
    Other,
    Machine,
    Node,
    Package,
    Die,
    Llc,
    Core,
    Pu,
}

struct Level<'a> {
    kind: Option<Kind>,
    /// How many of it one of the level before has.
    count: usize,
    /// A node is attached to each.
    has_node: bool,
    attributes: Option<Word<'a>>,
    word: Word<'a>,
}

#[derive(Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    at: usize,
}

impl Word<'_> {
    fn error<T>(self, problem: impl Into<String>) -> Result<T, TopologyError> {
        Err(TopologyError {
            token: self.text.to_owned(),
            at: self.at,
            problem: problem.into(),
        })
    }
}

impl Topology {
    /// A machine from its hwloc synthetic description, which is also its name.
    ///
    /// # Errors
    /// If the description is none, or of a machine with more than [`MAX_CPUS`] CPUs: the part that
    /// is wrong, where it is, and why.
    pub fn synthetic(description: &str) -> Result<Topology, TopologyError> {
        let levels = levels(description)?;
        let total = count_cpus(&levels)?;
        let place = |cpu| place(&levels, total, cpu);
        let places: Vec<Place> = (0..total).map(place).collect();
        let pu = levels.last().expect("it has levels");
        let indexes = match pu.attributes {
            Some(attributes) => indexes(attributes, total)?,
            None => None,
        };
        Ok(Topology {
            name: description.trim().to_owned(),
            cpus: renumbered(&places, &indexes.unwrap_or_else(|| (0..total).collect())),
        })
    }

    /// The same machine, numbered as Linux does on a PC: the first siblings of all cores, then the
    /// second ones, and so on.
    #[must_use]
    pub fn siblings_apart(self) -> Topology {
        let before = |cpu: usize| {
            let earlier = self.cpus[..cpu].iter();
            earlier.filter(|p| p.core == self.cpus[cpu].core).count()
        };
        let mut order: Vec<(usize, usize)> =
            (0..self.len()).map(|cpu| (before(cpu), cpu)).collect();
        order.sort_unstable();
        let cpus = order.into_iter().map(|(_, cpu)| self.cpus[cpu]).collect();
        Topology { cpus, ..self }
    }
}

/// Object `i` gets the number `indexes[i]`.
fn renumbered(places: &[Place], indexes: &[usize]) -> Vec<Place> {
    let mut cpus = places.to_vec();
    for (place, &at) in places.iter().zip(indexes) {
        cpus[at] = *place;
    }
    cpus
}

fn levels(description: &str) -> Result<Vec<Level<'_>>, TopologyError> {
    let mut levels: Vec<Level<'_>> = Vec::new();
    for word in words(description)? {
        if word.text.starts_with('[') {
            attach(&mut levels, word)?;
        } else if !word.text.starts_with('(') {
            levels.push(level(word)?);
        }
    }
    choose_kinds(&mut levels)?;
    check_kinds(&levels)?;
    Ok(levels)
}

/// Splits at spaces that are not in parentheses or brackets.
fn words(text: &str) -> Result<Vec<Word<'_>>, TopologyError> {
    let mut found = Vec::new();
    let mut begin = None;
    let mut closing = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '(' => closing.push(')'),
            '[' => closing.push(']'),
            ')' | ']' if closing.pop() != Some(c) => {
                let word = Word {
                    text: &text[at..=at],
                    at,
                };
                return word.error("closes nothing");
            }
            _ => {}
        }
        if c.is_whitespace() && closing.is_empty() {
            let end = |at_begin| Word {
                text: &text[at_begin..at],
                at: at_begin,
            };
            found.extend(begin.take().map(end));
        } else {
            begin = begin.or(Some(at));
        }
    }
    let rest = |at| Word {
        text: &text[at..],
        at,
    };
    if let (Some(closing), Some(at)) = (closing.pop(), begin) {
        return rest(at).error(format!("`{closing}` is missing"));
    }
    found.extend(begin.map(rest));
    Ok(found)
}

fn attach(levels: &mut [Level<'_>], word: Word<'_>) -> Result<(), TopologyError> {
    let inner = word.text.trim_matches(['[', ']']);
    let name = inner.split(['(', ' ']).next().unwrap_or_default();
    match (kind(name), levels.last_mut()) {
        (Some(Kind::Node), Some(level)) => level.has_node = true,
        // Of the whole machine: it is one node anyway.
        (Some(Kind::Node), None) => {}
        _ => return word.error("only nodes are attached: [numa]"),
    }
    Ok(())
}

fn level(word: Word<'_>) -> Result<Level<'_>, TopologyError> {
    let (plain, attributes) = match word.text.find('(') {
        Some(at) => word.text.split_at(at),
        None => (word.text, ""),
    };
    let (name, number) = match plain.split_once(':') {
        Some((name, number)) => (Some(name), number),
        None => (None, plain),
    };
    let known = match name.map(|name| (name, kind(name))) {
        Some((_, Some(kind))) => Some(kind),
        Some((name, None)) => return word.error(unknown(name)),
        None if kind(plain).is_some() => {
            return word.error(format!("how many? `{plain}:1`, for example"));
        }
        None => None,
    };
    let count = match number.parse() {
        Ok(0) => return word.error("none of them makes no machine"),
        Ok(count) => count,
        Err(_) if name.is_none() => return word.error(unknown(plain)),
        Err(_) => return word.error(format!("`{number}` is no number of objects")),
    };
    let at = word.at + plain.len();
    Ok(Level {
        kind: known,
        count,
        has_node: false,
        attributes: (!attributes.is_empty()).then_some(Word {
            text: attributes,
            at,
        }),
        word,
    })
}

fn unknown(name: &str) -> String {
    format!("`{name}` is none of machine, group, node, pack, die, l1 to l5, core, pu")
}

/// Names as hwloc reads them, in any case.
fn kind(name: &str) -> Option<Kind> {
    let name = name.to_ascii_lowercase();
    Some(match name.as_str() {
        "machine" => Kind::Machine,
        "node" | "numa" | "numanode" => Kind::Node,
        "pack" | "package" | "socket" => Kind::Package,
        "die" => Kind::Die,
        "core" => Kind::Core,
        "pu" => Kind::Pu,
        "l3" | "l3u" | "l3d" => Kind::Llc,
        "l1" | "l2" | "l4" | "l5" => Kind::Other,
        group if group.trim_end_matches(|c: char| c.is_ascii_digit()) == "group" => Kind::Other,
        cache => match cache.strip_suffix("cache") {
            Some(inner) if inner.starts_with('l') => return kind(inner),
            _ => return inner_cache(cache),
        },
    })
}

/// `l1d`, `l2i` and so on.
fn inner_cache(name: &str) -> Option<Kind> {
    let level = name.strip_prefix('l')?.strip_suffix(['d', 'i', 'u'])?;
    ["1", "2", "3", "4", "5"]
        .contains(&level)
        .then_some(Kind::Other)
}

/// Levels without a type: hwloc's choice for so many of them.
fn choose_kinds(levels: &mut [Level<'_>]) -> Result<(), TopologyError> {
    let Some((last, others)) = levels.split_last_mut() else {
        let nothing = Word { text: "", at: 0 };
        return nothing.error("a machine is described as in `pack:2 l3:4 core:3 pu:2`");
    };
    if last.kind.get_or_insert(Kind::Pu) != &Kind::Pu {
        return last.word.error("the last level is `pu`");
    }
    if let Some(with) = others.iter().position(|level| level.kind.is_some()) {
        return match others.iter().find(|level| level.kind.is_none()) {
            Some(without) => {
                let with = others[with].word.text;
                without.word.error(format!("has no type, but `{with}` has"))
            }
            None => Ok(()),
        };
    }
    let kinds: &[Kind] = match others.len() {
        0 => &[],
        1 => &[Kind::Node],
        2 => &[Kind::Package, Kind::Node],
        3 => &[Kind::Package, Kind::Node, Kind::Core],
        4 => &[Kind::Package, Kind::Node, Kind::Other, Kind::Core],
        5 => &[
            Kind::Package,
            Kind::Node,
            Kind::Other,
            Kind::Other,
            Kind::Core,
        ],
        6 => &[
            Kind::Package,
            Kind::Node,
            Kind::Llc,
            Kind::Other,
            Kind::Other,
            Kind::Core,
        ],
        _ => return others[0].word.error("eight and more levels need types"),
    };
    for (level, kind) in others.iter_mut().zip(kinds) {
        level.kind = Some(*kind);
    }
    Ok(())
}

fn check_kinds(levels: &[Level<'_>]) -> Result<(), TopologyError> {
    for (at, level) in levels.iter().enumerate() {
        let same = levels[..at].iter().find(|l| l.kind == level.kind);
        if let Some(same) = same.filter(|_| level.kind != Some(Kind::Other)) {
            let same = same.word.text;
            return level.word.error(format!("there is `{same}` already"));
        }
        if level.kind == Some(Kind::Machine) && (at, level.count) != (0, 1) {
            return level.word.error("there is one machine, outermost");
        }
    }
    Ok(())
}

fn count_cpus(levels: &[Level<'_>]) -> Result<usize, TopologyError> {
    let mut total: usize = 1;
    for level in levels {
        total = total.saturating_mul(level.count);
        if total > MAX_CPUS {
            return level.word.error(format!("makes more than {MAX_CPUS} CPUs"));
        }
    }
    Ok(total)
}

fn place(levels: &[Level<'_>], total: usize, cpu: usize) -> Place {
    // Of each level: in which object, of all of that level, the CPU is.
    let object = |wanted: &dyn Fn(&Level<'_>) -> bool| -> Option<u32> {
        let mut objects = 1;
        let mut found = None;
        for level in levels {
            objects *= level.count;
            if wanted(level) {
                found = Some((cpu / (total / objects)) as u32);
            }
        }
        found
    };
    let of_kind = |kind: Kind| object(&|level: &Level<'_>| level.kind == Some(kind));
    let node = object(&|level: &Level<'_>| level.kind == Some(Kind::Node) || level.has_node);
    let llcs = [Kind::Llc, Kind::Package, Kind::Die].map(of_kind);
    Place {
        core: of_kind(Kind::Core).unwrap_or(cpu as u32),
        llc: llcs.into_iter().flatten().next().or(node).unwrap_or(0),
        node: node.unwrap_or(0),
    }
}

/// The numbers that `indexes=` gives: one by one (`0,2,1,3`), or as hwloc writes regular ones, as
/// loops `step*count:...`, the innermost first.
fn indexes(attributes: Word<'_>, total: usize) -> Result<Option<Vec<usize>>, TopologyError> {
    let words = attributes.text.trim_matches(['(', ')']).split_whitespace();
    let Some(text) = words
        .filter_map(|word| word.strip_prefix("indexes="))
        .next()
    else {
        return Ok(None);
    };
    let at = attributes.at + attributes.text.find(text).unwrap_or(0);
    let word = Word { text, at };
    let found = match text.contains('*') {
        true => from_loops(text, total),
        false => text.split(',').map(|n| n.parse().ok()).collect(),
    };
    let Some(found) = found else {
        return word.error("indexes are `0,2,1,3` or `2*2:1*2`");
    };
    let mut sorted = found.clone();
    sorted.sort_unstable();
    if !sorted.into_iter().eq(0..total) {
        return word.error(format!("does not give each of {total} CPUs its own number"));
    }
    Ok(Some(found))
}

fn from_loops(text: &str, total: usize) -> Option<Vec<usize>> {
    let parse = |part: &str| -> Option<(usize, usize)> {
        let (step, count) = part.split_once('*')?;
        Some((step.parse().ok()?, count.parse().ok()?))
    };
    let loops: Vec<(usize, usize)> = text.split(':').map(parse).collect::<Option<_>>()?;
    if loops.iter().any(|&(step, count)| step == 0 || count == 0) {
        return None;
    }
    let index = |object: usize| {
        let digits = loops.iter().scan(1, |unit: &mut usize, &(step, count)| {
            let digit = object / step % count * *unit;
            *unit = unit.saturating_mul(count);
            Some(digit)
        });
        digits.sum()
    };
    Some((0..total).map(index).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Topology {
        Topology::synthetic(text).unwrap_or_else(|e| panic!("{text}: {e}"))
    }

    /// CPUs, cores, last-level caches and nodes of a machine.
    fn counts(text: &str) -> [usize; 4] {
        let topology = parsed(text);
        let distinct = |of: fn(&Place) -> u32| {
            let mut ids: Vec<u32> = topology.cpus.iter().map(of).collect();
            ids.sort_unstable();
            ids.dedup();
            ids.len()
        };
        [
            topology.len(),
            distinct(|p| p.core),
            distinct(|p| p.llc),
            distinct(|p| p.node),
        ]
    }

    #[test]
    fn each_count_is_per_parent() {
        assert_eq!(counts("pack:1 l3:4 core:3 pu:2"), [24, 12, 4, 1]);
        assert_eq!(counts("pack:2 l3:4 core:3 pu:2"), [48, 24, 8, 1]);
        assert_eq!(counts("node:2 pack:1 l3:1 core:12 pu:2"), [48, 24, 2, 2]);
        assert_eq!(
            counts("pack:2 [numa(memory=1GB)] core:4 pu:1"),
            [8, 8, 2, 2]
        );
        assert_eq!(
            counts("machine:1 group0:2 die:2 l2:2 core:1 pu:2"),
            [16, 8, 4, 1]
        );
        assert_eq!(
            counts(
                "(memory=2GB) Package:1 NUMANode:2 L3Cache:2(size=32MB) L2Cache:4 L1dCache:1 L1iCache:1 Core:1 PU:2"
            ),
            [32, 16, 4, 2]
        );
    }

    #[test]
    fn what_is_not_said_is_as_large_as_it_can_be_or_as_small() {
        assert_eq!(counts("pu:6"), [6, 6, 1, 1]);
        assert_eq!(counts("node:2 core:3 pu:2"), [12, 6, 2, 2]);
        assert_eq!(counts("pack:2 core:3 pu:1"), [6, 6, 2, 1]);
        assert_eq!(counts("die:3 core:2 pu:1"), [6, 6, 3, 1]);
        assert_eq!(counts("pack:1 l2:4 core:2 pu:1"), [8, 8, 1, 1]);
    }

    #[test]
    fn bare_numbers_get_the_types_that_hwloc_gives_them() {
        assert_eq!(counts("8"), [8, 8, 1, 1]);
        assert_eq!(counts("2 4"), [8, 8, 2, 2]);
        assert_eq!(counts("2 2 4"), [16, 16, 2, 4]);
        assert_eq!(counts("2 2 3 2"), [24, 12, 2, 4]);
        assert_eq!(counts("1 2 2 1 1 3 2"), [24, 12, 4, 2]);
        assert_eq!(counts("pack:2 core:3 2"), [12, 6, 2, 1]);
    }

    #[test]
    fn the_named_machines_can_be_described() {
        let pairs = [
            ("T1", "pu:1"),
            ("T2", "node:1 l3:1 core:2 pu:1"),
            ("T8", "node:2 l3:1 core:2 pu:2"),
            ("T16", "node:2 l3:2 core:4 pu:1"),
            ("T24", "node:1 l3:1 core:12 pu:2"),
        ];
        for (name, description) in pairs {
            let named = Topology::named(name).unwrap();
            assert_eq!(parsed(description).cpus, named.cpus, "{name}");
        }
    }

    #[test]
    fn siblings_follow_each_other_unless_numbered_apart() {
        let cores = |t: &Topology| t.cpus.iter().map(|p| p.core).collect::<Vec<_>>();
        let next = parsed("pack:2 core:2 pu:2");
        assert_eq!(cores(&next), [0, 0, 1, 1, 2, 2, 3, 3]);
        assert_eq!(cores(&next.siblings_apart()), [0, 1, 2, 3, 0, 1, 2, 3]);
        let as_linux = parsed("pack:2 core:2 pu:2(indexes=2*4:1*2)");
        assert_eq!(cores(&as_linux), [0, 1, 2, 3, 0, 1, 2, 3]);
        let listed = parsed("core:2 pu:2(indexes=0,2,1,3)");
        assert_eq!(cores(&listed), [0, 1, 0, 1]);
    }

    #[test]
    fn errors_name_the_part_and_its_place() {
        let cases = [
            ("", "column 1: a machine is described as"),
            ("pack:2 cor:3 pu:2", "`cor:3` at column 8: `cor` is none of"),
            (
                "pack:2 core:x pu:2",
                "`core:x` at column 8: `x` is no number",
            ),
            ("pack:2 core:0 pu:2", "`core:0` at column 8: none of them"),
            ("pack:2 core pu:2", "`core` at column 8: how many?"),
            (
                "pack:2 core:4",
                "`core:4` at column 8: the last level is `pu`",
            ),
            (
                "pack:2 core:4 pu:2(a",
                "`pu:2(a` at column 15: `)` is missing",
            ),
            ("pack:2) pu:2", "`)` at column 7: closes nothing"),
            (
                "2 core:4 pu:2",
                "`2` at column 1: has no type, but `core:4` has",
            ),
            (
                "core:2 core:2 pu:1",
                "`core:2` at column 8: there is `core:2` already",
            ),
            (
                "pack:2 machine:1 pu:1",
                "`machine:1` at column 8: there is one machine",
            ),
            (
                "pack:64 core:16 pu:2",
                "`pu:2` at column 17: makes more than 1024 CPUs",
            ),
            ("pack:2 [core] pu:1", "`[core]` at column 8: only nodes"),
            (
                "pu:4(indexes=0,1,2,2)",
                "`0,1,2,2` at column 14: does not give",
            ),
            (
                "pu:4(indexes=core:pu)",
                "`core:pu` at column 14: indexes are",
            ),
            ("pu:99999999999999999999999", "is no number of objects"),
            (
                "1 1 1 1 1 1 1 1 1",
                "`1` at column 1: eight and more levels",
            ),
            ("ü:2", "`ü` is none of"),
        ];
        for (text, expected) in cases {
            let error = Topology::synthetic(text).expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        assert_eq!(counts("pack:64 core:8 pu:2")[0], 1024);
    }
}
