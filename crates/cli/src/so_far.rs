//! How far a `cmwq run` is, for whoever looks at its process: a line in memory that has a name and
//! no place in the file system. `cmwq top` finds it where it finds the queues.

use rustix::fs::{MemfdFlags, memfd_create};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

const NAME: &str = "cmwq-run";
/// Bytes of the line, with blanks at its end.
const SIZE: usize = 256;
/// A reader may see half of a line, and looks again.
const TRIES: usize = 3;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SoFar {
    /// That ended, and of these that failed.
    pub(crate) jobs: u64,
    pub(crate) failed: u64,
    pub(crate) running: usize,
    /// That are known, and whether there will be no others.
    pub(crate) submitted: u64,
    pub(crate) is_all: bool,
    /// Lines that `--resume` left out.
    pub(crate) skipped: u64,
}

impl SoFar {
    pub(crate) fn words(&self) -> String {
        let Self {
            jobs,
            failed,
            running,
            submitted,
            ..
        } = self;
        let (of, more) = match self.is_all {
            true => (format!(" of {submitted}"), ""),
            false => (String::new(), ", more lines are read"),
        };
        let skipped = match self.skipped {
            0 => String::new(),
            skipped => format!(", {skipped} skipped"),
        };
        format!("{jobs}{of} jobs done, {failed} failed, {running} running{skipped}{more}")
    }
}

/// Where it is shown. If there is no memory for it, nobody sees it.
pub(crate) struct Shown(Option<File>);

impl Shown {
    pub(crate) fn new() -> Self {
        let made: Option<OwnedFd> = memfd_create(NAME, MemfdFlags::CLOEXEC).ok();
        Self(made.map(File::from))
    }

    pub(crate) fn show(&self, so_far: &SoFar) {
        if let (Some(file), Ok(text)) = (&self.0, serde_json::to_string(so_far)) {
            // Who looks sees an older line then.
            let _ = file.write_all_at(format!("{text:<SIZE$}").as_bytes(), 0);
        }
    }
}

/// What the process shows; `None`: it is no `cmwq run`, or somebody else's.
pub(crate) fn of(pid: u32) -> Option<SoFar> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
    let is_it = |path: &PathBuf| {
        let target = fs::read_link(path).unwrap_or_default();
        let name = target
            .to_str()
            .and_then(|text| text.strip_prefix("/memfd:"));
        name.is_some_and(|name| name.trim_end_matches(" (deleted)") == NAME)
    };
    let found = entries.flatten().map(|entry| entry.path()).find(is_it)?;
    let file = File::open(found).ok()?;
    (0..TRIES).find_map(|_| read(&file))
}

fn read(file: &File) -> Option<SoFar> {
    let mut line = [0; SIZE];
    file.read_exact_at(&mut line, 0).ok()?;
    serde_json::from_slice(line.trim_ascii_end()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_seen_from_outside() {
        let (shown, me) = (Shown::new(), std::process::id());
        let mut so_far = SoFar {
            jobs: 10,
            failed: 2,
            running: 7,
            submitted: 40,
            ..SoFar::default()
        };
        shown.show(&so_far);
        assert_eq!(of(me), Some(so_far));
        assert_eq!(
            so_far.words(),
            "10 jobs done, 2 failed, 7 running, more lines are read"
        );
        (so_far.is_all, so_far.skipped) = (true, 3);
        shown.show(&so_far);
        assert_eq!(of(me), Some(so_far));
        assert_eq!(
            so_far.words(),
            "10 of 40 jobs done, 2 failed, 7 running, 3 skipped"
        );
        drop(shown);
        assert_eq!(of(me), None);
        assert_eq!(of(u32::MAX), None);
    }

    #[test]
    fn what_another_program_calls_so_is_no_reason_to_fail() {
        let fd = memfd_create(NAME, MemfdFlags::CLOEXEC).unwrap();
        let file = File::from(fd);
        for text in [&b""[..], b"{}", &[b'x'; SIZE], &[0xff; 2 * SIZE]] {
            file.set_len(0).unwrap();
            file.write_all_at(text, 0).unwrap();
            assert_eq!(read(&file), None);
        }
    }
}
