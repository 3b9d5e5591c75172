//! Small files of `/proc`.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// More than any `stat`, `statm`, `schedstat` or `syscall` file has.
pub(super) const LINE_MOST: usize = 1024;

/// What a file has that the kernel writes into one read. `None` if it has gone or says nothing.
/// `fs::read` takes two system calls more, to learn that there is nothing behind it.
pub(super) fn read_once<'a>(path: &Path, into: &'a mut [u8; LINE_MOST]) -> Option<&'a [u8]> {
    let length = File::open(path).ok()?.read(into).ok()?;
    (length > 0).then(|| &into[..length])
}
