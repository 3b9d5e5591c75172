//! Who sleeps for a time of his own choosing, again and again.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::read::{LINE_MOST, read_once};
use super::{Blocked, parse_syscall};
use crate::schedstat;

/// Files of one process that are looked at, at most.
const FILES_MOST: usize = 64;
const READS_AND_WRITES: u32 = 0o600;

/// What threads have slept that do nothing else, but for those that wait for processes of theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Naps {
    /// How often they have been put on a CPU.
    pub count: u64,
    /// The inode of a file that one of their processes has open to read and to write. Looked for
    /// only where one has woken up since the look before: who sleeps on wants no file.
    pub file: Option<u64>,
}

/// What a thread that sleeps waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nap {
    /// A time. It has been put on a CPU so often.
    Time(u64),
    /// Processes that it has started.
    Children,
    /// Something that another thread or process does, or nobody can tell.
    Other,
}

impl Nap {
    /// Of a thread of any process of the same user.
    pub(super) fn of(proc_dir: &Path, pid: i32, tid: i32) -> Nap {
        let file = |name| proc_dir.join(format!("{pid}/task/{tid}/{name}"));
        let mut line = [0; LINE_MOST];
        let call = read_once(&file("syscall"), &mut line).and_then(parse_syscall);
        match call {
            Some(Blocked::In { nr, args }) if ends_with_time(nr, &args) => {
                let stat = read_once(&file("schedstat"), &mut line).and_then(schedstat::parse);
                stat.map_or(Nap::Other, |stat| Nap::Time(stat.slices))
            }
            Some(Blocked::In {
                nr: libc::SYS_wait4 | libc::SYS_waitid,
                ..
            }) => Nap::Children,
            _ => Nap::Other,
        }
    }
}

/// Whether nothing but the clock ends a call.
fn ends_with_time(nr: i64, args: &[u64; 6]) -> bool {
    match nr {
        libc::SYS_nanosleep | libc::SYS_clock_nanosleep => true,
        // For no descriptors.
        libc::SYS_pselect6 => args[0] == 0,
        libc::SYS_ppoll => args[1] == 0,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_select => args[0] == 0,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_poll => args[1] == 0,
        _ => false,
    }
}

/// The inode of the first file that this process has open to read and to write: its database, say.
/// `/proc/locks` would tell which files are locked, but whoever reads it holds up all who lock.
pub(super) fn file_of(proc_dir: &Path, pid: i32) -> Option<u64> {
    let files = fs::read_dir(proc_dir.join(format!("{pid}/fd"))).ok()?;
    let inode = |file: PathBuf| {
        // The permissions of the link are those of the open file.
        let is_both = fs::symlink_metadata(&file).ok()?.mode() & READS_AND_WRITES;
        let meta = fs::metadata(file).ok()?;
        (is_both == READS_AND_WRITES && meta.is_file()).then(|| meta.ino())
    };
    files
        .take(FILES_MOST)
        .find_map(|file| inode(file.ok()?.path()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::process::{Command, Stdio};

    #[test]
    fn a_wait_for_no_descriptor_is_a_sleep() {
        let (none, one) = ([0; 6], [1; 6]);
        for nr in [libc::SYS_pselect6, libc::SYS_ppoll] {
            assert!(ends_with_time(nr, &none) && !ends_with_time(nr, &one));
        }
        assert!(ends_with_time(libc::SYS_clock_nanosleep, &one));
        assert!(!ends_with_time(libc::SYS_read, &none));
    }

    /// In a process of its own: other tests open files in this one.
    #[test]
    fn a_file_that_is_read_and_written_is_found() {
        let path = std::env::temp_dir().join(format!("cmwq-naps-{}", std::process::id()));
        let file_with = |opened: &str| {
            let script = format!("exec {opened}; echo; read line");
            let mut child = Command::new("sh")
                .args(["-c", &script, "sh"])
                .arg(&path)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let ready = child.stdout.as_mut().unwrap().read_exact(&mut [0]);
            let file = file_of(Path::new("/proc"), child.id() as i32);
            drop(child.stdin.take());
            child.wait().unwrap();
            ready.unwrap();
            file
        };
        assert_eq!(file_with(r#"8>"$1""#), None, "it is only written");
        let inode = fs::metadata(&path).unwrap().ino();
        assert_eq!(file_with(r#"8>"$1" 9<>"$1""#), Some(inode));
        fs::remove_file(&path).unwrap();
    }
}
