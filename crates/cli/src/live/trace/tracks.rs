//! Tracks of a recording.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use cmwq_stats::Worker;
use cmwq_stats::trace::{Event, What};
use serde_json::{Value, json};

use super::super::words::{clean, item_name};
use super::Recorded;
use super::chrome::{Chrome, Span};
use super::places::{Run, Stretch, Where, known, stretches};
use super::sample::Sample;

/// Groups of tracks beside the process itself: no process has such a number.
const CPUS: u64 = 1 << 22;
const QUEUES: u64 = CPUS + 1;
/// A pool says that an item begins a moment before its thread does, in nanoseconds.
const ABOUT: u64 = 100_000;
/// Lanes of a CPU that are told apart.
const MOST_LANES: usize = 64;

/// An item of a queue, once.
struct Item<'a> {
    queue: &'a str,
    function: &'a str,
    /// `None`: before the recording.
    queued: Option<u64>,
    /// `None`: it has not begun, or was cancelled.
    ran: Option<Span>,
    /// It has, and has ended.
    ended: bool,
}

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

/// What was executed, and what was queued. Times before the recording are those of its begin.
fn items(recorded: &Recorded) -> (Vec<Run<'_>>, Vec<Item<'_>>) {
    let events = &recorded.events;
    let zero = recorded.seen.snapshot.at;
    let mut in_order: Vec<&Event> = events.events.iter().collect();
    // An item is queued in front of its begin, also where the clock shows the same.
    in_order.sort_by_key(|event| (event.from, event.what != What::Queued));
    let mut pending: HashMap<u64, &Event> = HashMap::new();
    let (mut runs, mut items) = (Vec::new(), Vec::new());
    let never = |event: &Event| Item {
        queue: events.text(event.queue),
        function: events.text(event.function),
        queued: Some(event.from),
        ran: None,
        ended: false,
    };
    for event in in_order {
        match event.what {
            // One that was cancelled may be queued again.
            What::Queued => items.extend(pending.insert(event.item, event).map(never)),
            What::Waited => (),
            What::Ran => {
                let span = (event.from.max(zero), event.to.max(zero));
                let queued = pending.remove(&event.item).map(|queued| queued.from);
                items.push(Item {
                    queued,
                    ran: Some(span),
                    ended: true,
                    ..never(event)
                });
                runs.push(executed(recorded, event, span, queued));
            }
        }
    }
    unfinished(recorded, &mut runs, &mut items, &mut pending);
    items.extend(pending.into_values().map(never));
    items.sort_by_key(|item| item.queued.or(item.ran.map(|ran| ran.0)));
    runs.sort_by_key(|run| (run.tid, run.span.0, Reverse(run.span.1)));
    (runs, items)
}

fn executed<'a>(recorded: &'a Recorded, event: &Event, span: Span, queued: Option<u64>) -> Run<'a> {
    let (queue, function) = (
        recorded.events.text(event.queue),
        recorded.events.text(event.function),
    );
    Run {
        tid: event.tid,
        span,
        cpus: (known(event.from_cpu), known(event.to_cpu)),
        queue,
        function,
        args: json!({
            "queue": clean(queue),
            "pool": event.pool,
            "waited_ns": queued.map(|queued| event.from.saturating_sub(queued)),
            "ran_ns": event.to.saturating_sub(event.from),
            "cpu_ns": (known(event.from_cpu).is_some()).then_some(event.cpu_ns),
        }),
    }
}

