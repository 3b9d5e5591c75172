//! The joblog: a line for each job, written when it has ended and its output is written.

mod entry;
mod past;

pub(super) use entry::Entry;
pub(super) use past::Done;

use entry::HEADER;
use past::Past;
use rustix::fs::{FlockOperation, Stat, flock, fstat, stat};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Whether an earlier run is continued, and what its jobs were given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Resume {
    No,
    /// The log begins anew, as in GNU parallel.
    Anew,
    /// Each argument was a line.
    Lines,
    /// The arguments of a job were columns of one line, with joints between them.
    Rows,
}

/// A joblog that is being written. Dropping it lets another run have the file.
pub(super) struct JobLog {
    path: PathBuf,
    place: Log,
}

/// Where its lines go.
enum Log {
    File(Mutex<State>),
    /// Who has the stream writes them there, between what jobs write.
    Own(Own),
}

/// A standard stream of ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Own {
    Output,
    Errors,
}

struct State {
    file: File,
    /// Bytes of whole lines.
    sound: u64,
    /// A line could not be written. A later one would stand behind what there is of it.
    is_broken: bool,
}

impl JobLog {
    /// Opens or makes the file. One that is resumed goes on behind what is there, and says
    /// what has succeeded; else there may be no job in it, unless it begins anew.
    ///
    /// # Errors
    /// Each names the file: it cannot be opened, read or written, is no joblog, has jobs in it, or
    /// is being written by another run.
    pub(super) fn open(path: &Path, resume: Resume) -> io::Result<(Self, Done)> {
        open(path, resume).map_err(|error| name_in(path, &error))
    }

    /// What it begins with.
    pub(super) const HEADER: &'static str = HEADER;

    /// The line of a job, with its newline.
    pub(super) fn line(entry: &Entry) -> String {
        entry.to_line()
    }

    /// Our own stream that its lines are to be written to, instead of [`write`](Self::write).
    pub(super) fn own(&self) -> Option<Own> {
        match self.place {
            Log::File(_) => None,
            Log::Own(own) => Some(own),
        }
    }

    /// # Errors
    /// The file cannot be written; names it. What came before stays readable. After one error,
    /// nothing more is written.
    pub(super) fn write(&self, entry: &Entry) -> io::Result<()> {
        let Log::File(state) = &self.place else {
            return Ok(());
        };
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.is_broken {
            return Err(name_in(
                &self.path,
                &io::Error::other("not written any more"),
            ));
        }
        let written = state.append(&entry.to_line());
        written.map_err(|error| name_in(&self.path, &error))
    }
}

impl State {
    fn append(&mut self, line: &str) -> io::Result<()> {
        let written = self.file.write_all(line.as_bytes());
        if written.is_ok() {
            self.sound += line.len() as u64;
        } else {
            self.is_broken = true;
            // Where this fails, the next reader leaves the torn line out.
            let _ = self.file.set_len(self.sound);
        }
        written
    }
}

/// What has succeeded according to the joblog, which stays as it is; nothing if there is none.
///
/// # Errors
/// Names the file: it cannot be read or is no joblog.
pub(super) fn done(path: &Path, resume: Resume) -> io::Result<Done> {
    let past = Past::read(path, resume).map_err(|error| name_in(path, &error))?;
    Ok(past.done)
}

fn open(path: &Path, resume: Resume) -> io::Result<(JobLog, Done)> {
    let Some(own) = own_stream(path) else {
        return open_file(path, resume);
    };
    if matches!(resume, Resume::Lines | Resume::Rows) {
        return Err(io::Error::other(
            "cannot be read again: --resume needs a file",
        ));
    }
    let log = JobLog {
        path: path.to_owned(),
        place: Log::Own(own),
    };
    Ok((log, Done::default()))
}

/// Which of our own streams the path is (`-`, `/dev/stdout`). Opened once more, a file would have a
/// place of its own to write at, over what jobs write.
fn own_stream(path: &Path) -> Option<Own> {
    if path == Path::new("-") {
        return Some(Own::Output);
    }
    let wanted = stat(path).ok()?;
    let is_it = |stream: io::Result<Stat>| {
        stream.is_ok_and(|found| (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino))
    };
    let streams = [
        (Own::Output, fstat(io::stdout()).map_err(io::Error::from)),
        (Own::Errors, fstat(io::stderr()).map_err(io::Error::from)),
    ];
    let mut same = streams
        .into_iter()
        .filter_map(|(own, found)| is_it(found).then_some(own));
    same.next()
}

/// What is in the file and stays there.
fn past_of(path: &Path, resume: Resume) -> io::Result<Past> {
    if resume == Resume::Anew && past::is_of_parallel(path)? {
        return Ok(Past::default());
    }
    let past = Past::read(path, resume)?;
    match resume {
        Resume::Anew => Ok(Past::default()),
        Resume::No if past.jobs > 0 => {
            let jobs = if past.jobs == 1 { "job" } else { "jobs" };
            let text = format!("has {} {jobs} in it: --resume continues it", past.jobs);
            Err(io::Error::new(io::ErrorKind::AlreadyExists, text))
        }
        _ => Ok(past),
    }
}

