//! The figures of one setting: as JSON, and as a line of the table.

use serde::{Deserialize, Serialize};

use super::super::engine::Engine;
use super::super::stats::median;
use super::super::table::aligned;
use super::args::Limit;

/// The figures of one run of one setting. Keys are the JSON's, in its order.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) kind: String,
    /// max_active, null where none was set.
    pub(super) limit: Limit,
    /// Which turn this was, from 1.
    pub(super) run: u32,
    pub(super) producers: u32,
    /// Items that each producer kept in flight.
    pub(super) depth: u32,
    pub(super) items: u64,
    /// From the first producer's start to the end of the last item.
    pub(super) elapsed_s: f64,
    /// Checksummed and written.
    pub(super) mib_s: f64,
    /// Mean time that an item held the lock, by the wall clock.
    pub(super) section_us: f64,
    /// Mean time that an item waited for the lock.
    pub(super) lock_wait_us: f64,
    /// The pool's threads, helpers included; without the producers. So also the switches and CPU
    /// seconds that follow.
    pub(super) peak_threads: usize,
    pub(super) voluntary_switches: u64,
    pub(super) involuntary_switches: u64,
    pub(super) cpu_s: f64,
    /// Context switches of the producers, of both kinds.
    pub(super) producers_switches: u64,
    pub(super) producers_cpu_s: f64,
    pub(super) cmwq: Engine,
}

impl Row {
    fn per_item(&self, count: u64) -> f64 {
        count as f64 / self.items.max(1) as f64
    }
}

/// The medians of all runs of one setting.
struct Line {
    limit: Limit,
    mib_s: f64,
    others: [f64; 6],
}

const HEADER: [&str; 9] = [
    "limit",
    "MiB/s",
    "of best",
    "threads",
    "vol./item",
    "invol./item",
    "CPU s",
    "section us",
    "lock wait us",
];

impl Line {
    fn of(limit: Limit, rows: &[Row]) -> Line {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.limit == limit).collect();
        let figure = |of: fn(&Row) -> f64| median(rows.iter().map(|row| of(row)).collect());
        Line {
            limit,
            mib_s: figure(|row| row.mib_s),
            others: [
                figure(|row| row.peak_threads as f64),
                figure(|row| row.per_item(row.voluntary_switches)),
                figure(|row| row.per_item(row.involuntary_switches)),
                figure(|row| row.cpu_s),
                figure(|row| row.section_us),
                figure(|row| row.lock_wait_us),
            ],
        }
    }

    fn cells(&self, best: Option<&Line>) -> [String; HEADER.len()] {
        let [threads, voluntary, involuntary, cpu, section, wait] = self.others;
        [
            self.limit.to_string(),
            format!("{:.1}", self.mib_s),
            best.map_or("-".to_owned(), |best| format!("{:.3}", self.over(best))),
            format!("{threads:.0}"),
            format!("{voluntary:.3}"),
            format!("{involuntary:.3}"),
            format!("{cpu:.2}"),
            format!("{section:.1}"),
            format!("{wait:.1}"),
        ]
    }

    fn over(&self, best: &Line) -> f64 {
        self.mib_s / best.mib_s
    }
}

/// The table of `rows`, a line for each limit in `limits`, and what no limit reaches of the best.
pub(super) fn table(limits: &[Limit], rows: &[Row]) -> String {
    let lines: Vec<Line> = limits.iter().map(|&limit| Line::of(limit, rows)).collect();
    let set = lines.iter().filter(|line| line.limit.0.is_some());
    let best = set.max_by(|a, b| a.mib_s.total_cmp(&b.mib_s));
    let mut cells = vec![HEADER.map(str::to_owned)];
    cells.extend(lines.iter().map(|line| line.cells(best)));
    let none = lines.iter().find(|line| line.limit.0.is_none());
    aligned(&cells, 1) + &none.zip(best).map_or(String::new(), verdict)
}

fn verdict((none, best): (&Line, &Line)) -> String {
    let (share, limit) = (none.over(best), best.limit);
    format!("no limit: {share:.3} of the best limit, {limit}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(limit: Option<usize>, mib_s: f64) -> Row {
        Row {
            kind: "managed".to_owned(),
            limit: Limit(limit),
            run: 1,
            producers: 1,
            depth: 1,
            items: 10,
            elapsed_s: 1.0,
            mib_s,
            section_us: 2.0,
            lock_wait_us: 3.0,
            peak_threads: 4,
            voluntary_switches: 5,
            involuntary_switches: 0,
            cpu_s: 0.5,
            producers_switches: 0,
            producers_cpu_s: 0.0,
            cmwq: Engine::default(),
        }
    }

    fn lines(limits: &[Option<usize>], rows: &[Row]) -> Vec<String> {
        let limits: Vec<Limit> = limits.iter().copied().map(Limit).collect();
        table(&limits, rows).lines().map(str::to_owned).collect()
    }

    #[test]
    fn lines_are_medians_and_compared_with_the_best_limit() {
        let four = [10.0, 90.0, 20.0].map(|mib_s| row(Some(4), mib_s));
        let rows = [&four[..], &[row(Some(8), 40.0), row(None, 50.0)]].concat();
        let lines = lines(&[Some(4), Some(8), None], &rows);
        let words: Vec<&str> = lines[1].split_whitespace().collect();
        assert_eq!(words[..5], ["4", "20.0", "0.500", "4", "0.500"]);
        // No limit is never the best itself.
        assert_eq!(lines[4], "no limit: 1.250 of the best limit, 8");
    }

    #[test]
    fn without_limits_there_is_no_best() {
        let lines = lines(&[None], &[row(None, 50.0)]);
        assert!(lines[1].contains(" - ") && lines.len() == 2, "{lines:?}");
    }
}
