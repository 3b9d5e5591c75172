//! Where in a script a value stands, and what it has to look like there, so that the shell takes it
//! for nothing but itself.

use super::super::quote::{between, quoted};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// In what a value stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Inside {
    /// It is, or is a part of, a word between no quotes. `redirects`: a `<` or `>` follows, before
    /// which a number would be a descriptor.
    Word { redirects: bool },
    /// `'...'`
    Single,
    /// `$'...'`, which only bash has.
    DollarSingle,
    /// `"..."`
    Double,
    /// `"${x:-...}"`
    Expansion,
    /// `$((...))`, and what else the shell reads as a number: it would look for substitutions in
    /// what it has found there.
    Arithmetic,
    /// `# ...`
    Comment,
    /// The lines behind `<<END`; not `expands`: behind `<<'END'`.
    HereDocument { end: Vec<u8>, expands: bool },
    /// Nothing can be put there, as this says.
    Nowhere(&'static str),
}

/// Where a part of a script stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) inside: Inside,
    /// In so many pairs of backquotes. Each takes off one layer of backslashes, whatever quotes are
    /// inside.
    pub(super) backquotes: usize,
    /// In a substitution in a here-document, which is divided into lines before anything else.
    pub(super) is_in_line: bool,
    /// In quotes, brackets or the like.
    pub(super) is_nested: bool,
}

/// Expands to nothing, but makes a line of a here-document another one than its end.
const NOTHING: &[u8] = b"${IFS+}";

const NOT_PLAIN: &str = "a value that is no plain number cannot stand in an arithmetic expression";
const QUOTE: &str = "a value with a quote cannot stand in \"${...}\"";
const IN_HERE_DOCUMENT: &str =
    "a value with a newline, or with what ends the here-document, cannot stand in it";

impl Spot {
    /// A word between no quotes at all.
    pub(super) const WORD: Self = Self {
        inside: Inside::Word { redirects: false },
        backquotes: 0,
        is_in_line: false,
        is_nested: false,
    };

    /// Whether it is such a word.
    pub(super) fn is_word(&self) -> bool {
        matches!(self.inside, Inside::Word { .. }) && !self.is_nested
    }

    /// Why nothing can be put here, if so.
    pub(super) fn is_nowhere(&self) -> Option<&'static str> {
        match self.inside {
            Inside::Nowhere(why) => Some(why),
            _ => None,
        }
    }

    /// The value as the shell has to read it here; else why it cannot stand here.
    pub(super) fn put(&self, value: &[u8]) -> Result<Vec<u8>, &'static str> {
        if self.is_in_line && value.contains(&b'\n') {
            return Err(IN_HERE_DOCUMENT);
        }
        let text = match &self.inside {
            Inside::Word { redirects } if *redirects && value.iter().all(u8::is_ascii_digit) => {
                between(value)
            }
            Inside::Word { .. } => quoted(OsStr::from_bytes(value)),
            // They end, the quote comes escaped, and they begin again.
            Inside::Single => {
                let parts: Vec<&[u8]> = value.split(|&byte| byte == b'\'').collect();
                parts.join(&br"'\''"[..])
            }
            Inside::DollarSingle => escaped(value, br"\'"),
            Inside::Double => escaped(value, b"\\\"$`"),
            // What it is taken for there differs from shell to shell.
            Inside::Expansion if value.contains(&b'\'') => return Err(QUOTE),
            Inside::Expansion => escaped(value, b"\\\"$`}"),
            Inside::Arithmetic => {
                let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.#+-".contains(byte);
                match value.iter().all(is_plain) {
                    true => value.to_vec(),
                    false => return Err(NOT_PLAIN),
                }
            }
            Inside::Comment => {
                let visible = |byte: &u8| if *byte == b'\n' { b' ' } else { *byte };
                value.iter().map(visible).collect()
            }
            Inside::HereDocument { end, expands: true } => here(value, end),
            Inside::HereDocument { end, .. } => {
                let may_end = value.contains(&b'\n') || is_part(value, end);
                match may_end {
                    true => return Err(IN_HERE_DOCUMENT),
                    false => value.to_vec(),
                }
            }
            Inside::Nowhere(why) => return Err(why),
        };
        Ok(through_backquotes(text, self.backquotes))
    }

    /// A byte of a value becomes at most so many.
    pub(super) fn most(&self) -> usize {
        let most = match self.inside {
            Inside::HereDocument { .. } => NOTHING.len() + 1,
            // A quote between quotes.
            _ => 4,
        };
        most << self.backquotes.min(8)
    }
}

/// What is this once so many pairs of backquotes have taken their layer off.
pub(super) fn through_backquotes(text: Vec<u8>, pairs: usize) -> Vec<u8> {
    (0..pairs).fold(text, |text, _| escaped(&text, b"\\`"))
}

/// The lines of a value in a here-document, none of which is its end, together with what is before
/// or behind it on the line, and none of which loses its tabs.
fn here(value: &[u8], end: &[u8]) -> Vec<u8> {
    let lines = value.split(|&byte| byte == b'\n').enumerate();
    let lines = lines.map(|(at, line)| {
        let is_taken = at > 0 || is_part(line, end) || line.starts_with(b"\t");
        let before = if is_taken { NOTHING } else { b"" };
        [before, &escaped(line, b"\\$`")].concat()
    });
    lines.collect::<Vec<_>>().join(&b'\n')
}

fn is_part(value: &[u8], of: &[u8]) -> bool {
    !value.is_empty() && of.windows(value.len()).any(|window| window == value)
}

fn escaped(value: &[u8], special: &[u8]) -> Vec<u8> {
    let one = |&byte: &u8| match special.contains(&byte) {
        true => vec![b'\\', byte],
        false => vec![byte],
    };
    value.iter().flat_map(one).collect()
}
