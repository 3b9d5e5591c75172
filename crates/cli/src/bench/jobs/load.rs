//! Work, in units that a few of make a step of a job.

use std::hint::black_box;
use std::ops::Range;

use super::super::clock::{MS, now};
use super::args::Load;

/// Multiplications of a unit, each of which needs the one before: about a microsecond.
const TURNS: u64 = 1_000;
/// Fresh memory of a unit.
const BYTES: usize = 256 << 10;
const PAGE: usize = 4 << 10;

impl Load {
    /// Does these units of it, in the calling thread.
    pub(super) fn work(self, units: Range<usize>) {
        match self {
            Load::Pages => units.for_each(|_| touch_pages()),
            _ => units.for_each(|unit| multiply(unit as u64, TURNS)),
        }
    }

    /// Units that one thread does in a second, about: as many as in a tenth of one, at its best.
    pub(super) fn units_per_second(self) -> usize {
        let (start, mut units) = (now(), 0);
        while now() - start < 100 * MS {
            self.work(units..units + 8);
            units += 8;
        }
        units * 10
    }
}

/// A chain of so many multiplications.
pub(super) fn multiply(seed: u64, turns: u64) {
    let mut value = seed | 1;
    for _ in 0..turns {
        value = black_box(value.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    }
}

/// Takes memory, writes to each page of it and gives it back.
fn touch_pages() {
    let (read_write, anonymous) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
    );
    // SAFETY: new memory, at an address of the kernel's choice.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), BYTES, read_write, anonymous, -1, 0) };
    if start == libc::MAP_FAILED {
        // Also a way to spend time in the kernel; whoever has no memory at all fails elsewhere.
        return;
    }
    for at in (0..BYTES).step_by(PAGE) {
        // SAFETY: within the mapping, which only this thread knows.
        unsafe { start.cast::<u8>().add(at).write_volatile(1) };
    }
    // SAFETY: made above, and used no more.
    unsafe { libc::munmap(start, BYTES) };
}
