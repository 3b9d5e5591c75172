//! Scenario files: what runs on which machine, as TOML, and what came of it.
//!
//! `crates/sim/scenarios/README.md` has the language. A [`Scenario`] is a file that was read; its
//! [cells](Scenario::cells) are what its sweeps make of it; each can be [run](Cell::run), which
//! gives a [`Report`].
//!
//! ```
//! use cmwq_sim::scenario::{Scenario, Use};
//!
//! let text = r#"
//!     [machine]
//!     topology = "T2"
//!     [[queue]]
//!     name = "q"
//!     [[item]]
//!     name = "work"
//!     does = ["burn 1ms", "count done"]
//!     [[thread]]
//!     name = "main"
//!     does = [{ repeat = 10, does = ["queue q work"] }, "wait"]
//! "#;
//! let scenario = Scenario::parse("example.toml", text, &Use::default()).unwrap();
//! let report = scenario.cells()[0].run().unwrap();
//! assert_eq!(report.counters["done"].total, 10);
//! assert_eq!(report.virtual_ns, 5_000_000);
//! ```
//!
//! | file | has |
//! | --- | --- |
//! | `source.rs` | the text; mistakes that point into it |
//! | `tree.rs` | the document as a tree in which values can be replaced |
//! | `settings.rs` | what is replaced: `--set`, sweeps, variants |
//! | `units.rs`, `fields.rs` | numbers with units; the keys of a table |
//! | `read.rs`, `machine.rs`, `acts.rs` | from the tree to the model: sections, `[machine]`, acts |
//! | `model.rs` | the scenario as plain data |
//! | `code.rs`, `actor.rs` | acts with jumps; the programs that do them |
//! | `build.rs`, `world.rs`, `tally.rs` | from the model to a machine; what its programs share and count |
//! | `run.rs`, `watch.rs` | a run; who looks on |
//! | `report.rs`, `text.rs` | what came of it, as data and as text |

mod actor;
mod acts;
mod build;
mod code;
mod fields;
mod machine;
mod model;
mod read;
mod report;
mod run;
mod settings;
mod source;
mod tally;
mod text;
mod tree;
mod units;
mod watch;
mod world;

pub use crate::output::Observation;
pub use report::{
    Counter, CpuReport, DeviceReport, Distances, LockReport, PoolReport, QueueReport, Report,
    SignalReport, Span, Sweep,
};
pub use run::RunError;
pub use settings::Use;
pub use source::Mistake;

use std::rc::Rc;

use model::Model;
use source::Source;
use tree::Node;

/// A scenario file that was read and checked.
pub struct Scenario {
    name: String,
    about: Option<String>,
    /// What varies, each with the names of its values.
    axes: Vec<String>,
    cells: Vec<Cell>,
}

/// One run of a scenario: everything has one value.
pub struct Cell {
    /// What varies, with its value here.
    pub values: Vec<(String, String)>,
    model: Model,
}

impl Scenario {
    /// Reads a scenario. `name` is what mistakes call the file.
    ///
    /// # Errors
    /// The first mistake in it, or in a setting.
    pub fn parse(name: &str, text: &str, used: &Use) -> Result<Scenario, Mistake> {
        let source = Source {
            name: name.to_owned(),
            text: text.to_owned(),
        };
        let mut root = Node::parse(&source)?;
        let plan = settings::plan(&source, &mut root, used)?;
        let about = match root.get("about").map(|node| &node.value) {
            Some(tree::Value::Text(text)) => Some(text.clone()),
            _ => None,
        };
        let cells = plan.cells.into_iter().map(|planned| {
            let mut root = root.clone();
            for change in &planned.changes {
                root.apply(&source, change)?;
            }
            Ok(Cell {
                model: read::read(&source, &root, used.this.as_ref())?,
                values: planned.values,
            })
        });
        Ok(Scenario {
            name: name.to_owned(),
            about,
            axes: plan.axes,
            cells: cells.collect::<Result<_, _>>()?,
        })
    }

    /// The file's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the file says that it is about.
    pub fn about(&self) -> Option<&str> {
        self.about.as_deref()
    }

    /// What varies.
    pub fn axes(&self) -> &[String] {
        &self.axes
    }

    /// Runs all cells, one after the other.
    ///
    /// # Errors
    /// As [`Cell::run`], of the first one that fails.
    pub fn run(&self) -> Result<Sweep, RunError> {
        let cells = self.cells.iter().map(Cell::run);
        Ok(self.sweep(cells.collect::<Result<_, _>>()?))
    }

    /// What came of the scenario, given what came of its cells.
    pub fn sweep(&self, cells: Vec<Report>) -> Sweep {
        Sweep {
            scenario: self.name.clone(),
            about: self.about.clone(),
            axes: self.axes.clone(),
            cells,
        }
    }

    /// Its runs: one, or one for each combination of what varies.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }
}

impl Cell {
    /// The seed of its random numbers.
    pub fn seed(&self) -> u64 {
        self.model.options.seed
    }

    /// Runs it.
    ///
    /// # Errors
    /// A program of it cannot go on: it lets no time pass, or misuses a lock.
    pub fn run(&self) -> Result<Report, RunError> {
        self.run_with(None)
    }

    /// The same, recording what the CPUs do.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_observed(&self, observation: &Rc<Observation>) -> Result<Report, RunError> {
        self.run_with(Some(observation.clone()))
    }

    fn run_with(&self, observation: Option<Rc<Observation>>) -> Result<Report, RunError> {
        let mut report = run::run(&self.model, observation)?;
        report.cell = self.values.iter().cloned().collect();
        Ok(report)
    }
}
