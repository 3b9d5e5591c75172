//! The rows of `cmwq bench scale`: how it is called, and their tables. They are simulated, so one
//! run is all there is.

use serde::Deserialize;

use super::rows::distinct;

/// The file of the raw rows.
pub(super) const FILE: &str = "scale.jsonl";

/// Pools as the command names them, and what they are called here.
const POOLS: [(&str, &str); 6] = [
    ("cmwq", "cmwq as it is"),
    ("fifo", "cmwq in order"),
    ("one-lock", "at 8f19024 (model)"),
    ("rayon", "rayon::spawn (model)"),
    ("deques", "deques alone (model)"),
    ("batches", "planned (model)"),
];
/// CPUs and nanoseconds of an item on the front page.
const FRONT: ([usize; 4], u64) = ([1, 8, 64, 256], 1_000);

/// One run of one pool. See `cmwq bench scale` for the meaning of the figures.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Row {
    shape: String,
    item_ns: u64,
    cpus: usize,
    pool: String,
    items_per_s: u64,
    global_ns: u64,
    local_ns: u64,
}

impl Row {
    fn place(&self) -> (&str, u64, usize) {
        (&self.shape, self.item_ns, self.cpus)
    }

    fn millions(&self) -> String {
        let millions = self.items_per_s as f64 / 1e6;
        match millions {
            10.0.. => format!("{millions:.0}"),
            1.0.. => format!("{millions:.1}"),
            _ => format!("{millions:.3}"),
        }
    }
}

/// Arguments of the command.
pub(super) fn args() -> Vec<String> {
    vec!["scale".to_owned()]
}

/// A line for each machine: what each pool is there, and before that where it is.
fn table(rows: &[Row], first: &[&str], cell: impl Fn(&Row) -> String) -> Vec<Vec<String>> {
    let header = first.iter().copied().chain(POOLS.map(|(_, title)| title));
    let mut lines = vec![header.map(str::to_owned).collect::<Vec<_>>()];
    for place in distinct(rows.iter().map(Row::place)) {
        let of = |(pool, _): (&str, _)| {
            let mut rows = rows.iter().filter(|row| row.place() == place);
            let row = rows.find(|row| row.pool == pool);
            row.map_or("-".to_owned(), &cell)
        };
        let (shape, item, cpus) = place;
        let micros = format!("{}", item as f64 / 1e3);
        let names = [shape.to_owned(), micros, cpus.to_string()];
        lines.push(names.into_iter().chain(POOLS.map(of)).collect());
    }
    lines
}

/// Million items a second, the header first.
pub(super) fn lines(rows: &[Row]) -> Vec<Vec<String>> {
    table(rows, &["queued from", "item us", "CPUs"], Row::millions)
}

/// Nanoseconds on lines that all CPUs share, and on those of a cache or a CPU.
pub(super) fn shared(rows: &[Row]) -> Vec<Vec<String>> {
    let cell = |row: &Row| format!("{} + {}", row.global_ns, row.local_ns);
    table(rows, &["queued from", "item us", "CPUs"], cell)
}

/// For the front page: few machines, one length of items; both figures.
pub(super) fn summary(rows: &[Row]) -> Vec<Vec<String>> {
    let (cpus, item) = FRONT;
    let few = rows
        .iter()
        .filter(|row| row.item_ns == item && cpus.contains(&row.cpus));
    let few: Vec<Row> = few.cloned().collect();
    let cell = |row: &Row| format!("{} ({} ns)", row.millions(), row.global_ns);
    table(&few, &["queued from", "item us", "CPUs"], cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(pool: &str, cpus: usize, item_ns: u64, items_per_s: u64) -> Row {
        Row {
            shape: "inside".to_owned(),
            item_ns,
            cpus,
            pool: pool.to_owned(),
            items_per_s,
            global_ns: 236,
            local_ns: 5,
        }
    }

    fn rows() -> Vec<Row> {
        vec![
            row("cmwq", 8, 1_000, 400_000),
            row("batches", 8, 1_000, 5_943_000),
            row("batches", 8, 10_000, 770_000),
            row("batches", 16, 1_000, 48_000_000),
        ]
    }

    #[test]
    fn a_machine_is_a_line_and_a_pool_a_column() {
        let lines = lines(&rows());
        assert_eq!(lines.len(), 4);
        assert_eq!(
            lines[1][2..],
            ["8", "0.400", "-", "-", "-", "-", "5.9"].map(str::to_owned)
        );
        assert_eq!(lines[3].last().unwrap(), "48");
        assert_eq!(shared(&rows())[1][3], "236 + 5");
    }

    #[test]
    fn the_front_page_has_few_machines() {
        let lines = summary(&rows());
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[1][3], "0.400 (236 ns)");
        assert_eq!(summary(&[]).len(), 1);
    }
}
