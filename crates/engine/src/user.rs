//! The one door to code of the program: closures, destructors, hooks, payloads of panics.
//!
//! Such code may do anything that is safe: panic, spawn, wait, drop the last handle of something,
//! install a hook. Two rules keep that from breaking us:
//!
//! * It runs while the calling thread holds no lock of ours. Debug builds check that.
//! * A panic in it ends here, and so does one in the destructor of that panic's payload.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::Result;

use crate::sync::assert_none_held;

/// Calls code of the program. `Err`: it has panicked, with this payload, which is code of the
/// program too: hand it to [`discard`], or to somebody who may unwind.
#[inline]
pub fn call<R>(func: impl FnOnce() -> R) -> Result<R> {
    assert_none_held();
    catch_unwind(AssertUnwindSafe(func))
}

/// As [`call`], where nobody is interested in what came of it. True if it did not panic.
#[inline]
pub fn run(func: impl FnOnce()) -> bool {
    match call(func) {
        Ok(()) => true,
        Err(payload) => {
            discard_payload(payload);
            false
        }
    }
}

/// Drops a value of the program. True if that did not panic.
#[inline]
pub fn discard<T>(value: T) -> bool {
    run(|| drop(value))
}

/// A payload may panic when it is dropped, with another such payload: that one is leaked.
fn discard_payload(payload: Box<dyn Any + Send>) {
    if let Err(next) = call(|| drop(payload)) {
        std::mem::forget(next);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::panic::panic_any;

    /// Panics when dropped, with the next one.
    struct Bomb(u32);

    impl Drop for Bomb {
        fn drop(&mut self) {
            if self.0 > 0 {
                panic_any(Bomb(self.0 - 1));
            }
        }
    }

    #[test]
    fn nothing_unwinds_however_deep_payloads_panic() {
        for depth in 0..4 {
            assert_eq!(discard(Bomb(depth)), depth == 0);
            assert!(!run(|| panic_any(Bomb(depth))));
        }
        assert!(run(|| ()));
    }
}
