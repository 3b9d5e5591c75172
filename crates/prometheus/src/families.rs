//! Which metrics there are, and where a snapshot has their values.

use std::fmt::Result;

use cmwq_stats::{Pool, Queue, Snapshot};
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

/// What a snapshot counts in nanoseconds is a metric in seconds.
const NANOS: f64 = 1e9;
/// The finest bucket of a histogram ends at 2^10 ns; shorter times are in it as well.
const FINEST: usize = 10;
/// The coarsest one but `+Inf` ends at 2^36 ns.
const COARSEST: usize = 36;

/// A gauge or a counter of each `T`: its name, what it says, and its value.
type Number<T> = (&'static str, &'static str, fn(&T) -> u64);

const QUEUE_GAUGES: [Number<Queue>; 6] = [
    ("max_active", "Items that may hold a slot", |q| {
        q.max_active.into()
    }),
    ("active", "Items that hold a slot", |q| q.active),
    ("executing", "Items that are being executed", |q| {
        q.executing
    }),
    ("inactive", "Items and barriers that wait for a slot", |q| {
        q.inactive
    }),
    ("waiting", "Items that have not begun", Queue::waiting),
    ("sysfs", "1 if `cmwq set` may change the queue", |q| {
        q.sysfs.into()
    }),
];

const QUEUE_COUNTERS: [Number<Queue>; 6] = [
    ("started", "Items begun", |q| q.started),
    ("completed", "Items ended", |q| q.completed),
    (
        "cpu_intensive",
        "Executions that kept a CPU for long without sleeping",
        |q| q.cpu_intensive,
    ),
    (
        "cm_wakeup",
        "Workers started because a CPU would idle or an item blocked",
        |q| q.cm_wakeup,
    ),
    ("mayday", "Calls for the rescuer", |q| q.mayday),
    ("rescued", "Items that the rescuer began", |q| q.rescued),
];

const POOL_GAUGES: [Number<Pool>; 5] = [
    (
        "target_workers",
        "Workers that the pool keeps runnable",
        |p| p.target.into(),
    ),
    ("workers", "Threads of the pool", |p| p.workers.into()),
    ("idle_workers", "Threads of the pool that are parked", |p| {
        p.idle.into()
    }),
    ("running_workers", "Workers that count as runnable", |p| {
        p.running.into()
    }),
    ("queued", "Items that a worker may take", |p| p.queued),
];

const POOL_COUNTERS: [Number<Pool>; 5] = [
    (
        "canary_starts",
        "Workers started by the report of an idle CPU",
        |p| p.canary_starts,
    ),
    (
        "tick_starts",
        "Workers started by a look at the others",
        |p| p.tick_starts,
    ),
    (
        "step_backs",
        "Workers that went idle as they had to wait for a CPU",
        |p| p.step_backs,
    ),
    (
        "convoy_step_backs",
        "Workers that went idle as others queued up at one lock",
        |p| p.convoy_step_backs,
    ),
    (
        "repatriated",
        "Workers brought to where items waited",
        |p| p.repatriated,
    ),
];

/// Labels and their values.
type Labels<'a> = Vec<(&'static str, String)>;

pub(crate) fn encode(snapshot: &Snapshot, to: &mut DescriptorEncoder) -> Result {
    let cpus = ConstGauge::new(u64::from(snapshot.cpus));
    let help = "CPUs that items can keep busy";
    cpus.encode(to.encode_descriptor("cmwq_cpus", help, None, MetricType::Gauge)?)?;
    queues(&snapshot.queues, to)?;
    pools(&snapshot.pools, to)
}

fn queues(queues: &[Queue], to: &mut DescriptorEncoder) -> Result {
    numbers(
        "cmwq_queue",
        MetricType::Gauge,
        &QUEUE_GAUGES,
        queues,
        of_queue,
        to,
    )?;
    numbers(
        "cmwq_queue",
        MetricType::Counter,
        &QUEUE_COUNTERS,
        queues,
        of_queue,
        to,
    )?;
    let help = "Items that have not begun, by what they lack";
    let mut metric = to.encode_descriptor("cmwq_queue_waits", help, None, MetricType::Gauge)?;
    for queue in queues {
        for wait in &queue.waits {
            let mut labels = of_queue(queue);
            labels.push(("reason", wait.why.clone()));
            one(&mut metric, &labels, &ConstGauge::new(wait.items))?;
        }
    }
    let help = "How long items waited from being queued to their begin";
    histogram(
        "cmwq_queue_wait",
        help,
        queues,
        |q| (&q.waited, q.waited_ns),
        to,
    )?;
    let help = "How long executions took, sleep included";
    histogram("cmwq_queue_run", help, queues, |q| (&q.ran, q.ran_ns), to)
}

