//! The records of a CSV file (RFC 4180), which `--csv` reads instead of lines.
//!
//! A field may stand between quotes, and then has separators, ends of lines and doubled quotes in
//! it. Lines may end as on Windows, and a byte order mark is no part of the first field. A record
//! goes on its way as a line with a [joint](JOINT) between its columns.

use super::columns::{JOINT, LONGEST};
use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use std::io::{self, Read};

pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Cuts what is read into records.
pub(super) struct Records {
    parser: Box<Reader>,
    /// What was read, and how much of it has been cut.
    buffer: Vec<u8>,
    at: usize,
    has_begun: bool,
    /// The columns of a record one behind the other, and where each ends.
    text: Vec<u8>,
    ends: Vec<usize>,
}

/// How far a record is.
#[derive(Clone, Copy, Default)]
struct Filled {
    text: usize,
    ends: usize,
}

impl Records {
    pub(super) fn new(separator: u8) -> Self {
        Self {
            parser: Box::new(ReaderBuilder::new().delimiter(separator).build()),
            buffer: Vec::new(),
            at: 0,
            has_begun: false,
            // A full one is too long.
            text: vec![0; LONGEST + 1],
            ends: vec![0; 64],
        }
    }

    /// The next record; None at the end. Empty lines are none. What could not be an argument, and
    /// a quote that does not end, are errors.
    pub(super) fn next(&mut self, source: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
        let mut filled = Filled::default();
        let first_line = self.parser.line();
        loop {
            if self.at == self.buffer.len() && !self.fill(source)? {
                return self.last(filled, first_line);
            }
            match self.step(&mut filled) {
                ReadRecordResult::Record => return self.record(filled, first_line).map(Some),
                ReadRecordResult::OutputFull => return Err(too_long(first_line)),
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len(), 0),
                ReadRecordResult::InputEmpty | ReadRecordResult::End => {}
            }
        }
    }

    /// Reads on. False: there is no more.
    fn fill(&mut self, source: &mut impl Read) -> io::Result<bool> {
        // Enough to tell a byte order mark.
        let wanted = match std::mem::replace(&mut self.has_begun, true) {
            true => 1,
            false => BYTE_ORDER_MARK.len(),
        };
        self.buffer.resize(64 * 1024, 0);
        let mut length = 0;
        while length < wanted {
            match source.read(&mut self.buffer[length..]) {
                Ok(0) => break,
                Ok(more) => length += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.buffer.truncate(length);
        let has_mark = wanted > 1 && self.buffer.starts_with(BYTE_ORDER_MARK);
        self.at = if has_mark { BYTE_ORDER_MARK.len() } else { 0 };
        Ok(length > 0)
    }

    fn step(&mut self, filled: &mut Filled) -> ReadRecordResult {
        let (result, read, text, ends) = self.parser.read_record(
            &self.buffer[self.at..],
            &mut self.text[filled.text..],
            &mut self.ends[filled.ends..],
        );
        self.at += read;
        filled.text += text;
        filled.ends += ends;
        result
    }

    /// What the input ends with: its last line needs no end, which therefore is added.
    fn last(&mut self, mut filled: Filled, first_line: u64) -> io::Result<Option<Vec<u8>>> {
        let before = filled.text;
        (self.buffer, self.at) = (vec![b'\n'], 0);
        match self.step(&mut filled) {
            ReadRecordResult::Record => self.record(filled, first_line).map(Some),
            ReadRecordResult::OutputFull => Err(too_long(first_line)),
            // The end of the line was part of a field.
            _ if filled.text > before => Err(error(first_line, "has a quote that does not end")),
            _ => Ok(None),
        }
    }

    fn record(&self, filled: Filled, first_line: u64) -> io::Result<Vec<u8>> {
        let text = &self.text[..filled.text];
        if text.contains(&JOINT) {
            return Err(error(first_line, "has a NUL byte in it"));
        }
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let ends = &self.ends[..filled.ends];
        let columns = starts.zip(ends).map(|(start, &end)| &text[start..end]);
        Ok(columns.collect::<Vec<_>>().join(&JOINT))
    }
}

fn too_long(line: u64) -> io::Error {
    let what =
        format!("is longer than an argument can be ({LONGEST} bytes): does a quote not end?");
    error(line, &what)
}

fn error(line: u64, what: &str) -> io::Error {
    io::Error::other(format!("the record of line {line} {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a byte at a time, as a slow writer does.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            (&mut self.0).take(1).read(buffer)
        }
    }

    fn all(mut source: impl Read) -> io::Result<Vec<String>> {
        let mut records = Records::new(b',');
        let next = || records.next(&mut source).transpose();
        let text = |record: Vec<u8>| String::from_utf8(record).unwrap().replace('\0', "|");
        std::iter::from_fn(next)
            .map(|next| next.map(text))
            .collect()
    }

    fn records(text: &str) -> Vec<String> {
        let (whole, slow) = (all(text.as_bytes()), all(Slow(text.as_bytes())));
        let whole = whole.unwrap();
        assert_eq!(slow.unwrap(), whole, "it does not matter how it is read");
        whole
    }

    #[test]
    fn quotes_hold_separators_ends_of_lines_and_quotes() {
        assert_eq!(records("a,\"b,c\"\n\"d\"\"\ne\",f"), ["a|b,c", "d\"\ne|f"]);
        assert_eq!(records("x,,\n"), ["x||"]);
        assert_eq!(records(""), [""; 0]);
    }

    #[test]
    fn files_of_windows_are_read_like_others() {
        let text = "\u{feff}\"id\",name\r\n1,a\r\n\r\n2,b\r\n";
        assert_eq!(records(text), ["id|name", "1|a", "2|b"]);
        assert_eq!(records("\u{fe0f}a\n"), ["\u{fe0f}a"]);
        assert_eq!(records("a\n"), ["a"]);
    }

    #[test]
    fn many_columns_and_long_ones_are_whole() {
        let wide = vec!["x"; 1000].join(",");
        assert_eq!(records(&wide), [wide.replace(',', "|")]);
        let long = "y".repeat(LONGEST);
        assert_eq!(records(&format!("{long}\nz")), [&long[..], "z"]);
    }

    #[test]
    fn what_cannot_be_an_argument_is_an_error_that_names_the_line() {
        let error = |text: &[u8]| all(text).unwrap_err().to_string();
        assert!(error(b"a\nb,\"c\nd\n").contains("line 2 has a quote that does not end"));
        assert!(error(b"a\nb\0c\n").contains("line 2 has a NUL byte"));
        let long = [b"\"".to_vec(), vec![b'x'; LONGEST + 1]].concat();
        assert!(error(&long).contains("line 1 is longer than an argument"));
    }
}
