//! Multithreaded jobs (kernel `padata_do_multithreaded`): the engine's, as C says what it wants.

use std::ffi::{c_int, c_ulong, c_void};
use std::ops::Range;

use cmwq_engine::job::{self, JobError, JobStats, ProgressFn, Settings, UndoFn};
use cmwq_policy::job::{Chunks, Cut};

use crate::abi::{Arg, Items, Sized32};
use crate::errno::{ECANCELED, ECHILD};
use crate::mode;
use crate::say::misuse;

type ThreadFn = extern "C-unwind" fn(c_ulong, c_ulong, *mut c_void);
type TryFn = extern "C-unwind" fn(c_ulong, c_ulong, *mut c_void) -> c_int;
type AskFn = extern "C-unwind" fn(*mut c_void) -> c_int;

const NUMA_AWARE: u32 = 1;
const ADAPTIVE: u32 = 1 << 1;
const NICE: u32 = 1 << 2;

/// As `struct cmwq_job_part`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct CPart {
    node: c_int,
    reserved: u32,
    start: c_ulong,
    size: c_ulong,
}

/// As `struct cmwq_job_stats`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct CStats {
    size: u32,
    helpers: u32,
    helped: u64,
    chunks: u64,
    claims: u64,
    lifted: u64,
}

/// As `struct cmwq_job`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct CJob {
    size_of: u32,
    max_threads: u32,
    func: Option<ThreadFn>,
    arg: Arg,
    start: c_ulong,
    size: c_ulong,
    align: c_ulong,
    min_chunk: c_ulong,
    flags: u32,
    nice: i32,
    try_func: Option<TryFn>,
    undo: Option<ThreadFn>,
    progress: Option<ThreadFn>,
    cancelled: Option<AskFn>,
    parts: Items<CPart>,
    stats: Sized32<CStats>,
}

const NO_JOB: CJob = CJob {
    size_of: 0,
    max_threads: 0,
    func: None,
    arg: Arg(std::ptr::null_mut()),
    start: 0,
    size: 0,
    align: 1,
    min_chunk: 1,
    flags: 0,
    nice: 0,
    try_func: None,
    undo: None,
    progress: None,
    cancelled: None,
    parts: Items::NONE,
    stats: Sized32::NULL,
};

/// What is called for a step.
#[derive(Clone, Copy)]
enum Func {
    Always(ThreadFn),
    Try(TryFn),
}

/// Units with the node that they are best done on.
type Parts = Vec<(Option<u32>, Range<u64>)>;

#[unsafe(no_mangle)]
extern "C" fn cmwq_run_job(job: Sized32<CJob>) -> c_int {
    const CALL: &str = "cmwq_run_job";
    let Some(job) = job.read(NO_JOB) else {
        return misuse(CALL, "the job is NULL or of no known size");
    };
    let settings = || Ok((job.func()?, job.parts()?, job.settings()?));
    match settings() {
        Ok((func, parts, settings)) => job.run(func, parts, settings),
        Err(what) => misuse(CALL, what),
    }
}

impl CJob {
    fn func(&self) -> Result<Func, &'static str> {
        match (self.func, self.try_func) {
            (Some(func), None) => Ok(Func::Always(func)),
            (None, Some(func)) => Ok(Func::Try(func)),
            (None, None) => Err("the function is NULL"),
            _ => Err("there are two functions, func and try_func"),
        }
    }

    fn parts(&self) -> Result<Parts, &'static str> {
        let Some(parts) = self.parts.get() else {
            if self.parts.len() > 0 {
                return Err("parts is NULL, and part_count is not 0");
            }
            let end = self.start.checked_add(self.size);
            let end = end.ok_or("the range has no end")?;
            return Ok(vec![(None, self.start..end)]);
        };
        let mut end = 0;
        let mut found = Vec::with_capacity(parts.len());
        for part in parts {
            if part.start < end {
                return Err("a part begins before the one in front of it ends");
            }
            end = part
                .start
                .checked_add(part.size)
                .ok_or("a part has no end")?;
            found.push((u32::try_from(part.node).ok(), part.start..end));
        }
        Ok(found)
    }

    fn settings(&self) -> Result<Settings<'static>, &'static str> {
        let has = |flag| self.flags & flag != 0;
        if self.flags & !(NUMA_AWARE | ADAPTIVE | NICE) != 0 {
            return Err("a flag of the job is not known");
        }
        let nice = match has(NICE) {
            true => i8::try_from(self.nice).ok(),
            false => Some(job::HELPER_NICE),
        };
        let nice = nice.filter(|nice| (-20..=19).contains(nice));
        Ok(Settings {
            cut: Cut::new(self.align, self.min_chunk),
            max_threads: self.max_threads,
            numa_aware: has(NUMA_AWARE),
            chunks: match has(ADAPTIVE) {
                true => Chunks::Adaptive,
                false => Chunks::Kernel,
            },
            nice: nice.ok_or("the nice level is not in -20 to 19")?,
            ..Settings::new()
        })
    }

    fn run(&self, func: Func, parts: Parts, settings: Settings<'_>) -> c_int {
        let (arg, cancelled) = (self.arg, self.cancelled);
        // For ThreadSanitizer: all that comes follows this.
        let here = Arg((&raw const *self).cast_mut().cast());
        mode::queued(here.get());
        let step = |units: Range<usize>| {
            mode::asks(here.get());
            let answer = func.call(units, arg);
            mode::has_ended();
            match answer {
                0 => Ok(()),
                error => Err(error),
            }
        };
        let cancelled = || {
            cancelled.is_some_and(|ask| {
                mode::asks(here.get());
                let answer = ask(arg.get());
                mode::has_ended();
                answer != 0
            })
        };
        let call = move |func: ThreadFn, from, to| func(from, to, arg.get());
        let undo = self.undo.map(|undo| -> UndoFn<'_> {
            Box::new(move |units| {
                mode::waited();
                call(undo, units.start as c_ulong, units.end as c_ulong);
            })
        });
        let progress = self.progress.map(|progress| -> ProgressFn<'_> {
            Box::new(move |at| {
                mode::waited();
                call(progress, at.done as c_ulong, at.size as c_ulong);
            })
        });
        let settings = Settings {
            undo,
            progress,
            cancelled: Some(&cancelled),
            ..settings
        };
        let done = job::run(parts, settings, &step);
        mode::waited();
        match done {
            Ok(done) => {
                // NULL where nobody asks.
                self.stats.write(&CStats::of(done));
                0
            }
            Err(JobError::Failed(error)) => error,
            Err(JobError::Cancelled) => ECANCELED,
            Err(_) => ECHILD,
        }
    }
}

impl Func {
    fn call(self, units: Range<usize>, arg: Arg) -> c_int {
        let (start, end) = (units.start as c_ulong, units.end as c_ulong);
        match self {
            Func::Always(func) => {
                func(start, end, arg.get());
                0
            }
            Func::Try(func) => func(start, end, arg.get()),
        }
    }
}

impl CStats {
    fn of(done: JobStats) -> Self {
        CStats {
            size: 0,
            helpers: done.helpers,
            helped: done.helped,
            chunks: done.chunks,
            claims: done.claims,
            lifted: u64::from(done.lifted),
        }
    }
}
