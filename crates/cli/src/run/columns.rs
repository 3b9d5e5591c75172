//! The columns of a line, for `{1}`, `{2}`, ...: parts between separators, or one of each source.

/// Between the columns of a line that was put together of several sources. No argument has it.
pub(super) const JOINT: u8 = 0;

/// Linux takes no longer argument than this (MAX_ARG_STRLEN, less the NUL at its end).
pub(super) const LONGEST: usize = 128 * 1024 - 1;

/// What separates columns: a string, as `--colsep` has it.
///
/// `\t`, `\n` and `\\` are what they are in C, `\s` is any blank, `[...]` any of these bytes, and
/// `+`, `*` and `?` behind one of them repeat it as in a regular expression. Everything else is
/// itself; what means something else in a regular expression is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Separator(Vec<Atom>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Atom {
    any_of: Vec<u8>,
    /// It may be missing.
    is_optional: bool,
    repeats: bool,
}

impl Atom {
    /// With `+`, `*` or `?` behind it, if that is one.
    fn repeated(&mut self, sign: u8) -> bool {
        let is_once = !self.repeats && !self.is_optional;
        self.repeats |= b"+*".contains(&sign) && is_once;
        self.is_optional |= b"?*".contains(&sign) && is_once;
        b"+*?".contains(&sign) && is_once
    }
}

impl Separator {
    /// The error is one of usage.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut atoms: Vec<Atom> = Vec::new();
        let mut rest = text.as_bytes();
        while let Some((&byte, after)) = rest.split_first() {
            if atoms.last_mut().is_some_and(|atom| atom.repeated(byte)) {
                rest = after;
                continue;
            }
            if is_of_expression(byte, after, text, atoms.is_empty()) {
                return Err(format!(
                    "\"{text}\": a separator is no regular expression: [,;] stands for one of \
                     these, and \\{} for that itself",
                    byte as char
                ));
            }
            let any_of;
            (any_of, rest) = class(byte, after, text)?;
            atoms.push(Atom {
                any_of,
                is_optional: false,
                repeats: false,
            });
        }
        match atoms.iter().all(|atom| atom.is_optional) {
            true => Err("a separator has at least one character".to_owned()),
            false => Ok(Self(atoms)),
        }
    }

    /// The one byte that it is, if it is one.
    pub(super) fn as_byte(&self) -> Option<u8> {
        let [atom] = &self.0[..] else { return None };
        let is_one = atom.any_of.len() == 1 && !atom.repeats && !atom.is_optional;
        is_one.then_some(atom.any_of[0])
    }

    /// How long the separator is that the text begins with; `None`: with none.
    fn length(&self, text: &[u8]) -> Option<usize> {
        self.0.iter().try_fold(0, |at, atom| {
            let fits = |byte: &&u8| atom.any_of.contains(byte);
            let most = if atom.repeats { usize::MAX } else { 1 };
            let count = text[at..].iter().take(most).take_while(fits).count();
            (count > 0 || atom.is_optional).then_some(at + count)
        })
    }

    fn split<'a>(&self, line: &'a [u8]) -> Vec<&'a [u8]> {
        let (mut columns, mut from, mut at) = (Vec::new(), 0, 0);
        while at < line.len() {
            match self.length(&line[at..]) {
                Some(length) => {
                    columns.push(&line[from..at]);
                    at += length;
                    from = at;
                }
                None => at += 1,
            }
        }
        columns.push(&line[from..]);
        columns
    }
}

/// Whether it means something in a regular expression that it does not mean here. What consists of
/// the same sign, as `|` or `||`, is a string.
fn is_of_expression(byte: u8, after: &[u8], text: &str, is_first: bool) -> bool {
    let is_string = text.bytes().all(|other| other == byte);
    let counts = || {
        let is_of_count = |byte: &&u8| byte.is_ascii_digit() || **byte == b',';
        let count = after.iter().take_while(is_of_count).count();
        count > 0 && after.get(count) == Some(&b'}')
    };
    let is_sign = match byte {
        b'|' | b'.' | b'(' => true,
        b'*' | b'?' => !is_first,
        b'^' => is_first,
        b'$' => after.is_empty(),
        b'{' => !is_first && counts(),
        _ => false,
    };
    is_sign && !is_string
}

/// The bytes that `byte` stands for, and what is left behind it.
fn class<'a>(byte: u8, after: &'a [u8], text: &str) -> Result<(Vec<u8>, &'a [u8]), String> {
    match (byte, after.split_first()) {
        (b'\\', Some((&escaped, rest))) => Ok((escape(escaped, text)?, rest)),
        (b'[', Some(_)) => {
            let end = after.iter().position(|&byte| byte == b']');
            let end = end.ok_or_else(|| format!("\"{text}\": a [ without a ]"))?;
            Ok((set(&after[..end], text)?, &after[end + 1..]))
        }
        _ => Ok((vec![byte], after)),
    }
}

