//! A job from its beginning to its end, on the thread of its caller.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use cmwq_engine::Process;
use cmwq_policy::job::{Cut, Part, Piece, Progress, Shape, by_nodes};

use super::crew::Crew;
use super::error::Failure;
use super::run::{AdvanceRef, Func, ProgressFn, Run, Settings, drop_quietly};
use super::{JobError, JobProgress, JobStats};

/// Runs a job: see [`Job::run`](super::Job::run).
pub(super) fn job<P: Clone + Send, E: Send>(
    shape: Shape,
    parts: Vec<(Option<u32>, Range<u64>)>,
    start: P,
    advance: AdvanceRef<'_, P>,
    mut settings: Settings<'_, P>,
    func: Func<'_, P, E>,
) -> Result<JobStats, JobError<E>> {
    let process = Process::get().ok();
    let cpus = process.map_or(1, |process| process.cpus() as u32);
    let shape = Shape { cpus, ..shape };
    let parts = parts_by_node(process, &settings, shape.cut, parts);
    let first = parts.first().map_or(0, |(_, range)| range.start);
    let nodes: Vec<_> = parts.iter().map(|(node, _)| *node).collect();
    let pieces = parts.into_iter().map(|(node, range)| Part {
        node,
        piece: Piece {
            pos: advance(&start, range.start - first),
            at: range.start,
            end: range.end,
        },
    });
    let run = Run::new(&shape, pieces.collect(), process, advance, &settings, func);
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
    if let Err(payload) = catch_unwind(AssertUnwindSafe(last)) {
        match run.is_foreign() {
            true => drop_quietly(payload),
            false => run.fail(0, 0, Failure::Panic(payload)),
        }
    }
    run.finish((start, first), settings.undo)
}

/// Nodes of their own for a job that wants them and names none.
fn parts_by_node<P>(
    process: Option<Process>,
    settings: &Settings<'_, P>,
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
fn told<'r, P: Clone, E>(
    run: &'r Run<'_, P, E>,
    tell: Option<ProgressFn<'r>>,
) -> impl FnMut() + use<'r, P, E> {
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
