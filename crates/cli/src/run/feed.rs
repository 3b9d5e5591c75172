//! The lines of the next job, of those that are still to be done, and its number: that of its lines
//! in the input, whatever is left out. So what is named by it (a file of results) is the same job's
//! in each run over that input.

use super::batch::Batch;
use super::input::Input;
use super::log::Done;
use super::template::Template;
use std::io;

/// From an input to the lines of one job after the other.
pub(super) struct Feed<'a> {
    input: Input<'a>,
    template: &'a Template,
    batch: Batch,
    done: Done,
    skipped: u64,
    max_args: u64,
    /// Lines so far, those that are left out as well.
    lines: u64,
    /// The first one of the job that is being put together.
    first: u64,
    /// No job has this number yet, from 0.
    next: u64,
    /// Told once the lines before it are a job.
    error: Option<io::Error>,
}

impl<'a> Feed<'a> {
    /// `done`: what is to be left out.
    pub(super) fn new(
        input: Input<'a>,
        template: &'a Template,
        max_args: usize,
        done: Done,
    ) -> Self {
        Self {
            input,
            template,
            batch: Batch::new(template, max_args),
            done,
            skipped: 0,
            max_args: max_args.max(1) as u64,
            lines: 0,
            first: 0,
            next: 0,
            error: None,
        }
    }

    /// The number of the next job, from 0, and its lines. None at the end of the input.
    pub(super) fn next(&mut self) -> io::Result<Option<(u64, Vec<Vec<u8>>)>> {
        while self.error.is_none() {
            match self.input.next() {
                Ok(None) => return Ok(self.rest()),
                Ok(Some(line)) if !self.template.accepts(&line) => {}
                Ok(Some(line)) => {
                    if let Some(job) = self.add(line) {
                        return Ok(Some(job));
                    }
                }
                Err(error) => self.error = Some(error),
            }
        }
        match (self.rest(), self.error.take()) {
            (None, Some(error)) => Err(error),
            (job, error) => {
                self.error = error;
                Ok(job)
            }
        }
    }

    fn add(&mut self, line: Vec<u8>) -> Option<(u64, Vec<Vec<u8>>)> {
        let at = self.lines;
        self.lines += 1;
        if self.done.take(&line) {
            self.skipped += 1;
            return None;
        }
        if self.batch.is_empty() {
            self.first = at;
        }
        let job = self.batch.add(line)?;
        let numbered = self.numbered(job);
        // The line did not fit in any more: it begins the next job.
        self.first = at;
        Some(numbered)
    }

    fn rest(&mut self) -> Option<(u64, Vec<Vec<u8>>)> {
        let job = self.batch.rest()?;
        Some(self.numbered(job))
    }

    /// Jobs of so many lines each have the number that they have with nothing left out.
    fn numbered(&mut self, job: Vec<Vec<u8>>) -> (u64, Vec<Vec<u8>>) {
        let number = self.next.max(self.first / self.max_args);
        self.next = number + 1;
        (number, job)
    }

    /// Lines that were left out because they are done.
    pub(super) fn skipped(&self) -> u64 {
        self.skipped
    }
}