fn pools(pools: &[Pool], to: &mut DescriptorEncoder) -> Result {
    numbers(
        "cmwq_pool",
        MetricType::Gauge,
        &POOL_GAUGES,
        pools,
        of_pool,
        to,
    )?;
    numbers(
        "cmwq_pool",
        MetricType::Counter,
        &POOL_COUNTERS,
        pools,
        of_pool,
        to,
    )?;
    let help = "Decisions about starting a worker, by what asked and what was decided";
    let mut metric =
        to.encode_descriptor("cmwq_pool_decisions", help, None, MetricType::Counter)?;
    for pool in pools {
        for decision in &pool.decisions {
            let mut labels = of_pool(pool);
            labels.push(("cause", decision.cause.clone()));
            labels.push(("outcome", decision.outcome.clone()));
            one(&mut metric, &labels, &ConstCounter::new(decision.times))?;
        }
    }
    Ok(())
}

fn of_queue(queue: &Queue) -> Labels<'_> {
    let id = queue.id.to_string();
    vec![
        ("queue", queue.name.clone()),
        ("kind", queue.kind.clone()),
        ("id", id),
    ]
}

fn of_pool(pool: &Pool) -> Labels<'_> {
    let (id, nice) = (pool.id.to_string(), pool.nice.to_string());
    vec![("pool", id), ("kind", pool.kind.clone()), ("nice", nice)]
}

fn one(metric: &mut MetricEncoder, labels: &Labels, value: &impl EncodeMetric) -> Result {
    value.encode(metric.encode_family(&labels.as_slice())?)
}

fn numbers<T>(
    of: &str,
    sort: MetricType,
    numbers: &[Number<T>],
    all: &[T],
    labels: fn(&T) -> Labels<'_>,
    to: &mut DescriptorEncoder,
) -> Result {
    for (name, help, value) in numbers {
        let name = format!("{of}_{name}");
        let mut metric = to.encode_descriptor(&name, help, None, sort)?;
        for each in all {
            match sort {
                MetricType::Counter => {
                    one(&mut metric, &labels(each), &ConstCounter::new(value(each)))?;
                }
                _ => one(&mut metric, &labels(each), &ConstGauge::new(value(each)))?,
            }
        }
    }
    Ok(())
}

fn histogram(
    name: &str,
    help: &str,
    queues: &[Queue],
    times: fn(&Queue) -> (&[u64], u64),
    to: &mut DescriptorEncoder,
) -> Result {
    let unit = Unit::Seconds;
    let mut metric = to.encode_descriptor(name, help, Some(&unit), MetricType::Histogram)?;
    for queue in queues {
        let (counts, sum) = times(queue);
        let buckets = buckets(counts);
        let count = buckets.iter().map(|(_, items)| items).sum();
        let labels = of_queue(queue);
        metric
            .encode_family(&labels.as_slice())?
            .encode_histogram::<NoLabelSet>(sum as f64 / NANOS, count, &buckets, None)?;
    }
    Ok(())
}

/// The upper end of each bucket in seconds, and what is in it. Bucket `n` of a snapshot has the
/// times below 2^n ns.
fn buckets(counts: &[u64]) -> Vec<(f64, u64)> {
    let sum = |range: &[u64]| range.iter().sum::<u64>();
    let end = counts.len().min(COARSEST + 1);
    let (fine, rest) = counts[..end].split_at(end.min(FINEST + 1));
    let mut buckets = vec![(upper(FINEST), sum(fine))];
    let middle = rest.iter().enumerate();
    buckets.extend(middle.map(|(n, items)| (upper(FINEST + 1 + n), *items)));
    buckets.push((f64::INFINITY, sum(&counts[end..])));
    buckets
}

