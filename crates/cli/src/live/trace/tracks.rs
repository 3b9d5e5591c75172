//! Tracks of a recording.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use cmwq_stats::Worker;
use cmwq_stats::trace::{Event, What};
use serde_json::{Value, json};

use super::super::words::{clean, item_name};
use super::Recorded;
use super::chrome::{Chrome, Span, Track};
use super::items::{Item, items};
use super::places::{Run, Stretch, Where, stretches};
use super::sample::Sample;

/// Groups of tracks beside the process itself: no process has such a number.
const CPUS: u64 = 1 << 22;
const QUEUES: u64 = CPUS + 1;
/// Lanes of a CPU that are told apart.
const MOST_LANES: usize = 64;

/// A slice of a thread's track.
struct Slice {
    tid: i32,
    span: Span,
    sort: &'static str,
    name: String,
    args: Value,
}

/// Writes all of it.
pub(super) fn write(recorded: &Recorded, out: &mut dyn Write) -> io::Result<()> {
    let mut chrome = Chrome::new(out, recorded.seen.snapshot.at)?;
    let (runs, items) = items(recorded);
    let mut slices: Vec<Slice> = runs.iter().map(|run| of_run(run)).collect();
    let waits = of_type(recorded, What::Waited);
    slices.extend(waits.iter().map(|event| of_wait(recorded, event)));
    let stretches = by_thread(&runs, &waits, &recorded.samples);
    slices.extend(
        stretches
            .iter()
            .filter_map(|stretch| asleep(recorded, stretch)),
    );
    cpus(&mut chrome, &stretches)?;
    threads(&mut chrome, recorded, slices)?;
    queues(&mut chrome, &items, recorded.events.at)?;
    chrome.finish(&json!({
        "command": clean(&recorded.seen.command),
        "pid": recorded.seen.pid,
        "began_ns": recorded.seen.snapshot.at,
        "lost_events": recorded.events.lost,
        "faults": recorded.events.faults(),
        "cmwq": env!("CARGO_PKG_VERSION"),
    }))
}

fn of_type(recorded: &Recorded, what: What) -> Vec<&Event> {
    let events = recorded.events.events.iter();
    events.filter(|event| event.what == what).collect()
}

fn of_run(run: &Run) -> Slice {
    Slice {
        tid: run.tid,
        span: run.span,
        sort: "item",
        name: item_name(run.function),
        args: run.args.clone(),
    }
}

fn of_wait(recorded: &Recorded, event: &Event) -> Slice {
    let events = &recorded.events;
    let queue = clean(events.text(event.queue));
    let name = match events.text(event.function) {
        "" => format!("waits for items of \"{queue}\""),
        item => format!("waits for {}", item_name(item)),
    };
    Slice {
        tid: event.tid,
        span: (event.from.max(recorded.seen.snapshot.at), event.to),
        sort: "wait",
        name,
        args: json!({ "queue": queue }),
    }
}

fn asleep(recorded: &Recorded, stretch: &Stretch) -> Option<Slice> {
    let Where::Asleep(why) = stretch.place else {
        return None;
    };
    // At the end the process has said what its items wait for.
    let events = &recorded.events;
    let is_this = |worker: &&Worker| worker.tid == stretch.run.tid && !worker.awaits.is_empty();
    let mut at_end = events.busy.iter().filter(|_| stretch.span.1 == events.at);
    let why = match at_end.find(is_this) {
        Some(worker) => &format!("waits for {}", worker.awaits),
        None => why,
    };
    Some(Slice {
        tid: stretch.run.tid,
        span: stretch.span,
        sort: "sampled",
        name: clean(why),
        args: json!({}),
    })
}

/// Where the threads were during their items.
fn by_thread<'a>(
    runs: &'a [Run<'a>],
    waits: &[&'a Event],
    samples: &'a [Sample],
) -> Vec<Stretch<'a>> {
    let mut waits_of: HashMap<i32, Vec<&Event>> = HashMap::new();
    for event in waits {
        waits_of.entry(event.tid).or_default().push(event);
    }
    let mut samples_of: HashMap<i32, Vec<&Sample>> = HashMap::new();
    for sample in samples {
        samples_of.entry(sample.tid).or_default().push(sample);
    }
    let threads = runs.chunk_by(|a, b| a.tid == b.tid);
    let of = |runs: &'a [Run<'a>]| {
        let tid = runs[0].tid;
        let waits = waits_of.get(&tid).map_or(&[][..], Vec::as_slice);
        let samples = samples_of.get(&tid).map_or(&[][..], Vec::as_slice);
        stretches(runs, waits, samples)
    };
    threads.flat_map(of).collect()
}

