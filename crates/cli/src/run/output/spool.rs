//! The held output of one stream of one job: in memory while it is small, else in an unlinked
//! temporary file.

use super::READ_SIZE;
use super::held::{Held, HeldFile};
use super::tag::Tagged;
use crate::run::spare::is_out_of_descriptors;
use rustix::fs::{Access, access};
use rustix::io::Errno;
use std::io::{self, BufReader, BufWriter, Seek, Write};
use std::os::fd::BorrowedFd;

/// Of one stream; a job has two, so that it holds at most 1 MiB.
const STREAM_MEMORY: usize = 512 * 1024;

/// Held output, in the order in which it was read: first `file`, then `memory`.
pub(in crate::run) struct Spool {
    memory: Vec<u8>,
    file: Option<HeldFile>,
    held: Held,
}

impl Spool {
    pub(in crate::run) fn new(held: &Held) -> Self {
        Self {
            memory: Vec::new(),
            file: None,
            held: held.clone(),
        }
    }

    /// Adds what one read from `pipe` gives and says how many bytes: 0 at the end, None where the
    /// read was interrupted. An error is ours, not the job's: there is no space to hold more.
    pub(in crate::run) fn read_from(&mut self, pipe: BorrowedFd<'_>) -> io::Result<Option<usize>> {
        self.memory.reserve(READ_SIZE);
        match rustix::io::read(pipe, rustix::buffer::spare_capacity(&mut self.memory)) {
            Ok(count) => {
                self.held.add(count);
                self.spill_if_large()?;
                Ok(Some(count))
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn spill_if_large(&mut self) -> io::Result<()> {
        let much = self.memory.len() > STREAM_MEMORY || self.held.is_much();
        if !much || !self.have_file()? {
            return Ok(());
        }
        if let Some(file) = &mut self.file {
            file.file.write_all(&self.memory).map_err(in_folder)?;
        }
        self.held.subtract(self.memory.len());
        // A stream that spilled once has more to come: keep the memory of one read for it.
        self.memory.clear();
        self.memory.shrink_to(READ_SIZE);
        Ok(())
    }

    /// False where no descriptor is left for a file: then memory has to do.
    fn have_file(&mut self) -> io::Result<bool> {
        if self.file.is_none() {
            match tempfile::tempfile() {
                Ok(file) => self.file = Some(self.held.hold(file)),
                Err(error) if is_out_of_descriptors(&error) => return Ok(false),
                Err(error) => return Err(in_folder(error)),
            }
        }
        Ok(true)
    }

    /// Nothing more comes, and it has to wait: it takes no more memory than it needs.
    pub(in crate::run) fn shrink(&mut self) {
        self.memory.shrink_to_fit();
    }

    pub(in crate::run) fn is_empty(&self) -> bool {
        self.memory.is_empty() && self.file.is_none()
    }

    /// Writes everything to `to`, each line behind a tag.
    pub(super) fn write_tagged(self, tag: &[u8], to: &mut impl Write) -> io::Result<()> {
        let buffer = BufWriter::with_capacity(READ_SIZE, to);
        let mut tagged = Tagged::new(tag, buffer);
        self.write_to(&mut tagged)?;
        tagged.finish()
    }

    /// Writes everything to `to`.
    pub(in crate::run) fn write_to(mut self, to: &mut impl Write) -> io::Result<()> {
        if let Some(mut held) = self.file.take() {
            held.file.rewind()?;
            io::copy(&mut BufReader::with_capacity(READ_SIZE, &held.file), to)?;
        }
        to.write_all(&self.memory)
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        self.held.subtract(self.memory.len());
    }
}

/// Whether large output can be held.
///
/// # Errors
/// Names the folder: it is not there, or no file can be made in it.
pub(in crate::run) fn check_folder() -> io::Result<()> {
    let folder = std::env::temp_dir();
    let is_folder = std::fs::metadata(&folder).and_then(|found| match found.is_dir() {
        true => Ok(()),
        false => Err(Errno::NOTDIR.into()),
    });
    let may = || access(&folder, Access::WRITE_OK | Access::EXEC_OK).map_err(io::Error::from);
    is_folder.and_then(|()| may()).map_err(in_folder)
}

/// An error of a temporary file, which names where that was to be.
pub(in crate::run) fn in_folder(error: io::Error) -> io::Error {
    let folder = std::env::temp_dir();
    let why = format!("temporary file in {}: {error}", folder.display());
    io::Error::new(error.kind(), why)
}

#[cfg(test)]
mod tests {
    use super::super::held::TOTAL_MEMORY;
    use super::*;
    use std::os::fd::AsFd;

    fn spooled(content: Vec<u8>, held: &Held) -> Spool {
        let (reader, mut writer) = io::pipe().unwrap();
        let writing = std::thread::spawn(move || writer.write_all(&content).unwrap());
        let mut spool = Spool::new(held);
        while spool.read_from(reader.as_fd()).unwrap() != Some(0) {}
        writing.join().unwrap();
        spool
    }

    fn pattern(length: usize) -> Vec<u8> {
        (0..length).map(|at| (at % 251) as u8).collect()
    }

    #[test]
    fn output_comes_back_as_it_was_from_memory_and_from_a_file() {
        for length in [
            0,
            1,
            READ_SIZE,
            STREAM_MEMORY,
            STREAM_MEMORY + 1,
            5 * STREAM_MEMORY + 3,
        ] {
            let held = Held::default();
            let spool = spooled(pattern(length), &held);
            assert_eq!(spool.file.is_some(), length > STREAM_MEMORY, "{length}");
            let mut written = Vec::new();
            spool.write_to(&mut written).unwrap();
            assert!(
                written == pattern(length),
                "{length} bytes came back changed"
            );
            assert!(held.is_nothing());
        }
    }

    #[test]
    fn many_small_outputs_go_to_files_once_the_total_is_reached() {
        let held = Held::default();
        held.add(TOTAL_MEMORY);
        let spool = spooled(pattern(10), &held);
        assert!(spool.file.is_some() && spool.memory.is_empty());
    }
}
