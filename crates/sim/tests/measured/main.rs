//! What others measured on machines that we do not have, simulated again and shortened.
//!
//! Each scenario says which document its figures are from and what of it was calibrated;
//! `scenarios/README.md` has the documents' figures beside the simulator's. An exact number here
//! is the document's. A range is about what the simulator gives today, narrow enough that a change
//! of a decision which moves the comparison is seen.

mod btrfs;
mod btrfs_nodes;
mod dbench;
mod dm_crypt;
mod ktask;
mod perf_wq;

use cmwq_sim::scenario::{Report, Scenario, Use};

/// A scenario of the folder with these changes, as `--set` makes them.
fn scenario(file: &str, set: &[&str]) -> Scenario {
    let path = format!("{}/scenarios/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let used = Use {
        set: set.iter().map(|set| (*set).to_owned()).collect(),
        ..Use::default()
    };
    Scenario::parse(file, &text, &used).unwrap_or_else(|mistake| panic!("{mistake}"))
}

/// What came of each of its cells.
fn cells(file: &str, set: &[&str]) -> Vec<Report> {
    scenario(file, set).run().unwrap().cells
}

/// What came of it for each value of one axis.
fn cells_by(axis: &str, file: &str, set: &[&str]) -> std::collections::BTreeMap<String, Report> {
    let named = |report: Report| (report.cell[axis].clone(), report);
    cells(file, set).into_iter().map(named).collect()
}
