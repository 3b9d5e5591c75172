//! Where our answers are not the kernel's.

use crate::record::{Edge, Record};
use crate::scenario::{Aspect, Returned, Scenario, Seen};
use crate::trace::Trace;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// How far our times may lie outside what the kernel's runs saw, in milliseconds.
///
/// Ours are exact in virtual time. The kernel's machines were emulated in software: their times
/// are good to some milliseconds, sometimes 10 to 20, and delays count ticks of 4 ms.
const SLACK_MS: f64 = 12.0;

/// What is compared at all.
#[derive(Debug, Clone, Copy)]
pub struct Switches {
    /// Whether misuse is reported where the kernel warns, and only there.
    pub warnings: bool,
    /// When executions start and end. A busy machine keeps no times.
    pub times: bool,
}

/// One answer that is not the kernel's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The scenario.
    pub scenario: String,
    /// Whose answer, and its number among those with a result, from 1; empty if nobody's.
    pub actor: String,
    /// The operation, or what was compared: `order`, `start_order`, `cpus`, `same_worker`,
    /// `peak`, `times`, `warnings`, `end of the script`.
    pub what: String,
    /// The kernel's answer.
    pub kernel: String,
    /// Our answer.
    pub ours: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.scenario)?;
        match self.actor.is_empty() {
            true => f.write_str(&self.what)?,
            false => write!(f, "{} `{}`", self.actor, self.what)?,
        }
        write!(f, ": kernel {}, ours {}", self.kernel, self.ours)
    }
}

/// Compares what the scenario says is worth comparing.
pub fn compare(scenario: &Scenario, record: &Record, switches: Switches) -> Vec<Difference> {
    let mut comparison = Comparison {
        scenario,
        record,
        found: Vec::new(),
    };
    if !record.finished {
        let stuck = record.stuck.as_deref().unwrap_or("stuck");
        comparison.differs("end of the script", "reached", stuck);
    }
    for aspect in &scenario.compare {
        comparison.aspect(*aspect, switches);
    }
    comparison.found
}

struct Comparison<'a> {
    scenario: &'a Scenario,
    record: &'a Record,
    found: Vec<Difference>,
}

