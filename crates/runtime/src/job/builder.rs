//! What a job is to be like.

use std::convert::Infallible;
use std::fmt;
use std::ops::Range;

use cmwq_engine::job::{self, Settings};
use cmwq_policy::job::{Chunks, Cut};

use super::{CancelToken, JobError, JobProgress, JobStats};

/// A long piece of CPU work that threads of idle CPUs help with. The calling thread works too, at
/// its own priority; helpers run at nice 19, so that other work on the machine hardly feels them.
/// The call returns when all is done and every helper is out: what it runs may borrow.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// let words: Vec<String> = (0..10_000).map(|n| format!("word {n}")).collect();
/// let letters = AtomicU64::new(0);
/// cmwq::Job::new(0..words.len()).for_each(|range| {
///     let here: usize = words[range].iter().map(String::len).sum();
///     letters.fetch_add(here as u64, Ordering::Relaxed);
/// })?;
/// assert_eq!(letters.into_inner(), 88_890);
/// # Ok::<(), cmwq::JobError<std::convert::Infallible>>(())
/// ```
///
/// The function is called for *steps* of about 250 us each, whatever a unit takes, and never for
/// fewer units than [`min_chunk`](Self::min_chunk). Calls run at the same time on several threads,
/// in no order. No call may wait for another one: there may be one thread only, when [helpers are
/// scarce](Self::max_threads).
///
/// # The end
///
/// A caller with nothing left to do takes over what its helpers have not begun, step by step, so
/// all that it may ever wait for is one step of each helper that is running. Where the process may
/// (`CAP_SYS_NICE` or `RLIMIT_NICE`), the helper that it waits for has the caller's nice level
/// until it is out. Helpers that find out that they are starved leave before the end.
#[must_use = "a job does nothing before it is run"]
pub struct Job<'a> {
    parts: Vec<(Option<u32>, Range<u64>)>,
    align: u64,
    min_chunk: u64,
    cancel: Option<CancelToken>,
    settings: Settings<'a>,
}

impl fmt::Debug for Job<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job")
            .field("range", &self.range())
            .field("size", &self.size())
            .finish_non_exhaustive()
    }
}

impl<'a> Job<'a> {
    /// A job over the numbers of a range.
    pub fn new(range: Range<usize>) -> Self {
        let range = range.start as u64..range.end.max(range.start) as u64;
        Self::of_parts(Vec::from([(None, range)]))
    }

    /// A job over ranges that are best done on their NUMA nodes, where their memory is, for example
    /// (kernel `ktask_run_numa`). Threads take what is of their own node first, then help the
    /// others.
    ///
    /// ```
    /// let job = cmwq::Job::on_nodes([(0, 0..1000), (1, 1000..1500)]);
    /// let stats = job.for_each(|_range| ())?;
    /// # Ok::<(), cmwq::JobError<std::convert::Infallible>>(())
    /// ```
    ///
    /// # Panics
    /// If a range begins before the one in front of it ends.
    pub fn on_nodes(parts: impl IntoIterator<Item = (usize, Range<usize>)>) -> Self {
        let mut end = 0;
        let mut parts: Vec<_> = parts
            .into_iter()
            .map(|(node, range)| {
                assert!(
                    range.start >= end,
                    "{range:?} begins before {end}, where the one in front of it ends"
                );
                end = range.end.max(range.start);
                (Some(node as u32), range.start as u64..end as u64)
            })
            .collect();
        if parts.is_empty() {
            parts.push((None, 0..0));
        }
        Self::of_parts(parts)
    }

    fn of_parts(parts: Vec<(Option<u32>, Range<u64>)>) -> Self {
        Job {
            parts,
            align: 1,
            min_chunk: 1,
            cancel: None,
            settings: Settings::new(),
        }
    }

    /// From the first unit to behind the last one.
    pub(super) fn range(&self) -> Range<usize> {
        let first = self.parts.first().map_or(0, |(_, range)| range.start);
        let end = self.parts.last().map_or(0, |(_, range)| range.end);
        first as usize..end as usize
    }

    /// The work is cut at multiples of this only. 0 means 1, and more than 2^60 means that.
    pub fn align(mut self, align: usize) -> Self {
        self.align = align as u64;
        self
    }

    /// The fewest units worth a call of the function; it gets fewer only if a whole part of the job
    /// has fewer. Also the fewest units worth a thread. 0 means 1, and more than 2^60 means that.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// let calls = AtomicUsize::new(0);
    /// let stats = cmwq::Job::new(0..1000).min_chunk(400).for_each(|range| {
    ///     assert!(range.len() >= 400);
    ///     calls.fetch_add(1, Ordering::Relaxed);
    /// })?;
    /// assert!(calls.into_inner() <= 2);
    /// # Ok::<(), cmwq::JobError<std::convert::Infallible>>(())
    /// ```
    pub fn min_chunk(mut self, min_chunk: usize) -> Self {
        self.min_chunk = min_chunk as u64;
        self
    }

