//! The lines, read one at a time and only when there is room for another job.

use super::columns::LONGEST;
use super::records::Records;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::BorrowedFd;

/// Bytes that are read to count what is left, of somebody who may write for ever.
const MOST_LEFT: usize = 1024 * 1024;

/// Where lines come from.
pub(super) enum Input<'a> {
    /// Those of one file, as there is room for jobs.
    Lines(Lines<'a>),
    /// The same, of a file of CSV.
    Records(Records, Interruptible<'a>),
    /// They are all there.
    All(Box<dyn Iterator<Item = Vec<u8>> + 'a>),
}

impl<'a> Input<'a> {
    /// From now on reads what is there, and waits for nobody.
    pub(super) fn wait_no_more(&mut self) {
        if let Some(source) = self.source() {
            source.left = Some(MOST_LEFT);
        }
    }

    /// Whether nothing is left that has not been read.
    pub(super) fn is_over(&mut self) -> bool {
        self.source().is_none_or(|source| source.is_over)
    }

    fn source(&mut self) -> Option<&mut Interruptible<'a>> {
        match self {
            Input::Lines(lines) => Some(lines.reader.get_mut()),
            Input::Records(_, source) => Some(source),
            Input::All(_) => None,
        }
    }

    /// The next line; None at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        match self {
            Input::Lines(lines) => lines.next(),
            Input::Records(records, source) => records.next(source),
            Input::All(all) => Ok(all.next()),
        }
    }
}

const NO_WAIT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// Splits a file into lines. `'a` is the life of the descriptor that interrupts it.
pub(super) struct Lines<'a> {
    reader: BufReader<Interruptible<'a>>,
    delimiter: u8,
    number: u64,
    /// The input ends before a line that is this one.
    last: Option<Vec<u8>>,
}

impl<'a> Lines<'a> {
    /// Reads `source` until its end or until `stop` becomes readable.
    pub(super) fn new(source: File, delimiter: u8, stop: BorrowedFd<'a>) -> Self {
        let reader = BufReader::with_capacity(64 * 1024, Interruptible::new(source, stop));
        Self {
            reader,
            delimiter,
            number: 0,
            last: None,
        }
    }

    /// Ends before a line that is `last`, if there is one.
    pub(super) fn until(self, last: Option<Vec<u8>>) -> Self {
        Self { last, ..self }
    }

    /// The next line without its delimiter; None at the end. The last line needs no delimiter.
    /// A line that could not be an argument is an error.
    pub(super) fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        let mut limited = (&mut self.reader).take(LONGEST as u64 + 1);
        if limited.read_until(self.delimiter, &mut line)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        if line.last() == Some(&self.delimiter) {
            line.pop();
        }
        if self.last.as_ref() == Some(&line) {
            self.end();
            return Ok(None);
        }
        self.check(&line)?;
        Ok(Some(line))
    }

    /// Nothing more is read.
    fn end(&mut self) {
        self.reader.consume(self.reader.buffer().len());
        self.reader.get_mut().end();
    }

    fn check(&self, line: &[u8]) -> io::Result<()> {
        let number = self.number;
        if line.len() > LONGEST {
            let text = format!("line {number} is longer than an argument can be ({LONGEST} bytes)");
            return Err(io::Error::other(text));
        }
        if line.contains(&0) {
            let text = format!("line {number} has a NUL byte in it (is -0 missing?)");
            return Err(io::Error::other(text));
        }
        Ok(())
    }
}

/// A file whose reading ends, as at its end, once `stop` is readable: nobody should have to press
/// Ctrl-C twice because a terminal or a slow writer has nothing for us. A regular file is read to
/// its end: it makes nobody wait.
pub(super) struct Interruptible<'a> {
    source: File,
    stop: Option<BorrowedFd<'a>>,
    /// Its end was seen.
    is_over: bool,
    /// What is left of it is nobody's.
    is_ended: bool,
    /// Nothing is waited for any more, and so much is read at most.
    left: Option<usize>,
}

