//! Sets of CPUs.

use core::fmt;

/// CPUs a mask can hold: the kernel's `CPU_SETSIZE`.
pub const MAX_CPUS: usize = 1024;

const WORD_BITS: usize = u64::BITS as usize;
const WORDS: usize = MAX_CPUS / WORD_BITS;

/// A set of CPUs, numbered as the kernel numbers them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CpuMask {
    words: [u64; WORDS],
}

impl CpuMask {
    /// No CPU at all.
    pub const EMPTY: CpuMask = CpuMask { words: [0; WORDS] };

    /// The mask with these bits, CPU 0 in the lowest.
    pub fn from_words(words: [u64; MAX_CPUS / 64]) -> Self {
        CpuMask { words }
    }

    /// Its bits, CPU 0 in the lowest.
    pub fn words(&self) -> &[u64; MAX_CPUS / 64] {
        &self.words
    }

    /// CPUs `0..n`.
    pub fn first(n: usize) -> Self {
        (0..n).collect()
    }

    /// Adds a CPU. Numbers from [`MAX_CPUS`] on are ignored: no kernel mask can name them.
    pub fn insert(&mut self, cpu: usize) {
        if let Some(word) = self.words.get_mut(cpu / WORD_BITS) {
            *word |= 1 << (cpu % WORD_BITS);
        }
    }

    /// Takes a CPU out.
    pub fn remove(&mut self, cpu: usize) {
        if let Some(word) = self.words.get_mut(cpu / WORD_BITS) {
            *word &= !(1 << (cpu % WORD_BITS));
        }
    }

    /// Whether the CPU is in the set.
    pub fn contains(&self, cpu: usize) -> bool {
        self.words
            .get(cpu / WORD_BITS)
            .is_some_and(|word| word & (1 << (cpu % WORD_BITS)) != 0)
    }

    /// How many CPUs are in the set.
    pub fn count(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&w| w == 0)
    }

    /// CPUs that are in one of them.
    pub fn or(&self, other: &CpuMask) -> CpuMask {
        CpuMask::from_words(core::array::from_fn(|i| self.words()[i] | other.words()[i]))
    }

    /// CPUs that are in both sets.
    pub fn and(&self, other: &CpuMask) -> CpuMask {
        let mut words = self.words;
        for (word, with) in words.iter_mut().zip(other.words) {
            *word &= with;
        }
        CpuMask { words }
    }

    /// The first CPU after this one, round the end; `None` if there is none at all.
    pub fn next_after(&self, cpu: usize) -> Option<usize> {
        let later = self.iter().find(|&next| next > cpu);
        later.or_else(|| self.iter().next())
    }

    /// The CPUs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        // Word by word: most of a mask is empty.
        let words = self.words.iter().enumerate();
        words.flat_map(|(at, &word)| Bits(word).map(move |bit| at * WORD_BITS + bit))
    }
}

/// The numbers of the bits that are set, ascending.
struct Bits(u64);

impl Iterator for Bits {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let bit = self.0.trailing_zeros() as usize;
        self.0 &= self.0.wrapping_sub(1);
        (bit < WORD_BITS).then_some(bit)
    }
}

impl FromIterator<usize> for CpuMask {
    fn from_iter<I: IntoIterator<Item = usize>>(cpus: I) -> Self {
        let mut mask = CpuMask::EMPTY;
        for cpu in cpus {
            mask.insert(cpu);
        }
        mask
    }
}

/// The kernel's list format: `0-3,8`.
impl fmt::Display for CpuMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().peekable();
        let mut comma = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while cpus.peek() == Some(&(last + 1)) {
                last += 1;
                cpus.next();
            }
            match first == last {
                true => write!(f, "{comma}{first}")?,
                false => write!(f, "{comma}{first}-{last}")?,
            }
            comma = ",";
        }
        Ok(())
    }
}

impl fmt::Debug for CpuMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CpuMask({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn prints_the_kernels_list_format() {
        let cases: [(&[usize], &str); 5] = [
            (&[], ""),
            (&[0], "0"),
            (&[0, 1, 2, 3, 8], "0-3,8"),
            (&[63, 64, 65, 1023], "63-65,1023"),
            (&[5, 5, 2000], "5"),
        ];
        for (cpus, text) in cases {
            assert_eq!(cpus.iter().copied().collect::<CpuMask>().to_string(), text);
        }
    }

    #[test]
    fn set_operations() {
        let mut mask = CpuMask::first(4);
        mask.remove(1);
        assert_eq!(mask.iter().collect::<std::vec::Vec<_>>(), [0, 2, 3]);
        assert_eq!(mask.and(&[2, 9].into_iter().collect()).count(), 1);
        assert!(!mask.contains(MAX_CPUS));
        assert!(CpuMask::EMPTY.is_empty());
    }
}
