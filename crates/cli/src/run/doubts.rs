//! What in a list was hardly meant as it is read. It is said once: nothing else may show it.

use super::columns::Cut;
use super::hole::{Holes, Part};
use super::records::BYTE_ORDER_MARK;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

/// Whether something was said of the lines of a list.
pub(super) struct Doubts {
    cut: Cut,
    /// Somebody has thought of blanks.
    is_trimmed: bool,
    /// Nothing was, and something may be.
    is_open: bool,
}

impl Doubts {
    /// `delimiter`: what lines end with. `is_trimmed`: `--trim` says what becomes of blanks.
    pub(super) fn new(cut: Cut, delimiter: u8, is_trimmed: bool) -> Self {
        // Whoever knows that names may have newlines in them knows what they have.
        let is_open = delimiter == b'\n' && cut != Cut::Record;
        Self {
            cut,
            is_trimmed,
            is_open,
        }
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
        let columns = self.cut.columns(line);
        let has_blank = |column: &&[u8]| column.trim_ascii().len() < column.len();
        if is_cut && columns.iter().any(is_quoted) {
            return Some(
                "a column begins with a quote, which is part of it: --csv reads columns between \
                 quotes",
            );
        }
        (is_cut && !self.is_trimmed && columns.iter().any(has_blank)).then_some(
            "a column begins or ends with a blank, which is part of it: --trim lr takes blanks off, \
             and --trim n leaves them without this note",
        )
    }
}

/// `{2}` as a word in COMMAND, where lines have one column. As a part of a word it may be a part of
/// a regular expression.
pub(super) fn of_columns(command: &[OsString], holes: &Holes) -> Option<String> {
    let words = command.iter().filter_map(|word| word.to_str());
    let mut words = words.flat_map(str::split_ascii_whitespace);
    let is_stray = |word: &&str| {
        let inside = word
            .strip_prefix('{')
            .and_then(|word| word.strip_suffix('}'));
        let number = inside.map(|inside| inside.trim_end_matches(['.', '/']));
        let is_number = number.is_some_and(|number| number.parse::<u32>().is_ok_and(|n| n > 0));
        is_number
            && !holes
                .parts(word.as_bytes())
                .iter()
                .any(|part| matches!(part, Part::Hole(_)))
    };
    let word = words.find(is_stray)?;
    Some(format!(
        "{word} stays as it is: there are fewer columns (--colsep cuts lines, -N N gives N lines to \
         a job)"
    ))
}

/// `{word}` in COMMAND that is no column, where columns have names.
pub(super) fn of_names(command: &[OsString], holes: &Holes) -> Option<String> {
    let stranger = |word: &OsString| holes.stranger(word.as_bytes());
    let name = command.iter().find_map(stranger)?;
    Some(format!(
        "{{{}}} is no column and stays as it is: {}",
        String::from_utf8_lossy(&name),
        columns(holes)
    ))
}

/// Which columns there are, and why there may be no others.
fn columns(holes: &Holes) -> String {
    let quoted = |name: &Vec<u8>| format!("\"{}\"", name.escape_ascii());
    let has = |byte: u8| matches!(&holes.names[..], [name] if name.contains(&byte));
    if holes.names.iter().all(Vec::is_empty) {
        return "the input is empty, or its first line is".to_owned();
    }
    let [name] = &holes.names[..] else {
        let known: Vec<String> = holes.names.iter().map(quoted).collect();
        return format!("the columns are {}", known.join(", "));
    };
    let advice = match holes.cut {
        Cut::At(_) => "",
        _ if has(b',') => " (--csv or -C , cuts lines at commas)",
        _ if has(b'\t') => " (-C '\\t' cuts lines at tabs)",
        _ if has(b';') => " (-C ';' cuts lines there)",
        _ => "",
    };
    format!("the only column is {}{advice}", quoted(name))
}

#[cfg(test)]
mod tests {
    use super::super::columns::Separator;
    use super::*;

    fn said(cut: Cut, delimiter: u8, line: &str) -> Option<&'static str> {
        Doubts::new(cut, delimiter, false).of(&[line.as_bytes().to_vec()])
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
        assert!(of(commas(), "a, b").contains("--trim lr"));
        let mut trimmed = Doubts::new(commas(), b'\n', true);
        assert_eq!(trimmed.of(&[b"a, b".to_vec()]), None);
        let mut doubts = Doubts::new(commas(), b'\n', false);
        assert!(doubts.of(&[b"a".to_vec(), b"b\r".to_vec()]).is_some());
        assert_eq!(doubts.of(&[b"c\r".to_vec()]), None);
    }

    #[test]
    fn names_that_are_none_are_told_with_those_that_are() {
        let said = |word: &str, names: &[&[u8]]| {
            let names = names.iter().map(|name| name.to_vec()).collect();
            let holes = Holes {
                names,
                ..Holes::of(Cut::Record)
            };
            of_names(&["echo".into(), word.into()], &holes)
        };
        let names: &[&[u8]] = &[b"name", b"size\r"];
        let text = said("x{nmae.}y", names).unwrap();
        assert!(
            text.contains("{nmae.}") && text.contains(r#""name", "size\r""#),
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