fn set(mut inner: &[u8], text: &str) -> Result<Vec<u8>, String> {
    let is_range = |three: &[u8]| three[1] == b'-' && three[0] != b'\\';
    if inner.starts_with(b"^") || inner.starts_with(b"[:") || inner.windows(3).any(is_range) {
        return Err(format!(
            "\"{text}\": between [ and ] is each byte by itself"
        ));
    }
    let mut any_of = Vec::new();
    while let Some((&byte, after)) = inner.split_first() {
        let escaped = after.split_first().filter(|_| byte == b'\\');
        let (bytes, rest) = match escaped {
            Some((&escaped, rest)) => (escape(escaped, text)?, rest),
            None => (vec![byte], after),
        };
        any_of.extend(bytes);
        inner = rest;
    }
    Ok(any_of)
}

fn escape(byte: u8, text: &str) -> Result<Vec<u8>, String> {
    match byte {
        b't' => Ok(vec![b'\t']),
        b'n' => Ok(vec![b'\n']),
        b'r' => Ok(vec![b'\r']),
        b's' => Ok(b" \t\n\r\x0b\x0c".to_vec()),
        other if other.is_ascii_alphanumeric() => {
            let other = other as char;
            Err(format!(
                "\"{text}\": there is no \\{other}, only \\t, \\n, \\r and \\s"
            ))
        }
        other => Ok(vec![other]),
    }
}

/// How a line is cut into columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// It is one.
    Whole,
    /// At the joints of so many sources.
    Joints(usize),
    /// At separators.
    At(Separator),
    /// It is a record with joints.
    Record,
}

impl Cut {
    /// What the line has: at least one.
    pub(super) fn columns<'a>(&self, line: &'a [u8]) -> Vec<&'a [u8]> {
        match self {
            Cut::Whole => vec![line],
            Cut::Joints(_) | Cut::Record => line.split(|&byte| byte == JOINT).collect(),
            Cut::At(separator) => separator.split(line),
        }
    }

    /// Whether `{number}` stands for a column, and does not only look like it.
    pub(super) fn has(&self, number: usize) -> bool {
        match self {
            Cut::Whole => number == 1,
            Cut::Joints(sources) => number <= *sources,
            Cut::At(_) | Cut::Record => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(separator: &str, line: &str) -> Vec<String> {
        let cut = Cut::At(Separator::parse(separator).unwrap());
        let columns = cut.columns(line.as_bytes()).into_iter();
        columns
            .map(|column| String::from_utf8(column.to_vec()).unwrap())
            .collect()
    }

    #[test]
    fn separators_are_strings_with_a_few_classes() {
        assert_eq!(split(",", "a,,b"), ["a", "", "b"]);
        assert_eq!(split(r"\t", "a b\tc"), ["a b", "c"]);
        assert_eq!(split(r"\s+", "a  \t b"), ["a", "b"]);
        assert_eq!(split(" +", "a   b c"), ["a", "b", "c"]);
        assert_eq!(split("[,;]", "a,b;c"), ["a", "b", "c"]);
        assert_eq!(split(r"[\t,]+", "a\t,b"), ["a", "b"]);
        assert_eq!(split(r"\|", "a|b"), ["a", "b"]);
        assert_eq!(split("|", "a|b"), ["a", "b"]);
        assert_eq!(split("+", "a+b"), ["a", "b"]);
        assert_eq!(split("::", "a:b::c"), ["a:b", "c"]);
        assert_eq!(split(",", ""), [""]);
        assert_eq!(split(" *, *", "a , b,c d"), ["a", "b", "c d"]);
        assert_eq!(split(", ?", "a, b,c"), ["a", "b", "c"]);
        assert_eq!(split("*", "a*b"), ["a", "b"]);
        assert_eq!(split(r"\.", "a.b"), ["a", "b"]);
        assert_eq!(split(".", "a.b"), ["a", "b"]);
        assert_eq!(split("||", "a||b"), ["a", "b"]);
        assert_eq!(split("[-,]", "a-b,c"), ["a", "b", "c"]);
    }

    #[test]
    fn a_separator_is_not_empty_and_a_class_ends() {
        assert!(Separator::parse("").is_err());
        assert!(Separator::parse("[ab").unwrap_err().contains("[ab"));
    }

    #[test]
    fn what_means_something_else_in_an_expression_is_refused() {
        for text in [
            ",|;",
            "a.b",
            ".*",
            "(a)",
            "[^,]",
            "[a-z]",
            "[[:space:]]",
            r"\d",
            r"\W+",
            " *",
            ",?",
        ] {
            assert!(Separator::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn lines_of_several_sources_have_their_joints() {
        let cut = Cut::Joints(2);
        assert_eq!(cut.columns(b"a b\0c"), [&b"a b"[..], b"c"]);
        assert!(cut.has(2) && !cut.has(3) && Cut::Whole.has(1) && !Cut::Whole.has(2));
    }
}
