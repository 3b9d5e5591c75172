//! COMMAND as one word with shell syntax: `'gzip -dc {} > {.}'`. A shell runs it; what is put into
//! it stays what it is, also between quotes. But a value that it begins with is a command:
//! `'{} 2>&1'`.

use super::hole::{Arguments, Form, Hole, Holes, Part};
use super::quote::quoted;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A word with one of these is no name of a program.
const SYNTAX: &[u8] = b" \t\n|&;<>()$`\\\"'";

/// Whether COMMAND is a script. A program may have such a name, too.
pub(super) fn is_script(command: &[OsString]) -> bool {
    let [word] = command else { return false };
    let has_syntax = word.as_bytes().iter().any(|byte| SYNTAX.contains(byte));
    has_syntax && !Path::new(word).is_file()
}

/// Whether GNU parallel would take a part of it for code in Perl.
pub(super) fn is_perl(word: &OsStr) -> bool {
    let holds = |mark: &[u8]| word.as_bytes().windows(2).any(|two| two == mark);
    holds(b"{=") && (holds(b"=}") || word == "{=")
}

/// A number that GNU parallel would pad: `{0#}`, `{0%}`.
pub(super) fn padded(word: &OsStr) -> Option<&'static str> {
    let word = word.to_str()?;
    ["{0#}", "{0%}"]
        .into_iter()
        .find(|form| word.contains(form))
}

/// What GNU parallel's `--plus` has and we do not, such as `{##}` and `{%.txt}`.
pub(super) fn other_plus_form(word: &OsStr) -> Option<&str> {
    let word = word.to_str()?;
    let mut openings = word.match_indices('{').map(|(at, _)| at);
    openings.find_map(|at| {
        let form = &word[at..=at + word[at..].find('}')?];
        let inner = &form[1..form.len() - 1];
        let is_other = inner.len() > 1 && inner.starts_with(['%', '#', '^', ',', ':']);
        let replaces = inner.starts_with('/') && inner[1..].trim_start_matches('/').contains('/');
        ((is_other || replaces) && !word[..at].ends_with('$')).then_some(form)
    })
}

/// A byte of a value becomes at most so many: a quote between quotes.
pub(super) const MOST_QUOTED: usize = 4;

/// Between which quotes something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quotes {
    Not,
    Single,
    Double,
    /// Of a substitution `$(...)`: inside it is as if there were none outside.
    Parenthesis,
    /// The same with backquotes.
    Backquote,
}

/// A part of a script.
#[derive(Clone, Debug)]
enum Piece {
    /// Between these quotes.
    One(Part, Quotes),
    /// A word between no quotes that is repeated for each column.
    Each(Vec<Part>),
}

/// A script with holes.
#[derive(Clone, Debug)]
pub(super) struct Script {
    pieces: Vec<Piece>,
    code: Option<Code>,
}

/// Which values are code.
#[derive(Clone, Debug)]
struct Code {
    /// All of them; else only the one that the script begins with.
    all: bool,
    /// A value that is the name of a file from here is that program.
    folder: PathBuf,
}

impl Script {
    /// The script; without a hole the job's columns are its last arguments. `repeats`: a word that
    /// has `{}` in it is repeated for each.
    pub(super) fn new(text: &OsStr, holes: &Holes, repeats: bool) -> Self {
        let mut scan = Scan {
            text: text.as_bytes(),
            at: 0,
            quotes: vec![Quotes::Not],
            plain: Vec::new(),
            parts: Vec::new(),
        };
        while scan.at < scan.text.len() {
            scan.step(holes);
        }
        let mut parts = scan.ended();
        let is_hole = |(part, _): &(Part, Quotes)| matches!(part, Part::Hole(_));
        if holes.max_args > 0 && !parts.iter().any(is_hole) {
            parts.push((Part::Text(b" ".to_vec()), Quotes::Not));
            let all = Hole::All(Form::Whole);
            parts.push((Part::Hole(all), Quotes::Not));
        }
        let pieces = match repeats {
            true => repeated(parts),
            false => parts
                .into_iter()
                .map(|(part, quotes)| Piece::One(part, quotes))
                .collect(),
        };
        Self { pieces, code: None }
    }

