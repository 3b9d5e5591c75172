//! Where in a script a value stands. What the shell reads there is a variable that has the value:
//! so no value is code, even where this is mistaken about the place. Two kinds are put there
//! themselves, as no shell takes them for more: whole numbers in expressions, which would be
//! evaluated once more, and words of letters, digits and `_`.

use super::super::quote::{between, quoted};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// In what a value stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inside {
    /// It is, or is a part of, a word between no quotes. `redirects`: a `<` or `>` follows, before
    /// which a number would be a descriptor.
    Word { redirects: bool },
    /// `'...'`
    Single,
    /// `$'...'`, which only bash has.
    DollarSingle,
    /// `"..."`, or the lines behind `<<END`.
    Double,
    /// `"${x:-...}"`
    Expansion,
    /// `$((...))`, and what else the shell reads as a number.
    Arithmetic,
    /// `# ...`
    Comment,
    /// The lines behind `<<'END'`, in which the shell reads nothing.
    Verbatim,
}

/// Where a part of a script stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) inside: Inside,
    /// In quotes, brackets or the like.
    pub(super) is_nested: bool,
    /// A `$` or `\` directly before the value, which would mean something else before a variable:
    /// it is put into that.
    pub(super) glued: &'static [u8],
    /// `$x` stands directly before it.
    pub(super) is_behind_variable: bool,
    /// Where it stands for another shell, which reads what it is in as a script.
    pub(super) foreign: Option<Foreign>,
}

/// In what a value stands for another shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Foreign {
    Word,
    Single,
    Double,
    /// Only a value that means the same anywhere can be there.
    Unknown,
}

/// The names of the variables begin with this, and end with a number.
pub(crate) const VARIABLE: &str = "CMWQ_V";
/// Bytes of what stands for a value, at most: four quotes, `${}`, a `$` and the number.
pub(super) const LONGEST: usize = VARIABLE.len() + 18;

const NOT_FOR_OTHERS: &str =
    "a value with blanks or signs cannot stand there in the script of another shell";
const NO_NUMBER: &str = "a value that is no whole number cannot stand in an expression";

impl Spot {
    /// A word between no quotes at all.
    pub(super) const WORD: Self = Self {
        inside: Inside::Word { redirects: false },
        is_nested: false,
        glued: b"",
        is_behind_variable: false,
        foreign: None,
    };

    /// Whether it is such a word.
    pub(super) fn is_word(&self) -> bool {
        matches!(self.inside, Inside::Word { .. }) && !self.is_nested
    }

    /// Where values of both stand, in one word.
    pub(super) fn and(self, other: Self) -> Self {
        let redirects = [self, other]
            .iter()
            .any(|spot| spot.inside == Inside::Word { redirects: true });
        Self {
            inside: Inside::Word { redirects },
            is_behind_variable: self.is_behind_variable || other.is_behind_variable,
            foreign: self.foreign.or(other.foreign),
            ..self
        }
    }

    /// Whether nothing before it would make a name with it.
    fn is_free(&self) -> bool {
        self.glued.is_empty() && !self.is_behind_variable
    }

    /// What stands for this value, which is put into one of the variables if need be; else why it
    /// cannot stand here.
    pub(super) fn put(
        &self,
        value: Vec<u8>,
        variables: &mut Vec<Vec<u8>>,
    ) -> Result<Vec<u8>, &'static str> {
        if self.foreign == Some(Foreign::Unknown) && !is_harmless(&value) {
            return Err(NOT_FOR_OTHERS);
        }
        let value = self.for_others(&value);
        match self.inside {
            Inside::Arithmetic => return number(&value).ok_or(NO_NUMBER),
            Inside::Comment => return Ok(Vec::new()),
            // Only the number of the job or its slot.
            Inside::Verbatim => return Ok(value),
            // It may be a part of a name, as in `A_{}=1`, or of `{1..9}`.
            Inside::Word { redirects } if self.is_free() && is_plain(&value, redirects) => {
                return Ok(value);
            }
            _ => variables.push([self.glued, &value].concat()),
        }
        let variable = format!("${{{VARIABLE}{}}}", variables.len());
        Ok(match self.inside {
            // They end, and begin again behind it.
            Inside::Single => format!("'\"{variable}\"'"),
            Inside::DollarSingle => format!("'\"{variable}\"$'"),
            Inside::Double => variable,
            _ => format!("\"{variable}\""),
        }
        .into_bytes())
    }

    /// The value as the other shell has to read it, if there is one.
    fn for_others(&self, value: &[u8]) -> Vec<u8> {
        match self.foreign {
            None | Some(Foreign::Unknown) => value.to_vec(),
            Some(Foreign::Word) => between(value),
            Some(Foreign::Single) => in_single(value),
            Some(Foreign::Double) => escaped(value, b"\\\"$`"),
        }
    }

    /// The value as somebody would type it here.
    pub(super) fn typed(&self, value: &[u8]) -> Vec<u8> {
        let value = [self.glued, &self.for_others(value)].concat();
        match self.inside {
            Inside::Word { redirects: true } if value.iter().all(u8::is_ascii_digit) => {
                between(&value)
            }
            Inside::Word { .. } => quoted(OsStr::from_bytes(&value)),
            Inside::Single => in_single(&value),
            Inside::DollarSingle => escaped(&value, br"\'"),
            Inside::Double | Inside::Expansion => escaped(&value, b"\\\"$`"),
            Inside::Arithmetic | Inside::Comment | Inside::Verbatim => value,
        }
    }
}

/// Words that mean something to a shell.
const KEYWORDS: [&[u8]; 17] = [
    b"case",
    b"coproc",
    b"do",
    b"done",
    b"elif",
    b"else",
    b"esac",
    b"fi",
    b"for",
    b"function",
    b"if",
    b"in",
    b"select",
    b"then",
    b"time",
    b"until",
    b"while",
];

/// Whether the shell reads it in any word as it does between quotes.
fn is_plain(value: &[u8], redirects: bool) -> bool {
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let is_name = !value.is_empty() && value.iter().all(is_of_name);
    let is_descriptor = redirects && value.iter().all(u8::is_ascii_digit);
    is_name && !is_descriptor && !KEYWORDS.contains(&value)
}

/// The number as it may stand in any expression: `-1` could be an operator with what is before it.
fn number(value: &[u8]) -> Option<Vec<u8>> {
    let digits = value.strip_prefix(b"-").or(value.strip_prefix(b"+"));
    let digits = digits.unwrap_or(value);
    let is_hex = digits.starts_with(b"0x") || digits.starts_with(b"0X");
    let is_number = match is_hex {
        true => digits.len() > 2 && digits[2..].iter().all(u8::is_ascii_hexdigit),
        false => !digits.is_empty() && digits.iter().all(u8::is_ascii_digit),
    };
    is_number.then(|| match digits.len() == value.len() {
        true => value.to_vec(),
        false => [b"(", value, b")"].concat(),
    })
}

/// Whether any shell takes it for the same text in any quotes, or in none.
fn is_harmless(value: &[u8]) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_./:@%+,-".contains(byte);
    value.iter().all(is_plain)
}

/// Between single quotes.
fn in_single(value: &[u8]) -> Vec<u8> {
    let between = between(value);
    between[1..between.len() - 1].to_vec()
}

fn escaped(value: &[u8], special: &[u8]) -> Vec<u8> {
    let one = |&byte: &u8| match special.contains(&byte) {
        true => vec![b'\\', byte],
        false => vec![byte],
    };
    value.iter().flat_map(one).collect()
}
