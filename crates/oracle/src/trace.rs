//! What the trace of the kernel's first run says about races: which answers hung on who was
//! faster, and what had surely happened before the script ended.

use crate::op::{Awaited, Call, ItemCall, Name, Op, Step};
use crate::record::Settled;
use crate::scenario::Scenario;
use std::collections::BTreeSet;
use std::ops::Range;

/// One line of a trace.
#[derive(Debug, PartialEq, Eq)]
enum Line<'a> {
    /// An execution started.
    Start(&'a str),
    /// An execution ended.
    End(&'a str),
    /// An operation began.
    Began { actor: &'a str, op: &'a str },
    /// An operation is over.
    Over {
        actor: &'a str,
        op: &'a str,
        result: Option<&'a str>,
    },
}

impl<'a> Line<'a> {
    fn parse(text: &'a str) -> Line<'a> {
        let Some((actor, rest)) = text.split_once(": ") else {
            return match text.strip_suffix(" end") {
                Some(execution) => Line::End(execution),
                None => Line::Start(text.trim_end_matches(" start")),
            };
        };
        if let Some(op) = rest.strip_suffix(" ...") {
            return Line::Began { actor, op };
        }
        let (op, result) = match rest.split_once(" -> ") {
            Some((op, result)) => (op, Some(result)),
            None => (rest, None),
        };
        Line::Over { actor, op, result }
    }

    /// The operation of `of` that this line is about, and whether it is over.
    fn op_of(&self, of: &str) -> Option<(&'a str, bool)> {
        match *self {
            Line::Began { actor, op } if actor == of => Some((op, false)),
            Line::Over { actor, op, .. } if actor == of => Some((op, true)),
            _ => None,
        }
    }

    fn result_of(&self, of: &str) -> Option<&'a str> {
        match *self {
            Line::Over { actor, result, .. } if actor == of => result,
            _ => None,
        }
    }
}

/// The trace of the first run beside the script.
pub(crate) struct Trace<'a> {
    scenario: &'a Scenario,
    lines: Vec<Line<'a>>,
}

/// Where the operations of a body stand in the trace; sleeping leaves no line.
type CpuPairs = Vec<Option<Range<usize>>>;

