//! What stands for a job's arguments in the words of COMMAND: `{}`, `{.}`, `{2/}`, `{#}`, ...
//!
//! The names are GNU parallel's. What only looks alike stays as it is: `{2}` where there is no
//! second column (`grep -E 'a{2}'`), and whatever stands behind a `$`, which is the shell's.

use super::columns::Cut;

/// A part of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Text(Vec<u8>),
    Hole(Hole),
}

impl Part {
    /// Whether it stands for all columns.
    pub(super) fn is_of_all(&self) -> bool {
        matches!(self, Part::Hole(Hole::All(_)))
    }

    /// Bytes that it has in every job.
    pub(super) fn length(&self) -> usize {
        match self {
            Part::Text(text) => text.len(),
            Part::Hole(_) => 0,
        }
    }
}

/// What is put in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hole {
    /// `{}` and the like: all columns.
    All(Form),
    /// `{2}` and the like: one column, from 1; from the last one if negative.
    Column(i32, Form),
    /// `{#}`: the number of the job, from 1.
    Sequence,
    /// `{%}`: the number of its slot, from 1.
    Slot,
}

/// What of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `{}`
    Whole,
    /// `{.}`: without the extension; without so many.
    Stem(usize),
    /// `{/}`: without the folder.
    Base,
    /// `{//}`: the folder.
    Folder,
    /// `{/.}`: without folder and extension; without so many.
    BaseStem(usize),
    /// `{+.}`: the extension.
    Extension,
    /// `{+/}`: the folder, if the column names one.
    AnyFolder,
}

/// Bytes of one at most, as names of columns may be long.
const LONGEST: usize = 256;

const FORMS: [(&[u8], Form); 5] = [
    (b"/.", Form::BaseStem(1)),
    (b"//", Form::Folder),
    (b"/", Form::Base),
    (b".", Form::Stem(1)),
    (b"", Form::Whole),
];
/// And with `--plus`.
const MORE_FORMS: [(&[u8], Form); 6] = [
    (b"..", Form::Stem(2)),
    (b"...", Form::Stem(3)),
    (b"/..", Form::BaseStem(2)),
    (b"/...", Form::BaseStem(3)),
    (b"+/", Form::AnyFolder),
    (b"+.", Form::Extension),
];

impl Form {
    /// As a path: the extension is what is behind the last dot of the last component, if that has
    /// something before it.
    pub(super) fn of(self, column: &[u8]) -> &[u8] {
        let slash = column.iter().rposition(|&byte| byte == b'/');
        let base_at = slash.map_or(0, |at| at + 1);
        let stem_end = |count| {
            let name = |end: usize| &column[base_at..end];
            (0..count).fold(column.len(), |end, _| match dot_in(name(end)) {
                Some(at) => base_at + at,
                None => end,
            })
        };
        match self {
            Form::Whole => column,
            Form::Stem(count) => &column[..stem_end(count)],
            Form::Base => &column[base_at..],
            Form::BaseStem(count) => &column[base_at..stem_end(count)],
            Form::Extension => {
                let dot = column[base_at..].iter().rposition(|&byte| byte == b'.');
                dot.map_or(b"", |at| &column[base_at + at + 1..])
            }
            Form::AnyFolder => slash.map_or(b"", |at| &column[..at]),
            Form::Folder => match slash {
                None => b".",
                Some(0) => b"/",
                Some(at) => &column[..at],
            },
        }
    }
}

/// Where the extension begins, if there is something before it.
fn dot_in(name: &[u8]) -> Option<usize> {
    let dot = name.iter().rposition(|&byte| byte == b'.');
    dot.filter(|&at| at > 0)
}

