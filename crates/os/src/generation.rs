//! Finding out that this process is a forked copy, with no handler and no lock.
//!
//! One word lives in a page that the kernel empties in a forked child (`MADV_WIPEONFORK`). A
//! process that has claimed holds its number there; a child reads 0 until it claims a number of
//! its own. Reading is one load, from any thread, also in a child that was forked while another
//! thread held any lock.
//!
//! `vfork` and `CLONE_VM` share the memory with the parent and so the number as well: such a child
//! may only exec.

use std::ffi::c_void;
use std::io;
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::atomic::{AtomicPtr, AtomicU32};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// The word, once there is one. The mapping is never taken down, so the word lives for ever.
static WORD: AtomicPtr<AtomicU32> = AtomicPtr::new(null_mut());

/// Numbers given out so far in this process and its ancestors: a child inherits it, so it never
/// gives out a number of theirs.
static NUMBERS: AtomicU32 = AtomicU32::new(0);

/// Bytes mapped for the word; the kernel rounds up to a page.
const LENGTH: usize = size_of::<AtomicU32>();

/// The number this process has claimed; 0 if it has not, for example because it was forked from
/// one that had. One load.
#[inline]
pub fn current() -> u32 {
    // Acquire: a claimed number is also the promise that what its claimer wrote before can be seen.
    word().map_or(0, |word| word.load(Acquire))
}

/// Claims a number for this process, unless it has one, and returns it. Never 0, and never one that
/// an ancestor had (short of 2^32 claims).
///
/// # Errors
///
/// `ENOMEM`: no page could be mapped.
pub fn claim() -> io::Result<u32> {
    let word = match word() {
        Some(word) => word,
        None => publish_word()?,
    };
    // Acquire: as in `current`.
    match word.load(Acquire) {
        0 => Ok(claim_empty(word)),
        number => Ok(number),
    }
}

/// Whether this process was forked and has not called exec since: it may lack threads that its
/// parent had, and that held locks. True where the system does not tell.
pub fn is_forked() -> bool {
    if cfg!(miri) {
        // It has no fork.
        return false;
    }
    let stat = std::fs::read("/proc/self/stat");
    // A name that the kernel has cut may not be UTF-8.
    let stat = stat.map(|stat| String::from_utf8_lossy(&stat).into_owned());
    let flags = stat.ok().and_then(|stat| flags(&stat));
    flags.is_none_or(|flags| flags & PF_FORKNOEXEC != 0)
}

/// Of the kernel's flags of a thread: forked, and no exec since. Here of the process's first one.
const PF_FORKNOEXEC: u32 = 0x40;

/// The flags in a line of `/proc/PID/stat`; the name before them may have any bytes.
fn flags(stat: &str) -> Option<u32> {
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(6)?.parse().ok()
}

/// Of several claimers in one process one wins.
fn claim_empty(word: &AtomicU32) -> u32 {
    let fresh = fresh_number();
    // AcqRel: publishes what came before, see `current`. Acquire: sees what the winner published.
    match word.compare_exchange(0, fresh, AcqRel, Acquire) {
        Ok(_) => fresh,
        Err(winner) => winner,
    }
}

fn fresh_number() -> u32 {
    loop {
        // Relaxed: only the number itself matters, each is given out once.
        let number = NUMBERS.fetch_add(1, Relaxed).wrapping_add(1);
        if number != 0 {
            return number;
        }
    }
}

#[inline]
fn word() -> Option<&'static AtomicU32> {
    // Acquire: pairs with the AcqRel of `publish_word`.
    let word = WORD.load(Acquire);
    // SAFETY: WORD is null or points to a mapped word that is never unmapped.
    unsafe { word.as_ref() }
}

/// Makes the word; if another thread was faster, returns that thread's.
fn publish_word() -> io::Result<&'static AtomicU32> {
    let fresh = map_word()?;
    // AcqRel: the page's setup happens before anybody who reads the pointer.
    // Acquire: the faster thread's page is seen as it set it up.
    match WORD.compare_exchange(null_mut(), fresh, AcqRel, Acquire) {
        // SAFETY: mapped above, and published, so that nobody will unmap it.
        Ok(_) => Ok(unsafe { &*fresh }),
        Err(winner) => {
            unmap_page(fresh.cast());
            // SAFETY: published by the winner, never unmapped.
            Ok(unsafe { &*winner })
        }
    }
}

fn map_word() -> io::Result<*mut AtomicU32> {
    let page = map_page()?;
    // Refused by kernels before 4.14 and some sandboxes. A handler is second best: a bare clone()
    // does not run it.
    if let Err(error) = wipe_on_fork(page).or_else(|_| register_handler()) {
        unmap_page(page);
        return Err(error);
    }
    Ok(page.cast())
}

/// Whether the kernel wipes pages on fork: tries it.
pub(crate) fn try_wiped_page() -> io::Result<()> {
    let page = map_page()?;
    let wiped = wipe_on_fork(page);
    unmap_page(page);
    wiped
}

fn map_page() -> io::Result<*mut c_void> {
    let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
    // SAFETY: a new anonymous mapping where the kernel likes; replaces nothing.
    Ok(unsafe { mmap_anonymous(null_mut(), LENGTH, protection, flags) }?)
}

fn wipe_on_fork(page: *mut c_void) -> io::Result<()> {
    // SAFETY: changes only what a forked child will find in this page, which is ours.
    Ok(unsafe { madvise(page, LENGTH, Advice::LinuxWipeOnFork) }?)
}

fn register_handler() -> io::Result<()> {
    // SAFETY: `forget` only stores to the word, which any forked child may do.
    match unsafe { libc::pthread_atfork(None, None, Some(forget)) } {
        0 => Ok(()),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

/// For a page from `map_page` that nobody else has been told of.
fn unmap_page(page: *mut c_void) {
    // SAFETY: see above: no reference into the page is left. Fails only for a bad address.
    let _ = unsafe { munmap(page, LENGTH) };
}

/// What the kernel does to a wiped page, for where it does not.
extern "C" fn forget() {
    if let Some(word) = word() {
        // Relaxed: a child starts with one thread.
        word.store(0, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_found_behind_any_name() {
        let line = |name| format!("7 ({name}) S 1 7 7 0 -1 4194368 0 0");
        assert_eq!(flags(&line("cmwq/tick")), Some(0x40_0040));
        assert_eq!(flags(&line(") R (2 3 4 5 6 7 8 9")), Some(0x40_0040));
        assert_eq!((flags("7 (short) S 1"), flags("")), (None, None));
    }

    /// The real thing, with a child, is tested in `tests/fork.rs`; this is the second best.
    #[test]
    fn the_handler_does_what_the_kernel_would() {
        let first = claim().unwrap();
        assert_eq!(current(), first);
        forget();
        assert_eq!(current(), 0);
        let second = claim().unwrap();
        assert!(second != 0 && second != first);
    }
}
