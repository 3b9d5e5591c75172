//! Items of a recording: what its events say of each, and what its end says of those that ran on.

use std::cmp::Reverse;
use std::collections::HashMap;

use cmwq_stats::Worker;
use cmwq_stats::trace::{Event, What};
use serde_json::json;

use super::super::words::clean;
use super::Recorded;
use super::chrome::Span;
use super::places::{Run, known};

/// A pool says that an item begins a moment before its thread does, in nanoseconds.
const ABOUT: u64 = 100_000;

/// An item of a queue, once.
pub(super) struct Item<'a> {
    pub(super) queue: &'a str,
    pub(super) function: &'a str,
    /// `None`: before the recording.
    pub(super) queued: Option<u64>,
    /// `None`: it has not begun, or was cancelled.
    pub(super) ran: Option<Span>,
    /// It has, and has ended.
    pub(super) ended: bool,
}

/// What was executed, and what was queued. Times before the recording are those of its begin.
pub(super) fn items(recorded: &Recorded) -> (Vec<Run<'_>>, Vec<Item<'_>>) {
    let mut in_order: Vec<&Event> = recorded.events.events.iter().collect();
    // An item is queued in front of its begin, also where the clock shows the same.
    in_order.sort_by_key(|event| (event.from, event.what != What::Queued));
    let mut found = Found::new(recorded);
    for event in in_order {
        match event.what {
            What::Queued => found.queued(event),
            What::Waited => (),
            What::Ran => found.ran(event),
        }
    }
    for worker in &recorded.events.busy {
        found.runs_on(worker);
    }
    found.in_order()
}

/// What the events so far say.
struct Found<'a> {
    recorded: &'a Recorded,
    runs: Vec<Run<'a>>,
    items: Vec<Item<'a>>,
    /// Items that were queued and have not begun, by their addresses.
    pending: HashMap<u64, &'a Event>,
}

impl<'a> Found<'a> {
    fn new(recorded: &'a Recorded) -> Self {
        Self {
            recorded,
            runs: Vec::new(),
            items: Vec::new(),
            pending: HashMap::new(),
        }
    }

    fn queued(&mut self, event: &'a Event) {
        // One that was cancelled may be queued again.
        let cancelled = self.pending.insert(event.item, event);
        self.items
            .extend(cancelled.map(|event| never_begun(self.recorded, event)));
    }

    fn ran(&mut self, event: &'a Event) {
        let zero = self.recorded.seen.snapshot.at;
        let span = (event.from.max(zero), event.to.max(zero));
        let queued = self.pending.remove(&event.item).map(|queued| queued.from);
        self.items.push(Item {
            queued,
            ran: Some(span),
            ended: true,
            ..never_begun(self.recorded, event)
        });
        self.runs.push(executed(self.recorded, event, span, queued));
    }

    /// The worker still executed something at the end: this, unless its end was recorded.
    fn runs_on(&mut self, worker: &'a Worker) {
        let (zero, end) = (self.recorded.seen.snapshot.at, self.recorded.events.at);
        let began = end.saturating_sub(worker.since).max(zero);
        if self.runs.iter().any(|run| is_of(run, worker, began)) {
            return;
        }
        let began = behind(&self.runs, worker.tid, began);
        let span = (began, end);
        let item = Item {
            queue: &worker.queue_name,
            function: &worker.item,
            queued: self.take_pending(worker, began),
            ran: Some(span),
            ended: false,
        };
        self.items.push(item);
        self.runs.push(executing(worker, span));
    }

    /// When what the worker executes was queued. Its address is not known: of several items of the
    /// function that may have been queued for it, the oldest is taken.
    fn take_pending(&mut self, worker: &Worker, began: u64) -> Option<u64> {
        let events = &self.recorded.events;
        let is_its = |event: &&&Event| {
            events.text(event.queue) == worker.queue_name
                && events.text(event.function) == worker.item
                && event.from <= began
        };
        let candidates = self.pending.values().filter(is_its);
        let oldest = *candidates.min_by_key(|event| event.from)?;
        self.pending.remove(&oldest.item);
        Some(oldest.from)
    }

    /// What is still pending was waiting at the end, or was cancelled.
    fn in_order(mut self) -> (Vec<Run<'a>>, Vec<Item<'a>>) {
        let pending = self.pending.into_values();
        let left = pending.map(|event| never_begun(self.recorded, event));
        self.items.extend(left);
        self.items
            .sort_by_key(|item| item.queued.or(item.ran.map(|ran| ran.0)));
        self.runs
            .sort_by_key(|run| (run.tid, run.span.0, Reverse(run.span.1)));
        (self.runs, self.items)
    }
}

fn never_begun<'a>(recorded: &'a Recorded, event: &Event) -> Item<'a> {
    Item {
        queue: recorded.events.text(event.queue),
        function: recorded.events.text(event.function),
        queued: Some(event.from),
        ran: None,
        ended: false,
    }
}

fn executed<'a>(recorded: &'a Recorded, event: &Event, span: Span, queued: Option<u64>) -> Run<'a> {
    let text = |number| recorded.events.text(number);
    let (queue, function) = (text(event.queue), text(event.function));
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
