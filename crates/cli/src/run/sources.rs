//! Where the arguments of jobs come from: lines of a file, or `:::` and `::::` in COMMAND, as GNU
//! parallel has them: each of one with each of the other, the last one changing fastest.

use super::columns::JOINT;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// Where the values of one source are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// Behind `:::`.
    Words(Vec<Vec<u8>>),
    /// Behind `::::`: a file with lines; `-` is standard input.
    File(PathBuf),
}

/// How a source goes with the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum With {
    /// Each with each.
    Product,
    /// The first with the first and so on, until one of them ends (`:::+`).
    Pairs,
    /// The same, until the longest ends: the others begin again (`--link`).
    Cycle,
}

/// What stands behind COMMAND.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sources(pub(super) Vec<(With, Source)>);

/// How sources are told from COMMAND.
#[derive(Clone, Copy, Debug)]
pub(super) struct Markers<'a> {
    /// In front of values: `:::`.
    pub(super) words: &'a str,
    /// In front of files: `::::`.
    pub(super) files: &'a str,
    /// All sources go together.
    pub(super) link: bool,
}

impl Markers<'_> {
    /// Whether it is the beginning of a source: of files, linked to the one before.
    fn of(&self, word: &OsString) -> Option<(bool, bool)> {
        let text = word.to_str()?;
        let is = |marker: &str| match text.strip_prefix(marker) {
            Some("") => Some(false),
            Some("+") => Some(true),
            _ => None,
        };
        let words = is(self.words).map(|plus| (false, plus));
        words.or_else(|| is(self.files).map(|plus| (true, plus)))
    }

    /// How a source goes with the one before it. `plus`: it says that it is linked to that.
    fn with(&self, plus: bool) -> With {
        match (plus, self.link) {
            (true, _) => With::Pairs,
            (false, true) => With::Cycle,
            (false, false) => With::Product,
        }
    }
}

impl Sources {
    /// Takes the sources off the words, and leaves COMMAND.
    pub(super) fn split_off(words: &mut Vec<OsString>, markers: Markers<'_>) -> Self {
        let Some(first) = words.iter().position(|word| markers.of(word).is_some()) else {
            return Self::default();
        };
        let mut sources: Vec<(With, Source)> = Vec::new();
        let mut now = (With::Product, false);
        for word in words.drain(first..) {
            match (markers.of(&word), sources.last_mut()) {
                (Some((is_file, plus)), _) => {
                    now = (markers.with(plus), is_file);
                    if !is_file {
                        sources.push((now.0, Source::Words(Vec::new())));
                    }
                }
                (None, _) if now.1 => sources.push((now.0, Source::File(PathBuf::from(word)))),
                (None, Some((_, Source::Words(all)))) => all.push(word.into_vec()),
                (None, _) => unreachable!("a marker came first"),
            }
        }
        Self(sources)
    }

    /// With values that end at this byte, each of which was one.
    pub(super) fn divided(self, delimiter: u8) -> Self {
        let divide = |word: Vec<u8>| {
            let whole = word.strip_suffix(&[delimiter]).unwrap_or(&word);
            let parts = whole.split(|byte| *byte == delimiter);
            parts.map(<[u8]>::to_vec).collect::<Vec<_>>()
        };
        let source = |(with, source)| match source {
            Source::Words(words) => {
                let values = words.into_iter().flat_map(divide);
                (with, Source::Words(values.collect()))
            }
            file @ Source::File(_) => (with, file),
        };
        Self(self.0.into_iter().map(source).collect())
    }

