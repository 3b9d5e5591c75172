//! One line of a joblog, and back. `docs/run.md` documents the format.

use crate::run::columns::JOINT;
use crate::run::status::JobEnd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

/// What a joblog begins with: the format with its version, and the names of the columns.
pub(super) const HEADER: &str = "#cmwq-joblog 1\n\
    sequence\tstart\truntime\tresult\texit\tsignal\tattempts\targuments\n";
/// Columns before the arguments, of which there is one for each line, or part of a line, that the
/// job was given.
const FIXED: usize = 7;

/// A job that has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::run) struct Entry {
    /// Of the job among those of its input, from 1.
    pub(in crate::run) sequence: u64,
    /// Of the last attempt, since the epoch; written in milliseconds.
    pub(in crate::run) start: Duration,
    /// Of the last attempt; written in milliseconds.
    pub(in crate::run) runtime: Duration,
    pub(in crate::run) end: JobEnd,
    pub(in crate::run) status: ExitStatus,
    pub(in crate::run) attempts: u32,
    /// The lines that the job was given.
    pub(in crate::run) lines: Vec<Vec<u8>>,
}

impl Entry {
    /// With its newline.
    pub(super) fn to_line(&self) -> String {
        let mut line = format!(
            "{}\t{}\t{}\t{}\t{}\t{}\t{}",
            self.sequence,
            seconds(self.start),
            seconds(self.runtime),
            result(self.end),
            self.status.code().unwrap_or(0),
            self.status.signal().unwrap_or(0),
            self.attempts,
        );
        let columns = self
            .lines
            .iter()
            .flat_map(|line| line.split(|&byte| byte == JOINT));
        for argument in columns {
            line.push('\t');
            escape(argument, &mut line);
        }
        line.push('\n');
        line
    }
}

/// What `--resume` needs of a line: the arguments of a job that succeeded, none of another.
/// None: it is no line of a joblog.
pub(super) fn succeeded(line: &str) -> Option<Vec<Vec<u8>>> {
    let columns: Vec<&str> = line.split('\t').collect();
    let (fixed, arguments) = columns.split_at_checked(FIXED)?;
    let numbers = [0, 4, 5, 6].map(|at| fixed[at].parse::<u64>().ok());
    let is_sound = numbers.iter().all(Option::is_some)
        && [1, 2].iter().all(|&at| fixed[at].parse::<f64>().is_ok())
        && RESULTS.contains(&fixed[3])
        && !arguments.is_empty();
    let arguments: Option<Vec<_>> = arguments.iter().map(|text| unescape(text)).collect();
    let arguments = arguments.filter(|_| is_sound)?;
    Some(if fixed[3] == RESULTS[0] {
        arguments
    } else {
        Vec::new()
    })
}

fn seconds(duration: Duration) -> String {
    let ms = duration.as_millis();
    format!("{}.{:03}", ms / 1000, ms % 1000)
}

const RESULTS: [&str; 6] = ["ok", "failed", "timeout", "stop", "killed", "no-memory"];

fn result(end: JobEnd) -> &'static str {
    match end {
        JobEnd::Succeeded => RESULTS[0],
        JobEnd::Failed(_) => RESULTS[1],
        JobEnd::TimedOut => RESULTS[2],
        JobEnd::SaidStop => RESULTS[3],
        JobEnd::Killed(_) => RESULTS[4],
        JobEnd::NoMemory => RESULTS[5],
    }
}

/// Text stays as it is, except for what would end a column or a line; bytes that are no text
/// become `\xHH`.
fn escape(bytes: &[u8], to: &mut String) {
    for chunk in bytes.utf8_chunks() {
        for char in chunk.valid().chars() {
            match char {
                '\\' => to.push_str("\\\\"),
                '\t' => to.push_str("\\t"),
                '\n' => to.push_str("\\n"),
                '\r' => to.push_str("\\r"),
                char if char.is_ascii_control() => escape_byte(char as u8, to),
                char => to.push(char),
            }
        }
        chunk
            .invalid()
            .iter()
            .for_each(|&byte| escape_byte(byte, to));
    }
}

fn escape_byte(byte: u8, to: &mut String) {
    to.push_str(&format!("\\x{byte:02x}"));
}

/// None: not what `escape` makes.
fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let (&kind, after) = rest.split_first()?;
        rest = after;
        bytes.push(match kind {
            b'\\' => b'\\',
            b't' => b'\t',
            b'n' => b'\n',
            b'r' => b'\r',
            b'x' => {
                let (digits, after) = rest.split_at_checked(2)?;
                rest = after;
                u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?
            }
            _ => return None,
        });
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(raw_status: i32, lines: &[&[u8]]) -> Entry {
        let status = ExitStatus::from_raw(raw_status);
        Entry {
            sequence: 3,
            start: Duration::from_millis(1_700_000_000_050),
            runtime: Duration::from_micros(1_234_999),
            end: JobEnd::of(status),
            status,
            attempts: 2,
            lines: lines.iter().map(|line| line.to_vec()).collect(),
        }
    }

    #[test]
    fn a_line_has_the_columns_of_the_header() {
        let line = entry(7 << 8, &[b"a b", b"\t\xff\\"]).to_line();
        assert_eq!(
            line,
            "3\t1700000000.050\t1.234\tfailed\t7\t0\t2\ta b\t\\t\\xff\\\\\n"
        );
        let names = HEADER.lines().nth(1).unwrap().split('\t').count();
        assert_eq!(names, FIXED + 1);
        let joined = entry(0, &[b"1\0a b"]).to_line();
        assert!(joined.ends_with("\t1\ta b\n"), "{joined}");
        assert!(entry(9, &[b""]).to_line().contains("\tkilled\t0\t9\t2\t\n"));
    }

    #[test]
    fn what_is_no_line_is_found() {
        let good = entry(0, &[b"x"]).to_line();
        let good = good.trim_end();
        assert_eq!(succeeded(good), Some(vec![b"x".to_vec()]));
        assert_eq!(
            succeeded(entry(256, &[b"x"]).to_line().trim_end()),
            Some(vec![])
        );
        for wrong in [
            "",
            "x",
            &good[..good.len() - 2],
            &format!("{good}\\"),
            &format!("x{good}"),
            &format!("{good}\\x0"),
            &good.replace("ok", "OK"),
        ] {
            assert_eq!(succeeded(wrong), None, "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_come_back(
            lines in prop::collection::vec(prop::collection::vec(1_u8.., 0..20), 1..4),
        ) {
            let slices: Vec<&[u8]> = lines.iter().map(Vec::as_slice).collect();
            let line = entry(0, &slices).to_line();
            prop_assert_eq!(line.matches('\n').count(), 1);
            prop_assert_eq!(line.matches('\t').count(), FIXED - 1 + lines.len());
            prop_assert_eq!(succeeded(line.strip_suffix('\n').unwrap()), Some(lines));
        }

        #[test]
        fn readers_take_any_text(text in ".*") {
            let _ = (succeeded(&text), unescape(&text));
        }
    }
}