impl Comparison<'_> {
    fn aspect(&mut self, aspect: Aspect, switches: Switches) {
        let seen = &self.scenario.observed;
        match aspect {
            Aspect::Returns => self.returns(),
            Aspect::Final => self.last_returns(),
            Aspect::Order => {
                let events = Trace::new(self.scenario).settled().events;
                let settled = (events, self.record.settled.events);
                let ours = self.record.execution_order();
                self.order(aspect.word(), &seen.execution_order, &ours, settled);
            }
            Aspect::StartOrder => {
                let ours = self.record.start_order();
                let settled = (self.starts_of_kernel(), self.starts_of_ours());
                self.order(aspect.word(), &seen.start_order, &ours, settled);
            }
            Aspect::Cpus => self.cpus(),
            Aspect::SameWorker => self.same_worker(),
            Aspect::Peak => {
                let ours = self.record.peak.to_string();
                if let Some(kernel) = seen.peak_concurrency.stable() {
                    self.equal("peak", &kernel.to_string(), &ours);
                }
            }
            Aspect::Times if switches.times => self.times(),
            Aspect::Warnings if switches.warnings => self.warnings(),
            Aspect::Times | Aspect::Warnings => {}
        }
    }

    fn differs(&mut self, what: &str, kernel: &str, ours: &str) {
        self.found.push(Difference {
            scenario: self.scenario.id.clone(),
            actor: String::new(),
            what: what.into(),
            kernel: format!("`{kernel}`"),
            ours: format!("`{ours}`"),
        });
    }

    fn equal(&mut self, what: &str, kernel: &str, ours: &str) {
        if kernel != ours {
            self.differs(what, kernel, ours);
        }
    }

    /// Starts among the events that had surely happened.
    fn starts_of_kernel(&self) -> usize {
        let settled = Trace::new(self.scenario).settled().events;
        let order = self.scenario.observed.execution_order.stable();
        let events = order.map_or(&[][..], |order| &order[..settled.min(order.len())]);
        events.iter().filter(|e| e.ends_with(" start")).count()
    }

    fn starts_of_ours(&self) -> usize {
        let events = &self.record.events[..self.record.settled.events];
        events.iter().filter(|e| e.edge == Edge::Start).count()
    }

    /// Two orders may differ only in how much of the end of the script they still saw.
    fn order(
        &mut self,
        what: &str,
        kernel: &Seen<Vec<String>>,
        ours: &[String],
        settled: (usize, usize),
    ) {
        let Some(kernel) = kernel.stable() else {
            return;
        };
        let pairs = kernel.iter().zip(ours);
        let both = pairs.take_while(|(k, o)| k == o).count();
        let (theirs_left, ours_left) = (&kernel[both..], &ours[both..]);
        let only_theirs_ended = theirs_left.is_empty() && both >= settled.1;
        let only_ours_ended = ours_left.is_empty() && both >= settled.0;
        if only_theirs_ended || only_ours_ended {
            return;
        }
        let name = |left: &[String]| match left.first() {
            Some(event) => format!("`{event}`"),
            None => "nothing more".into(),
        };
        let (kernel, ours) = (name(theirs_left), name(ours_left));
        self.found.push(Difference {
            scenario: self.scenario.id.clone(),
            actor: String::new(),
            what: what.into(),
            kernel: format!("{kernel} as number {}", both + 1),
            ours,
        });
    }

    fn returns(&mut self) {
        let theirs = Trace::new(self.scenario).settled().returns;
        for actor in self.actors() {
            let settled = |of: &BTreeMap<String, usize>| match actor.as_str() {
                "main" => usize::MAX,
                _ => of.get(&actor).copied().unwrap_or(0),
            };
            let surplus = (settled(&theirs), settled(&self.record.settled.returns));
            self.returns_of(&actor, surplus, |_| true);
        }
    }

    /// How often items run is a race here, and so is which CPU they start on, even where three
    /// runs agreed by luck.
    fn last_returns(&mut self) {
        let loose = self.scenario.unstable_fields.iter().any(|f| f == "cpus");
        for actor in self.actors() {
            let is_thread = self.scenario.script.threads.contains_key(actor.as_str());
            let surplus = match is_thread || actor == "main" {
                true => (usize::MAX, usize::MAX),
                false => (0, 0),
            };
            self.returns_of(&actor, surplus, |op| !(loose && op == "cpu"));
        }
    }

    fn actors(&self) -> BTreeSet<String> {
        let kernel = self.scenario.observed.returns.keys();
        kernel.chain(self.record.returns.keys()).cloned().collect()
    }

    /// Compares one actor's results. What only one side has counts if it is among the first
    /// `surplus.0` (the kernel's) or `surplus.1` (ours).
    fn returns_of(&mut self, actor: &str, surplus: (usize, usize), counts: impl Fn(&str) -> bool) {
        let racy = Trace::new(self.scenario).racy();
        let kernel = self.scenario.observed.returns.get(actor);
        let kernel = kernel.map_or(&[][..], Vec::as_slice);
        let ours = self
            .record
            .returns
            .get(actor)
            .map_or(&[][..], Vec::as_slice);
        for at in 0..kernel.len().max(ours.len()) {
            let (k, o) = (kernel.get(at), ours.get(at));
            let number = format!("{actor} op {}", at + 1);
            let found = match (k, o) {
                (Some(k), Some(o)) if k.0 != o.0 => {
                    self.found.push(self.other_op(number, k, o));
                    return;
                }
                (Some(k), Some(o)) => {
                    let race = racy.contains(&(actor.to_string(), at));
                    k.1.stable()
                        .filter(|&result| *result != o.1 && !race)
                        .map(|result| (&k.0, tick(result), tick(&o.1)))
                }
                (Some(k), None) if at < surplus.0 => {
                    Some((&k.0, text(&k.1), "nothing".to_string()))
                }
                (None, Some(o)) if at < surplus.1 => Some((&o.0, "nothing".into(), tick(&o.1))),
                _ => None,
            };
            let found = found.filter(|(op, ..)| counts(op));
            self.found
                .extend(found.map(|(op, kernel, ours)| Difference {
                    scenario: self.scenario.id.clone(),
                    actor: number,
                    what: op.clone(),
                    kernel,
                    ours,
                }));
        }
    }

    /// The two did different things: what comes after cannot be compared.
    fn other_op(
        &self,
        actor: String,
        kernel: &Returned<Seen<String>>,
        ours: &Returned<String>,
    ) -> Difference {
        Difference {
            scenario: self.scenario.id.clone(),
            actor,
            what: kernel.0.clone(),
            kernel: text(&kernel.1),
            ours: format!("did `{}` instead", ours.0),
        }
    }

    fn cpus(&mut self) {
        let ours: BTreeMap<_, _> = self.record.executions.iter().map(place).collect();
        for execution in &self.scenario.observed.executions {
            let (name, cpu) = place(execution);
            let ours = ours.get(&name).map_or("none".into(), u32::to_string);
            self.equal(
                "cpus",
                &format!("{name} on {cpu}"),
                &format!("{name} on {ours}"),
            );
        }
    }

    fn same_worker(&mut self) {
        let ours = self.record.same_worker();
        let Some(kernel) = self.scenario.observed.same_worker.stable() else {
            return;
        };
        for (item, same) in kernel {
            let ours = ours.get(item).map_or("none".into(), bool::to_string);
            self.equal(
                "same_worker",
                &format!("{item} {same}"),
                &format!("{item} {ours}"),
            );
        }
    }

    fn times(&mut self) {
        for (execution, times) in &self.scenario.observed.times_ms {
            self.time(execution, Edge::Start, Some(times.start_ms));
            self.time(execution, Edge::End, times.end_ms);
        }
    }

    fn time(&mut self, execution: &str, edge: Edge, kernel: Option<[f64; 2]>) {
        let Some([least, most]) = kernel else { return };
        let ours = self.record.time(execution, edge);
        let near = |at: f64| at >= least - SLACK_MS && at <= most + SLACK_MS;
        if ours.is_some_and(near) {
            return;
        }
        let event = match edge {
            Edge::Start => format!("{execution} start"),
            Edge::End => format!("{execution} end"),
        };
        let ours = ours.map_or("never".into(), |at| format!("{at:.1} ms"));
        let kernel = format!("{event} {least:.1} to {most:.1} ms");
        self.differs("times", &kernel, &ours);
    }

    /// The kernel's texts mean nothing here: only whether there is a report.
    fn warnings(&mut self) {
        let messages = &self.scenario.observed.kernel_messages;
        let warns = messages.iter().find(|m| m.starts_with("WARN"));
        match (warns, self.record.misuse.first()) {
            (Some(warning), None) => self.differs("warnings", warning, "no report"),
            (None, Some(report)) if messages.is_empty() => {
                self.differs("warnings", "no warning", report);
            }
            _ => {}
        }
    }
}

fn place(execution: &crate::Execution) -> (String, u32) {
    (format!("{}#{}", execution.item, execution.n), execution.cpu)
}

fn tick(result: &str) -> String {
    format!("`{result}`")
}

fn text(result: &Seen<String>) -> String {
    result.stable().map_or("something".into(), |r| tick(r))
}
