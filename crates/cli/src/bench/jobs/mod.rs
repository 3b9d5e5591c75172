//! `cmwq bench job`: what a multithreaded job costs a foreground beside it, what the caller of a
//! job waits for at its end, and what helpers are worth on an idle machine.
//!
//! * *beside* has the shape of the two tables that brought nice 19 to ktask: a foreground of CPUs -
//!   1 threads, alone and beside a job of CPUs threads with helpers at nice 19, at nice 0 and in
//!   SCHED_IDLE. The job begins before the foreground and ends after it.
//! * *tail*: each CPU is kept busy by a foreign thread; a job alone and with helpers that starve.
//! * *idle*: a billion simple steps, by one thread, by a job, and by rayon.

mod args;
mod background;
mod beside;
mod idle;
mod load;
mod row;
mod tail;

use super::parent::{Failure, json_line, print};
use super::process::die_with_parent;
pub(super) use args::JobArgs;
use args::{Part, Role};
use row::Row;

/// Measures in this process, if it was started to, or else each setting in a process of its own.
pub(super) fn run(args: &JobArgs) -> Result<(), Failure> {
    match (args.child, args.role) {
        (Some(parent), Some(role)) => child(args, role, parent).map_err(Failure::Run),
        _ => measure_all(args).map_err(Failure::Run),
    }
}

fn child(args: &JobArgs, role: Role, parent: i32) -> Result<(), String> {
    die_with_parent(parent)?;
    match role {
        Role::Foreground => beside::foreground(args),
        Role::Background => background::child(args),
        Role::Tail => print(&json_line(&tail::child(args)?)),
        Role::Idle => print(&json_line(&idle::child(args)?)),
    }
    Ok(())
}

fn measure_all(args: &JobArgs) -> Result<(), String> {
    let mut rows: Vec<Row> = Vec::new();
    let mut show = |row: Row| {
        if args.json {
            print(&json_line(&row));
        }
        rows.push(row);
    };
    for part in &args.parts {
        match part {
            Part::Beside => beside::measure(args, &mut show)?,
            Part::Tail => tail::measure(args, &mut show)?,
            Part::Idle => idle::measure(args, &mut show)?,
        }
    }
    if !args.json {
        print(&row::tables(&rows));
    }
    Ok(())
}