/// Which words are holes.
#[derive(Clone, Debug)]
pub(super) struct Holes {
    /// `-I`: stands for the line, instead of `{}`.
    pub(super) line: Option<Vec<u8>>,
    pub(super) cut: Cut,
    /// Lines a job is given at most: above 1 they are its columns.
    pub(super) max_args: usize,
    /// `--header`: what the columns are called.
    pub(super) names: Vec<Vec<u8>>,
    /// `--plus`: more forms.
    pub(super) plus: bool,
}

#[cfg(test)]
impl Holes {
    /// Of lines that are cut like that, with no options.
    pub(super) fn of(cut: Cut) -> Self {
        Self {
            line: None,
            cut,
            max_args: 1,
            names: Vec::new(),
            plus: false,
        }
    }
}

impl Holes {
    /// The hole that the text begins with, and its length. `before`: the byte in front of it.
    pub(super) fn at(&self, text: &[u8], before: Option<u8>) -> Option<(Hole, usize)> {
        let is_brace = text.first() == Some(&b'{');
        let closing = || text.iter().take(LONGEST).position(|&byte| byte == b'}');
        let end = is_brace.then(closing).flatten();
        let inner = end.map(|end| &text[1..end]);
        if let (Some(inner @ [_, ..]), Some(end)) = (inner, end) {
            let hole = self.named(inner).filter(|_| before != Some(b'$'));
            if let Some(hole) = hole {
                return Some((hole, end + 1));
            }
        }
        let line = self.line.as_deref().unwrap_or(b"{}");
        let is_line = text.starts_with(line);
        is_line.then_some((Hole::All(Form::Whole), line.len()))
    }

    fn named(&self, inner: &[u8]) -> Option<Hole> {
        match inner {
            b"#" => return Some(Hole::Sequence),
            b"%" => return Some(Hole::Slot),
            _ => {}
        }
        if let Some(hole) = self.column_called(inner) {
            return Some(hole);
        }
        let is_number = |byte: &&u8| byte.is_ascii_digit() || **byte == b'-';
        let digits = inner.iter().take_while(is_number).count();
        let (number, form) = inner.split_at(digits);
        let (_, form) = self.forms().find(|(name, _)| *name == form)?;
        if number.is_empty() {
            return Some(Hole::All(form));
        }
        let number: i32 = std::str::from_utf8(number).ok()?.parse().ok()?;
        let is_column = number != 0 && self.has(number.unsigned_abs() as usize);
        is_column.then_some(Hole::Column(number, form))
    }

    /// `{name}`, `{name.}`, ...
    fn column_called(&self, inner: &[u8]) -> Option<Hole> {
        self.forms().find_map(|(ending, form)| {
            let name = inner.strip_suffix(ending)?;
            let is_it = |known: &Vec<u8>| !name.is_empty() && known == name;
            let at = self.names.iter().position(is_it)?;
            Some(Hole::Column(i32::try_from(at + 1).ok()?, form))
        })
    }

    /// What stands between braces in the word like the name of a column, and is none.
    pub(super) fn stranger(&self, word: &[u8]) -> Option<Vec<u8>> {
        let texts = self.parts(word).into_iter().filter_map(|part| match part {
            Part::Text(text) if !self.names.is_empty() => Some(text),
            _ => None,
        });
        let like_a_name = |text: Vec<u8>| {
            let opening = |at: &usize| text[*at] == b'{' && !text[..*at].ends_with(b"$");
            let openings = (0..text.len()).filter(opening);
            let inners = openings.filter_map(|at| {
                let inner = &text[at + 1..];
                let end = inner.iter().position(|&byte| byte == b'}')?;
                Some(inner[..end].to_vec())
            });
            inners.into_iter().find(|inner| is_like_a_name(inner))
        };
        texts.into_iter().find_map(like_a_name)
    }

    fn forms(&self) -> impl Iterator<Item = (&'static [u8], Form)> {
        let more = MORE_FORMS.into_iter().filter(|_| self.plus);
        FORMS.into_iter().chain(more)
    }

