//! One pool, measured in this process.

use std::sync::Arc;
use std::time::Duration;

use super::MixArgs;
use super::clock::{self, MS, now};
use super::execute::Run;
use super::hogs::Hogs;
use super::parent::{Failure, json_line, print};
use super::pipes;
use super::plan;
use super::pools::{self, Pool};
use super::process::{cpus, die_with_parent};
use super::record::summarize;
use super::row::{Row, millis, quotient, seconds};
use super::spec::{PoolSpec, Work};
use super::usage::{Usage, threads};

/// What the measuring thread has seen of a run; the items' own times are in their slots.
struct Observed {
    start: u64,
    usage: Usage,
    /// Part of the machine that the hogs had, 0 to 1.
    hog_share: f64,
}

/// Measures the one pool that `args` names and prints its row.
pub(super) fn child(args: &MixArgs, parent: i32) -> Result<(), Failure> {
    die_with_parent(parent).map_err(Failure::Run)?;
    let [spec] = args.pools[..] else {
        return Err(Failure::Usage("--child takes one pool".to_owned()));
    };
    let row = measure(args, spec).map_err(Failure::Run)?;
    print(&json_line(&row));
    Ok(())
}

fn measure(args: &MixArgs, spec: PoolSpec) -> Result<Row, String> {
    let (work, cpus) = (args.work, cpus());
    let pool = pools::make(spec, work, cpus)?;
    let hogs = Hogs::start(if work.has_hogs() { cpus } else { 0 })?;
    if args.warm_up {
        carry_out(args, &*pool, &hogs)?;
    }
    let (run, observed) = carry_out(args, &*pool, &hogs)?;
    // All threads but this one and the delivering one are the pool's, its helpers included.
    let threads = threads(pipes::DELIVERY).map_err(|e| format!("cannot count threads: {e}"))?;
    Ok(Row {
        peak_threads: threads - 1,
        cmwq: pool.engine(),
        ..row(work, spec, &run, &observed)
    })
}

/// Gives the pool all items, once.
fn carry_out(args: &MixArgs, pool: &dyn Pool, hogs: &Hogs) -> Result<(Arc<Run>, Observed), String> {
    let items = plan::items(args.work, args.work.items(args.items), cpus());
    let (readers, writers) = pipes::make(&items)?;
    let run = Arc::new(Run::new(items, readers));
    let delivery = pipes::deliver(&run, writers)?;
    let observed = observe(&run, pool, hogs, args.start_at);
    if let Some(delivery) = delivery {
        delivery
            .join()
            .map_err(|_| "the delivering thread has panicked")??;
    }
    Ok((run, observed))
}

/// Queues all items, waits for them, and looks at what that has cost.
fn observe(run: &Arc<Run>, pool: &dyn Pool, hogs: &Hogs, start_at: Option<u64>) -> Observed {
    // Brings the code into memory and the CPU to its speed.
    clock::burn(20 * MS);
    clock::sleep_until(start_at.unwrap_or(0));
    let before = Usage::now();
    let hogs_before = hogs.cpu_time();
    // A process that gets its CPU late has begun at the common moment all the same.
    let start = run.begin(start_at.unwrap_or_else(now));
    produce(run, start, pool);
    run.wait_all(patience(run))
        .unwrap_or_else(|message| give_up(&message));
    let hogs_had = hogs.cpu_time() - hogs_before;
    let machine = (now() - start) * cpus() as u64;
    Observed {
        start,
        usage: Usage::now().since(&before),
        hog_share: hogs_had as f64 / machine as f64,
    }
}

/// A pool that hangs would hang when it is dropped, too: leaves it all behind.
fn give_up(message: &str) -> ! {
    eprintln!("cmwq bench: {message}");
    std::process::exit(1);
}

/// Longer than a single thread needs, beside hogs, on a slow machine.
fn patience(run: &Run) -> Duration {
    Duration::from_nanos(4 * plan::serial_time(&run.items)) + Duration::from_secs(60)
}

/// Queues every item at its time. The time stamped is when it was to be queued: a producer that
/// the pool itself keeps off the CPU does not make the pool faster.
fn produce(run: &Arc<Run>, start: u64, pool: &dyn Pool) {
    for (index, item) in run.items.iter().enumerate() {
        let queued = start + item.arrival;
        clock::sleep_until(queued);
        run.slots[index].queued.set(queued);
        let shared = Arc::clone(run);
        pool.submit(item.queue, Box::new(move || shared.execute(index)));
    }
}

/// What the stamps and the clocks say; the pool's own figures are put in by the caller.
fn row(work: Work, spec: PoolSpec, run: &Run, observed: &Observed) -> Row {
    let summary = summarize(&run.slots);
    let bound = plan::bound(work, &run.items, cpus());
    let elapsed = summary.last_ended - observed.start;
    // The tick is armed only while there is backlog, so its cost is compared with that time.
    let backlog = summary.last_started - observed.start;
    let share = observed.hog_share;
    Row {
        work: work.name(),
        pool: spec.to_string(),
        items: run.items.len(),
        bound_s: seconds(bound),
        elapsed_s: seconds(elapsed),
        ratio: quotient(bound as f64, elapsed as f64),
        item_p50_ms: millis(summary.item_p50),
        item_p99_ms: millis(summary.item_p99),
        sojourn_p99_ms: millis(summary.sojourn_p99),
        // A run can be over before a hog had a CPU.
        hog_slowdown: (share > 0.0).then(|| quotient(1.0, share)),
        peak_runnable: summary.peak_runnable,
        peak_threads: 0,
        voluntary_switches: observed.usage.voluntary,
        involuntary_switches: observed.usage.involuntary,
        cpu_s: seconds(observed.usage.cpu),
        hog_share: work.has_hogs().then(|| quotient(share, 1.0)),
        backlog_s: (work == Work::Asleep).then(|| seconds(backlog)),
        cmwq: None,
        best: None,
    }
}
