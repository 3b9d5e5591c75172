//! What the helper does: its first thread waits for the parent's end and for orders, the others are
//! pinned.
//!
//! It was forked from a process with other threads, so it may use nothing that they had in their
//! hands: no C library, no allocator, no lock. And it drops the parent's memory, so that this is
//! freed when the parent ends and need not be copied when the parent writes to it.

use std::ffi::c_void;
use std::sync::atomic::Ordering::SeqCst;

use super::bare::{self, call};
use super::control::Control;

/// Bytes of stack of a pinned thread, the page that keeps others off included.
const STACK: usize = 64 * 1024;
const PAGE: usize = 4096;
/// What the kernel marks in a robust lock whose owner has gone, and for those who wait for it.
const OWNER_DIED: u32 = 0x4000_0000;
const WAITERS: u32 = 0x8000_0000;
/// Signature and flag for `rseq`.
const RSEQ_SIGNATURE: usize = 0x5305_3053;
const RSEQ_UNREGISTER: usize = 1;
/// Of a futex in `futex_waitv`: 32 bits, not private.
const FUTEX2_SIZE_U32: u32 = 2;

/// What a thread shares with the others of its process: all but locals of the thread, which no
/// thread here has.
const THREAD: i32 = libc::CLONE_VM
    | libc::CLONE_FS
    | libc::CLONE_FILES
    | libc::CLONE_SIGHAND
    | libc::CLONE_THREAD
    | libc::CLONE_SYSVSEM;

/// The first thread.
pub(super) extern "C" fn main(control: usize, _: usize) -> ! {
    let control: *const Control = std::ptr::with_exposed_provenance(control);
    // SAFETY: the parent's mapping, shared with this process, and unmapped by neither.
    let control = unsafe { &*control };
    settle(control);
    leave_memory(control);
    guard(control)
}

/// Becomes nobody's business, and ends if the parent has ended already: a signal of its end would
/// not come any more.
fn settle(control: &Control) {
    let all = u64::MAX;
    let (how, set) = (libc::SIG_SETMASK as usize, bare::addr(&raw const all));
    let (core, none) = (libc::RLIMIT_CORE as usize, control.no_limit());
    // SAFETY: settings of this process; the kernel reads the mask, the path and the limit.
    unsafe {
        call(libc::SYS_rt_sigprocmask, how, set, 0, 8, 0, 0);
        call(libc::SYS_setpgid, 0, 0, 0, 0, 0, 0);
        call(libc::SYS_close_range, 0, u32::MAX as usize, 0, 0, 0, 0);
        call(libc::SYS_chdir, c"/".as_ptr().addr(), 0, 0, 0, 0, 0);
        call(libc::SYS_prlimit64, 0, core, none, 0, 0, 0);
    }
    set_own(libc::PR_SET_NAME, c"cmwq/canary".as_ptr().addr());
    set_own(libc::PR_SET_PDEATHSIG, libc::SIGKILL as usize);
    // SAFETY: touches no memory.
    let parent = unsafe { call(libc::SYS_getppid, 0, 0, 0, 0, 0, 0) };
    if parent != control.parent.load(SeqCst) as isize {
        bare::exit();
    }
}

/// Sets the calling thread's name or its signal, by `prctl`.
fn set_own(what: i32, value: usize) {
    // SAFETY: the kernel reads a name of C, or nothing.
    unsafe { call(libc::SYS_prctl, what as usize, value, 0, 0, 0, 0) };
}

/// Unmaps all but the code that runs here and the shared page.
fn leave_memory(control: &Control) {
    if forget_rseq(control) {
        control.keep[1][0].store(0, SeqCst);
        control.keep[1][1].store(0, SeqCst);
    }
    let mut at = PAGE;
    while let Some((from, to)) = next_kept(control, at) {
        // SAFETY: nothing kept lies between; this thread's stack is in the shared mapping.
        unsafe { bare::unmap(at, from) };
        at = if to > at { to } else { at };
    }
    // SAFETY: as above.
    unsafe { bare::unmap(at, control.end.load(SeqCst)) };
}

/// The first kept range that ends behind `at`.
fn next_kept(control: &Control, at: usize) -> Option<(usize, usize)> {
    let (mut first, mut end) = (usize::MAX, 0);
    let mut row = 0;
    while row < control.keep.len() {
        let [from, to] = &control.keep[row];
        let (from, to) = (from.load(SeqCst), to.load(SeqCst));
        if to > at && from < first {
            (first, end) = (from, to);
        }
        row += 1;
    }
    if end == 0 { None } else { Some((first, end)) }
}

/// The kernel writes into memory of the C library whenever this thread gets a CPU, unless told not
/// to; whether that is over. Its size is the C library's secret: a wrong one is refused.
fn forget_rseq(control: &Control) -> bool {
    let area = control.rseq.load(SeqCst);
    let mut size = 32;
    while area != 0 && size <= 512 {
        let (flags, signature) = (RSEQ_UNREGISTER, RSEQ_SIGNATURE);
        // SAFETY: the area is mapped yet, and is not used by code that runs here.
        if unsafe { call(libc::SYS_rseq, area, size, flags, signature, 0, 0) } == 0 {
            return true;
        }
        size += 4;
    }
    false
}

