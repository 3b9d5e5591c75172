//! What each view has as columns and rows.

use std::collections::{BTreeMap, BTreeSet};

use cmwq_os::observe::TaskState;
use cmwq_stats::{Lately, Pool, Queue, Worker};

use super::super::target::Seen;
use super::super::text::{percent, rate};
use super::super::words::{clean, item_name, short};
use super::look::Look;
use super::table::{Cell, Column, Key, Order, Row};

/// CPUs of one list, and lanes; a hostile list could name billions.
const MOST_CPUS: u32 = 4096;
/// Threads that a lane names.
const MOST_NAMED: usize = 16;

/// A view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    Queues,
    Pools,
    Cpus,
    Functions,
    Children,
}

const fn column(title: &'static str, width: u16) -> Column {
    Column {
        title,
        width,
        wide: false,
    }
}

const fn wide(title: &'static str, width: u16) -> Column {
    Column {
        title,
        width,
        wide: true,
    }
}

const QUEUES: [Column; 17] = [
    wide("QUEUE", 16),
    column("KIND", 9),
    column("MAX", 4),
    column("ACT", 5),
    column("RUN", 5),
    column("WAIT", 6),
    column("RATE", 6),
    column("WAIT50", 6),
    column("WAIT99", 6),
    column("RUN50", 6),
    column("RUN99", 6),
    column("STARTED", 7),
    column("DONE", 7),
    column("CPUHOG", 6),
    column("CMWAKE", 6),
    column("MAYDAY", 6),
    column("RESCUED", 7),
];
const POOLS: [Column; 15] = [
    column("POOL", 4),
    column("KIND", 9),
    wide("CPUS", 8),
    column("NICE", 4),
    column("TARGET", 6),
    column("WORKERS", 7),
    column("RUNNING", 7),
    column("BLOCKED", 7),
    column("IDLE", 5),
    column("QUEUED", 6),
    column("CANARY", 6),
    column("TICK", 6),
    column("BACK", 6),
    column("CONVOY", 6),
    column("REPAT", 6),
];
const CPUS: [Column; 4] = [
    column("CPU", 5),
    column("RUN", 5),
    column("SLEEP", 5),
    wide("EXECUTE", 40),
];
const FUNCTIONS: [Column; 8] = [
    wide("FUNCTION", 30),
    column("RUN", 6),
    column("LONGEST", 7),
    column("SHORTEST", 8),
    column("CPU%", 5),
    column("ENDED", 6),
    column("MOST", 6),
    column("QUEUE", 20),
];
const CHILDREN: [Column; 5] = [
    column("PID", 7),
    column("AGE", 7),
    column("COMPUTED", 8),
    column("DOING", 32),
    wide("COMMAND", 20),
];

impl View {
    pub(super) const ALL: [View; 5] = [
        View::Queues,
        View::Pools,
        View::Cpus,
        View::Functions,
        View::Children,
    ];

    pub(super) fn title(self) -> &'static str {
        match self {
            View::Queues => "queues",
            View::Pools => "pools",
            View::Cpus => "CPUs",
            View::Functions => "functions",
            View::Children => "processes",
        }
    }

    pub(super) fn columns(self) -> &'static [Column] {
        match self {
            View::Queues => &QUEUES,
            View::Pools => &POOLS,
            View::Cpus => &CPUS,
            View::Functions => &FUNCTIONS,
            View::Children => &CHILDREN,
        }
    }

    /// Until somebody asks for another one: what waits most, or runs most, comes first.
    pub(super) fn usual_order(self) -> Order {
        let (column, descends) = match self {
            View::Queues => (5, true),
            View::Pools | View::Cpus => (0, false),
            View::Functions | View::Children => (1, true),
        };
        Order { column, descends }
    }

    /// In the order of the page.
    pub(super) fn rows(self, look: &Look, before: Option<&Seen>) -> Vec<Row> {
        let snapshot = &look.seen.snapshot;
        match self {
            View::Queues => {
                let of = |queue| of_queue(queue, &look.seen, before);
                snapshot.queues.iter().map(of).collect()
            }
            View::Pools => snapshot.pools.iter().map(of_pool).collect(),
            View::Cpus => lanes(look).into_iter().map(of_lane).collect(),
            View::Functions => functions(&look.seen).into_iter().map(of_function).collect(),
            View::Children => look.children.iter().map(of_child).collect(),
        }
    }
}

fn text(text: &str) -> Cell {
    Cell::Text(clean(text))
}

fn of_queue(queue: &Queue, seen: &Seen, before: Option<&Seen>) -> Row {
    let cells = vec![
        text(&queue.name),
        text(&queue.kind),
        Cell::Count(queue.max_active.into()),
        Cell::Count(queue.active),
        Cell::Count(queue.executing),
        Cell::Count(queue.waiting()),
        Cell::Rate(before.and_then(|before| rate(queue, before, seen))),
        Cell::Below(queue.waited(50)),
        Cell::Below(queue.waited(99)),
        Cell::Below(queue.ran(50)),
        Cell::Below(queue.ran(99)),
        Cell::Count(queue.started),
        Cell::Count(queue.completed),
        Cell::Count(queue.cpu_intensive),
        Cell::Count(queue.cm_wakeup),
        Cell::Count(queue.mayday),
        Cell::Count(queue.rescued),
    ];
    Row {
        key: Key::Number(queue.id),
        cells,
    }
}

