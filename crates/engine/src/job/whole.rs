//! A job from its beginning to its end, on the thread of its caller.

use std::ops::Range;

use cmwq_policy::job::{Cut, Part, Progress, Shape, by_nodes};

use super::crew::Crew;
use super::error::Failure;
use super::run::{Func, ProgressFn, Run};
use super::{JobError, JobProgress, JobStats, Settings};
use crate::raw::Process;
use crate::user;

/// Calls `func` until each unit of these parts was in one call, and returns when every helper is
/// out. Each part has the NUMA node that it is best done on; `None` is any.
///
/// What helpers have stored is seen by the caller afterwards. It may be called from an item, from
/// within another job, and on many threads at once.
///
/// # Errors
/// The first failure. Then no step begins, those that are running end, and what was completed is
/// [undone](Settings::undo).
///
/// # Panics
/// With the panic of a call, after all that; with that of a callback.
pub fn run<E: Send>(
    parts: Vec<(Option<u32>, Range<u64>)>,
    mut settings: Settings<'_>,
    func: Func<'_, E>,
) -> Result<JobStats, JobError<E>> {
    let process = Process::get().ok();
    let shape = Shape {
        size: parts.iter().map(|(_, units)| units.end - units.start).sum(),
        cut: settings.cut,
        max_threads: settings.max_threads,
        cpus: process.map_or(1, |process| process.cpus() as u32),
    };
    let parts = parts_by_node(process, &settings, shape.cut, parts);
    let nodes: Vec<_> = parts.iter().map(|(node, _)| *node).collect();
    let parts = parts.into_iter().map(|(node, units)| Part { node, units });
    let run = Run::new(&shape, parts.collect(), process, &settings, func);
    let mut crew = Crew::start(&run, process, settings.nice, nodes);
    let node = crew.caller_node();
    let mut tell = told(&run, settings.progress.take());
    run.work(0, node, None, &mut |pace| {
        tell();
        crew.ask_again(pace);
    });
    crew.dismiss();
    // Helpers may have done the last of it. A panic here undoes all, as one between two steps does.
    let last = || {
        if run.left() == 0 {
            tell();
        }
        drop(tell);
    };
    if let Err(payload) = user::call(last) {
        match run.is_foreign() {
            true => drop(user::discard(payload)),
            false => run.fail(0, 0, Failure::Panic(payload)),
        }
    }
    run.finish(settings.undo)
}

/// Nodes of their own for a job that wants them and names none.
fn parts_by_node(
    process: Option<Process>,
    settings: &Settings<'_>,
    cut: Cut,
    parts: Vec<(Option<u32>, Range<u64>)>,
) -> Vec<(Option<u32>, Range<u64>)> {
    match (process, &parts[..]) {
        (Some(process), [(None, range)]) if settings.numa_aware => {
            let nodes = process.node_cpus();
            let cpus: Vec<u32> = nodes.iter().map(|node| node.count() as u32).collect();
            by_nodes(range.clone(), cut, &cpus)
        }
        _ => parts,
    }
}

/// Tells how far the job is when that is due.
fn told<'r, E>(run: &'r Run<'_, E>, tell: Option<ProgressFn<'r>>) -> impl FnMut() + use<'r, E> {
    let mut due = Progress::new(run.size());
    let mut tell = tell;
    move || {
        let done = run.done();
        if let Some(tell) = tell.as_mut().filter(|_| due.is_due(done)) {
            tell(JobProgress {
                done,
                size: run.size(),
            });
        }
    }
}
