//! What a joblog says of an earlier run.

use super::Resume;
use super::entry::{HEADER, succeeded};
use crate::run::columns::JOINT;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// Lines that have succeeded, each as often as it did. Equal lines are equal jobs: which of them
/// succeeded makes no difference.
#[derive(Default)]
pub(in crate::run) struct Done(HashMap<Vec<u8>, u64>);

impl Done {
    /// Whether this occurrence of the line has succeeded. Each success answers for one.
    pub(in crate::run) fn take(&mut self, line: &[u8]) -> bool {
        let Some(left) = self.0.get_mut(line) else {
            return false;
        };
        *left -= 1;
        if *left == 0 {
            self.0.remove(line);
        }
        true
    }
}

/// A joblog as it was found.
#[derive(Default)]
pub(super) struct Past {
    pub(super) done: Done,
    /// Jobs in it, however they ended.
    pub(super) jobs: u64,
    /// Bytes up to the end of the last whole line; 0 where not even the header is whole.
    pub(super) sound: u64,
}

/// What a joblog of GNU parallel begins with.
const OF_PARALLEL: &[u8] = b"Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\t";

/// Whether the file is such a joblog.
pub(super) fn is_of_parallel(path: &Path) -> io::Result<bool> {
    let mut begin = Vec::new();
    let most = OF_PARALLEL.len() as u64;
    File::open(path)?.take(most).read_to_end(&mut begin)?;
    Ok(begin == OF_PARALLEL)
}

impl Past {
    /// What stands behind the last newline is what a killed run or a full disk left of a line: it
    /// does not count.
    ///
    /// # Errors
    /// The file cannot be read, or has something else in it.
    pub(super) fn read(path: &Path, resume: Resume) -> io::Result<Self> {
        let mut past = Self::default();
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(past),
            file => file?,
        };
        let mut reader = BufReader::new(file);
        let (mut line, mut number) = (Vec::new(), 0);
        while reader.read_until(b'\n', &mut line)? > 0 {
            number += 1;
            if !past.add(number, &line, resume) {
                let whose = match line.starts_with(OF_PARALLEL) {
                    true => "; it is GNU parallel's",
                    false => "",
                };
                let text = format!("line {number} is not one of a joblog of version 1{whose}");
                return Err(io::Error::other(text));
            }
            line.clear();
        }
        Ok(past)
    }

    /// False: the line is none of a joblog's.
    fn add(&mut self, number: usize, line: &[u8], resume: Resume) -> bool {
        let header = HEADER
            .split_inclusive('\n')
            .nth(number - 1)
            .map(str::as_bytes);
        let Some(whole) = line.strip_suffix(b"\n") else {
            return header.is_none_or(|header| header.starts_with(line));
        };
        if let Some(header) = header {
            // Half a header is written anew.
            self.sound = if number == 2 { HEADER.len() as u64 } else { 0 };
            return header == line;
        }
        let Some(lines) = str::from_utf8(whole).ok().and_then(succeeded) else {
            return false;
        };
        self.sound += line.len() as u64;
        self.jobs += 1;
        let lines = match resume {
            Resume::Rows if !lines.is_empty() => vec![lines.join(&JOINT)],
            _ => lines,
        };
        for line in lines {
            *self.done.0.entry(line).or_default() += 1;
        }
        true
    }
}