fn of_pool(pool: &Pool) -> Row {
    let awake = pool.idle.saturating_add(pool.running);
    let cells = vec![
        Cell::Count(pool.id.into()),
        text(&pool.kind),
        text(&pool.cpus),
        Cell::Signed(pool.nice.into()),
        Cell::Count(pool.target.into()),
        Cell::Count(pool.workers.into()),
        Cell::Count(pool.running.into()),
        Cell::Count(pool.workers.saturating_sub(awake).into()),
        Cell::Count(pool.idle.into()),
        Cell::Count(pool.queued),
        Cell::Count(pool.canary_starts),
        Cell::Count(pool.tick_starts),
        Cell::Count(pool.step_backs),
        Cell::Count(pool.convoy_step_backs),
        Cell::Count(pool.repatriated),
    ];
    Row {
        key: Key::Number(pool.id.into()),
        cells,
    }
}

/// Workers by the CPU that they ran on last, with an empty lane for each idle CPU of a pool.
pub(super) fn lanes(look: &Look) -> BTreeMap<u32, Vec<(&Worker, TaskState)>> {
    let pools = &look.seen.snapshot.pools;
    let mut lanes: BTreeMap<u32, Vec<_>> = BTreeMap::new();
    for cpu in Cpus::of(pools.iter().map(|pool| pool.cpus.as_str())).iter() {
        lanes.entry(cpu).or_default();
    }
    for worker in pools.iter().flat_map(|pool| &pool.busy) {
        if let Some(thread) = look.threads.get(&worker.tid) {
            lanes
                .entry(thread.cpu)
                .or_default()
                .push((worker, thread.state));
        }
    }
    lanes
}

fn of_lane((cpu, mut workers): (u32, Vec<(&Worker, TaskState)>)) -> Row {
    let runs = |state: &TaskState| *state == TaskState::Runnable;
    let running = workers.iter().filter(|(_, state)| runs(state)).count();
    workers.sort_by_key(|(worker, state)| (!runs(state), std::cmp::Reverse(worker.since)));
    let named = workers.iter().take(MOST_NAMED).map(|(worker, state)| {
        let verb = if runs(state) { "" } else { "asleep: " };
        format!("{verb}{} {}", item_name(&worker.item), short(worker.since))
    });
    let named: Vec<String> = named.collect();
    let cells = vec![
        Cell::Count(cpu.into()),
        Cell::Count(running as u64),
        Cell::Count((workers.len() - running) as u64),
        Cell::Text(named.join("; ")),
    ];
    Row {
        key: Key::Number(cpu.into()),
        cells,
    }
}

/// A set of CPUs, as bits.
struct Cpus(Vec<u64>);

impl Cpus {
    /// Those of any of these lists, such as `0-3,6`. What is no number is left out.
    fn of<'a>(lists: impl Iterator<Item = &'a str>) -> Cpus {
        let mut bits = vec![0; (MOST_CPUS / 64) as usize];
        for part in lists.flat_map(|list| list.split(',')) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (first.trim().parse::<u32>(), last.trim().parse::<u32>());
            if let (Ok(first), Ok(last)) = (first, last) {
                Cpus::add(&mut bits, first, last.min(MOST_CPUS - 1));
            }
        }
        Cpus(bits)
    }

    /// By words: a hostile page has millions of long ranges.
    fn add(bits: &mut [u64], first: u32, last: u32) {
        if first > last {
            return;
        }
        let (from, to) = ((first / 64) as usize, (last / 64) as usize);
        for (at, word) in bits.iter_mut().enumerate().take(to + 1).skip(from) {
            let low = if at == from { first % 64 } else { 0 };
            let high = if at == to { last % 64 } else { 63 };
            *word |= (u64::MAX << low) & (u64::MAX >> (63 - high));
        }
    }

    fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..MOST_CPUS).filter(|cpu| self.0[(cpu / 64) as usize] >> (cpu % 64) & 1 == 1)
    }
}

/// What is known of a function.
#[derive(Default)]
struct Function<'a> {
    executed: u64,
    longest: Option<u64>,
    shortest: Option<u64>,
    /// Lately, of a CPU, in percent.
    cpu: u64,
    ended: u64,
    most: Option<u64>,
    queues: BTreeSet<&'a str>,
}

impl<'a> Function<'a> {
    /// `worker` executes it.
    fn add_worker(&mut self, worker: &'a Worker) {
        self.executed += 1;
        self.longest = self.longest.max(Some(worker.since));
        let shortest = self.shortest.unwrap_or(u64::MAX);
        self.shortest = Some(worker.since.min(shortest));
        self.queues.insert(&worker.queue_name);
    }

