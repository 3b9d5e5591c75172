//! Sets of the machine's CPUs, and times by CPU, quick to change and to search: both are looked at
//! several times in each instant.

use cmwq_policy::{CpuMask, Time};

/// The time of what never happens.
const NEVER: Time = Time(u64::MAX);

/// CPUs of one machine: as many bits as it needs.
#[derive(Clone)]
pub(super) struct CpuSet {
    words: Vec<u64>,
}

impl CpuSet {
    /// No CPU of so many.
    pub(super) fn empty(cpus: usize) -> CpuSet {
        CpuSet {
            words: vec![0; cpus.div_ceil(64)],
        }
    }

    /// All CPUs of so many.
    pub(super) fn all(cpus: usize) -> CpuSet {
        let mut set = CpuSet::empty(cpus);
        (0..cpus).for_each(|cpu| set.insert(cpu));
        set
    }

    pub(super) fn insert(&mut self, cpu: usize) {
        self.words[cpu / 64] |= 1 << (cpu % 64);
    }

    pub(super) fn remove(&mut self, cpu: usize) {
        self.words[cpu / 64] &= !(1 << (cpu % 64));
    }

    pub(super) fn put(&mut self, cpu: usize, is_in: bool) {
        match is_in {
            true => self.insert(cpu),
            false => self.remove(cpu),
        }
    }

    pub(super) fn contains(&self, cpu: usize) -> bool {
        self.words[cpu / 64] & (1 << (cpu % 64)) != 0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// The first CPU from this one on.
    pub(super) fn next(&self, from: usize) -> Option<usize> {
        let first = self.words.get(from / 64)? & (u64::MAX << (from % 64));
        let later = self.words[from / 64 + 1..].iter().copied();
        let mut words = std::iter::once(first).chain(later);
        let at = words.position(|word| word != 0)?;
        let word = from / 64 + at;
        let bits = if at == 0 { first } else { self.words[word] };
        Some(word * 64 + bits.trailing_zeros() as usize)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(self.next(0), |&cpu| self.next(cpu + 1))
    }

    /// Its CPUs that are in the mask.
    pub(super) fn within(&self, mask: &CpuMask) -> impl Iterator<Item = usize> {
        let both = self.words.iter().zip(mask.words());
        let set = CpuSet {
            words: both.map(|(a, b)| a & b).collect(),
        };
        let mut from = 0;
        std::iter::from_fn(move || {
            let cpu = set.next(from)?;
            from = cpu + 1;
            Some(cpu)
        })
    }

    /// Adds those of another set that are in the mask.
    pub(super) fn add_within(&mut self, other: &CpuSet, mask: &CpuMask) {
        let others = other.words.iter().zip(mask.words());
        for (word, (a, b)) in self.words.iter_mut().zip(others) {
            *word |= a & b;
        }
    }
}

/// A time for each CPU, of which the first is known: a tree of minima over the CPUs.
pub(super) struct Times {
    /// The root at 1, the children of `i` at `2 * i` and `2 * i + 1`, the CPUs' own times last.
    least: Vec<Time>,
}

impl Times {
    /// Nothing happens on any of so many.
    pub(super) fn new(cpus: usize) -> Times {
        Times {
            least: vec![NEVER; 2 * cpus.next_power_of_two()],
        }
    }

    pub(super) fn set(&mut self, cpu: usize, at: Option<Time>) {
        let mut node = self.least.len() / 2 + cpu;
        self.least[node] = at.unwrap_or(NEVER);
        while node > 1 {
            node /= 2;
            let first = self.least[2 * node].min(self.least[2 * node + 1]);
            if self.least[node] == first {
                return;
            }
            self.least[node] = first;
        }
    }

    /// The first time of all.
    pub(super) fn first(&self) -> Option<Time> {
        Some(self.least[1]).filter(|&at| at != NEVER)
    }

    /// The CPUs whose time has come, ascending.
    pub(super) fn until(&self, now: Time) -> Vec<usize> {
        let mut found = Vec::new();
        self.collect(1, now, &mut found);
        found
    }

    fn collect(&self, node: usize, now: Time, found: &mut Vec<usize>) {
        let cpus = self.least.len() / 2;
        if self.least[node] > now {
            return;
        }
        if node >= cpus {
            return found.push(node - cpus);
        }
        self.collect(2 * node, now, found);
        self.collect(2 * node + 1, now, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_searched_from_anywhere() {
        let mut set = CpuSet::empty(130);
        for cpu in [0, 5, 63, 64, 129] {
            set.insert(cpu);
        }
        let from = |cpu| set.next(cpu);
        assert_eq!([0, 1, 6, 64, 65].map(from), [0, 5, 63, 64, 129].map(Some));
        assert_eq!([130, 192, 500].map(from), [None; 3]);
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 5, 63, 64, 129]);
        let mask: CpuMask = [5, 6, 129].into_iter().collect();
        assert_eq!(set.within(&mask).collect::<Vec<_>>(), [5, 129]);
        let mut other = CpuSet::empty(130);
        other.insert(7);
        other.add_within(&set, &mask);
        assert_eq!(other.iter().collect::<Vec<_>>(), [5, 7, 129]);
        set.put(5, false);
        set.put(6, true);
        assert!(!set.contains(5) && set.contains(6));
        assert!(CpuSet::empty(1).is_empty() && !CpuSet::all(1).is_empty());
    }

    #[test]
    fn times_know_the_first_and_those_that_have_come() {
        for cpus in [1, 2, 3, 96] {
            let mut times = Times::new(cpus);
            assert_eq!(times.first(), None);
            for cpu in 0..cpus {
                times.set(cpu, Some(Time(1000 - cpu as u64)));
            }
            assert_eq!(times.first(), Some(Time(1001 - cpus as u64)));
            assert_eq!(times.until(Time(1000)).len(), cpus);
            times.set(cpus - 1, None);
            let first = (cpus > 1).then(|| Time(1002 - cpus as u64));
            assert_eq!(times.first(), first);
            assert_eq!(times.until(Time(1001 - cpus as u64)), []);
        }
    }
}