    /// A value that the script begins with is a command. `all`: so are the others then.
    pub(super) fn with_code(mut self, all: bool, folder: &Path) -> Self {
        let folder = folder.to_owned();
        let begins = begins_with_command(&self.pieces);
        self.code = begins.then_some(Code { all, folder });
        self
    }

    /// Whether a value is code in it.
    pub(super) fn has_code(&self) -> bool {
        self.code.is_some()
    }

    /// What the shell runs for this job.
    pub(super) fn text(&self, job: &Arguments<'_>) -> OsString {
        let mut made = Vec::new();
        for (at, piece) in self.pieces.iter().enumerate() {
            match piece {
                Piece::One(Part::Text(text), _) => made.extend_from_slice(text),
                Piece::One(Part::Hole(hole), quotes) => {
                    let values = job.values(*hole).into_iter().enumerate();
                    let put = |(nth, value): (usize, Vec<u8>)| match &self.code {
                        Some(code) if code.all || (at, nth) == (0, 0) => code.put(&value, *quotes),
                        _ => put(&value, *quotes),
                    };
                    let values: Vec<_> = values.map(put).collect();
                    made.extend(values.join(&b' '));
                }
                Piece::Each(parts) => {
                    let each = job.each(parts, |value| put(value, Quotes::Not));
                    made.extend(each.join(&b' '));
                }
            }
        }
        OsString::from_vec(made)
    }

    /// How many times the script has all columns.
    pub(super) fn copies(&self) -> usize {
        let all = |piece: &Piece| match piece {
            Piece::One(part, _) => usize::from(part.is_of_all()),
            Piece::Each(parts) => parts.iter().filter(|part| part.is_of_all()).count(),
        };
        self.pieces.iter().map(all).sum()
    }

    /// Bytes that every job has.
    pub(super) fn fixed(&self) -> usize {
        let texts = self.pieces.iter().map(|piece| match piece {
            Piece::One(part, _) => part.length(),
            Piece::Each(_) => 0,
        });
        texts.sum()
    }

    /// Bytes that each line of a job adds beside its own.
    pub(super) fn around(&self) -> usize {
        let texts = self.pieces.iter().map(|piece| match piece {
            Piece::One(..) => 0,
            Piece::Each(parts) => parts.iter().map(Part::length).sum::<usize>() + 1,
        });
        texts.sum()
    }
}

impl Code {
    /// Who names a program means it, whatever its name.
    fn put(&self, value: &[u8], quotes: Quotes) -> Vec<u8> {
        let path = self.folder.join(OsStr::from_bytes(value));
        match path.is_file() {
            true => put(value, quotes),
            false => value.to_vec(),
        }
    }
}

/// Whether a whole value stands where the shell reads the name of what it runs.
fn begins_with_command(pieces: &[Piece]) -> bool {
    let ends_word = match pieces.get(1) {
        None => true,
        Some(Piece::One(Part::Text(text), _)) => is_between(text[0]),
        Some(_) => false,
    };
    ends_word && matches!(pieces.first(), Some(Piece::One(part, _)) if is_value(part))
}

/// Whether COMMAND is nothing but a value: lines are commands.
pub(super) fn is_command(command: &[OsString], holes: &Holes) -> bool {
    let [word] = command else { return false };
    matches!(&holes.parts(word.as_bytes())[..], [part] if is_value(part))
}

fn is_value(part: &Part) -> bool {
    use Form::Whole;
    matches!(part, Part::Hole(Hole::All(Whole) | Hole::Column(_, Whole)))
}

