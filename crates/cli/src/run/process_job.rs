//! One running job: reads its output until its leader is dead.

use super::output::{Blocks, LineSink, Lost, Spool, To};
use cmwq_admission::Gather;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::fcntl_getpipe_size;
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, pidfd_open, waitid};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::Duration;

/// How often to ask whether the leader is dead where no pidfd could be had.
const ASK_EVERY: Duration = Duration::from_millis(10);
const NO_WAIT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};
/// What a pipe holds at least.
const SMALLEST_PIPE: usize = 4096;
/// No pipe holds more, unless somebody with privilege made it larger.
const LARGEST_PIPE: usize = 1024 * 1024;

/// Where one stream of a job goes.
pub(super) enum Sink<'a> {
    /// It is held until the job ends.
    Held(Spool),
    /// Lines are written as they come.
    Lines(LineSink<'a>),
}

/// A process and what it has written so far.
pub(super) struct ProcessJob<'a> {
    child: Child,
    pid: Pid,
    /// None where the kernel or a sandbox has none, or no descriptor is left.
    pidfd: Option<OwnedFd>,
    out: Stream<'a>,
    err: Stream<'a>,
    /// From the first time that it has written.
    gather: Option<Gather>,
}

impl<'a> ProcessJob<'a> {
    /// Those standard streams of `child` that are pipes go to a sink each.
    pub(super) fn new(mut child: Child, sink: impl Fn(To) -> Sink<'a>) -> Self {
        let pid = Pid::from_child(&child);
        let out = Stream::new(child.stdout.take().map(OwnedFd::from), sink(To::Out));
        let err = Stream::new(child.stderr.take().map(OwnedFd::from), sink(To::Err));
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).ok();
        Self {
            child,
            pid,
            pidfd,
            out,
            err,
            gather: None,
        }
    }

    /// The process group that its leader leads.
    pub(super) fn group(&self) -> Pid {
        self.pid
    }

    /// Collects output until the leader is dead, which it then is without being reaped. That is
    /// not the end of file: a daemon that the job left behind may hold the pipes for ever. Calls
    /// `tend` now and then, and again after at most as long as it says.
    pub(super) fn watch(&mut self, mut tend: impl FnMut() -> Duration) -> Result<(), Lost> {
        while !self.is_over_after(tend())? {}
        self.drain()?;
        self.out.finish()?;
        self.err.finish()
    }

    /// Waits for the leader's death without reading: for when there is nowhere to put the output.
    /// The pipes are closed, so that a job that goes on writing ends.
    pub(super) fn watch_only(&mut self, mut tend: impl FnMut() -> Duration) {
        (self.out.pipe, self.err.pipe) = (None, None);
        while matches!(self.is_over_after(tend()), Ok(false)) {}
    }

    /// Collects output for at most `patience`. True: the leader is dead.
    fn is_over_after(&mut self, patience: Duration) -> Result<bool, Lost> {
        if self.pidfd.is_none() {
            self.round(&timespec(patience.min(ASK_EVERY)))?;
            return Ok(self.is_dead());
        }
        let (bytes, is_dead) = self.round(&timespec(patience))?;
        Ok(is_dead || self.gather(bytes).map_err(Lost::Unheld)?)
    }

    /// How the leader, which is dead, has ended, and what the job wrote.
    pub(super) fn end(self) -> (io::Result<(ExitStatus, Blocks)>, Body) {
        let status = status(self.pid);
        let (out, err) = (self.out.sink.block(), self.err.sink.block());
        let ended = status.map(|status| (status, Blocks { out, err }));
        (ended, Body(self.child))
    }

    /// After `bytes` were read: lets more come together, if nobody waits for them. True: the leader
    /// is dead.
    fn gather(&mut self, bytes: usize) -> io::Result<bool> {
        let is_held = self.out.is_held() && self.err.is_held();
        let (Some(pidfd), true, 1..) = (&self.pidfd, is_held, bytes) else {
            return Ok(false);
        };
        let capacity = || self.out.capacity().min(self.err.capacity());
        let gather = self.gather.get_or_insert_with(|| Gather::new(capacity()));
        let Some(pause) = gather.after(bytes).map(Duration::from_nanos) else {
            return Ok(false);
        };
        let mut leader = [PollFd::new(pidfd, PollFlags::IN)];
        let events = rustix::io::retry_on_intr(|| poll(&mut leader, Some(&timespec(pause))))?;
        Ok(events > 0)
    }

    /// Whether the leader is. An error says that there is none, or that it is reaped: nobody to
    /// wait for.
    pub(super) fn is_dead(&self) -> bool {
        is_dead(self.pid)
    }

    /// Takes what is in the pipes and waits for nothing. A daemon that writes on and on does not
    /// keep us: more than the pipes can hold was not there when the leader died.
    fn drain(&mut self) -> Result<(), Lost> {
        let mut drained = 0;
        while drained < 2 * LARGEST_PIPE {
            match self.round(&NO_WAIT)? {
                (0, _) => break,
                (bytes, _) => drained += bytes,
            }
        }
        Ok(())
    }

    /// Waits until there is output, an end of output, or the leader's end, for at most `patience`.
    /// Gives the number of bytes read and whether there was an event of the leader.
    fn round(&mut self, patience: &Timespec) -> Result<(usize, bool), Lost> {
        let [out, err, leader] = self.poll(patience).map_err(Lost::Unheld)?;
        let from_out = if out { self.out.read()? } else { 0 };
        let from_err = if err { self.err.read()? } else { 0 };
        Ok((from_out + from_err, leader))
    }

    fn poll(&self, patience: &Timespec) -> io::Result<[bool; 3]> {
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
        rustix::io::retry_on_intr(|| poll(&mut fds, Some(patience)))?;
        let mut events = fds.iter().map(|fd| !fd.revents().is_empty());
        Ok(sources.map(|source| source.is_some() && events.next().unwrap_or(false)))
    }
}

