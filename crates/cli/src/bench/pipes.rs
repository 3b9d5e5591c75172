//! The pipes of `--work pipe`, and the thread that writes to them at times fixed in advance.

use std::io::{PipeReader, PipeWriter, Write};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::clock;
use super::execute::Run;
use super::plan::{Item, Wait};

/// Name of the delivering thread.
pub(super) const DELIVERY: &str = "delivery";

/// Descriptors that the process needs beside the pipes of the items.
const OTHER_FILES: u64 = 64;

/// One pipe for each item, where the items read pipes; else none.
pub(super) fn make(items: &[Item]) -> Result<(Vec<PipeReader>, Vec<PipeWriter>), String> {
    if !items.iter().any(|item| matches!(item.wait, Wait::Pipe(_))) {
        return Ok((Vec::new(), Vec::new()));
    }
    allow_files(2 * items.len() as u64 + OTHER_FILES)?;
    let pipes = items
        .iter()
        .map(|_| std::io::pipe())
        .collect::<Result<Vec<_>, _>>();
    Ok(pipes
        .map_err(|e| format!("no pipe: {e}"))?
        .into_iter()
        .unzip())
}

/// Lifts the soft limit on open files to `files` where the hard limit allows it.
fn allow_files(files: u64) -> Result<(), String> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|soft| soft >= files) {
        return Ok(());
    }
    if let Some(hard) = maximum.filter(|&hard| hard < files) {
        return Err(format!(
            "work pipe needs {files} open files, the limit here is {hard}: use fewer --items"
        ));
    }
    let limit = Rlimit {
        current: Some(files),
        maximum,
    };
    setrlimit(Resource::Nofile, limit)
        .map_err(|e| format!("cannot raise the limit of open files: {e}"))
}

/// Ends with the writers, so that they stay open until the items have read.
type Delivery = JoinHandle<Result<Vec<PipeWriter>, String>>;

/// Starts the thread that writes each pipe's byte at its time, counted from the start of `run`.
pub(super) fn deliver(
    run: &Arc<Run>,
    writers: Vec<PipeWriter>,
) -> Result<Option<Delivery>, String> {
    if writers.is_empty() {
        return Ok(None);
    }
    let run = Arc::clone(run);
    let thread = thread::Builder::new().name(DELIVERY.to_owned());
    let thread = thread.spawn(move || write_bytes(&run, writers));
    thread
        .map(Some)
        .map_err(|e| format!("no delivering thread: {e}"))
}

fn write_bytes(run: &Run, mut writers: Vec<PipeWriter>) -> Result<Vec<PipeWriter>, String> {
    let times = run
        .items
        .iter()
        .enumerate()
        .filter_map(|(index, item)| match item.wait {
            Wait::Pipe(due) => Some((due, index)),
            _ => None,
        });
    let mut times: Vec<(u64, usize)> = times.collect();
    times.sort_unstable();
    let start = run.started_at();
    for (due, index) in times {
        clock::sleep_until(start + due);
        writers[index]
            .write_all(&[1])
            .map_err(|e| format!("cannot deliver: {e}"))?;
    }
    Ok(writers)
}