    fn has(&self, number: usize) -> bool {
        match self.max_args {
            0 | 1 => self.cut.has(number),
            most => number <= most,
        }
    }

    /// The parts of a word.
    pub(super) fn parts(&self, word: &[u8]) -> Vec<Part> {
        let (mut parts, mut text, mut at) = (Vec::new(), Vec::new(), 0);
        while at < word.len() {
            let before = at.checked_sub(1).map(|before| word[before]);
            let Some((hole, length)) = self.at(&word[at..], before) else {
                text.push(word[at]);
                at += 1;
                continue;
            };
            if !text.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut text)));
            }
            parts.push(Part::Hole(hole));
            at += length;
        }
        if !text.is_empty() || parts.is_empty() {
            parts.push(Part::Text(text));
        }
        parts
    }
}

/// Whether somebody might call a column so, with a form behind it.
fn is_like_a_name(inner: &[u8]) -> bool {
    let is_first = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    let is_later = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-./".contains(byte);
    inner.first().is_some_and(is_first) && inner.iter().all(is_later)
}

/// What a job is, to fill the holes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arguments<'a> {
    pub(super) columns: &'a [&'a [u8]],
    /// From 1.
    pub(super) sequence: u64,
    pub(super) slot: usize,
}

impl Arguments<'_> {
    /// What the hole stands for: one value, or one for each column; none if this line has no such
    /// column.
    pub(super) fn values(&self, hole: Hole) -> Vec<Vec<u8>> {
        match hole {
            Hole::All(form) => {
                let columns = self.columns.iter();
                columns.map(|column| form.of(column).to_vec()).collect()
            }
            Hole::Column(number, form) => {
                let column = self.column(number).into_iter();
                column.map(|column| form.of(column).to_vec()).collect()
            }
            Hole::Sequence => vec![self.sequence.to_string().into_bytes()],
            Hole::Slot => vec![self.slot.to_string().into_bytes()],
        }
    }

    /// The parts put together once for each column, which all of them then stand for. `quoted`:
    /// what becomes of a value.
    pub(super) fn each<E>(
        &self,
        parts: &[Part],
        mut quoted: impl FnMut(&[u8]) -> Result<Vec<u8>, E>,
    ) -> Result<Vec<Vec<u8>>, E> {
        let one = |column: &&[u8]| {
            let parts = parts.iter().map(|part| match part {
                Part::Text(text) => Ok(text.clone()),
                Part::Hole(Hole::All(form)) => quoted(form.of(column)),
                Part::Hole(hole) => {
                    let values = self.values(*hole).into_iter();
                    let values: Result<Vec<_>, E> = values.map(|value| quoted(&value)).collect();
                    Ok(values?.join(&b' '))
                }
            });
            let parts: Result<Vec<_>, E> = parts.collect();
            Ok(parts?.concat())
        };
        self.columns.iter().map(one).collect()
    }

    fn column(&self, number: i32) -> Option<&[u8]> {
        let distance = number.unsigned_abs() as usize;
        let at = match number > 0 {
            true => Some(distance - 1),
            false => self.columns.len().checked_sub(distance),
        };
        at.and_then(|at| self.columns.get(at)).copied()
    }
}

/// A text with holes that becomes one text.
#[derive(Clone, Debug)]
pub(super) struct Text(Vec<Part>);

impl Text {
    pub(super) fn new(text: &[u8], holes: &Holes) -> Self {
        Self(holes.parts(text))
    }

    /// Whether it is another one for another job.
    pub(super) fn has_holes(&self) -> bool {
        self.0.iter().any(|part| matches!(part, Part::Hole(_)))
    }

