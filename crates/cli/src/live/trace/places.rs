//! Where a thread was while it executed items: what it has told of itself, and between that what
//! was seen from outside.

use cmwq_stats::trace::Event;
use serde_json::Value;

use super::chrome::Span;
use super::sample::{Sample, Spot};

/// An item that a thread has executed.
pub(super) struct Run<'a> {
    pub(super) tid: i32,
    pub(super) span: Span,
    /// Where it was at the begin and at the end.
    pub(super) cpus: (Option<u32>, Option<u32>),
    pub(super) queue: &'a str,
    pub(super) function: &'a str,
    /// What else is known.
    pub(super) args: Value,
}

/// Where a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Where<'a> {
    /// On this CPU, or waiting for it.
    On(u32),
    /// Asleep: what for, in words.
    Asleep(&'a str),
}

/// A time during which the thread was in one place.
pub(super) struct Stretch<'a> {
    pub(super) span: Span,
    pub(super) place: Where<'a>,
    /// The innermost item.
    pub(super) run: &'a Run<'a>,
}

/// Something that is known of a thread at a moment.
enum Mark<'a> {
    Ends(usize, Option<u32>),
    Seen(Where<'a>),
    Runs(Option<u32>),
    Begins(usize, Option<u32>),
}

impl Mark<'_> {
    /// Of what happens at the same time this is the order.
    fn rank(&self) -> u8 {
        match self {
            Mark::Ends(..) => 0,
            Mark::Seen(_) | Mark::Runs(_) => 1,
            Mark::Begins(..) => 2,
        }
    }
}

/// Of one thread. Items may be inside of others, and follow in the order of their begins. No
/// stretch crosses the begin or the end of an item, or of a wait: there the thread was awake.
pub(super) fn stretches<'a>(
    runs: &'a [Run<'a>],
    waits: &[&Event],
    samples: &[&'a Sample],
) -> Vec<Stretch<'a>> {
    let mut marks: Vec<(u64, Mark)> = Vec::new();
    // One that took no time was nowhere.
    let lasting = runs
        .iter()
        .enumerate()
        .filter(|(_, run)| run.span.0 < run.span.1);
    for (number, run) in lasting {
        marks.push((run.span.0, Mark::Begins(number, run.cpus.0)));
        marks.push((run.span.1, Mark::Ends(number, run.cpus.1)));
    }
    for wait in waits {
        marks.push((wait.from, Mark::Runs(known(wait.from_cpu))));
        marks.push((wait.to, Mark::Runs(known(wait.to_cpu))));
    }
    let seen = samples
        .iter()
        .map(|sample| (sample.at, Mark::Seen(of_sample(sample))));
    marks.extend(seen);
    marks.sort_by_key(|(at, mark)| (*at, mark.rank()));
    follow(runs, marks)
}

fn follow<'a>(runs: &'a [Run<'a>], marks: Vec<(u64, Mark<'a>)>) -> Vec<Stretch<'a>> {
    let mut found = Vec::new();
    let mut stack: Vec<usize> = Vec::new();
    let (mut since, mut place): (u64, Option<Where>) = (0, None);
    for (at, mark) in marks {
        if let (Some(&top), Some(place)) = (stack.last(), place)
            && since < at
        {
            found.push(Stretch {
                span: (since, at),
                place,
                run: &runs[top],
            });
        }
        since = at;
        place = match mark {
            Mark::Seen(place) => Some(place),
            Mark::Runs(cpu) => awake(cpu, place),
            Mark::Begins(run, cpu) => {
                stack.push(run);
                awake(cpu, place)
            }
            Mark::Ends(run, cpu) => {
                stack.retain(|other| *other != run);
                awake(cpu, place)
            }
        };
    }
    found
}

fn of_sample(sample: &Sample) -> Where<'_> {
    match &sample.place {
        Spot::On(cpu) => Where::On(*cpu),
        Spot::Asleep(why) => Where::Asleep(why),
    }
}

/// Where it was last, if it was awake there, where it does not say.
fn awake<'a>(cpu: Option<u32>, before: Option<Where<'a>>) -> Option<Where<'a>> {
    let there = || before.filter(|place| matches!(place, Where::On(_)));
    cpu.map(Where::On).or_else(there)
}

pub(super) fn known(cpu: u32) -> Option<u32> {
    (cpu != u32::MAX).then_some(cpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(span: Span, cpus: (Option<u32>, Option<u32>)) -> Run<'static> {
        Run {
            tid: 1,
            span,
            cpus,
            queue: "q",
            function: "f",
            args: Value::Null,
        }
    }

    fn seen(at: u64, place: Spot) -> Sample {
        Sample { at, tid: 1, place }
    }

    /// Spans, places, and begins of the items.
    fn found<'a>(
        runs: &'a [Run<'a>],
        waits: &[&Event],
        samples: &'a [Sample],
    ) -> Vec<(Span, Where<'a>, u64)> {
        let samples: Vec<&Sample> = samples.iter().collect();
        let found = stretches(runs, waits, &samples);
        found
            .iter()
            .map(|s| (s.span, s.place, s.run.span.0))
            .collect()
    }

    #[test]
    fn a_thread_is_where_it_was_seen_last_and_awake_at_both_ends() {
        let runs = [
            run((10, 20), (Some(0), Some(1))),
            run((30, 40), (Some(1), Some(1))),
        ];
        let samples = [
            seen(5, Spot::Asleep("idle".into())),
            seen(12, Spot::Asleep("reads".into())),
            seen(18, Spot::On(1)),
            seen(25, Spot::Asleep("idle".into())),
        ];
        let expected = [
            ((10, 12), Where::On(0), 10),
            ((12, 18), Where::Asleep("reads"), 10),
            ((18, 20), Where::On(1), 10),
            ((30, 40), Where::On(1), 30),
        ];
        assert_eq!(found(&runs, &[], &samples), expected);
    }

    #[test]
    fn an_item_inside_of_another_one_has_its_own_time() {
        let runs = [
            run((10, 40), (Some(0), Some(0))),
            run((20, 30), (Some(0), Some(0))),
        ];
        let expected = [
            ((10, 20), Where::On(0), 10),
            ((20, 30), Where::On(0), 20),
            ((30, 40), Where::On(0), 10),
        ];
        assert_eq!(found(&runs, &[], &[]), expected);
    }

    #[test]
    fn no_sleep_crosses_the_end_of_a_wait() {
        let runs = [run((10, 40), (None, None))];
        let wait = Event {
            from: 20,
            to: 30,
            from_cpu: u32::MAX,
            to_cpu: 3,
            ..Event::default()
        };
        let samples = [seen(22, Spot::Asleep("futex".into()))];
        let expected = [
            ((22, 30), Where::Asleep("futex"), 10),
            ((30, 40), Where::On(3), 10),
        ];
        assert_eq!(found(&runs, &[&wait], &samples), expected);
    }
}
