//! How long to leave a job's output in its pipe before it is read.
//!
//! Being woken costs more than reading, and a program that writes line by line would wake us for
//! each line. But a writer stands still while its pipe is full. So the pause follows what the last
//! read has found.

use cmwq_policy::time::{MICROSECOND, MILLISECOND, Nanos};

const FIRST: Nanos = 8 * MILLISECOND;
/// A pause this short is left out: such a sleep takes twice as long.
const LEAST: Nanos = 64 * MICROSECOND;
const MOST: Nanos = 64 * MILLISECOND;

/// When to read again what a job writes.
#[derive(Clone, Copy, Debug)]
pub struct Gather {
    capacity: usize,
    pause: Nanos,
}

impl Gather {
    /// For a job whose smaller pipe holds `capacity` bytes.
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            pause: FIRST,
        }
    }

    /// The pause after a read has found `bytes`. `None`: read on at once.
    ///
    /// It aims at a pipe between one sixteenth and one quarter full. That leaves room for a writer
    /// that gets faster.
    pub fn after(&mut self, bytes: usize) -> Option<Nanos> {
        if bytes == 0 {
            return None;
        }
        if bytes >= self.capacity / 2 {
            // The writer may have been waiting for room: each page of a pipe is at least half full.
            self.pause = LEAST;
        } else if bytes >= self.capacity / 4 {
            self.pause = (self.pause / 2).max(LEAST);
        } else if bytes < self.capacity / 16 {
            self.pause = (self.pause * 2).min(MOST);
        }
        (self.pause > LEAST).then_some(self.pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cmwq_policy::time::SECOND;

    /// Reads until `end`, of a job that writes so many bytes in a second; how often, and for how
    /// long altogether its pipe was full.
    fn play(capacity: usize, bytes_per_s: f64, end: Nanos) -> (u32, f64) {
        let mut gather = Gather::new(capacity);
        let (mut now, mut reads, mut full) = (0.0, 0, 0.0);
        // Who is woken by a first byte reads soon after it.
        let soon = 1.0 / bytes_per_s + 50e-6;
        let mut filling = soon;
        while now < end as f64 / SECOND as f64 {
            let written = bytes_per_s * filling;
            let found = written.min(capacity as f64);
            full += (written - found) / bytes_per_s;
            reads += 1;
            let pause = gather.after(found as usize).unwrap_or_default();
            filling = pause as f64 / SECOND as f64 + soon;
            now += filling;
        }
        (reads, full)
    }

    #[test]
    fn who_writes_little_is_read_now_and_then() {
        for bytes_per_s in [100.0, 10_000.0] {
            let (reads, full) = play(1 << 16, bytes_per_s, SECOND);
            assert!(reads < 25, "{bytes_per_s}: {reads}");
            assert_eq!(full, 0.0);
        }
    }

    #[test]
    fn no_writer_waits_long_for_room_however_fast_and_however_small_the_pipe() {
        for capacity in [1 << 12, 1 << 13, 1 << 16, 1 << 20] {
            for exponent in 10..30 {
                let bytes_per_s = f64::from(1 << exponent);
                let (_, share) = play(capacity, bytes_per_s, SECOND);
                // What could not be read in time without any pause is not the pause's doing.
                let without = (1.0 - capacity as f64 / (bytes_per_s * 51e-6)).max(0.0);
                let most = without + 0.05;
                assert!(share <= most, "{capacity}, {bytes_per_s}: {share}");
            }
        }
    }

    #[test]
    fn a_writer_that_gets_faster_is_followed_in_a_few_reads() {
        let mut gather = Gather::new(1 << 16);
        (0..20).for_each(|_| assert!(gather.after(80).is_some()));
        assert_eq!(gather.after(80), Some(MOST));
        assert_eq!(gather.after(1 << 16), None);
        assert_eq!(gather.after(80), Some(2 * LEAST));
    }

    #[test]
    fn nothing_found_says_nothing() {
        let mut gather = Gather::new(1 << 16);
        assert_eq!(gather.after(0), None);
        assert_eq!(gather.after(1 << 12), Some(FIRST));
    }
}
