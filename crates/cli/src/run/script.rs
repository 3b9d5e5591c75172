//! COMMAND as one word with shell syntax: `'gzip -dc {} > {.}'`. A shell runs it, and reads a
//! variable wherever a value stands, so that a value stays what it is. But one that it begins with
//! is a command: `'{} 2>&1'`.
//!
//! | module | |
//! | --- | --- |
//! | `scan`, `frame` | the way through a script: in what each hole stands |
//! | `commands`, `document`, `lookahead` | what it knows of words, here-documents and what follows |
//! | `foreign`, `scan/others` | which words are scripts of other shells, and where a value stands there |
//! | `spot` | what is put there |

mod commands;
mod document;
mod foreign;
mod frame;
mod lookahead;
mod scan;
mod spot;

use super::hole::{Arguments, Form, Hole, Holes, Part};
use scan::Scan;
use spot::{Inside, Spot};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

pub(super) use spot::VARIABLE;

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
        let is_other = inner.len() > 1 && inner.starts_with(['%', '#', '^', ',', ':'])
            || inner.starts_with("+..");
        let replaces = inner.starts_with('/') && inner[1..].trim_start_matches('/').contains('/');
        ((is_other || replaces) && !word[..at].ends_with('$')).then_some(form)
    })
}

/// A part of a script.
#[derive(Clone, Debug)]
enum Piece {
    One(Part, Spot),
    /// A word between no quotes that is repeated for each column, and where its values stand.
    Each(Vec<Part>, Spot),
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
    /// has `{}` in it is repeated for each. The error is one of usage.
    pub(super) fn new(text: &OsStr, holes: &Holes, repeats: bool) -> Result<Self, String> {
        let scanned = Scan::whole(text.as_bytes(), holes);
        let mut parts = scanned.parts;
        let is_hole = |(part, _): &(Part, Spot)| matches!(part, Part::Hole(_));
        if holes.max_args > 0 && !parts.iter().any(is_hole) {
            if scanned.ends_with_document {
                return Err(format!(
                    "a value would stand behind the here-document of \"{}\": write {{}} where it \
                     belongs",
                    text.display()
                ));
            }
            trim_end(&mut parts);
            // Whoever ends a script with a comment wants no value.
            let end = match scanned.ends_with_comment {
                true => Spot {
                    inside: Inside::Comment,
                    ..scanned.end
                },
                false => scanned.end,
            };
            parts.push((Part::Text(b" ".to_vec()), end));
            parts.push((Part::Hole(Hole::All(Form::Whole)), end));
        }
        let is_number = |part: &Part| matches!(part, Part::Hole(Hole::Sequence | Hole::Slot));
        let is_lost = |part: &(Part, Spot)| {
            is_hole(part) && !is_number(&part.0) && part.1.inside == Inside::Verbatim
        };
        if parts.iter().any(is_lost) {
            return Err(format!(
                "a shell puts nothing into the lines behind <<'END': write <<END in \"{}\", or \
                 -I WORD if no value is meant there",
                text.display()
            ));
        }
        let pieces = match repeats {
            true => repeated(parts),
            false => parts
                .into_iter()
                .map(|(part, spot)| Piece::One(part, spot))
                .collect(),
        };
        Ok(Self { pieces, code: None })
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

    /// What the shell runs for this job, and the variables that it has for that. Where a value
    /// cannot stand: a message and a failure.
    pub(super) fn filled(&self, job: &Arguments<'_>) -> (OsString, Vec<OsString>) {
        let mut variables = Vec::new();
        let put = |spot: &Spot, value| spot.put(value, &mut variables);
        match self.written(job, put) {
            Ok(text) => {
                let variables = variables.into_iter().map(OsString::from_vec);
                (OsString::from_vec(text), variables.collect())
            }
            Err(why) => {
                let why = format!("cmwq run: job {}: {why}", job.sequence);
                let text = format!("printf '%s\\n' '{why}' >&2; exit 2");
                (text.into(), Vec::new())
            }
        }
    }

    /// The same as somebody would type it.
    pub(super) fn typed(&self, job: &Arguments<'_>) -> Vec<u8> {
        let typed = self.written(job, |spot, value| Ok(spot.typed(&value)));
        typed.unwrap_or_default()
    }

    /// `put`: what becomes of a value, where it stands.
    fn written(
        &self,
        job: &Arguments<'_>,
        mut put: impl FnMut(&Spot, Vec<u8>) -> Result<Vec<u8>, &'static str>,
    ) -> Result<Vec<u8>, &'static str> {
        let mut made = Vec::new();
        for (at, piece) in self.pieces.iter().enumerate() {
            match piece {
                Piece::One(Part::Text(text), _) => made.extend_from_slice(text),
                Piece::One(Part::Hole(hole), spot) => {
                    let values = job.values(*hole).into_iter().enumerate();
                    let put = |(nth, value): (usize, Vec<u8>)| match &self.code {
                        Some(code) if code.is(&value, (at, nth)) => Ok(value),
                        _ => put(spot, value),
                    };
                    let values: Result<Vec<_>, _> = values.map(put).collect();
                    made.extend(values?.join(&b' '));
                }
                Piece::Each(parts, spot) => {
                    let each = job.each(parts, |value| put(spot, value.to_vec()))?;
                    made.extend(each.join(&b' '));
                }
            }
        }
        Ok(made)
    }