/// With each plain word around a hole for all columns as one piece.
fn repeated(parts: Vec<(Part, Quotes)>) -> Vec<Piece> {
    let mut words = Chunks::default();
    for (part, quotes) in parts {
        match (part, quotes) {
            (hole @ Part::Hole(_), Quotes::Not) => words.word.push(hole),
            (Part::Text(text), Quotes::Not) => {
                for run in text.chunk_by(|a, b| is_plain(*a) == is_plain(*b)) {
                    words.add(run);
                }
            }
            (part, quotes) => {
                words.end(false);
                words.pieces.push(Piece::One(part, quotes));
                words.is_joined = true;
            }
        }
    }
    words.end(true);
    words.pieces
}

fn is_plain(byte: u8) -> bool {
    !SYNTAX.contains(&byte)
}

/// Whether a word ends at it.
fn is_between(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b"|&;<>()".contains(&byte)
}

/// On the way through the words of a script.
#[derive(Default)]
struct Chunks {
    pieces: Vec<Piece>,
    /// Plain parts, not yet in a piece.
    word: Vec<Part>,
    /// What is before them, such as a quote, is of the same word.
    is_joined: bool,
}

impl Chunks {
    /// Bytes that are all plain, or none of them.
    fn add(&mut self, run: &[u8]) {
        let part = Part::Text(run.to_vec());
        let (Some(&first), Some(&last)) = (run.first(), run.last()) else {
            return;
        };
        if is_plain(first) {
            return self.word.push(part);
        }
        self.end(is_between(first));
        self.pieces.push(Piece::One(part, Quotes::Not));
        self.is_joined = !is_between(last);
    }

    /// `is_whole`: what follows is of another word.
    fn end(&mut self, is_whole: bool) {
        let parts = std::mem::take(&mut self.word);
        let is_word = is_whole && !self.is_joined && parts.len() > 1;
        if is_word && parts.iter().any(Part::is_of_all) {
            self.pieces.push(Piece::Each(parts));
        } else {
            let one = |part| Piece::One(part, Quotes::Not);
            self.pieces.extend(parts.into_iter().map(one));
        }
    }
}

/// The value as the shell has to read it there.
fn put(value: &[u8], quotes: Quotes) -> Vec<u8> {
    match quotes {
        Quotes::Double => escaped(value, b"\\\"$`"),
        // They end, the quote comes escaped, and they begin again.
        Quotes::Single => {
            let parts: Vec<&[u8]> = value.split(|&byte| byte == b'\'').collect();
            parts.join(&br"'\''"[..])
        }
        Quotes::Not | Quotes::Parenthesis => quoted(OsStr::from_bytes(value)),
        // They take one layer of backslashes off, whatever quotes are inside.
        Quotes::Backquote => escaped(&quoted(OsStr::from_bytes(value)), b"\\`"),
    }
}

fn escaped(value: &[u8], special: &[u8]) -> Vec<u8> {
    let one = |&byte: &u8| match special.contains(&byte) {
        true => vec![b'\\', byte],
        false => vec![byte],
    };
    value.iter().flat_map(one).collect()
}

/// On the way through a script.
struct Scan<'a> {
    text: &'a [u8],
    at: usize,
    /// The innermost last; never empty.
    quotes: Vec<Quotes>,
    plain: Vec<u8>,
    parts: Vec<(Part, Quotes)>,
}