/// What each CPU executes. Threads that run, or want to, at the same time get lanes of their own.
fn cpus(chrome: &mut Chrome<'_>, stretches: &[Stretch]) -> io::Result<()> {
    chrome.group(CPUS, "CPUs")?;
    let mut lanes = Lanes::default();
    for (cpu, stretch) in on_cpus(stretches) {
        let track = lane_track(cpu, lanes.take(cpu, stretch.span));
        let run = stretch.run;
        let args = json!({"thread": run.tid, "queue": clean(run.queue)});
        let name = item_name(run.function);
        chrome.slice(track, stretch.span, ("sampled", &name), &args)?;
    }
    for (cpu, ends) in lanes.0 {
        for lane in 0..ends.len() {
            let name = match lane {
                0 => format!("CPU {cpu}"),
                _ => format!("CPU {cpu}, shared"),
            };
            chrome.track(lane_track(cpu, lane), &name)?;
        }
    }
    Ok(())
}

/// Those on a CPU, in the order of time.
fn on_cpus<'a>(stretches: &'a [Stretch<'a>]) -> Vec<(u32, &'a Stretch<'a>)> {
    let on = |stretch: &'a Stretch<'a>| match stretch.place {
        Where::On(cpu) => Some((cpu, stretch)),
        Where::Asleep(_) => None,
    };
    let mut there: Vec<_> = stretches.iter().filter_map(on).collect();
    there.sort_by_key(|(_, stretch)| stretch.span.0);
    there
}

/// Of each CPU its lanes: when what was put there last ends.
#[derive(Default)]
struct Lanes(BTreeMap<u32, Vec<u64>>);

impl Lanes {
    /// The first lane of the CPU that is free when `span` begins; it is taken until the end.
    fn take(&mut self, cpu: u32, span: Span) -> usize {
        let ends = self.0.entry(cpu).or_default();
        let free = ends.iter().position(|&end| end <= span.0);
        let lane = free.unwrap_or(ends.len()).min(MOST_LANES - 1);
        ends.resize(ends.len().max(lane + 1), 0);
        ends[lane] = span.1;
        lane
    }
}

fn lane_track(cpu: u32, lane: usize) -> Track {
    (CPUS, u64::from(cpu) * MOST_LANES as u64 + lane as u64)
}

/// Each thread with its items and what these wait for.
fn threads(chrome: &mut Chrome<'_>, recorded: &Recorded, mut slices: Vec<Slice>) -> io::Result<()> {
    let group = u64::from(recorded.seen.pid);
    chrome.group(group, &clean(&recorded.seen.command))?;
    // What contains something comes in front of it; of what is equally long, the item does.
    slices.sort_by_key(|slice| {
        (
            slice.tid,
            slice.span.0,
            Reverse(slice.span.1),
            rank(slice.sort),
        )
    });
    for of_one in slices.chunk_by(|a, b| a.tid == b.tid) {
        let tid = of_one[0].tid;
        let track = (group, tid.unsigned_abs().into());
        let name = recorded.names.get(&tid).map_or("thread", String::as_str);
        chrome.track(track, &clean(name))?;
        for slice in of_one {
            let about = (slice.sort, slice.name.as_str());
            chrome.slice(track, slice.span, about, &slice.args)?;
        }
    }
    Ok(())
}

fn rank(sort: &str) -> u8 {
    match sort {
        "item" => 0,
        "wait" => 1,
        _ => 2,
    }
}

/// Each item from being queued to its end.
fn queues(chrome: &mut Chrome<'_>, items: &[Item], end: u64) -> io::Result<()> {
    let mut groups: BTreeMap<&str, u64> = BTreeMap::new();
    for item in items {
        let number = QUEUES + groups.len() as u64;
        groups.entry(item.queue).or_insert(number);
    }
    for (queue, group) in &groups {
        chrome.group(*group, &format!("queue {}", clean(queue)))?;
    }
    for (number, item) in items.iter().enumerate() {
        item_track(chrome, (groups[item.queue], number), item, end)?;
    }
    Ok(())
}

/// The whole item, and in it its wait and its run. `end`: of the recording.
fn item_track(chrome: &mut Chrome<'_>, id: (u64, usize), item: &Item, end: u64) -> io::Result<()> {
    let wait = item
        .queued
        .map(|at| (at, item.ran.map_or(end, |ran| ran.0)));
    let (Some(first), Some(last)) = (wait.or(item.ran), item.ran.or(wait)) else {
        return Ok(());
    };
    let waits = match item.ran {
        Some(_) => "waits",
        None => "waits, or was cancelled",
    };
    let runs = if item.ended { "runs" } else { "runs on" };
    let name = item_name(item.function);
    chrome.end_of(id, true, first.0, &name)?;
    for (span, what) in [(wait, waits), (item.ran, runs)] {
        if let Some((from, to)) = span {
            chrome.end_of(id, true, from, what)?;
            chrome.end_of(id, false, to, what)?;
        }
    }
    chrome.end_of(id, false, last.1, &name)
}
