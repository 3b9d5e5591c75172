//! The process group and the session of this process.
//!
//! Both may be 0: in a PID namespace (a container, `unshare --pid`) whose first processes belong to
//! a group or session that began outside of it, which has no number inside. rustix has no value for
//! that, and calls it impossible.

/// The process group; 0 if it is one of outside of this PID namespace.
pub fn group() -> i32 {
    // SAFETY: takes nothing, touches no memory and cannot fail.
    unsafe { libc::getpgrp() }
}

/// The session; 0 if it is one of outside of this PID namespace.
pub fn session() -> i32 {
    // SAFETY: touches no memory; 0 is this process, so it cannot fail.
    unsafe { libc::getsid(0) }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use crate::observe::{parse_session, parse_stat};

    #[test]
    fn they_are_those_of_proc() {
        let line = std::fs::read("/proc/self/stat").unwrap();
        assert_eq!(group(), parse_stat(&line).unwrap().pgrp);
        assert_eq!(Some(session()), parse_session(&line));
    }
}
