//! Which CPUs a process may use. Linux gives a mask to each thread, not to the process.
//!
//! The process may use each CPU that one of the program's own threads may use. So a program that
//! pins one thread, perhaps its first one, keeps the other CPUs.
//!
//! `taskset -ap` changes the masks of a process from outside, thread by thread, the first one
//! first. While it does, the masks say nothing: most may still be old, or one thread may have
//! pinned itself. So once the first thread's mask changes, that mask counts. After [`SETTLE`] the
//! masks of all threads count again.

use crate::CpuMask;
use crate::time::{MILLISECOND, Nanos, Time};

/// So long after the first thread's mask has changed those of the others count again. A process of
/// a thousand threads is changed in a few milliseconds.
pub const SETTLE: Nanos = 50 * MILLISECOND;

/// Where they still differ then, who changes them may have been slowed down by other load. They are
/// looked at again, each time after a pause four times as long, up to this one; from then on they
/// count as what the program wants.
const LAST_LOOK: Nanos = 64 * SETTLE;

/// What is known of the masks.
#[derive(Clone, Copy, Debug)]
pub struct ProcessCpus {
    first: CpuMask,
    /// The first thread's mask has changed, and others have differed from it since.
    differs: Option<Difference>,
}

/// A first thread that was given other CPUs than others have.
#[derive(Clone, Copy, Debug)]
struct Difference {
    /// Until then the first thread's mask counts alone.
    settled: Time,
    /// When all are looked at again, and how long before that they were last.
    next: Time,
    pause: Nanos,
}

impl Difference {
    fn seen(now: Time) -> Self {
        let next = now.after(SETTLE);
        Difference {
            settled: next,
            next,
            pause: SETTLE,
        }
    }

    /// What is left of it after a look that saw it again.
    fn looked(self, now: Time) -> Option<Self> {
        if now < self.next {
            return Some(self);
        }
        let pause = 4 * self.pause;
        (pause <= LAST_LOOK).then(|| Difference {
            next: now.after(pause),
            pause,
            ..self
        })
    }
}

impl ProcessCpus {
    /// A process that begins to be watched, whose first thread has this mask.
    pub fn new(first: CpuMask) -> Self {
        ProcessCpus {
            first,
            differs: None,
        }
    }

    /// The CPUs of the process, if its first thread has these and all threads of the program
    /// together have `all`.
    pub fn read(&mut self, now: Time, first: CpuMask, all: CpuMask) -> CpuMask {
        if first != self.first {
            self.first = first;
            self.differs = Some(Difference::seen(now));
        }
        self.differs = self
            .differs
            .filter(|_| all != first)
            .and_then(|differs| differs.looked(now));
        let counts_alone = self.differs.is_some_and(|differs| now < differs.settled);
        if counts_alone { first } else { all }
    }

    /// Whether the masks are to be read again, if the first thread has this one.
    pub fn is_stale(&self, now: Time, first: CpuMask) -> bool {
        first != self.first || self.due().is_some_and(|next| now >= next)
    }

    /// When they are, if nothing changes.
    pub fn due(&self) -> Option<Time> {
        self.differs.map(|differs| differs.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask(cpus: &[usize]) -> CpuMask {
        cpus.iter().copied().collect()
    }

    #[test]
    fn a_first_thread_that_is_pinned_keeps_the_process_for_a_moment_only() {
        let (one, two) = (mask(&[0]), mask(&[0, 1]));
        let mut cpus = ProcessCpus::new(two);
        assert_eq!(cpus.read(Time(0), two, two), two);
        assert_eq!(cpus.read(Time(5), one, two), one);
        assert_eq!(cpus.due(), Some(Time(5 + SETTLE)));
        assert!(!cpus.is_stale(Time(SETTLE), one));
        assert!(cpus.is_stale(Time(5 + SETTLE), one));
        assert_eq!(cpus.read(Time(5 + SETTLE), one, two), two);
        // It is looked at a few times more, in case that the others have not been reached yet.
        let mut looks = 0;
        while let Some(next) = cpus.due() {
            assert!(!cpus.is_stale(Time(next.0 - 1), one));
            assert!(cpus.is_stale(next, one));
            assert_eq!(cpus.read(next, one, two), two);
            looks += 1;
        }
        assert_eq!(looks, 3);
        assert!(!cpus.is_stale(Time(u64::MAX), one));
    }

    #[test]
    fn a_process_that_is_changed_slowly_does_not_keep_what_it_had() {
        let (old, new) = (mask(&[0, 1]), mask(&[1]));
        let mut cpus = ProcessCpus::new(old);
        assert_eq!(cpus.read(Time(0), new, old), new);
        let late = Time(2 * SETTLE);
        assert_eq!(
            cpus.read(late, new, old),
            old,
            "it may be a thread that has pinned itself"
        );
        let next = cpus.due().expect("another look");
        assert!(cpus.is_stale(next, new));
        assert_eq!(cpus.read(next, new, new), new);
        assert_eq!(cpus.due(), None);
    }

    #[test]
    fn a_process_that_is_changed_thread_by_thread_never_has_what_it_had() {
        let (old, new) = (mask(&[0, 1]), mask(&[1]));
        let mut cpus = ProcessCpus::new(old);
        // The others follow.
        assert_eq!(cpus.read(Time(0), new, old), new);
        assert_eq!(cpus.read(Time(1), new, old), new);
        assert_eq!(cpus.read(Time(SETTLE), new, new), new);
        // And back.
        assert_eq!(cpus.read(Time(SETTLE + 1), old, old), old);
        assert_eq!(cpus.due(), None, "all have what it has");
    }

    #[test]
    fn one_that_was_pinned_before_is_no_change() {
        let (one, two) = (mask(&[1]), mask(&[0, 1]));
        let mut cpus = ProcessCpus::new(one);
        assert_eq!(cpus.read(Time(0), one, two), two);
    }
}