    /// How many times the script has all columns.
    pub(super) fn copies(&self) -> usize {
        let all = |piece: &Piece| match piece {
            Piece::One(part, _) => usize::from(part.is_of_all()),
            Piece::Each(parts, _) => parts.iter().filter(|part| part.is_of_all()).count(),
        };
        self.pieces.iter().map(all).sum()
    }

    /// Bytes that every job has.
    pub(super) fn fixed(&self) -> usize {
        let texts = self.pieces.iter().map(|piece| match piece {
            Piece::One(part, _) => part.length() + spot::LONGEST,
            Piece::Each(..) => 0,
        });
        texts.sum()
    }

    /// Bytes that each line of a job adds beside its own.
    pub(super) fn around(&self) -> usize {
        let texts = self.pieces.iter().map(|piece| match piece {
            Piece::One(..) => 0,
            Piece::Each(parts, _) => parts.iter().map(Part::length).sum::<usize>() + 1,
        });
        // The name of each variable stands in its value, too.
        texts.sum::<usize>() + self.copies() * 2 * (spot::LONGEST + 1)
    }
}

impl Code {
    /// Whether this value is, of that piece and so far behind in it. Who names a program means it,
    /// whatever its name.
    fn is(&self, value: &[u8], at: (usize, usize)) -> bool {
        let is_file = || self.folder.join(OsStr::from_bytes(value)).is_file();
        (self.all || at == (0, 0)) && !is_file()
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

/// A value behind the last newline would be a command of its own.
fn trim_end(parts: &mut [(Part, Spot)]) {
    if let Some((Part::Text(text), spot)) = parts.last_mut()
        && !spot.is_nested
    {
        text.truncate(text.trim_ascii_end().len());
    }
}

/// With each plain word around a hole for all columns as one piece.
fn repeated(parts: Vec<(Part, Spot)>) -> Vec<Piece> {
    let mut words = Chunks::default();
    for (part, spot) in parts {
        match part {
            Part::Hole(_) if spot.is_word() => words.word.push((part, spot)),
            Part::Text(text) if spot.is_word() => {
                for run in text.chunk_by(|a, b| is_plain(*a) == is_plain(*b)) {
                    words.add(run);
                }
            }
            part => {
                words.end(false);
                words.pieces.push(Piece::One(part, spot));
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
    word: Vec<(Part, Spot)>,
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
            return self.word.push((part, Spot::WORD));
        }
        self.end(is_between(first));
        self.pieces.push(Piece::One(part, Spot::WORD));
        self.is_joined = !is_between(last);
    }

    /// `is_whole`: what follows is of another word.
    fn end(&mut self, is_whole: bool) {
        let parts = std::mem::take(&mut self.word);
        let is_word = is_whole && !self.is_joined && parts.len() > 1;
        if is_word && parts.iter().any(|(part, _)| part.is_of_all()) {
            let spots = parts.iter().map(|(_, spot)| *spot);
            let spot = spots.fold(Spot::WORD, Spot::and);
            let parts = parts.into_iter().map(|(part, _)| part).collect();
            self.pieces.push(Piece::Each(parts, spot));
        } else {
            let one = |(part, spot)| Piece::One(part, spot);
            self.pieces.extend(parts.into_iter().map(one));
        }
    }
}

#[cfg(test)]
mod tests;
