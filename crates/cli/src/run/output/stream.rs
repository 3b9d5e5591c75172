//! One of our own standard streams.

use super::backpressure::{Backpressure, Closed};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat};
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::BorrowedFd;

/// A pipe that poll calls writable takes this much without blocking (PIPE_BUF).
const PORTION: usize = 4096;
const NO_WAIT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// Unbuffered: blocks are large, and nothing may be left behind.
pub(super) struct Stream {
    file: File,
    name: &'static str,
    is_terminal: bool,
    /// A file takes everything at once or fails; a pipe or a terminal may make us wait.
    can_fill: bool,
    backpressure: Backpressure,
    /// While we wait for room, and until what had to be written is.
    full: Option<Closed>,
    /// Whether the next byte on the terminal begins a line.
    at_line_start: bool,
}

impl Stream {
    /// While this stream has no room for something, `backpressure` is closed.
    pub(super) fn of(
        fd: BorrowedFd<'_>,
        name: &'static str,
        backpressure: &Backpressure,
    ) -> io::Result<Self> {
        let kind = FileType::from_raw_mode(fstat(fd)?.st_mode);
        Ok(Self {
            is_terminal: fd.is_terminal(),
            can_fill: kind != FileType::RegularFile,
            file: File::from(fd.try_clone_to_owned()?),
            name,
            backpressure: backpressure.clone(),
            full: None,
            at_line_start: true,
        })
    }

    pub(super) fn name_in(&self, error: io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}", self.name))
    }

    /// Waits until there is room or `stop` is readable.
    pub(super) fn wait_for_room_or(&self, stop: BorrowedFd<'_>) {
        if !self.can_fill || self.has_room() {
            return;
        }
        let _full = self.backpressure.close();
        let room = PollFd::new(&self.file, PollFlags::OUT);
        let mut fds = [room, PollFd::from_borrowed_fd(stop, PollFlags::IN)];
        // Where this fails, the writer will find out why.
        let _ = rustix::io::retry_on_intr(|| poll(&mut fds, None));
    }

    /// Whether a write would go on at once, if only to fail.
    pub(super) fn has_room(&self) -> bool {
        let mut fds = [PollFd::new(&self.file, PollFlags::OUT)];
        !matches!(poll(&mut fds, Some(&NO_WAIT)), Ok(0))
    }

    fn wait_for_room(&mut self) -> io::Result<()> {
        if !self.has_room() {
            self.full.get_or_insert_with(|| self.backpressure.close());
            let mut fds = [PollFd::new(&self.file, PollFlags::OUT)];
            rustix::io::retry_on_intr(|| poll(&mut fds, None))?;
        }
        Ok(())
    }

    /// What had to be written is.
    pub(super) fn is_written(&mut self) {
        self.full = None;
    }

    pub(super) fn at_line_start(&self) -> bool {
        self.at_line_start
    }

    /// Writes what does not stay on the terminal.
    pub(super) fn write_fleeting(&mut self, text: &str) {
        // It is of no use to anybody any more where it cannot be written.
        let _ = self.file.write_all(text.as_bytes());
    }
}

impl Write for Stream {
    fn write(&mut self, mut bytes: &[u8]) -> io::Result<usize> {
        loop {
            if self.can_fill {
                self.wait_for_room()?;
                bytes = &bytes[..bytes.len().min(PORTION)];
            }
            match self.file.write(bytes) {
                // The descriptor is shared with others, one of whom may have made it non-blocking
                // and been faster.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(count) => {
                    if self.is_terminal && count > 0 {
                        self.at_line_start = bytes[count - 1] == b'\n';
                    }
                    return Ok(count);
                }
                error => return error,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
