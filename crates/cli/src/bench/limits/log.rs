//! What all items share: a tree of checksums and a file, behind one lock.
//!
//! Under the lock an item takes the next place in the file, inserts its checksum into the tree and
//! writes its block there; the checksum itself is computed before. That is btrfs's shape: checksums
//! are made in parallel, then each goes into the one checksum tree, under the locks of the nodes
//! between root and leaf. There that is most of the time once a hundred CPUs come; with the few
//! CPUs of a small machine the insert alone (about a microsecond) would never be contended. The
//! write of the block, a copy into the page cache, makes what is under the lock about as long as
//! what is not, so that the lock decides here, too. How long it was held is part of the figures.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;

use super::super::clock::now;
use super::crc32c::crc32c;
use super::scratch::BLOCK;

/// A file that blocks are added to, round and round, and their checksums.
pub(super) struct Log {
    file: File,
    blocks: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The checksum of the block at each offset that was written.
    sums: BTreeMap<u64, u32>,
    tally: Tally,
}

/// Sums over the items that were added. Times in ns, by the wall clock.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    pub(super) items: u64,
    /// Time at the lock, before it was had.
    pub(super) waited: u64,
    /// Time with the lock.
    pub(super) held: u64,
    /// When the last one let go of the lock.
    pub(super) last: u64,
}

impl Log {
    /// A log of `blocks` blocks in `file`.
    pub(super) fn new(file: File, blocks: u64) -> Log {
        Log {
            file,
            blocks,
            state: Mutex::default(),
        }
    }

    /// What an item does: the checksum of `block`, and with the lock, the tree and the file.
    pub(super) fn add(&self, block: &[u8; BLOCK]) -> Result<(), String> {
        let sum = crc32c(block);
        let came = now();
        let mut state = self.state.lock().unwrap();
        let entered = now();
        let offset = state.tally.items % self.blocks * BLOCK as u64;
        state.sums.insert(offset, sum);
        let written = self.file.write_all_at(block, offset);
        written.map_err(|e| format!("scratch file, write at {offset}: {e}"))?;
        state.tally.add(came, entered, now());
        Ok(())
    }

    /// The sums so far.
    pub(super) fn tally(&self) -> Tally {
        self.state.lock().unwrap().tally
    }

    /// Reads back every block that is in the file: what was measured has also been done.
    pub(super) fn verify(&self) -> Result<(), String> {
        let state = self.state.lock().unwrap();
        let mut block = vec![0; BLOCK];
        for (&offset, &sum) in &state.sums {
            let read = self.file.read_exact_at(&mut block, offset);
            read.map_err(|e| format!("scratch file, read at {offset}: {e}"))?;
            if crc32c(&block) != sum {
                return Err(format!("scratch file: wrong block at {offset}"));
            }
        }
        Ok(())
    }
}

impl Tally {
    fn add(&mut self, came: u64, entered: u64, left: u64) {
        self.items += 1;
        self.waited += entered - came;
        self.held += left - entered;
        self.last = left;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(blocks: u64) -> Log {
        Log::new(tempfile::tempfile().unwrap(), blocks)
    }

    #[test]
    fn blocks_go_round() {
        let log = log(2);
        for byte in 1..=3 {
            log.add(&[byte; BLOCK]).unwrap();
        }
        let mut first = [0];
        log.file.read_exact_at(&mut first, 0).unwrap();
        assert_eq!((first, log.tally().items), ([3], 3));
        assert_eq!(log.file.metadata().unwrap().len(), 2 * BLOCK as u64);
        log.verify().unwrap();
    }

    #[test]
    fn a_wrong_block_is_found() {
        let log = log(2);
        log.add(&[1; BLOCK]).unwrap();
        log.add(&[1; BLOCK]).unwrap();
        log.file.write_all_at(&[2], BLOCK as u64 + 7).unwrap();
        assert!(log.verify().unwrap_err().contains("at 65536"));
    }

    #[test]
    fn a_write_that_fails_is_an_error() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let error = Log::new(full, 2).add(&[1; BLOCK]).unwrap_err();
        assert!(error.contains("write at 0: No space left"), "{error}");
    }
}
