//! One running job: reads its output until its leader is dead.

use super::output::Blocks;
use super::spool::{Held, Spool};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, pidfd_open, waitid};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, ExitStatus};

/// How often to ask whether the leader is dead where no pidfd could be had.
const ASK_EVERY: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 10_000_000,
};
const NO_WAIT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};
/// No pipe holds more, unless somebody with privilege made it larger.
const LARGEST_PIPE: usize = 1024 * 1024;

/// A process and what it has written so far.
pub(super) struct Job {
    child: Child,
    pid: Pid,
    /// None where the kernel or a sandbox has none, or no descriptor is left.
    pidfd: Option<OwnedFd>,
    out: Stream,
    err: Stream,
}

impl Job {
    /// `child` has pipes as standard output and standard error.
    pub(super) fn new(mut child: Child, held: &Held) -> Self {
        let pid = Pid::from_child(&child);
        let out = Stream::new(child.stdout.take().map(OwnedFd::from), held);
        let err = Stream::new(child.stderr.take().map(OwnedFd::from), held);
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).ok();
        Self {
            child,
            pid,
            pidfd,
            out,
            err,
        }
    }

    /// Collects output until the leader is dead, which it then is without being reaped. That is
    /// not the end of file: a daemon that the job left behind may hold the pipes for ever.
    pub(super) fn watch(&mut self) -> io::Result<()> {
        let patience = if self.pidfd.is_some() {
            None
        } else {
            Some(&ASK_EVERY)
        };
        loop {
            let (_, leader_event) = self.round(patience)?;
            let is_dead = if self.pidfd.is_some() {
                leader_event
            } else {
                self.is_dead()?
            };
            if is_dead {
                return self.drain();
            }
        }
    }

    /// Waits for the leader's death without reading: for when there is nowhere to put the output.
    /// The pipes are closed, so that a job that goes on writing ends.
    pub(super) fn watch_only(&mut self) {
        (self.out.pipe, self.err.pipe) = (None, None);
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(self.pid), options), Err(Errno::INTR)) {}
    }

    /// Reaps the leader and gives what the job wrote.
    pub(super) fn reap(mut self) -> io::Result<(ExitStatus, Blocks)> {
        let status = self.child.wait()?;
        Ok((
            status,
            Blocks {
                out: self.out.spool,
                err: self.err.spool,
            },
        ))
    }

    fn is_dead(&self) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(self.pid), options)?.is_some())
    }

    /// Takes what is in the pipes and waits for nothing. A daemon that writes on and on does not
    /// keep us: more than the pipes can hold was not there when the leader died.
    fn drain(&mut self) -> io::Result<()> {
        let mut drained = 0;
        while drained < 2 * LARGEST_PIPE {
            match self.round(Some(&NO_WAIT))? {
                (0, _) => break,
                (bytes, _) => drained += bytes,
            }
        }
        Ok(())
    }

    /// Waits until there is output, an end of output, or the leader's end, for at most `patience`.
    /// Gives the number of bytes read and whether there was an event of the leader.
    fn round(&mut self, patience: Option<&Timespec>) -> io::Result<(usize, bool)> {
        let [out, err, leader] = self.poll(patience)?;
        let from_out = if out { self.out.read()? } else { 0 };
        let from_err = if err { self.err.read()? } else { 0 };
        Ok((from_out + from_err, leader))
    }

    fn poll(&self, patience: Option<&Timespec>) -> io::Result<[bool; 3]> {
        let sources = [
            self.out.pipe.as_ref(),
            self.err.pipe.as_ref(),
            self.pidfd.as_ref(),
        ];
        let mut fds: Vec<PollFd<'_>> = sources
            .iter()
            .flatten()
            .map(|fd| PollFd::new(*fd, PollFlags::IN))
            .collect();
        rustix::io::retry_on_intr(|| poll(&mut fds, patience))?;
        let mut events = fds.iter().map(|fd| !fd.revents().is_empty());
        Ok(sources.map(|source| source.is_some() && events.next().unwrap_or(false)))
    }
}

/// One of the job's two outputs.
struct Stream {
    /// None once nobody can write to it any more.
    pipe: Option<OwnedFd>,
    spool: Spool,
}

impl Stream {
    fn new(pipe: Option<OwnedFd>, held: &Held) -> Self {
        Self {
            pipe,
            spool: Spool::new(held),
        }
    }

    /// Reads once, which does not wait after poll reported an event; gives the number of bytes.
    fn read(&mut self) -> io::Result<usize> {
        let Some(pipe) = &self.pipe else {
            return Ok(0);
        };
        let bytes = self.spool.read_from(pipe.as_fd())?;
        if bytes == Some(0) {
            self.pipe = None;
        }
        Ok(bytes.unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn job(script: &str) -> Job {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", script])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Job::new(shell.spawn().unwrap(), &Held::default())
    }

    fn end_of(mut job: Job) -> (Option<i32>, Vec<u8>, Vec<u8>) {
        job.watch().unwrap();
        let (status, blocks) = job.reap().unwrap();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        blocks.out.write_to(&mut out).unwrap();
        blocks.err.write_to(&mut err).unwrap();
        (status.code(), out, err)
    }

    const SCRIPT: &str = "echo out; echo err >&2; sleep 0.03; echo last; exit 7";

    #[test]
    fn output_and_status_with_and_without_a_pidfd() {
        let expected = (Some(7), b"out\nlast\n".to_vec(), b"err\n".to_vec());
        assert_eq!(end_of(job(SCRIPT)), expected);
        let mut without = job(SCRIPT);
        without.pidfd = None;
        assert_eq!(end_of(without), expected);
    }

    #[test]
    fn job_that_closed_its_outputs_is_awaited() {
        let ended = end_of(job("exec >&- 2>&-; sleep 0.03; exit 3"));
        assert_eq!(ended, (Some(3), Vec::new(), Vec::new()));
    }

    #[test]
    fn job_whose_output_nobody_takes_ends() {
        let mut writer = job("exec yes");
        writer.watch_only();
        let (status, _) = writer.reap().unwrap();
        assert!(
            !status.success(),
            "it was told by SIGPIPE or an error: {status}"
        );
    }
}
