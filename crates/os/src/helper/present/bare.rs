//! System calls without the C library. The helper has no thread-local memory (where `errno` lives),
//! no heap and no table of the vDSO: it unmaps them. Nothing here may allocate, panic or copy more
//! than a word.

use std::arch::asm;
use std::ffi::c_void;

/// What a new thread or process begins with: both are words, handed over in registers.
pub(super) type Entry = extern "C" fn(usize, usize) -> !;

/// What a new thread or process does: one call, which does not return.
pub(super) struct FirstCall {
    entry: Entry,
    a: usize,
    b: usize,
}

impl FirstCall {
    #[inline(always)]
    pub(super) fn of(entry: Entry, a: usize, b: usize) -> Self {
        FirstCall { entry, a, b }
    }
}

/// Makes a system call; what the kernel answers, an error as a negative `errno`.
///
/// # Safety
///
/// As for the call itself.
#[inline(always)]
pub(super) unsafe fn call(
    number: i64,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> isize {
    let answer: isize;
    // SAFETY: the kernel changes rax, rcx and r11, and what the caller vouches for.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => answer,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    answer
}

/// `clone`: the new thread or process makes the call `first` on the stack that ends at `stack`. The
/// new id for the caller, or a negative `errno`.
///
/// # Safety
///
/// `stack` is the end of memory for a stack that nobody else uses, a multiple of 16. What is new
/// shares memory, or copies it, as the flags say, and the call must be content with that: it has
/// the caller's thread-local memory.
#[inline(never)]
pub(super) unsafe fn clone_onto(flags: usize, stack: usize, first: &FirstCall) -> isize {
    let answer: isize;
    // SAFETY: the caller's side returns as from any system call. The new side has the registers of
    // the caller but rax (0) and rsp, calls the entry, which does not return, and touches nothing
    // of this frame.
    unsafe {
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r12",
            "mov rsi, r13",
            "call r14",
            "ud2",
            "2:",
            inlateout("rax") libc::SYS_clone as isize => answer,
            in("rdi") flags, in("rsi") stack, in("rdx") 0, in("r10") 0, in("r8") 0,
            in("r12") first.a, in("r13") first.b, in("r14") first.entry,
            lateout("rcx") _, lateout("r11") _,
        );
    }
    answer
}

/// Where the calling thread's own memory is.
pub(super) fn thread_pointer() -> usize {
    let pointer: usize;
    // SAFETY: reads the word there, which holds its own address (the ABI of x86-64).
    unsafe { asm!("mov {}, fs:0", out(reg) pointer, options(nostack, readonly, preserves_flags)) };
    pointer
}

/// Nanoseconds of CLOCK_MONOTONIC.
pub fn now() -> u64 {
    let mut time = std::mem::MaybeUninit::<libc::timespec>::uninit();
    let (clock, place) = (libc::CLOCK_MONOTONIC as usize, time.as_mut_ptr());
    // SAFETY: the kernel writes one timespec; this clock exists, so it does.
    unsafe {
        call(libc::SYS_clock_gettime, clock, place.addr(), 0, 0, 0, 0);
        (*place).tv_sec as u64 * 1_000_000_000 + (*place).tv_nsec as u64
    }
}

/// The CPU of the calling thread.
pub fn current_cpu() -> usize {
    let mut cpu = 0_u32;
    // SAFETY: the kernel writes one number.
    unsafe { call(libc::SYS_getcpu, (&raw mut cpu).addr(), 0, 0, 0, 0, 0) };
    cpu as usize
}

/// Lets others have the CPU.
pub fn yield_now() {
    // SAFETY: touches no memory.
    unsafe { call(libc::SYS_sched_yield, 0, 0, 0, 0, 0, 0) };
}

/// Each mask of one bit: the words of CPU `c` begin `c / 64` before the last word of row `c % 64`.
static PINS: [[u64; 16]; 64] = {
    let mut pins = [[0; 16]; 64];
    let mut bit = 0;
    while bit < 64 {
        pins[bit][15] = 1 << bit;
        bit += 1;
    }
    pins
};

/// Pins the calling thread to this CPU, below 1024; whether that was possible.
pub fn pin(cpu: usize) -> bool {
    let row = (&raw const PINS).addr() + cpu % 64 * size_of::<[u64; 16]>();
    let (first, length) = (row + (15 - cpu / 64) * 8, (cpu / 64 + 1) * 8);
    // SAFETY: the kernel reads `length` bytes, which end with the row.
    unsafe { call(libc::SYS_sched_setaffinity, 0, length, first, 0, 0, 0) == 0 }
}

/// Sleeps while the word holds `expected`; anybody with the memory may wake it.
///
/// # Safety
///
/// `word` is the address of an atomic word that stays mapped.
pub(crate) unsafe fn futex_wait(word: usize, expected: u32) {
    let (operation, expected) = (libc::FUTEX_WAIT as usize, expected as usize);
    // SAFETY: the caller vouches for the word; there is no timeout.
    unsafe { call(libc::SYS_futex, word, operation, expected, 0, 0, 0) };
}

/// Wakes up to `n` that sleep on the word.
///
/// # Safety
///
/// As for [`futex_wait`].
pub(crate) unsafe fn futex_wake(word: usize, n: u32) {
    let operation = libc::FUTEX_WAKE as usize;
    // SAFETY: the caller vouches for the word.
    unsafe { call(libc::SYS_futex, word, operation, n as usize, 0, 0, 0) };
}

/// Ends the process, all threads of it.
pub(super) fn exit() -> ! {
    loop {
        // SAFETY: does not return.
        unsafe { call(libc::SYS_exit_group, 0, 0, 0, 0, 0, 0) };
    }
}

/// Unmaps everything from `from` to `to`, but what the kernel has sealed. `to` is a multiple of a
/// page.
///
/// # Safety
///
/// Nothing there is used any more.
pub(super) unsafe fn unmap(from: usize, to: usize) {
    const PAGE: usize = 4096;
    let (mut at, mut length) = (from, to.saturating_sub(from));
    while at < to {
        // SAFETY: the caller vouches for the whole.
        match unsafe { call(libc::SYS_munmap, at, length, 0, 0, 0, 0) } {
            0 => (at, length) = (at + length, to - (at + length)),
            // Something in it is sealed, so nothing was unmapped: all but that is, in halves.
            _ if length > PAGE => length = (length / 2).next_multiple_of(PAGE),
            _ => (at, length) = (at + PAGE, to - (at + PAGE)),
        }
    }
}

/// Where the mapping of new anonymous memory begins, or a negative `errno`.
pub(super) fn map(length: usize) -> isize {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK) as usize;
    // SAFETY: a new mapping where the kernel likes; replaces nothing.
    unsafe { call(libc::SYS_mmap, 0, length, protection, flags, usize::MAX, 0) }
}

/// The same of C's pointer.
pub(super) fn addr<T>(place: *const T) -> usize {
    place.cast::<c_void>().addr()
}
