//! A run of a scenario, and what comes of it.

use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use cmwq_policy::{Nanos, Time};

use super::build::{Built, build};
use super::model::Model;
use super::report::{
    Counter, CpuReport, DeviceReport, Distances, LockReport, PoolReport, QueueReport, Report, Span,
    ratio,
};
use super::watch::Watch;
use super::world::Group;
use crate::output::Observation;
use crate::{Ended, Machine, Signals, ThreadId};

/// Virtual time after which a run ends that says no duration.
const LONGEST: Nanos = 24 * 3600 * cmwq_policy::time::SECOND;

/// Why a scenario could not be run to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunError(pub String);

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RunError {}

/// What threads have had of the machine so far, all together.
#[derive(Clone, Copy, Default)]
struct Totals {
    busy_ns: Nanos,
    overhead_ns: Nanos,
    waited_ns: Nanos,
    switches: u64,
    preemptions: u64,
    migrations: [u64; 5],
}

/// Runs a scenario from its beginning.
pub(crate) fn run(model: &Model, observation: Option<Rc<Observation>>) -> Result<Report, RunError> {
    let built = build(model);
    let watch = Rc::new(Watch::new(Time(model.warmup), observation));
    built.machine.observe(watch.clone());
    built.machine.keep_trace(false);
    let mut ended = built.run_to(Time(model.warmup), model, &watch)?;
    let before = Totals::of(&built.machine);
    if ended == Ended::TimeUp {
        ended = built.run_to(Time(model.duration.unwrap_or(LONGEST)), model, &watch)?;
    }
    watch.finish(&built.machine);
    let after = Totals::of(&built.machine);
    Ok(built.report(model, &watch, ended, before, after))
}

impl Totals {
    fn of(machine: &Machine) -> Totals {
        let mut totals = Totals::default();
        for cpu in 0..machine.topology().len() {
            totals.busy_ns += machine.cpu_stats(cpu).busy_ns;
        }
        for id in (0..machine.nr_threads()).map(|id| ThreadId(id as u32)) {
            let stats = machine.thread_stats(id);
            totals.overhead_ns += stats.overhead_ns;
            if !machine.is_idle_class(id) {
                totals.waited_ns += stats.waited_ns;
            }
            totals.switches += stats.voluntary_switches + stats.involuntary_switches;
            totals.preemptions += stats.involuntary_switches;
            for (sum, n) in totals.migrations.iter_mut().zip(stats.moves) {
                *sum += n;
            }
        }
        totals
    }
}

impl Built {
    fn run_to(&self, until: Time, model: &Model, watch: &Watch) -> Result<Ended, RunError> {
        let has_main = model.threads.iter().any(|thread| thread.main);
        let is_over = || has_main && self.world.owners.iter().all(|o| !o.main || o.done.get());
        let ended = self.machine.run_while(until, |machine| {
            watch.instant(machine);
            !self.world.is_in_trouble() && !is_over()
        });
        match self.world.trouble() {
            Some(trouble) => Err(RunError(trouble)),
            None => Ok(ended),
        }
    }

    fn report(
        &self,
        model: &Model,
        watch: &Watch,
        ended: Ended,
        before: Totals,
        after: Totals,
    ) -> Report {
        let machine = &self.machine;
        let measured_ns = machine.now().0.saturating_sub(model.warmup);
        Report {
            cell: BTreeMap::new(),
            seed: model.options.seed,
            ended: match ended {
                Ended::TimeUp => "time",
                Ended::Stopped => "main",
                Ended::Quiet => "quiet",
            }
            .to_owned(),
            virtual_ns: machine.now().0,
            measured_ns,
            counters: self.counters(model, measured_ns),
            spans: self.spans(model),
            cpu: cpu(machine, watch, measured_ns, before, after),
            queues: self.queues(model),
            pools: pools(machine, watch),
            locks: self.locks(),
            devices: self.devices(),
            signals: match model.options.signals {
                Signals::Exact => None,
                Signals::User(_) => Some(machine.signal_stats().into()),
            },
            stuck: self.stuck(ended),
            spawn_failures: machine.spawn_failures(),
            troubles: machine.reports().len() as u64,
        }
    }