/// What was still being executed at the end. Without an address: of several items of a function
/// that may have been queued for it, the oldest is taken.
fn unfinished<'a>(
    recorded: &'a Recorded,
    runs: &mut Vec<Run<'a>>,
    items: &mut Vec<Item<'a>>,
    pending: &mut HashMap<u64, &Event>,
) {
    let events = &recorded.events;
    let (zero, end) = (recorded.seen.snapshot.at, events.at);
    for worker in &events.busy {
        let (queue, function) = (worker.queue_name.as_str(), worker.item.as_str());
        let began = end.saturating_sub(worker.since).max(zero);
        if runs.iter().any(|run| is_of(run, worker, began)) {
            continue;
        }
        let began = behind(runs, worker.tid, began);
        let of_it = |event: &Event| {
            events.text(event.queue) == queue
                && events.text(event.function) == function
                && event.from <= began
        };
        let queued = pending.values().filter(|event| of_it(event));
        let queued = queued.min_by_key(|event| event.from).copied();
        if let Some(event) = queued {
            pending.remove(&event.item);
        }
        let queued = queued.map(|event| event.from);
        let span = (began, end);
        items.push(Item {
            queue,
            function,
            queued,
            ran: Some(span),
            ended: false,
        });
        runs.push(executing(worker, span));
    }
}

/// Whether this is what the worker was executing, which began about then: it has ended between the
/// look at the worker and the end of the recording.
fn is_of(run: &Run, worker: &Worker, began: u64) -> bool {
    let is_same = (run.queue, run.function) == (&*worker.queue_name, &*worker.item);
    let is_then = run.span.0 <= began.saturating_add(ABOUT) && began <= run.span.1;
    run.tid == worker.tid && is_same && is_then
}

/// What this thread has begun about then has begun when what it had executed before was over.
fn behind(runs: &[Run], tid: i32, began: u64) -> u64 {
    let before = |run: &&Run| {
        run.tid == tid && run.span.0 < began && run.span.1 <= began.saturating_add(ABOUT)
    };
    let ends = runs.iter().filter(before).map(|run| run.span.1);
    ends.fold(began, u64::max)
}