impl Read for Interruptible<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.is_ended || self.wait_for_input()? {
                return Ok(0);
            }
            match self.source.read(buffer) {
                // Somebody else's O_NONBLOCK, and another reader was faster.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => {
                    let count = *result.as_ref().unwrap_or(&0);
                    self.is_over |= matches!(result, Ok(0));
                    self.left = self.left.map(|left| left.saturating_sub(count));
                    return result;
                }
            }
        }
    }
}

impl<'a> Interruptible<'a> {
    pub(super) fn new(source: File, stop: BorrowedFd<'a>) -> Self {
        let is_regular = source.metadata().is_ok_and(|file| file.is_file());
        Self {
            source,
            stop: Some(stop).filter(|_| !is_regular),
            is_over: false,
            is_ended: false,
            left: None,
        }
    }

    /// Nothing more is read.
    fn end(&mut self) {
        (self.is_over, self.is_ended) = (true, true);
    }

    /// Waits until there is something to read (also an end or an error); true: told to stop.
    fn wait_for_input(&self) -> io::Result<bool> {
        let Some(stop) = self.stop else {
            return Ok(false);
        };
        if let Some(left) = self.left {
            let mut fds = [PollFd::new(&self.source, PollFlags::IN)];
            return Ok(left == 0 || poll(&mut fds, Some(&NO_WAIT))? == 0);
        }
        let mut fds = [
            PollFd::new(&self.source, PollFlags::IN),
            PollFd::from_borrowed_fd(stop, PollFlags::IN),
        ];
        loop {
            match poll(&mut fds, None) {
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
                Ok(_) => return Ok(!fds[1].revents().is_empty()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{EventfdFlags, eventfd};
    use std::io::{Seek, Write};
    use std::os::fd::AsFd;

    fn file(content: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        file.rewind().unwrap();
        file
    }

    fn all(content: &[u8], delimiter: u8) -> io::Result<Vec<Vec<u8>>> {
        let never = eventfd(0, EventfdFlags::empty()).unwrap();
        let mut lines = Lines::new(file(content), delimiter, never.as_fd());
        let mut read = Vec::new();
        while let Some(line) = lines.next()? {
            read.push(line);
        }
        Ok(read)
    }

    #[test]
    fn last_line_needs_no_delimiter_and_empty_lines_count() {
        assert_eq!(
            all(b"a\n\n\xff b", b'\n').unwrap(),
            [&b"a"[..], b"", b"\xff b"]
        );
        assert_eq!(all(b"a\n", b'\n').unwrap(), [b"a"]);
        assert_eq!(all(b"", b'\n').unwrap(), [b""; 0]);
    }

    #[test]
    fn nul_delimited_lines_may_hold_newlines() {
        assert_eq!(all(b"a\nb\0c\0", 0).unwrap(), [&b"a\nb"[..], b"c"]);
    }

    #[test]
    fn impossible_arguments_are_errors_that_name_the_line() {
        let nul = all(b"a\nb\0c\n", b'\n').unwrap_err();
        assert!(nul.to_string().contains("line 2"), "{nul}");
        let long = all(&vec![b'x'; LONGEST + 1], b'\n').unwrap_err();
        assert!(long.to_string().contains("line 1"), "{long}");
        assert_eq!(all(&vec![b'x'; LONGEST], b'\n').unwrap()[0].len(), LONGEST);
    }

    #[test]
    fn stop_ends_the_reading_of_an_idle_pipe() {
        let (reader, _writer) = io::pipe().unwrap();
        let stop = eventfd(1, EventfdFlags::empty()).unwrap();
        let source = File::from(std::os::fd::OwnedFd::from(reader));
        assert_eq!(
            Lines::new(source, b'\n', stop.as_fd()).next().unwrap(),
            None
        );
    }
}
