//! How many threads a job is worth, and how long a chunk is.

use super::Cut;

/// Chunks per thread, so that threads of unlike speed end together (kernel: the factor 4 of
/// `padata_do_multithreaded`, the shift by 2 of `ktask_run`).
const CHUNKS_PER_THREAD: u64 = 4;
/// Longer chunks gain nothing, and the word of a chunk has no room for them.
const LONGEST: u64 = 1 << 62;

/// How long chunks are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Chunks {
    /// `size / (threads x 4)` units, whatever a unit takes: few, large and contiguous.
    #[default]
    Kernel,
    /// What takes about [`CHUNK_STEPS`](super::Speed::CHUNK_STEPS) steps, about 1 ms.
    Adaptive,
}

/// What a job is, as far as its size and its threads go.
///
/// ```
/// use cmwq_policy::job::{Chunks, Cut, Shape};
/// let shape = Shape { size: 1 << 20, cut: Cut::new(512, 4096), max_threads: 0, cpus: 8 };
/// assert_eq!(shape.threads(), 8);
/// assert_eq!(shape.chunk(8), (1 << 20) / 32);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Units of work.
    pub size: u64,
    /// Where it may be cut.
    pub cut: Cut,
    /// At most so many threads, the caller among them; 0: as many as there are CPUs.
    pub max_threads: u32,
    /// CPUs that the process can use.
    pub cpus: u32,
}

impl Shape {
    /// Threads that the job is worth, the caller among them: one for each
    /// `max(min_chunk, align)` units, at most `max_threads` and the CPUs. At least 1.
    pub fn threads(&self) -> u32 {
        let worth = self.size / self.cut.least();
        let most = match self.max_threads {
            0 => self.cpus,
            set => set.min(self.cpus),
        };
        worth.min(u64::from(most)).max(1) as u32
    }

    /// The kernel's length of a chunk for so many threads: `size / (threads x 4)`, at least
    /// `min_chunk` and 1, rounded up to `align`.
    pub fn chunk(&self, threads: u32) -> u64 {
        let share = self.size / (u64::from(threads.max(1)) * CHUNKS_PER_THREAD);
        self.cut.round_up(share).clamp(self.cut.least(), LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(size: u64, align: u64, min_chunk: u64) -> Shape {
        Shape {
            size,
            cut: Cut::new(align, min_chunk),
            max_threads: 0,
            cpus: 8,
        }
    }

    #[test]
    fn threads_as_in_the_kernel() {
        assert_eq!(shape(0, 1, 1).threads(), 1);
        assert_eq!(shape(7, 1, 1).threads(), 7);
        assert_eq!(shape(1 << 30, 1, 1).threads(), 8);
        // One for each min_chunk, or align where that is more.
        assert_eq!(shape(999, 1, 500).threads(), 1);
        assert_eq!(shape(1000, 1, 500).threads(), 2);
        assert_eq!(shape(1000, 600, 1).threads(), 1);
        let capped = Shape {
            max_threads: 3,
            ..shape(1 << 30, 1, 1)
        };
        assert_eq!(capped.threads(), 3);
        let few = Shape {
            max_threads: 64,
            ..shape(1 << 30, 1, 1)
        };
        assert_eq!(few.threads(), 8);
    }

    #[test]
    fn chunks_as_in_the_kernel() {
        assert_eq!(shape(3200, 1, 1).chunk(8), 100);
        assert_eq!(shape(3200, 64, 1).chunk(8), 128);
        assert_eq!(shape(3200, 1, 150).chunk(8), 150);
        assert_eq!(shape(3200, 64, 150).chunk(8), 192);
        // Never nothing (kernel fix of 2024).
        assert_eq!(shape(3, 1, 0).chunk(8), 1);
        assert_eq!(shape(u64::MAX, 1, 1).chunk(1), (u64::MAX / 4).min(LONGEST));
    }
}