fn executing(worker: &Worker, span: Span) -> Run<'_> {
    let (queue, function) = (worker.queue_name.as_str(), worker.item.as_str());
    Run {
        tid: worker.tid,
        span,
        cpus: (None, None),
        queue,
        function,
        args: json!({
            "queue": clean(queue),
            "ended": false,
            "ran_ns": worker.since,
            "waits_for": (!worker.awaits.is_empty()).then(|| clean(&worker.awaits)),
        }),
    }
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
    let on = |stretch: &Stretch| match stretch.place {
        Where::On(cpu) => Some(cpu),
        Where::Asleep(_) => None,
    };
    let mut there: Vec<(u32, &Stretch)> = stretches
        .iter()
        .filter_map(|stretch| Some((on(stretch)?, stretch)))
        .collect();
    there.sort_by_key(|(_, stretch)| stretch.span.0);
    chrome.group(CPUS, "CPUs")?;
    let mut lanes: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for (cpu, stretch) in there {
        let ends = lanes.entry(cpu).or_default();
        let free = ends.iter().position(|&end| end <= stretch.span.0);
        let lane = free.unwrap_or(ends.len()).min(MOST_LANES - 1);
        ends.resize(ends.len().max(lane + 1), 0);
        ends[lane] = stretch.span.1;
        let track = u64::from(cpu) * MOST_LANES as u64 + lane as u64;
        let run = stretch.run;
        let args = json!({"thread": run.tid, "queue": clean(run.queue)});
        let name = item_name(run.function);
        chrome.slice((CPUS, track), stretch.span, ("sampled", &name), &args)?;
    }
    for (cpu, lanes) in lanes {
        for lane in 0..lanes.len() {
            let name = match lane {
                0 => format!("CPU {cpu}"),
                _ => format!("CPU {cpu}, shared"),
            };
            let track = u64::from(cpu) * MOST_LANES as u64 + lane as u64;
            chrome.track((CPUS, track), &name)?;
        }
    }
    Ok(())
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
        let id = (groups[item.queue], number);
        let parts = [
            (
                item.queued
                    .map(|at| (at, item.ran.map_or(end, |ran| ran.0))),
                match item.ran {
                    Some(_) => "waits",
                    None => "waits, or was cancelled",
                },
            ),
            (item.ran, if item.ended { "runs" } else { "runs on" }),
        ];
        let spans = || parts.iter().filter_map(|(span, _)| *span);
        let (Some(first), Some(last)) = (spans().next(), spans().next_back()) else {
            continue;
        };
        let name = item_name(item.function);
        chrome.end_of(id, true, first.0, &name)?;
        for (span, what) in parts {
            if let Some((from, to)) = span {
                chrome.end_of(id, true, from, what)?;
                chrome.end_of(id, false, to, what)?;
            }
        }
        chrome.end_of(id, false, last.1, &name)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::events::Events;
    use super::*;
    use crate::live::target::Seen;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn what_has_ended_since_the_look_is_not_executed_at_the_end() {
        let worker = Worker {
            tid: 7,
            queue_name: "q".into(),
            item: "f".into(),
            ..Worker::default()
        };
        let of = |function, span| Run {
            function,
            ..executing(&worker, span)
        };
        let began = 10 * ABOUT;
        for (function, span, is_it) in [
            ("f", (began, began + 1), true),
            ("f", (began + ABOUT, began + 5 * ABOUT), true),
            ("f", (began - ABOUT, began - 1), false),
            ("f", (began + 2 * ABOUT, began + 3 * ABOUT), false),
            ("g", (began, began + 1), false),
        ] {
            let found = is_of(&of(function, span), &worker, began);
            assert_eq!(found, is_it, "{function} {span:?}");
        }
        let other = Worker {
            tid: 8,
            ..worker.clone()
        };
        assert!(!is_of(&of("f", (began, began + 1)), &other, began));
    }

    /// A recording of this from 1 s to 2 s.
    fn recorded(events: Vec<Event>, busy: Vec<Worker>) -> Recorded {
        let snapshot = cmwq_stats::Snapshot {
            at: SECOND,
            ..Default::default()
        };
        let mut all = Events::default();
        all.add(cmwq_stats::trace::Chunk {
            at: 2 * SECOND,
            texts: vec!["q".into(), "f".into()],
            events,
            busy,
            last: true,
            ..Default::default()
        });
        Recorded {
            seen: Seen {
                snapshot,
                ..Seen::default()
            },
            events: all,
            samples: Vec::new(),
            names: HashMap::new(),
        }
    }

    /// It began before the recording, and its worker was looked at right before it ended.
    #[test]
    fn an_item_longer_than_the_recording_is_in_it_once() {
        let ended = Event {
            what: What::Ran,
            tid: 7,
            item: 0,
            queue: 0,
            function: 1,
            pool: 0,
            from: SECOND / 2,
            to: 2 * SECOND - 1,
            from_cpu: u32::MAX,
            to_cpu: 0,
            cpu_ns: 0,
        };
        let busy = Worker {
            tid: 7,
            queue_name: "q".into(),
            item: "f".into(),
            since: SECOND + SECOND / 2,
            ..Worker::default()
        };
        let recorded = recorded(vec![ended], vec![busy]);
        let (runs, items) = super::items(&recorded);
        assert_eq!((runs.len(), items.len()), (1, 1));
        assert_eq!(runs[0].span, (SECOND, 2 * SECOND - 1));
    }

    #[test]
    fn one_item_of_a_thread_begins_behind_the_last() {
        let worker = |tid| Worker {
            tid,
            ..Worker::default()
        };
        let (mine, others) = (worker(7), worker(8));
        let runs = [
            executing(&mine, (5, 20 * ABOUT)),
            executing(&mine, (ABOUT, 10 * ABOUT + 3)),
            executing(&others, (ABOUT, 10 * ABOUT + 9)),
        ];
        assert_eq!(behind(&runs, 7, 10 * ABOUT), 10 * ABOUT + 3);
        assert_eq!(behind(&runs, 7, 11 * ABOUT), 11 * ABOUT);
    }
}
