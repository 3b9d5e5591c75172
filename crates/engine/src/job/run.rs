//! How each thread of a job goes through its chunks.

use std::ops::Range;
use std::panic::resume_unwind;

use cmwq_os::clock;
use cmwq_policy::Time;
use cmwq_policy::job::{Asker, Core, Cut, Part, Shape, SoFar, Speed, Steps, Taken};

use super::error::Failure;
use super::fronts::Fronts;
use super::{JobError, JobProgress, JobStats, Settings};
use crate::raw::Process;
use crate::sync::{AtomicBool, AtomicU64, Mutex, MutexGuard, SeqCst};
use crate::user;

/// Called for ranges that were completed, when a job is not.
pub type UndoFn<'a> = Box<dyn FnMut(Range<usize>) + 'a>;
/// Told how far a job is.
pub type ProgressFn<'a> = Box<dyn FnMut(JobProgress) + 'a>;
/// Whether a job is to stop.
pub type CancelledFn<'a> = &'a (dyn Fn() -> bool + Sync + 'a);
/// The function of a job.
pub type Func<'r, E> = &'r (dyn Fn(Range<usize>) -> Result<(), E> + Sync + 'r);
/// What the caller does between its steps.
type Between<'b> = &'b mut dyn FnMut(Speed);

/// What the threads of a job share. It is on the caller's stack.
pub(super) struct Run<'r, E> {
    func: Func<'r, E>,
    cancelled: Option<CancelledFn<'r>>,
    process: Option<Process>,
    cut: Cut,
    size: u64,
    threads: u32,
    began: Time,
    fronts: Fronts,
    /// Something failed, or it was cancelled: no step begins.
    stop: AtomicBool,
    /// Units in steps that were completed.
    done: AtomicU64,
    state: Mutex<State<E>>,
}

/// What is behind the job's lock.
pub(super) struct State<E> {
    core: Core,
    failure: Option<Failure<E>>,
    pub(super) helpers: Vec<Helper>,
    pub(super) stats: JobStats,
}

/// A helper as the job's lock guards it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Helper {
    /// Its thread; 0 before it has begun and after it is out.
    pub(super) tid: i32,
    /// The nice level that it had before it was lifted.
    pub(super) lifted_from: Option<i32>,
}

impl<E> State<E> {
    /// A thread is done with a chunk, of which it has completed so much.
    fn settled(&mut self, thread: usize, completed: u64) {
        self.stats.chunks += 1;
        if thread != 0 {
            self.stats.helped += completed;
        }
    }
}

/// Units as programs count them.
pub(super) fn numbers(units: Range<u64>) -> Range<usize> {
    units.start as usize..units.end as usize
}

/// How a thread's chunk came to its end.
enum End<E> {
    /// It was completed, or the rest was claimed.
    Over,
    /// The thread leaves, or the job was stopped.
    Leaves,
    Fails(Failure<E>),
}

impl<'r, E> Run<'r, E> {
    pub(super) fn new(
        shape: &Shape,
        parts: Vec<Part>,
        process: Option<Process>,
        settings: &Settings<'r>,
        func: Func<'r, E>,
    ) -> Self {
        let threads = shape.threads();
        let core = Core::new(
            shape,
            threads,
            settings.chunks,
            parts,
            settings.undo.is_some(),
        );
        Run {
            func,
            cancelled: settings.cancelled,
            process,
            cut: shape.cut,
            size: shape.size,
            threads,
            began: clock::now(),
            fronts: Fronts::new(threads),
            stop: AtomicBool::new(false),
            done: AtomicU64::new(0),
            state: Mutex::new(State {
                core,
                failure: None,
                helpers: Vec::new(),
                stats: JobStats::default(),
            }),
        }
    }

    /// Threads that it is worth, the caller among them.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Units in steps that were completed.
    pub(super) fn done(&self) -> u64 {
        self.done.load(SeqCst)
    }

