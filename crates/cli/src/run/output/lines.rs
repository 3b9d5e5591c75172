//! Output of a job that is written line by line while the job runs.

use super::{Lost, Output, READ_SIZE, To};
use rustix::io::Errno;
use std::os::fd::BorrowedFd;

/// A longer line is not waited for.
const LONGEST_LINE: usize = 1024 * 1024;

/// One stream of one job.
pub(in crate::run) struct LineSink<'a> {
    output: &'a Output,
    to: To,
    /// The beginning of a line.
    rest: Vec<u8>,
}

impl<'a> LineSink<'a> {
    pub(in crate::run) fn new(output: &'a Output, to: To) -> Self {
        Self {
            output,
            to,
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
        self.output.write_now(self.to, &self.rest[..whole])?;
        self.rest.drain(..whole);
        Ok(())
    }

    /// Writes a last line that has no newline, with one: the next line is another job's.
    pub(in crate::run) fn finish(&mut self) -> Result<(), Lost> {
        if self.rest.is_empty() {
            return Ok(());
        }
        self.rest.push(b'\n');
        let written = self.output.write_now(self.to, &self.rest);
        self.rest.clear();
        written
    }
}
