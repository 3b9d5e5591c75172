//! Where canaries live: in a process of their own, as threads, or nowhere.
//!
//! The last thread of a process to die frees its memory, and a SCHED_IDLE thread beside busy loops
//! dies last. So canaries live in a forked process that has next to no memory, wherever that is
//! possible at a fair price. The price is the fork: 26 ms for each GiB of heap, once.

use crate::time::{Nanos, SECOND};

/// Where canaries live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CanaryForm {
    /// In a forked process. This process ends as fast as one without canaries.
    Process,
    /// As threads of this process. Beside busy loops it ends late: some 0.1 s, and minutes if its
    /// heap is large.
    Threads,
    /// There are none: only the tick sees that a CPU is idle.
    Off,
}

/// Why they live there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CanaryReason {
    /// It is the default.
    Default,
    /// The program has asked for it.
    Chosen,
    /// A process for them needs an x86-64 CPU and Linux 5.16.
    Unsupported,
    /// No process could be forked for them: an `errno`.
    Denied(i32),
    /// Their process was ended by others several times.
    Ended,
    /// This is the first process of a PID namespace, which ends with all others in it: also with
    /// the process of the canaries. Threads end sooner as long as the heap is small.
    FirstProcess,
    /// The heap was too large to fork the process at first use.
    LargeHeap,
}

/// A larger heap is not forked: its page tables would be copied for more than 0.1 s, in which no
/// other thread can map memory.
pub const FORK_HEAP: u64 = 4 << 30;
/// Beside a larger heap no canary is a thread of the process: this would be there for long after
/// its end.
pub const THREADS_HEAP: u64 = 256 << 20;
/// A process of canaries that has lived for less than this was ended at once.
pub const SHORT_LIFE: Nanos = 10 * SECOND;
/// So often in a row.
pub const SHORT_LIVES: u32 = 3;

/// Where they live, if a process can be tried. `heap`: bytes of private memory; `pid`: this
/// process's.
pub fn first(wish: Option<CanaryForm>, heap: u64, pid: i32) -> (CanaryForm, CanaryReason) {
    match wish {
        Some(form) => (form, CanaryReason::Chosen),
        None if pid == 1 && heap <= THREADS_HEAP => {
            (CanaryForm::Threads, CanaryReason::FirstProcess)
        }
        None if heap > FORK_HEAP => (CanaryForm::Off, CanaryReason::LargeHeap),
        None => (CanaryForm::Process, CanaryReason::Default),
    }
}

/// Where they live, as a process for them cannot be had. What the program does not want stays so.
pub fn instead(
    wish: Option<CanaryForm>,
    heap: u64,
    why: CanaryReason,
) -> (CanaryForm, CanaryReason) {
    match wish {
        Some(CanaryForm::Threads) => (CanaryForm::Threads, CanaryReason::Chosen),
        Some(CanaryForm::Off) => (CanaryForm::Off, CanaryReason::Chosen),
        _ if heap > THREADS_HEAP => (CanaryForm::Off, why),
        _ => (CanaryForm::Threads, why),
    }
}

/// How often their process has been ended by others.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lives {
    short: u32,
}

impl Lives {
    /// It has ended after so long: whether another one is made.
    pub fn ended(&mut self, lived: Nanos) -> bool {
        self.short = if lived < SHORT_LIFE {
            self.short + 1
        } else {
            0
        };
        self.short < SHORT_LIVES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CanaryForm::{Off, Process, Threads};

    const ENOMEM: CanaryReason = CanaryReason::Denied(12);

    #[test]
    fn a_process_unless_the_fork_is_dear() {
        assert_eq!(first(None, 0, 2), (Process, CanaryReason::Default));
        assert_eq!(first(None, FORK_HEAP, 2), (Process, CanaryReason::Default));
        let dear = first(None, FORK_HEAP + 1, 2);
        assert_eq!(dear, (Off, CanaryReason::LargeHeap));
    }

    #[test]
    fn a_namespace_does_not_wait_for_a_process_of_them() {
        let small = first(None, THREADS_HEAP, 1);
        assert_eq!(small, (Threads, CanaryReason::FirstProcess));
        let large = first(None, THREADS_HEAP + 1, 1);
        assert_eq!(large, (Process, CanaryReason::Default));
    }

    #[test]
    fn a_program_gets_what_it_asks_for() {
        for form in [Process, Threads, Off] {
            assert_eq!(first(Some(form), u64::MAX, 1), (form, CanaryReason::Chosen));
        }
        for form in [Threads, Off] {
            let got = instead(Some(form), u64::MAX, ENOMEM);
            assert_eq!(got, (form, CanaryReason::Chosen));
        }
    }

    #[test]
    fn no_thread_of_canaries_beside_a_large_heap() {
        for wish in [None, Some(Process)] {
            assert_eq!(instead(wish, THREADS_HEAP, ENOMEM), (Threads, ENOMEM));
            assert_eq!(instead(wish, THREADS_HEAP + 1, ENOMEM), (Off, ENOMEM));
        }
    }

    #[test]
    fn one_that_is_killed_again_and_again_is_not_made_for_ever() {
        let mut lives = Lives::default();
        assert!(lives.ended(1) && lives.ended(SECOND));
        assert!(lives.ended(SHORT_LIFE), "that was a long one");
        assert!(lives.ended(1) && lives.ended(1));
        assert!(!lives.ended(1));
    }
}