/// The leader of a job that has ended: reaped when this is dropped. Until then its number, which is
/// that of its process group, is nobody else's.
pub(super) struct Body(Child);

impl Body {
    /// The process group that it led.
    pub(super) fn group(&self) -> Pid {
        Pid::from_child(&self.0)
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        // Fails where somebody else has reaped it, which `status` has told.
        let _ = self.0.wait();
    }
}

/// Whether the process, a child of ours that is not reaped, is dead.
pub(super) fn is_dead(pid: Pid) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::Pid(pid), options), Ok(None))
}

/// The status of a child that is dead, which stays to be reaped.
fn status(pid: Pid) -> io::Result<ExitStatus> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let ended = rustix::io::retry_on_intr(|| waitid(WaitId::Pid(pid), options))?;
    let ended = ended.ok_or(rustix::io::Errno::CHILD)?;
    // As wait(2) has it in one number.
    let raw = match ended.exit_status() {
        Some(code) => (code & 0xff) << 8,
        None => ended.terminating_signal().unwrap_or(0),
    };
    Ok(ExitStatus::from_raw(raw))
}

impl Sink<'_> {
    fn block(self) -> Option<Spool> {
        match self {
            Self::Held(spool) => Some(spool),
            Self::Lines(_) => None,
        }
    }
}

/// One of the job's two outputs.
struct Stream<'a> {
    /// None once nobody can write to it any more.
    pipe: Option<OwnedFd>,
    sink: Sink<'a>,
}

impl<'a> Stream<'a> {
    fn new(pipe: Option<OwnedFd>, sink: Sink<'a>) -> Self {
        Self { pipe, sink }
    }

    fn is_held(&self) -> bool {
        matches!(self.sink, Sink::Held(_))
    }

