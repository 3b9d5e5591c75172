//! Threads that the standard library does not know of.
//!
//! Each thread that the standard library starts enters itself into a table, under a lock, before it
//! runs anything of ours, and leaves the table when it ends. A thread of the parent may hold that
//! lock at a fork: then every such thread of the child waits for it, for ever. Threads made here
//! take no lock but those that the C library sets right in a child.
//! `std::thread::current()` has no name there, and an overflow of the stack is a plain `SIGSEGV`.

use std::ffi::{CString, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use super::LEAST_STACK;
use crate::generation;

/// What is known of the process with this number: twice the number, plus one if it needs bare
/// threads.
static KNOWN: AtomicU64 = AtomicU64::new(0);

/// Whether this process was forked and runs what its parent ran: then it may lack a thread that
/// held a lock of the standard library.
pub(super) fn are_needed() -> bool {
    let process = u64::from(generation::current());
    // Relaxed: nothing else is read by what it says.
    let known = KNOWN.load(Relaxed);
    if process != 0 && known / 2 == process {
        return known & 1 != 0;
    }
    let needed = generation::is_forked();
    // Relaxed: as above.
    KNOWN.store(process * 2 + u64::from(needed), Relaxed);
    needed
}

struct Start {
    name: CString,
    body: Box<dyn FnOnce() + Send>,
}

/// Starts a detached thread of this name, which the kernel keeps.
///
/// # Errors
/// What the C library answered.
pub(super) fn spawn(
    name: String,
    stack_size: usize,
    body: impl FnOnce() + Send + 'static,
) -> io::Result<()> {
    let start = Box::into_raw(Box::new(Start {
        name: CString::new(name).unwrap_or_default(),
        body: Box::new(body),
    }));
    create(stack_size, start.cast()).inspect_err(|_| {
        // SAFETY: made above, and no thread has it.
        drop(unsafe { Box::from_raw(start) });
    })
}

/// Starts [`begin`], which takes over `start`.
fn create(stack_size: usize, start: *mut c_void) -> io::Result<()> {
    let size = stack_size.max(LEAST_STACK).max(libc::PTHREAD_STACK_MIN);
    let size = size.checked_next_multiple_of(rustix::param::page_size());
    let size = size.ok_or(io::ErrorKind::InvalidInput)?;
    let mut attr = MaybeUninit::<libc::pthread_attr_t>::uninit();
    let attr = attr.as_mut_ptr();
    let mut thread = MaybeUninit::<libc::pthread_t>::uninit();
    let thread = thread.as_mut_ptr();
    // SAFETY: `attr` is initialised first and destroyed last, `begin` is given what it takes.
    unsafe {
        done(libc::pthread_attr_init(attr))?;
        let detached = libc::PTHREAD_CREATE_DETACHED;
        let made = done(libc::pthread_attr_setstacksize(attr, size))
            .and_then(|()| done(libc::pthread_attr_setdetachstate(attr, detached)))
            .and_then(|()| done(libc::pthread_create(thread, attr, begin, start)));
        libc::pthread_attr_destroy(attr);
        made
    }
}

/// What a call of `pthreads` answers, which leaves `errno` alone.
pub(crate) fn done(errno: i32) -> io::Result<()> {
    match errno {
        0 => Ok(()),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

/// What such a thread does.
extern "C" fn begin(start: *mut c_void) -> *mut c_void {
    // SAFETY: made by `spawn`, which leaves it to us.
    let start = unsafe { Box::from_raw(start.cast::<Start>()) };
    // Fails only for an unreadable address.
    let _ = rustix::thread::set_name(&start.name);
    // As in the standard library: the hook has told of a panic, which ends the thread and nothing
    // else.
    drop(catch_unwind(AssertUnwindSafe(start.body)));
    null_mut()
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use crate::thread::stack_left;
    use std::sync::mpsc;

    fn comm() -> String {
        let name = std::fs::read_to_string("/proc/thread-self/comm").unwrap();
        name.trim_end().to_owned()
    }

    #[test]
    fn one_has_its_name_and_its_stack() {
        for (asked, least) in [(0, LEAST_STACK), (300_001, 300_001)] {
            let (tell, told) = mpsc::channel();
            let body = move || tell.send((comm(), stack_left())).unwrap();
            spawn("cmwq/bare".into(), asked, body).unwrap();
            let (name, left) = told.recv().unwrap();
            assert_eq!(name, "cmwq/bare");
            // Of that it has used a little.
            assert!((least / 2..2 * least).contains(&left), "{asked}: {left}");
        }
    }

    #[test]
    fn what_it_was_given_is_dropped_once_however_it_ends() {
        let (tell, told) = mpsc::channel::<()>();
        let kept = tell.clone();
        spawn("panics".into(), 0, move || {
            let _kept = kept;
            panic!("in a test: nobody else ends");
        })
        .unwrap();
        let refused = usize::MAX;
        assert!(spawn("refused".into(), refused, move || drop(tell)).is_err());
        assert!(told.recv().is_err(), "both senders are gone");
    }

    #[test]
    fn a_process_that_was_started_needs_none() {
        generation::claim().unwrap();
        assert!(!are_needed() && !are_needed());
    }
}
