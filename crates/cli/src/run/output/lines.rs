//! Output of a job that is written line by line while the job runs.

use super::tag::Tagged;
use super::{Lost, Output, READ_SIZE, To};
use rustix::io::Errno;
use std::io::Write;
use std::os::fd::BorrowedFd;

/// A longer line is not waited for.
const LONGEST_LINE: usize = 1024 * 1024;

/// One stream of one job.
pub(in crate::run) struct LineSink<'a> {
    output: &'a Output,
    to: To,
    /// Before each line.
    tag: Option<Vec<u8>>,
    /// The beginning of a line.
    rest: Vec<u8>,
}

impl<'a> LineSink<'a> {
    pub(in crate::run) fn new(output: &'a Output, to: To, tag: Option<Vec<u8>>) -> Self {
        Self {
            output,
            to,
            tag,
            rest: Vec::new(),
        }
    }

    /// Passes on what one read from `pipe` gives and says how many bytes: 0 at the end, None where
    /// the read was interrupted.
    pub(in crate::run) fn read_from(
        &mut self,
        pipe: BorrowedFd<'_>,
    ) -> Result<Option<usize>, Lost> {
        self.rest.reserve(READ_SIZE);
        match rustix::io::read(pipe, rustix::buffer::spare_capacity(&mut self.rest)) {
            Ok(count) => self.pass_on(count).map(|()| Some(count)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(Lost::Unheld(error.into())),
        }
    }

    /// Writes the whole lines; the last `count` bytes are new.
    fn pass_on(&mut self, count: usize) -> Result<(), Lost> {
        let new = self.rest.len() - count;
        let newline = self.rest[new..].iter().rposition(|&byte| byte == b'\n');
        let whole = match newline {
            Some(at) => new + at + 1,
            None if self.rest.len() > LONGEST_LINE => self.rest.len(),
            None => return Ok(()),
        };
        self.write(whole)?;
        self.rest.drain(..whole);
        Ok(())
    }

    /// Writes a last line that has no newline, with one: the next line is another job's.
    pub(in crate::run) fn finish(&mut self) -> Result<(), Lost> {
        if self.rest.is_empty() {
            return Ok(());
        }
        self.rest.push(b'\n');
        let written = self.write(self.rest.len());
        self.rest.clear();
        written
    }

    /// Writes so much of the beginning, tagged.
    fn write(&self, length: usize) -> Result<(), Lost> {
        let lines = &self.rest[..length];
        let Some(tag) = &self.tag else {
            return self.output.write_now(self.to, lines);
        };
        let mut tagged = Vec::with_capacity(2 * length);
        let unheld = Lost::Unheld;
        let mut writer = Tagged::new(tag, &mut tagged);
        writer.write_all(lines).map_err(unheld)?;
        writer.finish().map_err(unheld)?;
        self.output.write_now(self.to, &tagged)
    }
}
