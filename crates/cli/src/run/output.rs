//! Where the jobs' output goes: each job's as a whole, in the order of ends or of lines.

use super::spool::Spool;
use rustix::event::{PollFd, PollFlags, poll};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The held output of one job.
pub(super) struct Blocks {
    pub(super) out: Spool,
    pub(super) err: Spool,
}

/// Our standard output and standard error, shared by all jobs.
pub(super) struct Output {
    keep_order: bool,
    state: Mutex<State>,
}

struct State {
    out: Stream,
    err: Stream,
    /// With `keep_order`: the job whose turn it is, and those that ended before their turn.
    next: u64,
    early: BTreeMap<u64, Option<Blocks>>,
}

impl Output {
    pub(super) fn new(keep_order: bool) -> io::Result<Self> {
        let out = Stream::of(io::stdout().as_fd(), "standard output")?;
        let err = Stream::of(io::stderr().as_fd(), "standard error")?;
        let state = State {
            out,
            err,
            next: 0,
            early: BTreeMap::new(),
        };
        Ok(Self {
            keep_order,
            state: Mutex::new(state),
        })
    }

    /// Takes the output of the job of line `sequence` (None: it has not run) and writes whatever
    /// has its turn. Must be called once for each line, counted from 0.
    pub(super) fn put(&self, sequence: u64, blocks: Option<Blocks>) -> io::Result<()> {
        let mut state = self.lock();
        if !self.keep_order {
            return state.write(blocks);
        }
        state.early.insert(sequence, blocks);
        state.write_those_in_turn()
    }

    /// Writes a message of our own to standard error, between the jobs' output.
    pub(super) fn note(&self, text: &str) {
        self.print(&format!("cmwq run: {text}"));
    }

    /// Writes `line` as it is to standard error.
    pub(super) fn print(&self, line: &str) {
        // A failure to complain cannot be told to anybody.
        let _ = writeln!(self.lock().err, "{line}");
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn write_those_in_turn(&mut self) -> io::Result<()> {
        while let Some(blocks) = self.early.remove(&self.next) {
            // Before writing: a failed write must not make the rest wait for ever.
            self.next += 1;
            self.write(blocks)?;
        }
        Ok(())
    }

    fn write(&mut self, blocks: Option<Blocks>) -> io::Result<()> {
        let Some(Blocks { out, err }) = blocks else {
            return Ok(());
        };
        out.write_to(&mut self.out)
            .map_err(|error| self.out.name_in(error))?;
        err.write_to(&mut self.err)
            .map_err(|error| self.err.name_in(error))
    }
}

/// One of our own standard streams, unbuffered: blocks are large, and nothing may be left behind.
struct Stream {
    file: File,
    name: &'static str,
}

impl Stream {
    fn of(fd: BorrowedFd<'_>, name: &'static str) -> io::Result<Self> {
        let file = File::from(fd.try_clone_to_owned()?);
        Ok(Self { file, name })
    }

    fn name_in(&self, error: io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}", self.name))
    }

    fn wait_for_room(&self) -> io::Result<()> {
        poll(&mut [PollFd::new(&self.file, PollFlags::OUT)], None)?;
        Ok(())
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.file.write(bytes) {
                // The descriptor is shared with others, one of whom may have made it non-blocking.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait_for_room()?,
                result => return result,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