    /// At most so many threads, the calling one among them; 0, which is the default: as many as the
    /// process has CPUs. All helpers of the process together are at most 4/5 of its CPUs, on each
    /// node and in total: whoever comes first has them, and the others have none.
    pub fn max_threads(mut self, max_threads: usize) -> Self {
        self.settings.max_threads = u32::try_from(max_threads).unwrap_or(u32::MAX);
        self
    }

    /// Gives each NUMA node a part of the range, as large as its share of CPUs, and helpers of its
    /// own. Threads that are done with their node's part help the others.
    pub fn numa_aware(mut self, numa_aware: bool) -> Self {
        self.settings.numa_aware = numa_aware;
        self
    }

    /// Chunks of about 1 ms, whatever a unit takes, instead of `size / (threads x 4)` units
    /// (kernel's rule, the default). Threads then work side by side from the beginning of the range
    /// to its end, instead of far from each other: for work that is to be finished roughly in
    /// order. Steps are the same in both.
    pub fn adaptive_chunks(mut self) -> Self {
        self.settings.chunks = Chunks::Adaptive;
        self
    }

    /// Nice level of the helpers, on top of the process's; 19 unless set.
    ///
    /// # Panics
    /// If it is not in -20..=19.
    pub fn nice(mut self, nice: i32) -> Self {
        assert!((-20..=19).contains(&nice), "nice {nice} is not in -20..=19");
        self.settings.nice = nice as i8;
        self
    }

    /// Called if the job is not completed, after all threads are out, on the calling thread: once
    /// for each range that was completed, in ascending order. The step that failed is not in them:
    /// what it has done by halves, the function itself must undo. So is it after a panic. Nobody
    /// tries that step again.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
    /// let pinned = AtomicU64::new(0);
    /// let job = cmwq::Job::new(0..1000).undo(|range| drop(pinned.fetch_sub(range.len() as u64, SeqCst)));
    /// let result = job.run(|range| match range.contains(&700) {
    ///     true => Err("no memory"),
    ///     false => Ok(drop(pinned.fetch_add(range.len() as u64, SeqCst))),
    /// });
    /// assert_eq!(result, Err(cmwq::JobError::Failed("no memory")));
    /// assert_eq!(pinned.load(SeqCst), 0);
    /// ```
    pub fn undo(mut self, undo: impl FnMut(Range<usize>) + 'a) -> Self {
        self.settings.undo = Some(Box::new(undo));
        self
    }

    /// Called on the calling thread, between its own steps, when about a hundredth more is done,
    /// and at the end.
    ///
    /// ```
    /// let mut last = 0;
    /// cmwq::Job::new(0..1000).progress(|at| last = at.done).for_each(|_| ())?;
    /// assert_eq!(last, 1000);
    /// # Ok::<(), cmwq::JobError<std::convert::Infallible>>(())
    /// ```
    pub fn progress(mut self, progress: impl FnMut(JobProgress) + 'a) -> Self {
        self.settings.progress = Some(Box::new(progress));
        self
    }

    /// The token by which the job can be cancelled. It is looked at before each step.
    pub fn cancel_token(mut self, token: &CancelToken) -> Self {
        self.cancel = Some(token.clone());
        self
    }

    /// Calls `func` until each unit of the job was in one call, and returns when every helper is
    /// out.
    ///
    /// What helpers have stored is seen by the caller afterwards. It may be called from an item,
    /// from within another job, and on many threads at once.
    ///
    /// # Errors
    /// [`JobError::Failed`] with the first error that a call returned; [`JobError::Cancelled`]. No
    /// step begins after that, those that are running end, and what was completed is
    /// [undone](Self::undo).
    ///
    /// # Panics
    /// With the panic of a call, after all that; with that of a callback.
    ///
    /// ```
    /// let parsed = cmwq::Job::new(0..3).run(|range| {
    ///     ["1", "2", "x"][range].iter().try_for_each(|text| text.parse::<u32>().map(drop))
    /// });
    /// assert!(matches!(parsed, Err(cmwq::JobError::Failed(_))));
    /// ```
    pub fn run<E: Send>(
        self,
        func: impl Fn(Range<usize>) -> Result<(), E> + Sync,
    ) -> Result<JobStats, JobError<E>> {
        let token = self.cancel.unwrap_or_default();
        let cancelled = || token.is_cancelled();
        let settings = Settings {
            cut: Cut::new(self.align, self.min_chunk),
            cancelled: Some(&cancelled),
            ..self.settings
        };
        job::run(self.parts, settings, &func)
    }

    /// As [`run`](Self::run), for a function that cannot fail.
    ///
    /// # Errors
    /// Those of `run` but `Failed`.
    ///
    /// # Panics
    /// As there.
    pub fn for_each(
        self,
        func: impl Fn(Range<usize>) + Sync,
    ) -> Result<JobStats, JobError<Infallible>> {
        self.run(|range| {
            func(range);
            Ok(())
        })
    }
}

impl Job<'_> {
    fn size(&self) -> u64 {
        self.parts
            .iter()
            .map(|(_, range)| range.end - range.start)
            .sum()
    }
}
