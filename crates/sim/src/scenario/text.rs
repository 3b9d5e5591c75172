//! Reports as text.

use std::fmt::{self, Write as _};

use super::report::{CpuReport, Distances, Report, Sweep};
use crate::output::shown_time as time;

/// Pools of a report that are shown as text.
const SHOWN_POOLS: usize = 16;

impl fmt::Display for Sweep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(about) = &self.about {
            writeln!(f, "{}\n", about.trim())?;
        }
        match self.cells.as_slice() {
            [only] => write!(f, "{only}"),
            cells => f.write_str(&table(&self.rows(cells))),
        }
    }
}

/// A column of the table of cells: its head, and what it says of a cell.
type Column<'a> = (String, Box<dyn Fn(&Report) -> String + 'a>);

impl Sweep {
    /// A row for each cell.
    fn rows(&self, cells: &[Report]) -> Vec<Vec<String>> {
        let columns = self.columns(cells);
        let heads = columns.iter().map(|(head, _)| head.clone());
        let mut rows = vec![heads.collect()];
        let row = |cell: &Report| columns.iter().map(|(_, say)| say(cell)).collect();
        rows.extend(cells.iter().map(row));
        rows
    }

    /// What varies, what was counted, spans, what the machine did.
    fn columns<'a>(&'a self, cells: &'a [Report]) -> Vec<Column<'a>> {
        let mut columns: Vec<Column<'a>> = Vec::new();
        for axis in &self.axes {
            let value = |cell: &Report| cell.cell.get(axis).cloned().unwrap_or_default();
            columns.push((axis.clone(), Box::new(value)));
        }
        let Some(first) = cells.first() else {
            return columns;
        };
        for name in first.counters.keys() {
            let head = format!("{name}/s");
            let say = move |cell: &Report| rate(cell.counters[name].per_second);
            columns.push((head, Box::new(say)));
        }
        for (at, name) in first.spans.keys().enumerate() {
            let span =
                move |cell: &Report| cell.spans.values().nth(at).copied().unwrap_or_default();
            let p50 = move |cell: &Report| time(span(cell).p50_ns);
            let p99 = move |cell: &Report| time(span(cell).p99_ns);
            columns.push((format!("{name} p50"), Box::new(p50)));
            columns.push((format!("{name} p99"), Box::new(p99)));
        }
        columns.extend(columns_of_queues(first, cells));
        columns.extend(columns_of_machine(first));
        columns
    }
}

/// Where items were begun, of queues for which that is not always at home.
fn columns_of_queues<'a>(first: &Report, cells: &[Report]) -> Vec<Column<'a>> {
    let strays = |name: &String| {
        let mut queues = cells.iter().map(|cell| &cell.queues[name]);
        queues.any(|queue| queue.executions > 0 && queue.local < 1.0)
    };
    let names = first.queues.keys().filter(|name| strays(name)).cloned();
    let column = |name: String| {
        let head = format!("{name} local");
        let say = move |cell: &Report| percent(cell.queues[&name].local);
        (head, Box::new(say) as Box<dyn Fn(&Report) -> String>)
    };
    names.map(column).collect()
}

fn columns_of_machine(first: &Report) -> Vec<Column<'_>> {
    let mut columns: Vec<Column<'_>> = Vec::new();
    for name in first.locks.keys() {
        let head = format!("{name} waiters");
        let say = move |cell: &Report| cell.locks[name].max_waiters.to_string();
        columns.push((head, Box::new(say)));
    }
    let workers = |cell: &Report| {
        let workers = cell.pools.iter().map(|pool| u64::from(pool.max_workers));
        workers.sum::<u64>().to_string()
    };
    let moves = |cell: &Report| cell.cpu.migrations.total().to_string();
    columns.push(("workers".to_owned(), Box::new(workers)));
    columns.push(("migrations".to_owned(), Box::new(moves)));
    columns.push((
        "CPU".to_owned(),
        Box::new(|cell| percent(cell.cpu.utilisation)),
    ));
    columns.push(("time".to_owned(), Box::new(|cell| time(cell.virtual_ns))));
    columns
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.ended.as_str() {
            "time" => "the time is over",
            "main" => "the main threads have ended",
            _ => "nothing is left to happen",
        };
        let (virtual_time, measured) = (time(self.virtual_ns), time(self.measured_ns));
        writeln!(
            f,
            "{virtual_time} of virtual time, {measured} measured: {why}; seed {}",
            self.seed
        )?;
        for (axis, value) in &self.cell {
            writeln!(f, "{axis} = {value}")?;
        }
        f.write_str(&self.counted())?;
        f.write_str(&self.of_queues())?;
        f.write_str(&self.of_pools())?;
        f.write_str(&self.of_resources())?;
        write!(f, "\n{}", self.cpu)?;
        f.write_str(&self.remarks())
    }
}

impl Report {
    fn counted(&self) -> String {
        let mut text = String::new();
        if !self.counters.is_empty() {
            let mut rows = vec![strings(["counter", "total", "per second"])];
            for (name, counter) in &self.counters {
                rows.push(vec![
                    name.clone(),
                    counter.total.to_string(),
                    rate(counter.per_second),
                ]);
            }
            let _ = write!(text, "\n{}", table(&rows));
        }
        if !self.spans.is_empty() {
            let mut rows = vec![strings([
                "span", "count", "mean", "p50", "p90", "p99", "max",
            ])];
            for (name, span) in &self.spans {
                let mut row = vec![name.clone(), span.count.to_string()];
                let times = [
                    span.mean_ns,
                    span.p50_ns,
                    span.p90_ns,
                    span.p99_ns,
                    span.max_ns,
                ];
                row.extend(times.map(time));
                rows.push(row);
            }
            let _ = write!(text, "\n{}", table(&rows));
        }
        text
    }

