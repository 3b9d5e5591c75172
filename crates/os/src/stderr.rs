//! Words for people.

use rustix::io::{Errno, write};

/// Writes to the standard error output, without the lock that the standard library has for it: in a
/// forked child a thread that is not there may hold that. A closed one is no reason to panic.
pub fn say(text: &str) {
    let mut left = text.as_bytes();
    while !left.is_empty() {
        match write(rustix::stdio::stderr(), left) {
            Ok(written @ 1..) => left = &left[written..],
            Err(Errno::INTR) => {}
            _ => return,
        }
    }
}
