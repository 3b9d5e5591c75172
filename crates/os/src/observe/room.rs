//! Room in the process's table of file descriptors.
//!
//! The table begins with 64 entries, and the kernel makes it larger when a file needs a number
//! beyond its end. If threads share the table, whoever needs that number waits until every CPU has
//! taken notice (`expand_fdtable` in `fs/file.c`), often ten milliseconds, and so does whoever
//! needs another such number meanwhile. Files that tell what workers do are opened just then when
//! a worker may be missing, so no worker would be started for that time.

use rustix::fs::{Mode, OFlags};
use rustix::io::fcntl_dupfd_cloexec;

use super::task::KEPT_OPEN;
use crate::limits;

/// Entries for the two files of each thread that are kept open, and as many for the program.
const ROOM: u64 = 2 * 2 * KEPT_OPEN as u64;

/// Gives the table room for 256 files, or for as many as may be open, unless it has it. May take
/// ten milliseconds or more if the process has several threads.
pub fn make_room() {
    let last = ROOM.min(limits::open_files()).saturating_sub(1);
    let any = rustix::fs::open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    // Where this is denied, files are opened as they are anywhere.
    if let Ok(any) = any {
        let _ = fcntl_dupfd_cloexec(&any, last as i32);
    }
}

/// The same, if it takes no time: the process has one thread.
pub fn make_room_if_alone() {
    // An interpreter has no such table.
    if cfg!(miri) {
        return;
    }
    // Two for the folder itself, one for each thread.
    let links = rustix::fs::stat("/proc/self/task").map(|folder| folder.st_nlink);
    if links == Ok(3) {
        make_room();
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{read_dir, read_to_string};

    use super::*;

    #[test]
    fn the_table_has_room_and_no_file_stays_open() {
        let room = ROOM.min(limits::open_files());
        // Other tests open files meanwhile, of lower numbers.
        let beyond = || {
            let names = read_dir("/proc/self/fd").unwrap().flatten();
            let numbers = names.map(|file| file.file_name().to_str().unwrap().parse::<u64>());
            numbers.filter(|n| *n.as_ref().unwrap() >= room - 1).count()
        };
        let before = beyond();
        make_room();
        assert_eq!(beyond(), before);
        let status = read_to_string("/proc/self/status").unwrap();
        let size = status.lines().find_map(|line| line.strip_prefix("FDSize:"));
        assert!(size.unwrap().trim().parse::<u64>().unwrap() >= room);
    }
}