    fn of_queues(&self) -> String {
        if self.queues.is_empty() {
            return String::new();
        }
        let heads = ["queue", "executions", "local", "wait p50", "wait p99"];
        let mut rows = vec![strings(heads)];
        for (name, queue) in &self.queues {
            rows.push(vec![
                name.clone(),
                queue.executions.to_string(),
                percent(queue.local),
                time(queue.wait.p50_ns),
                time(queue.wait.p99_ns),
            ]);
        }
        format!("\n{}", table(&rows))
    }

    fn of_pools(&self) -> String {
        let heads = [
            "pool",
            "rule",
            "CPUs",
            "executions",
            "max workers",
            "max blocked",
        ];
        let mut rows = vec![strings(heads)];
        let mut pools = self.pools.iter().filter(|pool| pool.executions > 0);
        for pool in pools.by_ref().take(SHOWN_POOLS) {
            rows.push(vec![
                pool.pool.to_string(),
                pool.rule.clone(),
                pool.cpus.clone(),
                pool.executions.to_string(),
                pool.max_workers.to_string(),
                pool.max_blocked.to_string(),
            ]);
        }
        if rows.len() == 1 {
            return String::new();
        }
        let more = match pools.count() {
            0 => String::new(),
            more => format!("and {more} more; --json has them all\n"),
        };
        format!("\n{}{more}", table(&rows))
    }

    fn of_resources(&self) -> String {
        let mut text = String::new();
        if !self.locks.is_empty() {
            let heads = [
                "lock",
                "acquired",
                "contended",
                "max waiters",
                "held",
                "waited for",
            ];
            let mut rows = vec![strings(heads)];
            for (name, lock) in &self.locks {
                let mut row = vec![name.clone(), lock.acquired.to_string()];
                row.extend([lock.contended.to_string(), lock.max_waiters.to_string()]);
                row.extend([time(lock.held_ns), time(lock.waited_ns)]);
                rows.push(row);
            }
            let _ = write!(text, "\n{}", table(&rows));
        }
        if !self.devices.is_empty() {
            let mut rows = vec![strings(["device", "served", "active", "max queued"])];
            for (name, device) in &self.devices {
                let served = device.served.to_string();
                let queued = device.max_queued.to_string();
                rows.push(vec![name.clone(), served, time(device.active_ns), queued]);
            }
            let _ = write!(text, "\n{}", table(&rows));
        }
        text
    }

    fn remarks(&self) -> String {
        let mut text = String::new();
        if let Some(signals) = self.signals {
            let _ = writeln!(
                text,
                "signals: {} reports of idle CPUs, {} lost; {} ticks, {} workers looked at; {} hints",
                signals.reports, signals.lost, signals.ticks, signals.looked_at, signals.hints
            );
        }
        if self.spawn_failures > 0 {
            let _ = writeln!(text, "{} threads could not be created", self.spawn_failures);
        }
        if self.troubles > 0 {
            let _ = writeln!(
                text,
                "{} reports of items that kept their CPU, or of stalls",
                self.troubles
            );
        }
        if !self.stuck.is_empty() {
            let (number, first) = (self.stuck.len(), self.stuck.iter().take(5).cloned());
            let first: Vec<String> = first.collect();
            let _ = writeln!(
                text,
                "stuck, waiting for ever: {number} threads: {}",
                first.join(", ")
            );
        }
        text
    }
}

impl fmt::Display for CpuReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Distances {
            core,
            llc,
            node,
            machine,
            ..
        } = self.migrations;
        writeln!(
            f,
            "{} CPUs {} busy; {} context switches, {} of them preemptions; {} idle workers woken",
            self.cpus,
            percent(self.utilisation),
            self.switches,
            self.preemptions,
            self.worker_wakes
        )?;
        writeln!(
            f,
            "migrations: {core} in the core, {llc} in the cache, {node} in the node, {machine} beyond"
        )
    }
}

fn strings<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

/// Columns as wide as they must be: the first to the left, the others to the right.
fn table(rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let width = widths[column];
            let _ = match column {
                0 => write!(line, "{cell:width$}"),
                _ => write!(line, "  {cell:>width$}"),
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn rate(per_second: f64) -> String {
    match per_second {
        ..1e4 => format!("{per_second:.1}"),
        ..1e7 => format!("{per_second:.0}"),
        ..1e9 => format!("{:.2} M", per_second / 1e6),
        _ => format!("{:.3} G", per_second / 1e9),
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_rates_are_short() {
        let times = [0, 999, 1_000, 25_500, 999_000, 1_500_000_000].map(time);
        assert_eq!(
            times,
            ["0", "999 ns", "1.00 us", "25.5 us", "999 us", "1.50 s"]
        );
        assert_eq!(
            [1.25, 123_456.0, 12_345_678.0].map(rate),
            ["1.2", "123456", "12.35 M"]
        );
    }

    #[test]
    fn columns_stand_below_each_other() {
        let rows = [strings(["a", "b"]), strings(["long", "22"])];
        assert_eq!(table(&rows), "a      b\nlong  22\n");
    }
}
