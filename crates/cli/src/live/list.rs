//! `cmwq top` without a process: all that can be looked at.

use std::io;
use std::thread;

use cmwq_stats::control::Request;
use cmwq_stats::{Queue, find};
use serde_json::json;

use super::target::{Process, Seen};
use super::words::{below, clean};

/// Processes that are asked at the same time: one that does not answer takes 3 seconds.
const AT_ONCE: usize = 16;

/// A process, and what it does, or why that cannot be seen.
type Found = (u32, io::Result<Seen>);

/// All processes with a page, by number. Those of other users are not there, and none that ends
/// meanwhile.
fn all() -> Vec<Found> {
    let candidates: Vec<_> = find::all().collect();
    let mut found = Vec::new();
    for some in candidates.chunks(AT_ONCE) {
        thread::scope(|scope| {
            let asked = some.iter().map(|(pid, page)| {
                scope.spawn(move || match page {
                    Ok(socket) => Process::new(*pid, socket.clone()).look(&Request::Look),
                    Err(error) => Err(io::Error::other(error.to_string())),
                })
            });
            let asked: Vec<_> = asked.collect();
            let answers = asked.into_iter().map(|thread| thread.join());
            let pids = some.iter().map(|(pid, _)| *pid);
            found.extend(pids.zip(answers.flatten()));
        });
    }
    found.sort_by_key(|(pid, _)| *pid);
    found
}

/// For people.
pub(super) fn text() -> String {
    let found = all();
    if found.is_empty() {
        return "No process of yours has a queue of cmwq.\n".into();
    }
    let mut out = String::from("PID     COMMAND         QUEUES   RUN   WAIT WHY\n");
    for (pid, seen) in found {
        out += &match seen {
            Ok(seen) => line(&seen),
            Err(error) => format!("{pid:<7} {}\n", clean(&error.to_string())),
        };
    }
    out
}

/// Of all queues of a process.
fn sum(seen: &Seen, of: fn(&Queue) -> u64) -> u64 {
    let queues = seen.snapshot.queues.iter();
    queues.map(of).fold(0, u64::saturating_add)
}

/// Why items wait is said of the queue of which most do.
fn line(seen: &Seen) -> String {
    let queues = &seen.snapshot.queues;
    let most = queues.iter().max_by_key(|queue| queue.waiting());
    let why = most.and_then(|queue| {
        let first = queue.waits.iter().max_by_key(|wait| wait.items)?;
        let waited = queue.waited(50).map_or("-".into(), below);
        Some(format!(
            "{} of \"{}\": {}; half waited {waited}",
            first.items,
            clean(&queue.name),
            clean(&first.why)
        ))
    });
    let run = seen
        .run
        .as_ref()
        .map(|run| format!("cmwq run: {}", run.words()));
    let stale = seen
        .stale
        .as_ref()
        .map(|why| format!("(not now: {})", clean(why)));
    let words = [stale, run, why].into_iter().flatten().collect::<Vec<_>>();
    format!(
        "{:<7} {:<15} {:>6} {:>5} {:>6} {}\n",
        seen.pid,
        clean(&seen.command),
        queues.len(),
        sum(seen, |queue| queue.executing),
        sum(seen, Queue::waiting),
        words.join("; ")
    )
}

/// For programs: one object.
pub(super) fn json() -> String {
    let of = |(pid, seen): &Found| match seen {
        Ok(seen) => json!({
            "pid": pid,
            "command": seen.command,
            "queues": seen.snapshot.queues.len(),
            "executing": sum(seen, |queue| queue.executing),
            "waiting": sum(seen, Queue::waiting),
            "run": seen.run,
            "stale": seen.stale,
            "error": null,
        }),
        Err(error) => json!({"pid": pid, "error": error.to_string()}),
    };
    let found: Vec<_> = all().iter().map(of).collect();
    format!("{}\n", json!({"version": 1, "processes": found}))
}