impl<'a> Trace<'a> {
    pub(crate) fn new(scenario: &'a Scenario) -> Trace<'a> {
        let lines = scenario.observed.trace.iter();
        Trace {
            scenario,
            lines: lines.map(|line| Line::parse(line)).collect(),
        }
    }

    /// What the kernel had recorded when the main thread last waited for something.
    pub(crate) fn settled(&self) -> Settled {
        let body = &self.scenario.script.main;
        let places = self.places("main", body);
        let settles = |&at: &usize| body[at].op.settles() || self.waited(&body[at], &places[at]);
        let last = (0..body.len()).rev().find(settles);
        let until = last.map_or(0, |at| self.over(&places, at));
        let before = &self.lines[..until];
        let mut settled = Settled::default();
        for line in before {
            match line {
                Line::Start(_) | Line::End(_) => settled.events += 1,
                Line::Over {
                    actor,
                    result: Some(_),
                    ..
                } => *settled.returns.entry(actor.to_string()).or_default() += 1,
                _ => {}
            }
        }
        settled
    }

    /// Whether what an operation may wait for came while it was under way.
    fn waited(&self, step: &Step, place: &Option<Range<usize>>) -> bool {
        let (Some(awaited), Some(place)) = (step.op.waits_for(), place) else {
            return false;
        };
        self.lines[place.clone()].iter().any(|line| match awaited {
            Awaited::Thread(thread) => line.op_of(thread).is_some(),
            Awaited::Item(item) => match line {
                Line::End(execution) => execution.split('#').next() == Some(item),
                _ => false,
            },
        })
    }

    /// The results, by actor and number, that were asked for while an item that had just been
    /// queued was about to start.
    pub(crate) fn racy(&self) -> BTreeSet<(String, usize)> {
        let script = &self.scenario.script;
        let threads = script.threads.iter().map(|(name, t)| (&**name, &t.body));
        let actors = threads.chain([("main", &script.main)]);
        actors
            .flat_map(|(actor, body)| self.racy_of(actor, body))
            .collect()
    }

    fn racy_of(&self, actor: &str, body: &[Step]) -> Vec<(String, usize)> {
        let places = self.places(actor, body);
        let queueing = body.iter().enumerate().filter(|(_, s)| is_immediate(&s.op));
        let observers = queueing.flat_map(|(at, step)| {
            let item = step.op.queues();
            let item = item.filter(|item| self.starts(actor, body, &places, at, item));
            item.map_or(Vec::new(), |item| observers(body, at, item))
        });
        let numbers = observers.filter_map(|at| {
            let place = places[at].as_ref()?;
            let before = self.lines[..place.end - 1].iter();
            Some(before.filter(|l| l.result_of(actor).is_some()).count())
        });
        numbers.map(|number| (actor.to_string(), number)).collect()
    }

    /// Whether `item`, queued by operation `at`, started before `actor` waited for something or
    /// let others go on.
    fn starts(
        &self,
        actor: &str,
        body: &[Step],
        places: &CpuPairs,
        at: usize,
        item: &Name,
    ) -> bool {
        let Some(place) = &places[at] else {
            return false;
        };
        if self.lines[place.end - 1].result_of(actor) != Some("true") {
            return false;
        }
        let before = places[..at].iter().flatten().next_back();
        let from = before.map_or(0, |place| place.end);
        let stop = |step: &Step| step.op.settles() || matches!(step.op, Op::Open(_));
        let later = body[at + 1..].iter().position(stop);
        let until = later.map_or(self.lines.len(), |more| self.over(places, at + 1 + more));
        self.lines[from..until.max(from)]
            .iter()
            .any(|line| match line {
                Line::Start(execution) => execution.split('#').next() == Some(item),
                _ => false,
            })
    }

    /// The line by which operation `at` is over: its last one, or else the next that is known.
    fn over(&self, places: &CpuPairs, at: usize) -> usize {
        match &places[at] {
            Some(place) => place.end,
            None => {
                let next = places[at..].iter().flatten().next();
                next.map_or(self.lines.len(), |place| place.start)
            }
        }
    }

    fn places(&self, actor: &str, body: &[Step]) -> CpuPairs {
        let mut places: CpuPairs = vec![None; body.len()];
        let mut at = 0;
        for (number, line) in self.lines.iter().enumerate() {
            let Some((op, over)) = line.op_of(actor) else {
                continue;
            };
            let Some(more) = body[at..].iter().position(|step| &*step.text == op) else {
                continue;
            };
            at += more;
            let start = places[at].as_ref().map_or(number, |place| place.start);
            places[at] = Some(start..number + 1);
            at += usize::from(over);
        }
        places
    }
}

/// Whether what is queued may start at once.
fn is_immediate(op: &Op) -> bool {
    match op {
        Op::Call(Call::QueueDelayedWork(later) | Call::ModDelayedWork(later)) => later.delay == 0,
        _ => op.queues().is_some(),
    }
}

/// The operations after `at` that look at `item`, until the next one that waits.
fn observers(body: &[Step], at: usize, item: &Name) -> Vec<usize> {
    let after = body.iter().enumerate().skip(at + 1);
    let window = after.take_while(|(_, step)| !step.op.settles());
    let looks = window.filter(|(_, step)| match &step.op {
        Op::Executions(of) | Op::MaxOverlap(of) => of == item,
        Op::RunningNow(prefix) => item.starts_with(&**prefix),
        Op::Call(Call::Item(call, of)) => of == item && is_look(*call),
        _ => false,
    });
    looks.map(|(at, _)| at).collect()
}

fn is_look(call: ItemCall) -> bool {
    use ItemCall::{DelayedWorkPending, TimerPending, WorkBusy, WorkPending};
    matches!(
        call,
        WorkBusy | WorkPending | DelayedWorkPending | TimerPending
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_apart() {
        let of = |text| Line::parse(text);
        assert_eq!(of("a#1 start"), Line::Start("a#1"));
        assert_eq!(of("a#1 end"), Line::End("a#1"));
        let (actor, op) = ("a#1", "wait g");
        assert_eq!(of("a#1: wait g ..."), Line::Began { actor, op });
        let result = None;
        assert_eq!(of("a#1: wait g"), Line::Over { actor, op, result });
        let (actor, op, result) = ("main", "read global:cpumask", Some("f"));
        assert_eq!(
            of("main: read global:cpumask -> f"),
            Line::Over { actor, op, result }
        );
    }
}
