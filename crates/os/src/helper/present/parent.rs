//! The parent's side of a helper.

use std::ffi::c_void;
use std::io;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::SeqCst;

use cmwq_policy::CpuMask;

use super::bare;
use super::child;
use super::control::{Body, Control};
use super::kept::{object_of, rseq_area};
use crate::thread::{self, done};

/// Bytes of stack of the first thread.
const STACK: usize = 64 * 1024;
const PAGE: usize = 4096;
/// The end of what `mmap` gives unless asked for more.
const END: usize = 0x7fff_ffff_f000;
/// Bytes around the thread pointer where the C library may have what the kernel writes to.
const THREAD_MEMORY: usize = 64 * 1024;

/// Memory that is shared with a helper, and what starts one. Dropped only where none was started.
#[derive(Debug)]
pub struct Helper {
    control: NonNull<Control>,
    length: usize,
}

// SAFETY: what several threads or processes change in it is atomic; the lock is the C library's.
unsafe impl Send for Helper {}
// SAFETY: see above.
unsafe impl Sync for Helper {}

impl Drop for Helper {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`; nobody refers to it any more, and no helper was started, or it
        // has ended.
        unsafe { libc::munmap(self.control.as_ptr().cast(), self.length) };
    }
}

impl Helper {
    /// Maps the memory: `bytes`, all zero, for those that use it, and what is needed beside.
    ///
    /// # Errors
    ///
    /// `ENOMEM`: there is no room. [`Unsupported`](io::ErrorKind::Unsupported): the kernel has not,
    /// or a sandbox does not permit, what a helper needs (Linux 5.16).
    pub fn new(bytes: usize) -> io::Result<Self> {
        // SAFETY: no waiters and no memory: refused with EINVAL where the call exists.
        if unsafe { bare::call(libc::SYS_futex_waitv, 0, 0, 0, 0, 0, 0) } != -libc::EINVAL as isize
        {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let length = (size_of::<Control>() + bytes).next_multiple_of(PAGE) + STACK;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping where the kernel likes; replaces nothing.
        let mapped = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, -1, 0) };
        if mapped == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // Its address goes through words to the helper.
        mapped.expose_provenance();
        let control = NonNull::new(mapped.cast()).expect("not at address 0");
        Ok(Helper { control, length })
    }

    fn control(&self) -> &Control {
        // SAFETY: mapped in `new`, for ever; all zero is a value of it.
        unsafe { self.control.as_ref() }
    }

    /// The memory for others: a multiple of 64, all zero at first.
    pub fn memory(&self) -> *mut c_void {
        // SAFETY: inside of the mapping.
        unsafe { self.control.add(1) }.as_ptr().cast()
    }

    /// The calling thread stands for the parent from now on: the helper ends when this thread does.
    ///
    /// # Errors
    ///
    /// What the C library answers.
    pub fn hold(&self) -> io::Result<()> {
        self.make_lock()?;
        // SAFETY: made above, and nobody has it yet.
        done(unsafe { libc::pthread_mutex_lock(self.control().lock.get()) })
    }

    /// A lock that the kernel lets go of when its owner ends, and that the helper can wait for.
    fn make_lock(&self) -> io::Result<()> {
        let mut attr = MaybeUninit::<libc::pthread_mutexattr_t>::uninit();
        let (attr, lock) = (attr.as_mut_ptr(), self.control().lock.get());
        let (shared, robust) = (libc::PTHREAD_PROCESS_SHARED, libc::PTHREAD_MUTEX_ROBUST);
        // SAFETY: the attributes are made before they are used, and live until after the calls.
        unsafe {
            done(libc::pthread_mutexattr_init(attr))?;
            let made = done(libc::pthread_mutexattr_setpshared(attr, shared))
                .and_then(|()| done(libc::pthread_mutexattr_setrobust(attr, robust)))
                .and_then(|()| done(libc::pthread_mutex_init(lock, attr)));
            libc::pthread_mutexattr_destroy(attr);
            made
        }
    }

    /// Forks the helper; its process id. The calling thread [holds](Self::hold) the lock and has
    /// [left its descriptors](leave_descriptors). `body` runs in a pinned thread for each CPU that
    /// is [wanted](Self::want). It may use the shared memory and [`inside`](super::inside), nothing
    /// else of the program: it may not allocate, lock, panic, or use locals of the thread.
    ///
    /// # Errors
    ///
    /// `EAGAIN`, `ENOMEM`, `EPERM`: no process may be made.
    pub fn start(&self, body: Body) -> io::Result<i32> {
        self.fill_in(body)?;
        let first = bare::FirstCall::of(child::main, bare::addr(self.control()), 0);
        // A signal that comes before the helper has blocked it would run a handler there. SIGSYS is
        // what a sandbox sends for the call itself.
        let before = thread::sigmask();
        thread::block_all_but(libc::SIGSYS);
        // SAFETY: the stack is the end of the shared mapping, where only this helper is: the one
        // before it has ended. `main` uses nothing of the parent but that mapping and code.
        let pid = unsafe { bare::clone_onto(0, self.end(), &first) };
        thread::restore_mask(before);
        match pid {
            1.. => Ok(pid as i32),
            error => Err(io::Error::from_raw_os_error(-error as i32)),
        }
    }

    fn end(&self) -> usize {
        self.control.as_ptr().addr() + self.length
    }

    fn fill_in(&self, body: Body) -> io::Result<()> {
        let control = self.control();
        self.mark_kept()?;
        let thread = bare::thread_pointer();
        control.rseq.store(rseq_area(thread).unwrap_or(0), SeqCst);
        control.body.store(body as usize, SeqCst);
        control
            .memory
            .store(self.memory().expose_provenance(), SeqCst);
        control.parent.store(thread::getpid(), SeqCst);
        control.quit.store(0, SeqCst);
        control.made.iter().for_each(|word| word.store(0, SeqCst));
        control.threads.iter().for_each(|tid| tid.store(0, SeqCst));
        Ok(())
    }

    /// What the helper must not unmap: the code that it runs, what is near the calling thread's own
    /// memory, which is its own too, and the shared mapping.
    fn mark_kept(&self) -> io::Result<()> {
        let control = self.control();
        let code = object_of(bare::addr(child::main as *const ()));
        let code = code.ok_or(io::ErrorKind::Unsupported)?;
        let thread = bare::thread_pointer();
        let near = (thread - THREAD_MEMORY, thread + THREAD_MEMORY);
        let shared = (self.control.as_ptr().addr(), self.end());
        for (row, (from, to)) in control.keep.iter().zip([code, near, shared]) {
            row[0].store(from / PAGE * PAGE, SeqCst);
            row[1].store(to.next_multiple_of(PAGE), SeqCst);
        }
        control.end.store(END, SeqCst);
        Ok(())
    }

    /// These CPUs are to have their threads.
    pub fn want(&self, cpus: &CpuMask) {
        let control = self.control();
        let mut news = false;
        for (word, bits) in control.wanted.iter().zip(cpus.words()) {
            news |= word.fetch_or(*bits, SeqCst) & bits != *bits;
        }
        if news {
            control.give_order();
        }
    }

    /// The helper is to end.
    pub fn quit(&self) {
        self.control().quit.store(1, SeqCst);
        self.control().give_order();
    }

    /// Why there are no such threads, if the system denies them `SCHED_IDLE`.
    pub fn denied(&self) -> Option<io::Error> {
        match self.control().denied.load(SeqCst) {
            0 => None,
            errno => Some(io::Error::from_raw_os_error(errno)),
        }
    }

    /// Waits until this helper has ended, and reaps it.
    pub fn wait(&self, pid: i32) {
        // SAFETY: asks for nothing to be written.
        while unsafe { libc::waitpid(pid, std::ptr::null_mut(), libc::__WALL) } == -1 {
            if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                // Somebody else has reaped it.
                return;
            }
        }
    }
}

/// The calling thread has no descriptors from now on, and a table of its own: what it opens is
/// nobody else's, and what is forked from it has none of the process's.
///
/// # Errors
///
/// `ENOSYS`, `EPERM`: not before Linux 5.9, or forbidden. Nothing has changed then.
pub fn leave_descriptors() -> io::Result<()> {
    let (last, flags) = (libc::c_uint::MAX, libc::CLOSE_RANGE_UNSHARE as libc::c_uint);
    // SAFETY: closes descriptors in a table that only this thread has from then on, and it uses
    // none.
    match unsafe { libc::syscall(libc::SYS_close_range, 0 as libc::c_uint, last, flags) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