    /// Bytes that the pipe holds: less than usual where this user has many.
    fn capacity(&self) -> usize {
        let size = |pipe: &OwnedFd| fcntl_getpipe_size(pipe).unwrap_or(SMALLEST_PIPE);
        self.pipe.as_ref().map_or(LARGEST_PIPE, size)
    }

    /// Reads once, which does not wait after poll reported an event; gives the number of bytes.
    fn read(&mut self) -> Result<usize, Lost> {
        let Some(pipe) = &self.pipe else {
            return Ok(0);
        };
        let bytes = match &mut self.sink {
            Sink::Held(spool) => spool.read_from(pipe.as_fd()).map_err(Lost::Unheld)?,
            Sink::Lines(lines) => lines.read_from(pipe.as_fd())?,
        };
        if bytes == Some(0) {
            self.pipe = None;
        }
        Ok(bytes.unwrap_or(0))
    }

    /// Nothing more comes.
    fn finish(&mut self) -> Result<(), Lost> {
        match &mut self.sink {
            Sink::Held(_) => Ok(()),
            Sink::Lines(lines) => lines.finish(),
        }
    }
}

/// Longer than a timespec can say is for ever.
fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: duration.as_secs().try_into().unwrap_or(i32::MAX.into()),
        tv_nsec: duration.subsec_nanos().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::output::Held;
    use std::process::{Command, Stdio};

    const FOR_EVER: Duration = Duration::from_secs(3600);

    fn job(script: &str) -> ProcessJob<'static> {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", script])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        ProcessJob::new(shell.spawn().unwrap(), |_| {
            Sink::Held(Spool::new(&Held::default()))
        })
    }

    fn end_of(mut job: ProcessJob<'_>) -> (Option<i32>, Vec<u8>, Vec<u8>) {
        job.watch(|| FOR_EVER).unwrap();
        let (status, blocks) = job.end().0.unwrap();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        blocks.out.unwrap().write_to(&mut out).unwrap();
        blocks.err.unwrap().write_to(&mut err).unwrap();
        (status.code(), out, err)
    }

    const SCRIPT: &str = "echo out; echo err >&2; sleep 0.03; echo last; exit 7";

    #[test]
    fn output_is_left_to_gather_until_the_leader_is_dead() {
        let mut job = job("exit 0");
        assert!((0..1000).any(|_| job.gather(1).unwrap()), "its end is seen");
        let at_once = [0, LARGEST_PIPE].map(|bytes| job.gather(bytes).unwrap());
        assert_eq!(at_once, [false; 2], "there is nothing to wait for");
    }

    #[test]
    fn output_and_status_with_and_without_a_pidfd() {
        let expected = (Some(7), b"out\nlast\n".to_vec(), b"err\n".to_vec());
        assert_eq!(end_of(job(SCRIPT)), expected);
        let mut without = job(SCRIPT);
        without.pidfd = None;
        assert_eq!(end_of(without), expected);
    }

    #[test]
    fn the_dead_keep_their_number_until_they_are_reaped() {
        let mut job = job("kill -TERM $$");
        job.watch(|| FOR_EVER).unwrap();
        let (ended, body) = job.end();
        assert_eq!(ended.unwrap().0.signal(), Some(libc::SIGTERM));
        let group = body.group();
        assert!(status(group).is_ok(), "it can be asked again");
        drop(body);
        assert!(status(group).is_err(), "it is reaped");
    }

    #[test]
    fn job_that_closed_its_outputs_is_awaited() {
        let ended = end_of(job("exec >&- 2>&-; sleep 0.03; exit 3"));
        assert_eq!(ended, (Some(3), Vec::new(), Vec::new()));
    }

    #[test]
    fn job_whose_output_nobody_takes_ends() {
        let mut writer = job("exec yes");
        writer.watch_only(|| FOR_EVER);
        let (status, _) = writer.end().0.unwrap();
        assert!(
            !status.success(),
            "it was told by SIGPIPE or an error: {status}"
        );
    }
}
