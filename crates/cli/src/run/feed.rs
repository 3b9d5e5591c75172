//! The lines of the next job, of those that are still to be done.

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
            error: None,
        }
    }

    /// None at the end of the input.
    pub(super) fn next(&mut self) -> io::Result<Option<Vec<Vec<u8>>>> {
        while self.error.is_none() {
            match self.input.next() {
                Ok(None) => return Ok(self.batch.rest()),
                Ok(Some(line)) if !self.template.accepts(&line) => {}
                Ok(Some(line)) if self.done.take(&line) => self.skipped += 1,
                Ok(Some(line)) => {
                    if let Some(job) = self.batch.add(line) {
                        return Ok(Some(job));
                    }
                }
                Err(error) => self.error = Some(error),
            }
        }
        match (self.batch.rest(), self.error.take()) {
            (None, Some(error)) => Err(error),
            (job, error) => {
                self.error = error;
                Ok(job)
            }
        }
    }

    /// Lines that were left out because they are done.
    pub(super) fn skipped(&self) -> u64 {
        self.skipped
    }
}