    pub(super) fn filled(&self, job: &Arguments<'_>) -> Vec<u8> {
        let parts = self.0.iter().flat_map(|part| match part {
            Part::Text(text) => text.clone(),
            Part::Hole(hole) => job.values(*hole).join(&b' '),
        });
        parts.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(holes: &Holes, word: &str, columns: &[&str]) -> String {
        let columns: Vec<&[u8]> = columns.iter().map(|column| column.as_bytes()).collect();
        let job = Arguments {
            columns: &columns,
            sequence: 7,
            slot: 3,
        };
        let text = Text::new(word.as_bytes(), holes);
        String::from_utf8(text.filled(&job)).unwrap()
    }

    #[test]
    fn paths_are_taken_apart_as_parallel_does() {
        let holes = Holes::of(Cut::Whole);
        let of = |path| filled(&holes, "{} {.} {/} {//} {/.}", &[path]);
        assert_eq!(of("a/b.c.gz"), "a/b.c.gz a/b.c b.c.gz a b.c");
        assert_eq!(of("b.gz"), "b.gz b b.gz . b");
        assert_eq!(of("/b"), "/b /b b / b");
        assert_eq!(of("a.d/b"), "a.d/b a.d/b b a.d b");
        assert_eq!(of("a/.rc"), "a/.rc a/.rc .rc a .rc");
    }

    #[test]
    fn what_only_looks_alike_stays() {
        let whole = Holes::of(Cut::Whole);
        for word in [
            "a{2}", "{0}", "{-2}", "{ }", "{a}", "{", "{...}", "${#}", "${1}", "{1,2}",
        ] {
            assert_eq!(filled(&whole, word, &["x"]), word);
        }
        assert_eq!(filled(&whole, "{1} {-1} {1.}", &["x.y"]), "x.y x.y x");
        let two = Holes::of(Cut::Joints(2));
        assert_eq!(
            filled(&two, "a{3} {2}{1} ${2}", &["x", "y"]),
            "a{3} yx ${2}"
        );
        assert_eq!(filled(&two, "{-1} {2.} {-2/}", &["d/x", "y.z"]), "y.z y x");
    }

    #[test]
    fn numbers_and_missing_columns() {
        let columns = Holes::of(Cut::At(
            super::super::columns::Separator::parse(",").unwrap(),
        ));
        assert_eq!(
            filled(&columns, "{#}-{%} [{9}] {}", &["x", "y"]),
            "7-3 [] x y"
        );
    }

    #[test]
    fn there_are_more_forms_if_asked_for() {
        let plus = Holes {
            plus: true,
            ..Holes::of(Cut::Whole)
        };
        let of = |path| filled(&plus, "{..} {...} {/..} {+/} {+.} {1..}", &[path]);
        assert_eq!(of("d.e/a.b.c.gz"), "d.e/a.b d.e/a a.b d.e gz d.e/a.b");
        assert_eq!(of("d/.a"), "d/.a d/.a .a d a d/.a");
        assert_eq!(of("a"), "a a a   a");
        assert_eq!(
            filled(&Holes::of(Cut::Whole), "{..} {+/}", &["a.b.c"]),
            "{..} {+/}"
        );
    }

    #[test]
    fn columns_may_have_names() {
        let named = Holes {
            names: vec![b"file".to_vec(), b"".to_vec(), b"a b".to_vec()],
            ..Holes::of(Cut::Joints(3))
        };
        let filled = filled(
            &named,
            "{file.}-{a b}-{3}-{} {other} ${file}",
            &["x.y", "1", "2"],
        );
        assert_eq!(filled, "x-2-2-x.y 1 2 {other} ${file}");
    }

    #[test]
    fn another_word_may_stand_for_the_line() {
        let of = |line: &str, word| {
            let holes = Holes {
                line: Some(line.as_bytes().to_vec()),
                ..Holes::of(Cut::Whole)
            };
            filled(&holes, word, &["x.y"])
        };
        assert_eq!(of("@@", "{} @@.@@ {#} {.}"), "{} x.y.x.y 7 x");
        assert_eq!(of("%", "% {%}"), "x.y 3");
        assert_eq!(of("{}", "{} {/}"), "x.y x.y");
    }
}