    fn counters(&self, model: &Model, measured: Nanos) -> BTreeMap<String, Counter> {
        let tally = self.world.tally.borrow();
        let counter = |&total: &u64| Counter {
            total,
            per_second: ratio(total, measured) * 1e9,
        };
        let values = tally.counters.iter().map(counter);
        model.counters.iter().cloned().zip(values).collect()
    }

    fn spans(&self, model: &Model) -> BTreeMap<String, Span> {
        let mut tally = self.world.tally.borrow_mut();
        let spans = tally.spans.iter_mut().map(|times| Span::of(times));
        model.spans.iter().cloned().zip(spans).collect()
    }

    fn queues(&self, model: &Model) -> BTreeMap<String, QueueReport> {
        let mut tally = self.world.tally.borrow_mut();
        let reports = tally.queues.iter_mut().map(|queue| {
            let from = Distances::of(queue.executions);
            QueueReport {
                executions: from.total(),
                local: ratio(from.in_llc(), from.total()),
                from,
                wait: Span::of(&mut queue.waits),
                refused: queue.refused,
            }
        });
        let names = model.queues.iter().map(|many| many.name.clone());
        names.zip(reports).collect()
    }

    fn locks(&self) -> BTreeMap<String, LockReport> {
        by_name(&self.world.locks, |report: &mut LockReport, id| {
            let stats = self.machine.lock_stats(id);
            report.acquired += stats.acquired;
            report.contended += stats.contended;
            report.max_waiters = report.max_waiters.max(stats.max_waiters);
            report.held_ns += stats.held_ns;
            report.waited_ns += stats.waited_ns;
        })
    }

    fn devices(&self) -> BTreeMap<String, DeviceReport> {
        by_name(&self.world.devices, |report: &mut DeviceReport, id| {
            let stats = self.machine.device_stats(id);
            report.served += stats.served;
            report.bytes += stats.bytes;
            report.active_ns += stats.active_ns;
            report.max_queued = report.max_queued.max(stats.max_queued);
        })
    }

    fn stuck(&self, ended: Ended) -> Vec<String> {
        let owners = self.world.owners.iter();
        let left = owners.filter(|owner| ended == Ended::Quiet && !owner.done.get());
        left.map(|owner| owner.name.clone()).collect()
    }
}

/// Reports by group, each of all that the group has.
fn by_name<T: Copy, R: Default>(
    groups: &[Group<T>],
    add: impl Fn(&mut R, T),
) -> BTreeMap<String, R> {
    let report = |group: &Group<T>| {
        let mut report = R::default();
        group.ids.iter().for_each(|&id| add(&mut report, id));
        (group.name.clone(), report)
    };
    groups.iter().map(report).collect()
}

fn cpu(
    machine: &Machine,
    watch: &Watch,
    measured: Nanos,
    before: Totals,
    after: Totals,
) -> CpuReport {
    let cpus = machine.topology().len();
    let busy_ns = after.busy_ns - before.busy_ns;
    let mut migrations = after.migrations;
    for (after, before) in migrations.iter_mut().zip(before.migrations) {
        *after -= before;
    }
    CpuReport {
        cpus,
        utilisation: ratio(busy_ns, measured * cpus as u64),
        busy_ns,
        overhead_ns: after.overhead_ns - before.overhead_ns,
        waited_ns: after.waited_ns - before.waited_ns,
        switches: after.switches - before.switches,
        preemptions: after.preemptions - before.preemptions,
        migrations: Distances::of(migrations),
        worker_wakes: watch.worker_wakes.get(),
    }
}

fn pools(machine: &Machine, watch: &Watch) -> Vec<PoolReport> {
    let report = |number: usize| {
        let id = crate::PoolId(number as u32);
        let stats = machine.pool_stats(id);
        PoolReport {
            pool: id.0,
            rule: format!("{:?}", machine.pool_rule(id)).to_lowercase(),
            cpus: machine.pool_cpus(id).to_string(),
            executions: stats.started,
            claimed: stats.claimed,
            max_workers: stats.peak_workers,
            max_blocked: watch.max_blocked(number),
            convoys: stats.growth.convoys,
            probes: stats.growth.probes,
            undone: stats.growth.undone,
        }
    };
    (0..machine.nr_pools()).map(report).collect()
}
