//! Whether /proc is there, and speaks of the PID namespace of this process.

use rustix::fs::{CWD, readlinkat};

use crate::thread;

/// Whether `/proc/self` is this process by the number that it has for itself. In a new PID
/// namespace with the old /proc all numbers mean others there. One system call.
pub fn is_own_proc() -> bool {
    let Ok(own) = readlinkat(CWD, "/proc/self", Vec::new()) else {
        return false;
    };
    own.to_str().ok().and_then(|own| own.parse().ok()) == Some(thread::getpid())
}

#[cfg(test)]
mod tests {
    #[test]
    fn this_one_is() {
        let there = std::path::Path::new("/proc/self/stat").exists();
        assert_eq!(super::is_own_proc(), there);
    }
}