    pub(super) fn threads(&self) -> u32 {
        self.threads
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State<E>> {
        self.state.lock().expect("nobody panics with it")
    }

    /// Whether this is a child that the job's function has forked: the lock may be held for ever
    /// there.
    pub(super) fn is_foreign(&self) -> bool {
        self.process.is_some_and(|process| !process.is_ours())
    }

    /// A helper, which was queued at that time, works if it had better not leave at once.
    pub(super) fn help(&self, thread: usize, node: Option<u32>, queued: Time) {
        let pace = self.lock().core.pace();
        let pace = pace.begun_after(clock::now().since(queued));
        if !pace.should_leave(self.so_far(clock::now())) {
            self.work(thread, node, Some(pace), &mut |_| ());
        }
    }

    /// Takes chunks and does them, until there is nothing more for this thread.
    pub(super) fn work(
        &self,
        thread: usize,
        node: Option<u32>,
        mut pace: Option<Speed>,
        between: Between<'_>,
    ) {
        let mut now = clock::now();
        while let Some((taken, known)) = self.next(Asker { thread, node, pace }) {
            let mut walk = Walk::new(self.cut, &taken, pace.unwrap_or(known), now);
            let end = self.chunk(thread, taken.units.start, &mut walk, between);
            if self.is_foreign() {
                return;
            }
            (pace, now) = (Some(walk.pace), walk.now);
            match end {
                End::Fails(failure) => return self.fail(thread, walk.completed, failure),
                _ => self.settle(thread, walk.completed),
            }
            if matches!(end, End::Leaves) {
                return;
            }
        }
    }

    /// The next chunk, and the pace of threads that know theirs.
    fn next(&self, asker: Asker) -> Option<(Taken, Speed)> {
        let core = &mut self.lock().core;
        let taken = core.next(asker, &self.fronts)?;
        Some((taken, core.pace()))
    }

    fn settle(&self, thread: usize, completed: u64) {
        let mut state = self.lock();
        state.settled(thread, completed);
        state.core.settle(thread, completed);
    }

    /// Does a chunk step by step.
    fn chunk(&self, thread: usize, at: u64, walk: &mut Walk, between: Between<'_>) -> End<E> {
        let go = || self.go_through(thread, at, walk, between);
        user::call(go).unwrap_or_else(|payload| End::Fails(Failure::Panic(payload)))
    }

    fn go_through(&self, thread: usize, at: u64, walk: &mut Walk, between: Between<'_>) -> End<E> {
        while let Some(to) = walk.steps.next(walk.pace) {
            if let Some(end) = self.stopped() {
                return end;
            }
            let from = walk.steps.begun();
            if !self.fronts.advance(thread, from, to) {
                return End::Over;
            }
            walk.steps.begin(to);
            if let Err(error) = (self.func)(numbers(at + from..at + to)) {
                return End::Fails(Failure::Error(error));
            }
            self.done.fetch_add(to - from, SeqCst);
            walk.completed(from, to);
            // Completed, also if what comes between two steps panics.
            between(walk.pace);
            if thread != 0 && walk.pace.should_leave(self.so_far(walk.now)) {
                return End::Leaves;
            }
        }
        End::Over
    }

    /// Units in steps that were not completed.
    pub(super) fn left(&self) -> u64 {
        self.size.saturating_sub(self.done.load(SeqCst))
    }

    fn so_far(&self, now: Time) -> SoFar {
        let left = self.left();
        SoFar {
            elapsed: now.since(self.began),
            done: self.size - left,
            left,
        }
    }

    fn stopped(&self) -> Option<End<E>> {
        if self.stop.load(SeqCst) {
            return Some(End::Leaves);
        }
        let cancelled = self.cancelled?;
        cancelled().then_some(End::Fails(Failure::Cancelled))
    }

    /// A thread that has completed so much of its chunk fails, and has no chunk from now on. The
    /// first failure counts.
    pub(super) fn fail(&self, thread: usize, completed: u64, failure: Failure<E>) {
        let mut state = self.lock();
        let (first, had_chunk) = state.core.fail(thread, completed);
        if had_chunk {
            state.settled(thread, completed);
        }
        self.stop.store(true, SeqCst);
        let late = match first {
            true => state.failure.replace(failure),
            false => Some(failure),
        };
        drop(state);
        // Without the lock. What panics there is not the first failure.
        user::discard(late);
    }

    /// All threads are out.
    pub(super) fn finish(self, undo: Option<UndoFn<'_>>) -> Result<JobStats, JobError<E>> {
        if self.is_foreign() {
            return Err(JobError::Forked);
        }
        let state = self.state.into_inner().expect("nobody panics with it");
        let State {
            core,
            failure,
            stats,
            ..
        } = state;
        let stats = JobStats {
            claims: core.claims(),
            ..stats
        };
        let error = match failure {
            Some(Failure::Cancelled) | None if core.completed() == self.size => return Ok(stats),
            Some(failure) => failure,
            None => unreachable!("a job ends when all is completed, or fails"),
        };
        let undone = user::call(|| undo_all(&core, undo));
        match (error, undone) {
            (Failure::Panic(payload), _) | (_, Err(payload)) => resume_unwind(payload),
            (Failure::Error(error), Ok(())) => Err(JobError::Failed(error)),
            (Failure::Cancelled, Ok(())) => Err(JobError::Cancelled),
        }
    }
}

/// Calls `undo` for what was completed, in ascending order.
fn undo_all(core: &Core, undo: Option<UndoFn<'_>>) {
    if let Some((undo, done)) = undo.zip(core.done()) {
        done.ranges().map(numbers).for_each(undo);
    }
}

/// How far a thread is in its chunk.
struct Walk {
    steps: Steps,
    completed: u64,
    pace: Speed,
    now: Time,
}

impl Walk {
    fn new(cut: Cut, taken: &Taken, pace: Speed, now: Time) -> Self {
        let (steps, completed) = (Steps::new(cut, taken), 0);
        Walk {
            steps,
            completed,
            pace,
            now,
        }
    }

    fn completed(&mut self, from: u64, to: u64) {
        self.completed = to;
        let before = std::mem::replace(&mut self.now, clock::now());
        self.pace.took(to - from, self.now.since(before));
    }
}