    fn add_lately(&mut self, had: &'a Lately, seen: &Seen) {
        self.cpu = self.cpu.saturating_add(percent(had, seen));
        self.ended = self.ended.saturating_add(had.items);
        self.most = self.most.max(Some(had.most_ns));
        self.queues.insert(&had.queue_name);
    }
}

/// The functions of items that are being executed, or have ended lately, by name.
fn functions(seen: &Seen) -> BTreeMap<&str, Function<'_>> {
    let mut by_name: BTreeMap<&str, Function> = BTreeMap::new();
    for worker in seen.snapshot.pools.iter().flat_map(|pool| &pool.busy) {
        by_name.entry(&worker.item).or_default().add_worker(worker);
    }
    for had in &seen.snapshot.lately {
        by_name.entry(&had.item).or_default().add_lately(had, seen);
    }
    by_name
}

fn of_function((name, function): (&str, Function)) -> Row {
    let queues = function.queues.into_iter().filter(|name| !name.is_empty());
    let queues: Vec<&str> = queues.take(MOST_NAMED).collect();
    let cells = vec![
        Cell::Text(item_name(name)),
        Cell::Count(function.executed),
        Cell::Time(function.longest),
        Cell::Time(function.shortest),
        Cell::Count(function.cpu),
        Cell::Count(function.ended),
        Cell::Time(function.most),
        text(&queues.join(", ")),
    ];
    Row {
        key: Key::Name(name.to_owned()),
        cells,
    }
}

fn of_child(child: &super::super::children::Child) -> Row {
    let cells = vec![
        // In full, unlike a count.
        Cell::Signed(child.pid.into()),
        Cell::Time(Some(child.age)),
        Cell::Time(Some(child.computed)),
        text(&child.doing),
        text(&child.command),
    ];
    Row {
        key: Key::Number(child.pid.into()),
        cells,
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::threads::Thread;
    use super::super::tests::rig::{look, worker};
    use super::*;

    #[test]
    fn each_row_has_a_cell_for_each_column() {
        let look = look();
        for view in View::ALL {
            let rows = view.rows(&look, None);
            assert!(!rows.is_empty(), "{view:?}");
            let columns = view.columns();
            assert!(rows.iter().all(|row| row.cells.len() == columns.len()));
            assert!(view.usual_order().column < columns.len());
            assert_eq!(columns.iter().filter(|column| column.wide).count(), 1);
        }
    }

    #[test]
    fn lists_of_cpus_are_read_whatever_they_say() {
        let cpus = |list| Cpus::of([list].into_iter()).iter().collect::<Vec<_>>();
        assert_eq!(cpus("0-2,5, 7"), [0, 1, 2, 5, 7]);
        for nothing in ["", "x", "3-1", "-", ",,", "0-x", "4096-9999"] {
            assert!(cpus(nothing).is_empty(), "{nothing}");
        }
        assert_eq!(cpus("0-4294967295").len(), MOST_CPUS as usize);
        assert_eq!(cpus("63-64,127,190-320").len(), 2 + 1 + 131);
    }

    #[test]
    fn a_lane_has_the_threads_that_ran_there_last_and_runners_first() {
        let mut look = look();
        let pool = &mut look.seen.snapshot.pools[0];
        pool.cpus = "0-1".into();
        pool.busy = vec![worker(10, "sleeper"), worker(11, "runner"), worker(12, "x")];
        let thread = |cpu, state| Thread { cpu, state };
        // The third has ended, or is in another namespace.
        look.threads = [
            (10, thread(1, TaskState::Sleeping)),
            (11, thread(1, TaskState::Runnable)),
        ]
        .into();
        let rows = View::Cpus.rows(&look, None);
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].cells[1..3], [Cell::Count(0), Cell::Count(0)]);
        assert_eq!(rows[1].cells[1..3], [Cell::Count(1), Cell::Count(1)]);
        let Cell::Text(text) = &rows[1].cells[3] else {
            panic!("a text");
        };
        assert!(
            text.starts_with("runner") && text.contains("; asleep: sleeper"),
            "{text}"
        );
    }

    #[test]
    fn functions_are_counted_over_all_pools() {
        let mut look = look();
        look.seen.snapshot.pools[0].busy = vec![worker(1, "resize"), worker(2, "send")];
        let mut other = look.seen.snapshot.pools[0].clone();
        other.busy = vec![cmwq_stats::Worker {
            since: 1,
            ..worker(3, "resize")
        }];
        look.seen.snapshot.pools.push(other);
        let rows = View::Functions.rows(&look, None);
        let resize = rows
            .iter()
            .find(|row| row.key == Key::Name("resize".into()));
        let cells = &resize.unwrap().cells;
        assert_eq!(cells[1], Cell::Count(2));
        assert_eq!(cells[3], Cell::Time(Some(1)));
    }
}
