//! One setting, measured in this process.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use cmwq::Workqueue;

use super::super::clock::{self, MS, US, now};
use super::super::engine::Engine;
use super::super::parent::{Failure, json_line, print};
use super::super::process::die_with_parent;
use super::super::row::{quotient, seconds};
use super::super::spec::name;
use super::super::usage::{Usage, threads};
use super::args::{Kind, Limit, LimitsArgs};
use super::load::{Load, PRODUCER, Until};
use super::log::Log;
use super::row::Row;
use super::scratch::{self, BLOCK, MIB};

const SECOND: u64 = 1_000 * MS;

/// What a run has cost, besides the log's own tally.
struct Cost {
    start: u64,
    /// Of the process without its producers.
    pool: Usage,
    producers: Usage,
    peak_threads: usize,
}

/// Measures the one limit that `args` names and prints its row.
pub(super) fn child(args: &LimitsArgs, parent: i32) -> Result<(), Failure> {
    die_with_parent(parent).map_err(Failure::Run)?;
    let [limit] = args.limits[..] else {
        return Err(Failure::Usage("--child takes one limit".to_owned()));
    };
    let file = scratch::make(&args.dir(), args.file_mib)?;
    let log = Log::new(file, scratch::blocks(args.file_mib));
    let row = measure(args, limit, log).map_err(Failure::Run)?;
    print(&json_line(&row));
    Ok(())
}

fn measure(args: &LimitsArgs, limit: Limit, log: Log) -> Result<Row, String> {
    let queue = queue(args.kind, limit)?;
    // Brings the code into memory and the CPU to its speed.
    clock::burn(20 * MS);
    let load = Arc::new(Load::new(log, queue, until(args)));
    let cost = carry_out(args, &load)?;
    if let Some(message) = load.failure() {
        return Err(message.clone());
    }
    load.log.verify()?;
    Ok(row(args, limit, &load, &cost))
}

fn queue(kind: Kind, limit: Limit) -> Result<Workqueue, String> {
    let mut builder = Workqueue::builder("limits");
    if kind == Kind::Unmanaged {
        builder = builder.unmanaged();
    }
    if let Some(limit) = limit.0 {
        builder = builder.max_active(limit);
    }
    builder.build().map_err(|e| format!("no queue: {e}"))
}

fn until(args: &LimitsArgs) -> Until {
    match args.items {
        Some(items) => Until::Items(items),
        None => Until::Time(now() + u64::from(args.seconds) * SECOND),
    }
}

fn carry_out(args: &LimitsArgs, load: &Arc<Load>) -> Result<Cost, String> {
    let before = Usage::now();
    let start = now();
    let producers = wait_for(args, &start_producers(args, load)?);
    let process = Usage::now().since(&before);
    // All threads but this one and the producers are the pool's, its helpers included.
    let threads = threads(PRODUCER).map_err(|e| format!("cannot count threads: {e}"))?;
    Ok(Cost {
        start,
        pool: process.since(&producers),
        producers,
        peak_threads: threads - 1,
    })
}

/// Starts the producers; each says at its end what it has used.
fn start_producers(args: &LimitsArgs, load: &Arc<Load>) -> Result<Receiver<Usage>, String> {
    let (tell, told) = channel();
    for index in 0..args.producers {
        let (load, tell, depth) = (Arc::clone(load), tell.clone(), args.depth as usize);
        let thread = thread::Builder::new().name(PRODUCER.to_owned());
        let produce = move || {
            // Fails only when nobody waits any more.
            let _ = tell.send(load.produce(index, depth));
        };
        thread
            .spawn(produce)
            .map_err(|e| format!("no thread for a producer: {e}"))?;
    }
    Ok(told)
}

/// The sum of what all producers have used. A pool that hangs would hang when it is dropped, too:
/// then this leaves it all behind.
fn wait_for(args: &LimitsArgs, told: &Receiver<Usage>) -> Usage {
    let mut sum = Usage::default();
    for ended in 0..args.producers {
        match told.recv_timeout(patience(args)) {
            Ok(used) => sum = sum.plus(&used),
            Err(_) => {
                eprintln!(
                    "cmwq bench: {ended} of {} producers have ended",
                    args.producers
                );
                std::process::exit(1);
            }
        }
    }
    sum
}

/// Longer than a single thread needs, on a slow machine.
fn patience(args: &LimitsArgs) -> Duration {
    let working = match args.items {
        Some(items) => Duration::from_millis(10 * items),
        None => Duration::from_secs(args.seconds.into()),
    };
    working + Duration::from_secs(60)
}

fn row(args: &LimitsArgs, limit: Limit, load: &Load, cost: &Cost) -> Row {
    let tally = load.log.tally();
    let elapsed = tally.last.saturating_sub(cost.start).max(US);
    let written = tally.items as f64 * BLOCK as f64 / MIB as f64;
    let mean_us = |ns: u64| quotient(ns as f64 / 1e3, tally.items.max(1) as f64);
    Row {
        kind: name(args.kind),
        limit,
        run: 0,
        producers: args.producers,
        depth: args.depth,
        items: tally.items,
        elapsed_s: seconds(elapsed),
        mib_s: quotient(written, seconds(elapsed)),
        section_us: mean_us(tally.held),
        lock_wait_us: mean_us(tally.waited),
        peak_threads: cost.peak_threads,
        voluntary_switches: cost.pool.voluntary,
        involuntary_switches: cost.pool.involuntary,
        cpu_s: seconds(cost.pool.cpu),
        producers_switches: cost.producers.voluntary + cost.producers.involuntary,
        producers_cpu_s: seconds(cost.producers.cpu),
        cmwq: Engine::now(),
    }
}