    /// With these files as sources before the others.
    pub(super) fn behind(self, files: &[PathBuf], markers: Markers<'_>) -> Self {
        let source = |path: &PathBuf| (markers.with(false), Source::File(path.clone()));
        Self(files.iter().map(source).chain(self.0).collect())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// All lines that the sources make, one after the other: columns with joints between them.
pub(super) struct Rows {
    /// Sources that go together: so many rows each, of some columns.
    groups: Vec<Vec<Vec<u8>>>,
    /// The number of the next row; `None` at the end.
    next: Option<u64>,
}

impl Rows {
    pub(super) fn new(sources: Vec<(With, Vec<Vec<u8>>)>) -> Self {
        let mut groups: Vec<Vec<Vec<u8>>> = Vec::new();
        for (with, values) in sources {
            match (with, groups.last_mut()) {
                (With::Pairs | With::Cycle, Some(group)) => link(group, &values, with),
                _ => groups.push(values),
            }
        }
        Self {
            groups,
            next: Some(0),
        }
    }
}

/// Adds a column to rows.
fn link(rows: &mut Vec<Vec<u8>>, values: &[Vec<u8>], with: With) {
    let (few, many) = (rows.len().min(values.len()), rows.len().max(values.len()));
    let count = match with {
        With::Cycle if few > 0 => many,
        _ => few,
    };
    let of = |at: usize| {
        [
            &rows[at % rows.len()],
            &[JOINT][..],
            &values[at % values.len()],
        ]
        .concat()
    };
    *rows = (0..count).map(of).collect();
}

impl Iterator for Rows {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let number = self.next?;
        let (mut rest, mut columns) = (number, Vec::new());
        for group in self.groups.iter().rev() {
            let count = group.len() as u64;
            columns.push(&group[(rest.checked_rem(count)?) as usize][..]);
            rest /= count;
        }
        columns.reverse();
        let is_over = rest > 0 || columns.is_empty();
        self.next = (!is_over).then_some(number + 1);
        (!is_over).then(|| columns.join(&[JOINT][..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(words: &[&str], link: bool) -> (Vec<String>, Sources) {
        let mut words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let markers = Markers {
            words: ":::",
            files: "::::",
            link,
        };
        let sources = Sources::split_off(&mut words, markers);
        let text = |word: OsString| word.into_string().unwrap();
        (words.into_iter().map(text).collect(), sources)
    }

    fn rows(words: &[&str], link: bool) -> Vec<String> {
        let (_, sources) = split(words, link);
        let values = sources.0.into_iter().map(|(with, source)| match source {
            Source::Words(words) => (with, words),
            Source::File(path) => panic!("{path:?}"),
        });
        let text = |row: Vec<u8>| String::from_utf8(row).unwrap().replace('\0', " ");
        Rows::new(values.collect()).map(text).collect()
    }

    #[test]
    fn command_ends_where_the_sources_begin() {
        let (command, sources) = split(&["echo", "-n", ":::", "a", "b", "::::", "f", "-"], false);
        assert_eq!(command, ["echo", "-n"]);
        let words = Source::Words(vec![b"a".to_vec(), b"b".to_vec()]);
        let file = |name: &str| (With::Product, Source::File(PathBuf::from(name)));
        assert_eq!(sources.0, [(With::Product, words), file("f"), file("-")]);
        assert_eq!(split(&["echo", "::"], false).1.len(), 0);
    }

    #[test]
    fn the_last_source_changes_fastest() {
        let words = [":::", "a", "b", ":::", "1", "2", "3"];
        assert_eq!(
            rows(&words, false),
            ["a 1", "a 2", "a 3", "b 1", "b 2", "b 3"]
        );
        assert_eq!(rows(&[":::", "a", ":::"], false), [""; 0]);
        assert_eq!(rows(&[":::"], false), [""; 0]);
        assert_eq!(rows(&[":::", "a", "b"], false), ["a", "b"]);
    }

    #[test]
    fn linked_sources_go_together() {
        let words = [":::", "a", "b", ":::", "1", "2", "3"];
        assert_eq!(rows(&words, true), ["a 1", "b 2", "a 3"]);
        let words = [":::", "a", "b", ":::+", "1", "2", "3", ":::", "x", "y"];
        assert_eq!(rows(&words, false), ["a 1 x", "a 1 y", "b 2 x", "b 2 y"]);
    }
}
