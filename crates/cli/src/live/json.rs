//! A look at a process as JSON: the fields of the page, and what follows from them.

use serde_json::{Value, json};

use super::children;
use super::target::Seen;

/// One line, an object.
pub(super) fn of(seen: &Seen) -> String {
    let mut page = serde_json::to_value(&seen.snapshot).expect("numbers and texts are JSON");
    for (shown, queue) in list(&mut page, "queues")
        .iter_mut()
        .zip(&seen.snapshot.queues)
    {
        shown["waiting"] = queue.waiting().into();
        shown["waited_p50_ns"] = queue.waited(50).into();
        shown["waited_p99_ns"] = queue.waited(99).into();
        shown["ran_p50_ns"] = queue.ran(50).into();
        shown["ran_p99_ns"] = queue.ran(99).into();
    }
    let whole = json!({
        "version": 1,
        "pid": seen.pid,
        "command": seen.command,
        "stale": seen.stale,
        "run": seen.run,
        "process": page,
        "children": children::of(seen.pid),
    });
    format!("{whole}\n")
}

fn list<'a>(page: &'a mut Value, name: &str) -> &'a mut Vec<Value> {
    page[name].as_array_mut().expect("it is a list")
}
