//! The lines of the next job, of those that are still to be done, and its number: that of its lines
//! in the input, whatever is left out. So what is named by it (a file of results) is the same job's
//! in each run over that input.

use super::batch::Batch;
use super::blocks::Blocks;
use super::input::Input;
use super::log::Done;
use super::template::Template;
use std::collections::VecDeque;
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
    /// Jobs that were read before their turn.
    ahead: VecDeque<Numbered>,
}

/// The number of a job, from 0, and its lines.
type Numbered = (u64, Vec<Vec<u8>>);

/// What a job is made of.
pub(super) struct Submission {
    /// From 0.
    pub(super) sequence: u64,
    pub(super) lines: Vec<Vec<u8>>,
    /// Its standard input, if it has one of its own. The number stands for the line then.
    pub(super) block: Option<Vec<u8>>,
}

/// The jobs of an input, one after the other.
pub(super) struct Jobs<'a> {
    from: From<'a>,
}

enum From<'a> {
    Lines(Feed<'a>),
    Blocks(BlockFeed<'a>),
}

/// From blocks to a job for each of those that are still to be done.
struct BlockFeed<'a> {
    blocks: Blocks<'a>,
    done: Done,
    skipped: u64,
    /// The number of the next one, from 0.
    next: u64,
}

impl<'a> Jobs<'a> {
    pub(super) fn lines(feed: Feed<'a>) -> Self {
        let from = From::Lines(feed);
        Self { from }
    }

    /// `done`: what is to be left out.
    pub(super) fn blocks(blocks: Blocks<'a>, done: Done) -> Self {
        let from = From::Blocks(BlockFeed {
            blocks,
            done,
            skipped: 0,
            next: 0,
        });
        Self { from }
    }

    /// The next job. None at the end of the input.
    pub(super) fn next(&mut self) -> io::Result<Option<Submission>> {
        match &mut self.from {
            From::Lines(feed) => {
                let job = feed.next()?;
                Ok(job.map(|(sequence, lines)| Submission {
                    sequence,
                    lines,
                    block: None,
                }))
            }
            From::Blocks(feed) => feed.next(),
        }
    }

    /// Reads the whole input, and says how many jobs there are. Not of blocks.
    pub(super) fn read_all(&mut self) -> u64 {
        match &mut self.from {
            From::Lines(feed) => feed.read_all(),
            From::Blocks(_) => 0,
        }
    }

    /// How many jobs are left, as far as that can be known without waiting for somebody who writes
    /// them; and whether that are all.
    pub(super) fn count_rest(&mut self) -> (u64, bool) {
        match &mut self.from {
            From::Lines(feed) => feed.count_rest(),
            From::Blocks(_) => (0, false),
        }
    }

    /// Lines, or blocks, that were left out because they are done.
    pub(super) fn skipped(&self) -> u64 {
        match &self.from {
            From::Lines(feed) => feed.skipped,
            From::Blocks(feed) => feed.skipped,
        }
    }
}

impl BlockFeed<'_> {
    fn next(&mut self) -> io::Result<Option<Submission>> {
        while let Some(block) = self.blocks.next()? {
            let (sequence, line) = (self.next, (self.next + 1).to_string().into_bytes());
            self.next += 1;
            if self.done.take(&line) {
                self.skipped += 1;
                continue;
            }
            return Ok(Some(Submission {
                sequence,
                lines: vec![line],
                block: Some(block),
            }));
        }
        Ok(None)
    }
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
            ahead: VecDeque::new(),
        }
    }

    fn next(&mut self) -> io::Result<Option<Numbered>> {
        match self.ahead.pop_front() {
            Some(job) => Ok(Some(job)),
            None => self.read(),
        }
    }

    fn read_all(&mut self) -> u64 {
        let mut error = None;
        loop {
            match self.read() {
                Ok(Some(job)) => self.ahead.push_back(job),
                Ok(None) => break,
                Err(why) => {
                    error = Some(why);
                    break;
                }
            }
        }
        self.error = error;
        self.ahead.len() as u64
    }

    fn count_rest(&mut self) -> (u64, bool) {
        let ahead = std::mem::take(&mut self.ahead).len() as u64;
        self.input.wait_no_more();
        let mut jobs = std::iter::from_fn(|| self.read().transpose());
        let read = jobs.by_ref().map_while(Result::ok).count() as u64;
        (ahead + read, self.input.is_over())
    }

    fn read(&mut self) -> io::Result<Option<Numbered>> {
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

    fn add(&mut self, line: Vec<u8>) -> Option<Numbered> {
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

    fn rest(&mut self) -> Option<Numbered> {
        let job = self.batch.rest()?;
        Some(self.numbered(job))
    }

    /// Jobs of so many lines each have the number that they have with nothing left out.
    fn numbered(&mut self, job: Vec<Vec<u8>>) -> Numbered {
        let number = self.next.max(self.first / self.max_args);
        self.next = number + 1;
        (number, job)
    }
}