/// Makes the threads that are asked for, until the parent has gone or says so.
fn guard(control: &Control) -> ! {
    loop {
        let order = control.order.load(SeqCst);
        if control.quit.load(SeqCst) != 0 {
            end(control);
        }
        make_missing(control);
        let word = control.lock_word();
        let held = word.load(SeqCst);
        if held & OWNER_DIED != 0 || held == 0 {
            end(control);
        }
        // As any waiter does: the kernel wakes nobody at the owner's end without it.
        let marked = held | WAITERS;
        if held == marked || word.compare_exchange(held, marked, SeqCst, SeqCst).is_ok() {
            wait_for_either(control, marked, order);
        }
    }
}

/// Sleeps while the lock and the count of orders are these.
fn wait_for_either(control: &Control, held: u32, order: u32) {
    let waiters = control.waiters.get().cast::<u64>();
    let lock = bare::addr(control.lock_word()) as u64;
    let orders = bare::addr(&raw const control.order) as u64;
    let flags = u64::from(FUTEX2_SIZE_U32);
    // SAFETY: two `struct futex_waitv` of three words each, which only this thread uses.
    let answer = unsafe {
        *waiters = u64::from(held);
        *waiters.add(1) = lock;
        *waiters.add(2) = flags;
        *waiters.add(3) = u64::from(order);
        *waiters.add(4) = orders;
        *waiters.add(5) = flags;
        call(libc::SYS_futex_waitv, waiters.addr(), 2, 0, 0, 0, 0)
    };
    if answer == -(libc::ENOSYS as isize) || answer == -(libc::EPERM as isize) {
        // It was there when the parent asked.
        bare::exit();
    }
}

/// Ends the process. Its threads have to get a CPU to die: they may use any, and are ordinary ones
/// if the system permits it.
fn end(control: &Control) -> ! {
    static ALL: [u64; 16] = [u64::MAX; 16];
    let (length, all) = (size_of_val(&ALL), bare::addr(&raw const ALL));
    let (other, priority) = (libc::SCHED_OTHER as usize, 0_i32);
    let priority = bare::addr(&raw const priority);
    let mut cpu = 0;
    while cpu < control.threads.len() {
        let tid = control.threads[cpu].load(SeqCst) as usize;
        if tid != 0 {
            // SAFETY: a thread of this process, which none of them leaves before this; the kernel
            // reads a mask and a priority.
            unsafe {
                call(libc::SYS_sched_setaffinity, tid, length, all, 0, 0, 0);
                call(libc::SYS_sched_setscheduler, tid, other, priority, 0, 0, 0);
            }
        }
        cpu += 1;
    }
    bare::exit()
}

fn make_missing(control: &Control) {
    let mut cpu = 0;
    while cpu < control.wanted.len() * 64 {
        let (word, bit) = (cpu / 64, 1 << (cpu % 64));
        let missing = control.wanted[word].load(SeqCst) & !control.made[word].load(SeqCst);
        if missing & bit != 0 && make(control, cpu) {
            control.made[word].fetch_or(bit, SeqCst);
        }
        // Where none of the 64 is missing, all are passed over.
        let step = if missing == 0 { 64 - cpu % 64 } else { 1 };
        cpu += step;
    }
}

/// Starts the thread of this CPU. Where there is no room the next order tries again.
fn make(control: &Control, cpu: usize) -> bool {
    let stack = bare::map(STACK);
    if stack <= 0 {
        return false;
    }
    let stack = stack as usize;
    let first = bare::FirstCall::of(pinned, bare::addr(control), cpu);
    // SAFETY: the first page of a mapping made above. The stack is the rest of it, never unmapped
    // while the thread runs, which is as long as the process does.
    unsafe {
        call(libc::SYS_mprotect, stack, PAGE, 0, 0, 0, 0);
        let made = bare::clone_onto(THREAD as usize, stack + STACK, &first);
        if made < 0 {
            call(libc::SYS_munmap, stack, STACK, 0, 0, 0, 0);
        }
        control.threads[cpu].store(made.max(0) as i32, SeqCst);
        made > 0
    }
}

/// A pinned thread.
extern "C" fn pinned(control: usize, cpu: usize) -> ! {
    let control: *const Control = std::ptr::with_exposed_provenance(control);
    // SAFETY: as in `main`.
    let control = unsafe { &*control };
    bare::pin(cpu);
    let priority = 0_i32;
    let (idle, priority) = (libc::SCHED_IDLE as usize, bare::addr(&raw const priority));
    // SAFETY: the kernel reads a priority.
    let denied = unsafe { call(libc::SYS_sched_setscheduler, 0, idle, priority, 0, 0, 0) };
    if denied != 0 {
        control.denied.store(-denied as i32, SeqCst);
        bare::exit();
    }
    let memory: *mut c_void = std::ptr::with_exposed_provenance_mut(control.memory.load(SeqCst));
    (control.body())(memory, cpu)
}
