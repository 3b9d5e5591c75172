//! Words for people.

use rustix::io::{Errno, write};

use crate::file_limit;

/// Writes to the standard error output, without the lock that the standard library has for it: in a
/// forked child a thread that is not there may hold that. A closed one is no reason to panic, and
/// a file that may not grow is none to end.
pub fn say(text: &str) {
    file_limit::as_error(|| write_all(text.as_bytes()));
}

fn write_all(mut left: &[u8]) {
    while !left.is_empty() {
        match write(rustix::stdio::stderr(), left) {
            Ok(written @ 1..) => left = &left[written..],
            Err(Errno::INTR) => {}
            _ => return,
        }
    }
}
