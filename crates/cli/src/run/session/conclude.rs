//! The end of a job: what it does to the run, and where its output goes.

use super::title::{Title, shown};
use super::{Attempt, Ours, Session};
use crate::run::failures::FailedJob;
use crate::run::halt::Outcome;
use crate::run::hole::Arguments;
use crate::run::log::Entry;
use crate::run::output::{Finished, Lost};
use crate::run::spare::{Spared, is_out_of_descriptors};
use crate::run::status::{JobEnd, OTHER_ERROR};
use cmwq_admission::{Relief, Spent};
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

impl Session {
    /// The end of a job's last attempt is the job's.
    pub(super) fn conclude(&self, title: &Title, lines: Vec<Vec<u8>>, mut last: Attempt) {
        if let Err(error) = self.keep(title, &lines, &mut last) {
            let (is_first, (_, why)) = self.lost(Lost::Unheld(error));
            if is_first {
                self.output.error(&title.says(&why));
            }
            return self.put(title.sequence, None);
        }
        let (end, spent) = (last.end, last.spent);
        // Asked before this end can have others ended.
        let was_told = end.may_be_told() && self.control.ends_with().is_some();
        let stops_run = match self.rules.ended(end) {
            Outcome::Stop { code, terminate } => self.stop_by_job(code, terminate),
            Outcome::GoOn => false,
        };
        self.long.ended(title.sequence, last.runtime);
        self.put(title.sequence, Some(finished(title, lines, last)));
        self.tell_end(title, end, stops_run);
        if end != JobEnd::Succeeded && !was_told {
            self.failures.add(|| FailedJob {
                sequence: title.sequence + 1,
                arguments: shown(&title.arguments),
                why: end.words(),
            });
        }
        self.account(end, was_told, spent);
    }

    /// Says that this job ends the run; below a board of running jobs, also that it failed.
    fn tell_end(&self, title: &Title, end: JobEnd, stops_run: bool) {
        let is_failure = end != JobEnd::Succeeded;
        if stops_run {
            let why = title.says(&self.rules.farewell(end));
            match is_failure {
                true => self.output.error(&why),
                false => self.output.note(&why),
            }
        } else if is_failure && self.board.is_shown() {
            self.output.note(&title.says(&end.words()));
        }
    }

    /// Writes the files of the job, where there are any.
    fn keep(&self, title: &Title, lines: &[Vec<u8>], last: &mut Attempt) -> io::Result<()> {
        let Some(results) = &self.results else {
            return Ok(());
        };
        let columns = self.template.columns(lines);
        let job = Arguments {
            columns: &columns,
            sequence: title.sequence + 1,
            slot: title.slot,
        };
        let create = |path: &Path| self.create(path);
        results.write(&job, last.status, &mut last.blocks, create)
    }

    /// A file of a job that has ended. While all descriptors are in use it waits for others to end.
    fn create(&self, path: &Path) -> io::Result<Spared<'_, File>> {
        let mut relief = Relief::default();
        loop {
            let seen = self.control.ends();
            let created = self.spare.help(|| File::create(path));
            let is_refused = created.as_ref().is_err_and(is_out_of_descriptors);
            if !is_refused || !self.control.wait_to_keep(seen, &mut relief) {
                return created;
            }
        }
    }

    /// True for the first that stops the run. After a signal to us it is that which decides what
    /// becomes of the jobs: how they end is its consequence.
    fn stop_by_job(&self, code: u8, terminate: bool) -> bool {
        let first = self.control.stop(code);
        let is_signalled = self.control.is_signalled();
        if terminate && !is_signalled {
            self.control.terminate();
        }
        first && !is_signalled
    }

    /// Hands the output over.
    pub(super) fn put(&self, sequence: u64, finished: Option<Finished>) {
        let put = self.output.put(sequence, finished);
        self.control.has_more_room();
        if let Err(lost) = put {
            let (first, (_, why)) = self.lost(lost);
            if first {
                self.output.error(&why);
            }
        }
    }

    /// Stops the run for want of output, and tells whether that was the first cause and what to say
    /// then. Where nobody reads ours any more, the jobs are ended, and nothing is said: whoever
    /// went knows.
    pub(super) fn lost(&self, lost: Lost) -> (bool, Ours) {
        let is_read =
            !matches!(&lost, Lost::Unwritten(error) if error.kind() == io::ErrorKind::BrokenPipe);
        let why = match lost {
            Lost::Unheld(error) => format!("its output was lost: {error}"),
            Lost::Unlogged(error) | Lost::Unwritten(error) => error.to_string(),
        };
        let first = self.control.stop(OTHER_ERROR);
        if !is_read {
            self.control.terminate();
        }
        (first && is_read, (OTHER_ERROR, why))
    }

    /// `was_told`: to end, by the run.
    fn account(&self, end: JobEnd, was_told: bool, spent: Spent) {
        let completed = match was_told {
            true => self.control.ended_as_told(),
            false => self.control.ended(end),
        };
        let running = self.control.running();
        self.limit.ended(completed, running, spent, &self.queue);
        self.mind_room();
    }
}

/// The output of a job, and what is logged of it.
fn finished(title: &Title, lines: Vec<Vec<u8>>, last: Attempt) -> Finished {
    Finished {
        blocks: last.blocks,
        tag: title.tag.clone(),
        entry: Entry {
            sequence: title.sequence + 1,
            start: last.start.duration_since(UNIX_EPOCH).unwrap_or_default(),
            runtime: last.runtime,
            end: last.end,
            status: last.status,
            attempts: last.number,
            lines,
        },
    }
}
