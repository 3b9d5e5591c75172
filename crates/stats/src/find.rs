//! The page of another process.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use crate::page::{NAME, PageError, read};
use crate::snapshot::Snapshot;

/// Why a process has nothing to show.
#[derive(Debug)]
#[non_exhaustive]
pub enum FindError {
    /// There is no process with this number.
    NoProcess(u32),
    /// The kernel refuses: it is another user's.
    Denied(u32),
    /// It has no page: it has made no queue, or does not use cmwq, or has closed all descriptors.
    NoPage(u32),
    /// It has one that cannot be read.
    Page(u32, PageError),
}

impl fmt::Display for FindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FindError::NoProcess(pid) => write!(f, "there is no process {pid}"),
            FindError::Denied(pid) => {
                write!(
                    f,
                    "process {pid} is another user's: only its user and root may look"
                )
            }
            FindError::NoPage(pid) => write!(f, "process {pid} has no queue of cmwq"),
            FindError::Page(pid, error) => write!(f, "process {pid}: {error}"),
        }
    }
}

impl std::error::Error for FindError {}

/// What a process shows of itself now, and its page to look again.
///
/// # Errors
/// If there is no such process, or it may not be looked at, or has no page that can be read.
pub fn of_process(pid: u32) -> Result<(File, Snapshot), FindError> {
    let dir = format!("/proc/{pid}/fd");
    let entries = fs::read_dir(&dir).map_err(|error| io_error(pid, &error))?;
    let mut found = FindError::NoPage(pid);
    for entry in entries.flatten() {
        if !is_page(&entry.path()) {
            continue;
        }
        match open(pid, &entry.path()) {
            Ok(page) => return Ok(page),
            // Another one may be its own: a forked child has that of its parent as well. One that
            // cannot be read says more than one that is another's.
            Err(_) if matches!(found, FindError::Page(..)) => {}
            Err(error) => found = error,
        }
    }
    // A process that ends shows no descriptors.
    match Path::new(&dir).exists() {
        true => Err(found),
        false => Err(FindError::NoProcess(pid)),
    }
}

fn io_error(pid: u32, error: &io::Error) -> FindError {
    match error.kind() {
        io::ErrorKind::PermissionDenied => FindError::Denied(pid),
        _ => FindError::NoProcess(pid),
    }
}

fn is_page(link: &Path) -> bool {
    let target = fs::read_link(link).unwrap_or_default();
    let name = target
        .to_str()
        .and_then(|target| target.strip_prefix("/memfd:"));
    name.is_some_and(|name| name.trim_end_matches(" (deleted)") == NAME)
}

fn open(pid: u32, link: &Path) -> Result<(File, Snapshot), FindError> {
    let file = File::open(link).map_err(|error| io_error(pid, &error))?;
    let (writer, snapshot) = read(&file).map_err(|error| FindError::Page(pid, error))?;
    match own_number(pid) == Some(writer) {
        true => Ok((file, snapshot)),
        false => Err(FindError::NoPage(pid)),
    }
}

/// What a process calls itself: its number in the innermost namespace.
fn own_number(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_ascii_whitespace().last()?.parse().ok()
}

/// Numbers of processes.
fn pids() -> impl Iterator<Item = u32> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// All processes with a page, and the sockets where they take requests, or why their pages cannot
/// be read. Those of other users are left out.
pub fn all() -> impl Iterator<Item = (u32, Result<String, FindError>)> {
    pids().filter_map(|pid| match of_process(pid) {
        Ok((_, snapshot)) => Some((pid, Ok(snapshot.socket))),
        Err(error @ FindError::Page(..)) => Some((pid, Err(error))),
        Err(_) => None,
    })
}

/// The processes whose command has this name and that have a page which the caller may read.
pub fn by_name(name: &str) -> Vec<u32> {
    let is_called = |pid: &u32| {
        let comm = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        // The kernel keeps 15 bytes of it.
        let comm = comm.trim_end_matches('\n');
        comm == name || (comm.len() == 15 && name.starts_with(comm))
    };
    pids()
        .filter(is_called)
        .filter(|&pid| of_process(pid).is_ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Page;

    #[test]
    fn what_is_not_there_is_said_to_be_so() {
        assert!(matches!(of_process(u32::MAX), Err(FindError::NoProcess(_))));
        assert_eq!(by_name("no program is called like this"), []);
    }

    #[test]
    fn a_page_that_a_child_has_of_its_parent_is_not_its_own() {
        let mut page = Page::new().unwrap();
        page.publish(&Snapshot::default()).unwrap();
        let held = rustix::io::dup(page.file()).unwrap();
        rustix::io::fcntl_setfd(&held, rustix::io::FdFlags::empty()).unwrap();
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let found = of_process(child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(matches!(found, Err(FindError::NoPage(_))), "{found:?}");
    }
}