fn open_file(path: &Path, resume: Resume) -> io::Result<(JobLog, Done)> {
    let file = OpenOptions::new().append(true).create(true).open(path)?;
    // A pipe or a device has no past.
    let past = if file.metadata()?.is_file() {
        lock(&file)?;
        let past = past_of(path, resume)?;
        // A torn line must not become part of the next one.
        file.set_len(past.sound)?;
        past
    } else {
        Past::default()
    };
    let mut state = State {
        file,
        sound: past.sound,
        is_broken: false,
    };
    if past.sound == 0 {
        state.append(HEADER)?;
    }
    let log = JobLog {
        path: path.to_owned(),
        place: Log::File(Mutex::new(state)),
    };
    Ok((log, past.done))
}

/// Two runs that append to one file would each skip what the other is doing.
fn lock(file: &File) -> io::Result<()> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Err(io::Error::other("another run is writing it")),
        // A file system without locks.
        _ => Ok(()),
    }
}

fn name_in(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("joblog {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::status::JobEnd;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;
    use std::time::Duration;

    fn entry(code: i32, line: &[u8]) -> Entry {
        let status = ExitStatus::from_raw(code << 8);
        Entry {
            sequence: 1,
            start: Duration::ZERO,
            runtime: Duration::ZERO,
            end: JobEnd::of(status),
            status,
            attempts: 1,
            lines: vec![line.to_vec()],
        }
    }

    /// A process that another test is just starting has our descriptors until its exec, and so the
    /// lock of a log that was closed.
    fn open(path: &Path, resume: Resume) -> io::Result<(JobLog, Done)> {
        let is_locked = |opened: &io::Result<_>| {
            let error = opened.as_ref().err();
            error.is_some_and(|error: &io::Error| error.to_string().contains("another run"))
        };
        let mut opened = JobLog::open(path, resume);
        for _ in 0..1000 {
            if !is_locked(&opened) {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
            opened = JobLog::open(path, resume);
        }
        opened
    }

    fn logged(path: &Path, entries: &[(i32, &[u8])]) -> Vec<u8> {
        let (log, _) = open(path, Resume::Lines).unwrap();
        for &(code, line) in entries {
            log.write(&entry(code, line)).unwrap();
        }
        std::fs::read(path).unwrap()
    }

    #[test]
    fn occurrences_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        logged(&path, &[(0, b"a"), (1, b"a"), (0, b"a\n\xff"), (0, b"a")]);
        let mut done = done(&path, Resume::Lines).unwrap();
        assert_eq!([(); 3].map(|()| done.take(b"a")), [true, true, false]);
        assert!(done.take(b"a\n\xff") && !done.take(b"a\n\xff") && !done.take(b""));
    }

    #[test]
    fn a_log_torn_anywhere_counts_its_whole_lines_and_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let whole = logged(&path, &[(0, b"a"), (0, b"b")]);
        for length in 0..=whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let lines = whole[..length]
                .iter()
                .filter(|&&byte| byte == b'\n')
                .count();
            let mut past = done(&path, Resume::Lines).unwrap();
            assert_eq!(past.take(b"a"), lines >= 3, "{length}");
            assert_eq!(past.take(b"b"), lines >= 4, "{length}");
            logged(&path, &[(0, b"c")]);
            let mut past = done(&path, Resume::Lines).unwrap();
            assert_eq!(
                (past.take(b"a"), past.take(b"c")),
                (lines >= 3, true),
                "{length}"
            );
        }
    }

    #[test]
    fn a_log_with_jobs_or_of_another_kind_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        // No job in it yet: nothing is lost.
        drop(open(&path, Resume::No).unwrap());
        logged(&path, &[(1, b"x")]);
        let text = |resume| open(&path, resume).err().unwrap().to_string();
        assert!(
            text(Resume::No).contains("has 1 job in it"),
            "{}",
            text(Resume::No)
        );
        for other in ["Seq\tHost\n1\t:\n", "#cmwq-joblog 2\n", "x"] {
            std::fs::write(&path, other).unwrap();
            assert!(
                text(Resume::Lines).contains("line 1 is not"),
                "{}",
                text(Resume::Lines)
            );
            assert_eq!(std::fs::read_to_string(&path).unwrap(), other);
        }
    }

    #[test]
    fn two_runs_do_not_share_a_log() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let _first = JobLog::open(&path, Resume::No).unwrap();
        let error = JobLog::open(&path, Resume::Lines)
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains("another run"), "{error}");
    }

    #[test]
    fn full_disk_is_an_error_that_names_the_file() {
        let error = JobLog::open(Path::new("/dev/full"), Resume::No)
            .err()
            .unwrap();
        assert!(
            error.to_string().starts_with("joblog /dev/full: "),
            "{error}"
        );
    }
}