impl Scan<'_> {
    fn step(&mut self, holes: &Holes) {
        let before = self.at.checked_sub(1).map(|before| self.text[before]);
        if let Some((hole, length)) = holes.at(&self.text[self.at..], before) {
            self.flush();
            self.parts.push((Part::Hole(hole), self.innermost()));
            self.at += length;
            return;
        }
        let byte = self.text[self.at];
        self.take();
        if byte == b'\\' && self.innermost() != Quotes::Single {
            self.take();
            return;
        }
        let dollar = before == Some(b'$');
        self.follow(byte, dollar);
    }

    fn follow(&mut self, byte: u8, after_dollar: bool) {
        let inner = self.innermost();
        let closes = match inner {
            Quotes::Not => false,
            Quotes::Single => byte == b'\'',
            Quotes::Double => byte == b'"',
            Quotes::Parenthesis => byte == b')',
            Quotes::Backquote => byte == b'`',
        };
        let opened = match byte {
            _ if closes || inner == Quotes::Single => None,
            b'\'' if inner != Quotes::Double => Some(Quotes::Single),
            b'"' => Some(Quotes::Double),
            b'(' if inner != Quotes::Double || after_dollar => Some(Quotes::Parenthesis),
            b'`' => Some(Quotes::Backquote),
            _ => None,
        };
        if closes {
            self.quotes.pop();
        }
        self.quotes.extend(opened);
    }

    fn take(&mut self) {
        self.plain.extend(self.text.get(self.at));
        self.at += 1;
    }

    fn innermost(&self) -> Quotes {
        *self.quotes.last().expect("it is never empty")
    }

    fn flush(&mut self) {
        if !self.plain.is_empty() {
            let text = std::mem::take(&mut self.plain);
            self.parts.push((Part::Text(text), self.innermost()));
        }
    }

    fn ended(mut self) -> Vec<(Part, Quotes)> {
        self.flush();
        self.parts
    }
}

#[cfg(test)]
mod tests {
    use super::super::columns::Cut;
    use super::*;
    use proptest::prelude::*;
    use std::process::Command;

    fn text(script: &str, value: &[u8]) -> OsString {
        let holes = Holes::of(Cut::Whole);
        let job = Arguments {
            columns: &[value],
            sequence: 1,
            slot: 1,
        };
        Script::new(OsStr::new(script), &holes, false).text(&job)
    }

    fn of(word: &str) -> bool {
        is_script(&[OsString::from(word)])
    }

    #[test]
    fn one_word_with_shell_syntax_is_a_script() {
        assert!(of("gzip -d {}") && of("true;") && of("echo>x"));
        assert!(!of("gzip") && !of("./{}.sh") && !of("{}") && !of("a.b-c_d"));
        assert!(!is_script(&["a b".into(), "c".into()]) && !is_script(&[]));
    }

    #[test]
    fn without_a_hole_the_line_is_the_last_argument() {
        assert_eq!(text("cd /; ls -l", b"a b"), "cd /; ls -l 'a b'");
        assert_eq!(text("echo {#}; ls", b"x"), "echo 1; ls");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn a_value_arrives_whole_between_any_quotes(
            value in prop::collection::vec(1_u8.., 0..12),
            script in prop::sample::select(vec![
                r#"printf %s {}"#, r#"printf %s "{}""#, r#"printf %s '{}'"#, r#"printf %s "a"{}'b'"#,
                r#"printf %s "$(printf %s {}; echo)""#, r#"printf %s "$(printf %s "{}"; echo)""#,
                r#"x="it's {}"; printf %s "$x""#, r#"(printf %s {})"#, r#"printf %s "`printf %s {}; echo`""#, r#"printf %s \"{}"#,
                r#"printf %s "\"{}""#, r#"case a in (a) printf %s {};; esac"#,
            ]),
        ) {
            // A substitution drops newlines at its end.
            prop_assume!(value.last() != Some(&b'\n'));
            let ran = Command::new("sh").arg("-c").arg(text(script, &value)).output().unwrap();
            let around = |out: Vec<u8>| match script {
                s if s.contains("\"a\"") => [b"a", &out[..], b"b"].concat(),
                s if s.contains("it's") => [b"it's ", &out[..]].concat(),
                s if s.contains("\\\"") => [b"\"", &out[..]].concat(),
                _ => out,
            };
            prop_assert_eq!(ran.stdout, around(value), "{}: {}", script,
                String::from_utf8_lossy(&ran.stderr));
        }
    }
}
