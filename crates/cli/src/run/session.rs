//! From a line to the end of its job: what one item of the workqueue does.

use super::control::Control;
use super::job::Job;
use super::launch::{Launcher, failure, is_shortage};
use super::limit::Limit;
use super::output::{Blocks, Output};
use super::spool::Held;
use super::status::{JobEnd, OTHER_ERROR};
use super::template::Template;
use cmwq::Workqueue;
use rustix::process::{Pid, Signal};
use std::ffi::OsString;
use std::io;
use std::process::{Child, ExitStatus};
use std::sync::Arc;

/// All that the jobs of a run share.
pub(super) struct Session {
    pub(super) control: Control,
    pub(super) output: Output,
    pub(super) template: Template,
    launcher: Launcher,
    held: Held,
    queue: Workqueue,
    limit: Limit,
}

impl Session {
    pub(super) fn new(args: &super::RunArgs, template: Template) -> io::Result<Self> {
        let limit = Limit::new(args.max_active);
        let queue = Workqueue::builder("run")
            .max_active(limit.now())
            .build()
            .map_err(io::Error::other)?;
        Ok(Self {
            control: Control::new()?,
            output: Output::new(args.keep_order)?,
            template,
            launcher: Launcher::new(args.arg_file.is_some()),
            held: Held::default(),
            queue,
            limit,
        })
    }

    /// Queues the job of `line`, the line number `sequence`, once there is room for it. False:
    /// the run is stopped.
    pub(super) fn submit(self: &Arc<Self>, sequence: u64, line: Vec<u8>) -> bool {
        if !self.control.admit(|| 2 * self.limit.now() + 64) {
            return false;
        }
        let seat = Seat(Arc::clone(self));
        // Its result is in the control; nobody joins.
        let _unjoined = self.queue.spawn(move || seat.0.run(sequence, line));
        true
    }

    /// Waits until all submitted jobs have ended and their items are done.
    pub(super) fn wait(&self) -> io::Result<()> {
        self.control.wait_until_all_left();
        self.queue.flush().map_err(io::Error::other)
    }

    /// Stops the run with exit status `code`; the first who does so gets to say why.
    pub(super) fn stop(&self, code: u8, why: &str) {
        if self.control.stop(code) {
            self.output.note(why);
        }
    }

    fn run(&self, sequence: u64, line: Vec<u8>) {
        let words = self.template.words(line);
        let name = self.template.name(&words).display();
        let result = match self.launch(&words) {
            Err(error) => Err(failure(&error)),
            Ok(None) => Ok(None),
            Ok(Some(child)) => self.attend(sequence, child).map(Some),
        };
        let (end, blocks) = match result {
            Ok(Some((status, blocks))) => (Some(JobEnd::of(status)), Some(blocks)),
            Ok(None) => (None, None),
            Err((code, why)) => {
                self.stop(code, &format!("{name}: {why}"));
                (None, None)
            }
        };
        self.write(sequence, blocks);
        if let Some(end) = end {
            self.account(end, &format!("{name}"));
        }
    }

    /// Starts the process, waiting for room for it if need be. None: the run was stopped before.
    fn launch(&self, words: &[OsString]) -> io::Result<Option<Child>> {
        let mut lonely_tries = 0;
        loop {
            if self.control.is_stopped() {
                return Ok(None);
            }
            let seen = self.control.ends();
            match self.launcher.start(words) {
                Ok(child) => return Ok(Some(child)),
                Err(error) if is_shortage(&error) => {
                    // More workers that wait like this one would take what is left.
                    self.limit.lower(self.control.running(), &self.queue);
                    let again = self.control.wait_for_relief(seen, &mut lonely_tries);
                    if !again && !self.control.is_stopped() {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Follows a process from its start to its end.
    fn attend(&self, sequence: u64, child: Child) -> Result<(ExitStatus, Blocks), (u8, String)> {
        let group = Pid::from_child(&child);
        self.control.started(sequence, group);
        let attached = cmwq::process::attach(child.id());
        let mut job = Job::new(child, &self.held);
        let watched = job.watch();
        if watched.is_err() {
            self.control.kill_job(sequence, Signal::TERM);
            job.watch_only();
        }
        self.control.died(sequence);
        drop(attached);
        let end = job.reap().map_err(lost_output)?;
        watched.map(|()| end).map_err(lost_output)
    }

    /// Hands the output over. If it cannot be written, the run stops; where nobody reads any
    /// more, the jobs are ended too.
    fn write(&self, sequence: u64, blocks: Option<Blocks>) {
        if let Err(error) = self.output.put(sequence, blocks) {
            self.stop(OTHER_ERROR, &error.to_string());
            if error.kind() == io::ErrorKind::BrokenPipe {
                self.control.kill_jobs(Signal::TERM);
            }
        }
    }

    fn account(&self, end: JobEnd, name: &str) {
        if let Some((code, why)) = end.stops_the_run() {
            self.stop(code, &format!("{name}: {why}"));
        }
        let completed = self.control.ended(end);
        self.limit.raise(completed, &self.queue);
    }
}

fn lost_output(error: io::Error) -> (u8, String) {
    (OTHER_ERROR, format!("its output was lost: {error}"))
}

/// The place of an admitted line, given back however its item ends.
struct Seat(Arc<Session>);

impl Drop for Seat {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0
                .stop(OTHER_ERROR, "internal error: a job's item panicked");
        }
        self.0.control.leave();
    }
}
