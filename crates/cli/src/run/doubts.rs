//! What in a list was hardly meant as it is read. It is said once: nothing else may show it.

use super::columns::Cut;
use super::hole::Holes;
use super::records::BYTE_ORDER_MARK;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

/// Whether something was said of the lines of a list.
pub(super) struct Doubts {
    cut: Cut,
    /// Nothing was, and something may be.
    is_open: bool,
}

impl Doubts {
    /// `delimiter`: what lines end with.
    pub(super) fn new(cut: Cut, delimiter: u8) -> Self {
        // Whoever knows that names may have newlines in them knows what they have.
        let is_open = delimiter == b'\n' && cut != Cut::Record;
        Self { cut, is_open }
    }

    /// What is to be said of these lines.
    pub(super) fn of(&mut self, lines: &[Vec<u8>]) -> Option<&'static str> {
        let first = match self.is_open {
            true => lines.iter().find_map(|line| self.of_line(line)),
            false => None,
        };
        self.is_open &= first.is_none();
        first
    }

    fn of_line(&self, line: &[u8]) -> Option<&'static str> {
        let is_quoted = |column: &&[u8]| column.len() > 1 && column.starts_with(b"\"");
        if line.starts_with(BYTE_ORDER_MARK) {
            return Some(
                "the input begins with a byte order mark, which is part of the first line: --csv \
                 leaves it out, and so does tail -c +4",
            );
        }
        if line.ends_with(b"\r") {
            return Some(
                "lines end with a carriage return, which is part of the last argument: --csv \
                 leaves it out, and so does tr -d '\\r'",
            );
        }
        let is_cut = matches!(self.cut, Cut::At(_));
        (is_cut && self.cut.columns(line).iter().any(is_quoted)).then_some(
            "a column begins with a quote, which is part of it: --csv reads columns between quotes",
        )
    }
}

/// `{word}` in COMMAND that is no column, where columns have names.
pub(super) fn of_names(command: &[OsString], holes: &Holes) -> Option<String> {
    let stranger = |word: &OsString| holes.stranger(word.as_bytes());
    let name = command.iter().find_map(stranger)?;
    let known: Vec<_> = holes.names.iter().map(|name| name.escape_ascii()).collect();
    let known: Vec<String> = known.iter().map(ToString::to_string).collect();
    Some(format!(
        "{{{}}} is no column and stays as it is: the columns are {}",
        String::from_utf8_lossy(&name),
        known.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::super::columns::Separator;
    use super::*;

    fn said(cut: Cut, delimiter: u8, line: &str) -> Option<&'static str> {
        Doubts::new(cut, delimiter).of(&[line.as_bytes().to_vec()])
    }

    #[test]
    fn what_comes_of_other_programs_is_noticed_once() {
        let commas = || Cut::At(Separator::parse(",").unwrap());
        let of = |cut, line| said(cut, b'\n', line).unwrap_or_default();
        assert!(of(Cut::Whole, "\u{feff}a").contains("byte order mark"));
        assert!(of(Cut::Whole, "a\r").contains("carriage return"));
        assert!(of(commas(), "a,\"b,c\"").contains("quote"));
        assert_eq!(of(Cut::Whole, "\"a\""), "");
        assert_eq!(of(commas(), "a,\",b"), "");
        assert_eq!(said(Cut::Whole, 0, "a\r"), None);
        let mut doubts = Doubts::new(commas(), b'\n');
        assert!(doubts.of(&[b"a".to_vec(), b"b\r".to_vec()]).is_some());
        assert_eq!(doubts.of(&[b"c\r".to_vec()]), None);
    }

    #[test]
    fn names_that_are_none_are_told_with_those_that_are() {
        let said = |word: &str, names: &[&[u8]]| {
            let names = names.iter().map(|name| name.to_vec()).collect();
            let holes = Holes {
                line: None,
                cut: Cut::Record,
                max_args: 1,
                names,
                plus: false,
            };
            of_names(&["echo".into(), word.into()], &holes)
        };
        let names: &[&[u8]] = &[b"name", b"size\r"];
        let text = said("x{nmae.}y", names).unwrap();
        assert!(
            text.contains("{nmae.}") && text.contains(r"name, size\r"),
            "{text}"
        );
        for word in [
            "{name}",
            "{name.}{1}{}",
            "${nmae}",
            "{}",
            "{ print }",
            "{a,b}",
            "a{2}",
        ] {
            assert_eq!(said(word, names), None, "{word}");
        }
        assert_eq!(said("{nmae}", &[]), None);
    }
}
