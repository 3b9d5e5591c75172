//! Descriptors that are kept aside for what must be made also where all others are in use. Each is
//! an open file of its own, so that it counts for the limit of the process and of the system.

use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// See the module.
pub(super) struct Spare {
    count: usize,
    kept: Mutex<Vec<OwnedFd>>,
}

/// What was made, perhaps with what was kept: others wait for that until this is dropped. In this
/// order, so that what was made is closed before.
pub(super) struct Spared<'a, T> {
    pub(super) made: T,
    _turn: Option<Turn<'a>>,
}

/// Takes back at its end what is left by then.
struct Turn<'a> {
    kept: MutexGuard<'a, Vec<OwnedFd>>,
    count: usize,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        fill(&mut self.kept, self.count);
    }
}

impl Spare {
    /// For so many, of which none is kept yet.
    pub(super) fn new(count: usize) -> Self {
        Self {
            count,
            kept: Mutex::default(),
        }
    }

    /// Keeps them, as far as there are so many.
    pub(super) fn keep(&self) {
        drop(self.turn());
    }

    /// Makes something, with what is kept if no other descriptor is left. Somebody else may get
    /// that in the meantime: it can fail, and be tried again.
    pub(super) fn help<T>(&self, make: impl Fn() -> io::Result<T>) -> io::Result<Spared<'_, T>> {
        let made = make();
        let is_needed = made.as_ref().is_err_and(is_out_of_descriptors) && self.count > 0;
        if !is_needed {
            return made.map(|made| Spared { made, _turn: None });
        }
        let mut turn = self.turn();
        turn.kept.clear();
        let made = make()?;
        let _turn = Some(turn);
        Ok(Spared { made, _turn })
    }

    /// Makes something that takes none of what is kept, nor what is to be kept and is not yet:
    /// there is no descriptor for it then. Unless there is nobody else to keep it for.
    pub(super) fn respect<T>(
        &self,
        is_alone: bool,
        make: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        let mut turn = self.turn();
        if is_alone {
            turn.kept.clear();
        } else if !fill(&mut turn.kept, self.count) {
            return Err(io::Error::from_raw_os_error(libc::EMFILE));
        }
        make()
    }

    fn turn(&self) -> Turn<'_> {
        Turn {
            kept: self.kept.lock().unwrap_or_else(PoisonError::into_inner),
            count: self.count,
        }
    }
}

/// Whether all are kept now.
fn fill(kept: &mut Vec<OwnedFd>, count: usize) -> bool {
    while kept.len() < count {
        match eventfd(0, EventfdFlags::CLOEXEC) {
            Ok(fd) => kept.push(fd),
            Err(_) => return false,
        }
    }
    true
}

/// Whether this process, or the system, has as many open files as it may have.
pub(super) fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn none() -> io::Error {
        io::Error::from_raw_os_error(libc::EMFILE)
    }

    fn kept(spare: &Spare) -> usize {
        spare.kept.lock().unwrap().len()
    }

    #[test]
    fn what_is_kept_is_given_to_who_finds_none_and_taken_back() {
        let spare = Spare::new(2);
        spare.keep();
        assert_eq!(kept(&spare), 2);
        let tries = Cell::new(0);
        let second = || {
            tries.set(tries.get() + 1);
            match tries.get() {
                1 => Err(none()),
                tries => Ok(tries),
            }
        };
        let spared = spare.help(second).unwrap();
        assert_eq!(spared.made, 2);
        assert!(spare.kept.try_lock().is_err(), "it is somebody's turn");
        drop(spared);
        assert_eq!(kept(&spare), 2);
        assert!(spare.help(|| Err::<(), _>(none())).is_err());
        assert_eq!(kept(&spare), 2);
    }

    #[test]
    fn nobody_takes_what_is_kept_unless_alone() {
        let spare = Spare::new(2);
        assert!(spare.respect(false, || Ok(())).is_ok());
        let emptied = || match spare.kept.try_lock() {
            Ok(_) => unreachable!("it is held"),
            Err(_) => Err::<(), _>(none()),
        };
        assert!(spare.respect(true, emptied).is_err());
        assert_eq!(kept(&spare), 2);
    }
}