fn upper(bucket: usize) -> f64 {
    (1_u64 << bucket) as f64 / NANOS
}

#[cfg(test)]
mod tests {
    use cmwq_stats::{Decision, WaitReason};
    use prometheus_client::collector::Collector;
    use prometheus_client::encoding::text;
    use prometheus_client::registry::Registry;

    use super::*;

    #[derive(Debug)]
    struct Shown(Snapshot);

    impl Collector for Shown {
        fn encode(&self, mut to: DescriptorEncoder) -> Result {
            super::encode(&self.0, &mut to)
        }
    }

    fn text_of(snapshot: Snapshot) -> String {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Shown(snapshot)));
        let mut out = String::new();
        text::encode(&mut out, &registry).unwrap();
        out
    }

    fn times(at: &[(usize, u64)]) -> Vec<u64> {
        let mut counts = vec![0; 40];
        at.iter()
            .for_each(|&(bucket, items)| counts[bucket] = items);
        counts
    }

    fn queue(id: u64) -> Queue {
        Queue {
            id,
            name: "a \"b\"\nc\\".into(),
            kind: "managed".into(),
            waits: vec![WaitReason {
                items: 3,
                why: "no slot".into(),
            }],
            started: 9,
            waited: times(&[(0, 1), (10, 1), (11, 2), (36, 1), (37, 1), (39, 1)]),
            waited_ns: 1_500_000_000,
            ..Queue::default()
        }
    }

    #[test]
    fn buckets_add_up_and_end_at_powers_of_two() {
        let text = text_of(Snapshot {
            queues: vec![queue(7)],
            ..Snapshot::default()
        });
        let labels = r#"queue="a \"b\"\nc\\",kind="managed",id="7""#;
        for (le, items) in [
            ("1.024e-6", 2),
            ("2.048e-6", 4),
            ("34.359738368", 4),
            ("68.719476736", 5),
            ("+Inf", 7),
        ] {
            let number = |line: &str| {
                let rest = line.strip_prefix("cmwq_queue_wait_seconds_bucket{")?;
                let (found, value) = rest.rsplit_once("} ")?;
                let le_found = found.split_once("le=\"")?.1.split_once('"')?.0;
                let same = match (le_found, le) {
                    ("+Inf", _) | (_, "+Inf") => le_found == le,
                    _ => le_found.parse::<f64>().ok()? == le.parse::<f64>().ok()?,
                };
                (same && found.contains(labels)).then(|| value.parse::<u64>().unwrap())
            };
            assert_eq!(text.lines().find_map(number), Some(items), "{le}: {text}");
        }
        for line in [
            format!("cmwq_queue_wait_seconds_sum{{{labels}}} 1.5"),
            format!("cmwq_queue_wait_seconds_count{{{labels}}} 7"),
            format!("cmwq_queue_started_total{{{labels}}} 9"),
            format!("cmwq_queue_waiting{{{labels}}} 3"),
            format!("cmwq_queue_waits{{{labels},reason=\"no slot\"}} 3"),
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
    }

    #[test]
    fn nothing_is_said_twice_of_queues_with_one_name() {
        let decision = |outcome: &str| Decision {
            times: 2,
            outcome: outcome.into(),
            ..Decision::default()
        };
        let pool = |id| Pool {
            id,
            decisions: vec![decision("woken"), decision("created")],
            ..Pool::default()
        };
        let text = text_of(Snapshot {
            queues: vec![queue(1), queue(2)],
            pools: vec![pool(0), pool(1)],
            ..Snapshot::default()
        });
        let samples = text.lines().filter(|line| !line.starts_with('#'));
        let mut series: Vec<_> = samples
            .map(|line| line.rsplit_once(' ').unwrap().0)
            .collect();
        let all = series.len();
        series.sort_unstable();
        series.dedup();
        assert_eq!(series.len(), all);
        assert!(all > 100, "{text}");
        assert!(text.ends_with("# EOF\n"));
    }

    #[test]
    fn a_snapshot_without_histograms_has_empty_ones() {
        assert!(buckets(&[]).iter().all(|(_, items)| *items == 0));
        assert_eq!(buckets(&[1; 5])[0].1, 5);
    }
}
