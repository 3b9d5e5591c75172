//! Lines put together into jobs: as many as asked for, and no more than an argument list can hold.

use super::template::Template;

/// The kernel takes no more than 6 MiB, whatever the limit of the stack says; who needs more than
/// this for one job gains nothing by it.
const MOST: usize = 2 * 1024 * 1024;
/// POSIX wants as much left for what a program adds to its environment.
const SPARE: usize = 2048;
/// Of each word: its pointer, and the NUL at its end.
const OVERHEAD: usize = size_of::<usize>() + 1;

/// The lines of the next job.
pub(super) struct Batch {
    lines: Vec<Vec<u8>>,
    bytes: usize,
    most_lines: usize,
    most_bytes: usize,
    /// Of one line, in the words of a job.
    copies: usize,
    /// Bytes that come with each line.
    around: usize,
}

impl Batch {
    pub(super) fn new(template: &Template, max_args: usize) -> Self {
        let batch = Self::with(max_args, room(template), template.copies());
        Self {
            around: template.around(),
            ..batch
        }
    }

    fn with(most_lines: usize, most_bytes: usize, copies: usize) -> Self {
        Self {
            lines: Vec::new(),
            bytes: 0,
            most_lines,
            most_bytes,
            copies,
            around: 0,
        }
    }

    /// Adds a line. Gives the lines of a job that is complete by it, or complete without it.
    pub(super) fn add(&mut self, line: Vec<u8>) -> Option<Vec<Vec<u8>>> {
        let size = self.copies * (line.len() + OVERHEAD) + self.around;
        let is_too_long = !self.lines.is_empty() && self.bytes + size > self.most_bytes;
        let full = if is_too_long { self.rest() } else { None };
        self.lines.push(line);
        self.bytes += size;
        if full.is_none() && self.lines.len() >= self.most_lines {
            return self.rest();
        }
        full
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The lines of the last job; None if there are none.
    pub(super) fn rest(&mut self) -> Option<Vec<Vec<u8>>> {
        self.bytes = 0;
        (!self.lines.is_empty()).then(|| std::mem::take(&mut self.lines))
    }
}

/// What is left for lines in an argument list, beside the environment and the words of COMMAND.
fn room(template: &Template) -> usize {
    // SAFETY: sysconf takes a number and touches no memory of ours.
    let most = unsafe { libc::sysconf(libc::_SC_ARG_MAX) };
    let most = usize::try_from(most).map_or(MOST, |most| most.min(MOST));
    let environment = std::env::vars_os().map(|(name, value)| name.len() + value.len() + 1);
    let words = template.fixed().into_iter();
    let taken: usize = environment.chain(words).map(|size| size + OVERHEAD).sum();
    let most = most.saturating_sub(taken + SPARE);
    template.most_in_word().map_or(most, |word| most.min(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(mut batch: Batch, lines: &[Vec<u8>]) -> Vec<Vec<Vec<u8>>> {
        let mut jobs: Vec<_> = lines
            .iter()
            .cloned()
            .filter_map(|line| batch.add(line))
            .collect();
        jobs.extend(batch.rest());
        jobs
    }

    #[test]
    fn one_line_is_a_job_at_once() {
        let mut batch = Batch::with(1, 10, 1);
        let long = vec![b'x'; 100];
        assert_eq!(batch.add(long.clone()), Some(vec![long]));
        assert_eq!(batch.rest(), None);
    }

    proptest! {
        #[test]
        fn jobs_have_all_lines_in_order_and_keep_both_limits(
            lines in prop::collection::vec(prop::collection::vec(1_u8.., 0..40), 0..40),
            most_lines in 1_usize..6, most_bytes in 1_usize..150, copies in 1_usize..3,
        ) {
            let jobs = all(Batch::with(most_lines, most_bytes, copies), &lines);
            prop_assert_eq!(jobs.concat(), lines);
            for job in jobs {
                let bytes: usize = job.iter().map(|line| copies * (line.len() + OVERHEAD)).sum();
                prop_assert!(!job.is_empty() && job.len() <= most_lines);
                prop_assert!(job.len() == 1 || bytes <= most_bytes);
            }
        }
    }
}
