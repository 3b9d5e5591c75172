//! Writing to files that may not grow any more.

use crate::thread;

/// Calls `write`, for which a file at its limit (`RLIMIT_FSIZE`) is an error, `EFBIG`, and nothing
/// else: the kernel also sends SIGXFSZ to the thread, which ends a program that does not expect it.
/// For what cmwq writes of its own accord. The program has not asked for it and shall not hear of
/// it, in a handler either.
pub fn as_error<T>(write: impl FnOnce() -> T) -> T {
    let _taken_back_on_return = HeldBack::new();
    write()
}

/// While it lives, SIGXFSZ waits in the calling thread; what has come meanwhile is taken away.
struct HeldBack {
    mask: u64,
    /// One waited already, which is the program's.
    waited: bool,
}

impl HeldBack {
    fn new() -> Self {
        let mask = thread::sigmask();
        thread::set_sigmask(mask | thread::bits(&[libc::SIGXFSZ]));
        HeldBack {
            mask,
            waited: thread::is_pending(libc::SIGXFSZ),
        }
    }
}

impl Drop for HeldBack {
    fn drop(&mut self) {
        if !self.waited {
            thread::take_pending(libc::SIGXFSZ);
        }
        thread::set_sigmask(self.mask);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raise() {
        // SAFETY: a signal for the calling thread, which has it blocked.
        assert_eq!(unsafe { libc::raise(libc::SIGXFSZ) }, 0);
    }

    #[test]
    fn a_signal_that_comes_meanwhile_is_taken_away() {
        let before = thread::sigmask();
        as_error(raise);
        assert_eq!(thread::sigmask(), before);
        assert!(!thread::is_pending(libc::SIGXFSZ));
    }

    #[test]
    fn one_that_waited_already_still_waits() {
        let blocked = thread::sigmask() | thread::bits(&[libc::SIGXFSZ]);
        thread::set_sigmask(blocked);
        raise();
        as_error(raise);
        assert!(thread::is_pending(libc::SIGXFSZ));
        assert_eq!(thread::sigmask(), blocked);
        thread::take_pending(libc::SIGXFSZ);
        assert!(!thread::is_pending(libc::SIGXFSZ));
    }
}
