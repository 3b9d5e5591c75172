//! Scenarios on real threads, through the public interface of `cmwq`.
//!
//! What a busy machine makes of a script is not what an idle one makes of it. A run whose answers
//! are not the kernel's is repeated with all times longer: what then still differs does not hang on
//! who is faster.

mod calls;
mod face;
mod limits;
mod places;
mod runner;
mod rust;
mod stage;

use crate::actor::Play;
use crate::compare::{Switches, compare};
use crate::op::Call;
use crate::record::Record;
use crate::replay::{Backend, NotApplicable};
use crate::scenario::Scenario;
use crate::table::{Sort, Table};
pub use face::{Execute, Face, MakeFace, Run};
use places::CpuPairs;
use runner::Runner;
use std::sync::{Mutex, MutexGuard};

/// By how much all times of a script are longer, run after run.
const STRETCH: [u64; 5] = [1, 3, 9, 27, 81];

/// There is one set of queues and one report hook in a process, so one run at a time.
static ONE: Mutex<()> = Mutex::new(());

/// Real threads of this process.
#[derive(Debug, Clone)]
pub struct Real {
    /// What differs on purpose is no reason to run again.
    table: Table,
    name: &'static str,
    face: MakeFace,
    has: fn(&Call) -> bool,
    said_before: fn(&str) -> bool,
}

impl Real {
    /// What `table` says to differ on purpose is not tried again.
    pub fn new(table: &Table) -> Real {
        Real::with(table, "real", rust::make, limits::call, rust::said_before)
    }

    /// The same through another interface: its name, what makes one for a run, whether it has a
    /// call, and whether it has said before this scenario what is said once in a process.
    pub fn with(
        table: &Table,
        name: &'static str,
        face: MakeFace,
        has: fn(&Call) -> bool,
        said_before: fn(&str) -> bool,
    ) -> Real {
        Real {
            table: table.clone(),
            name,
            face,
            has,
            said_before,
        }
    }

    /// Whether the Rust interface has this call.
    pub fn has(call: &Call) -> bool {
        limits::call(call)
    }

    fn agrees(&self, scenario: &Scenario, record: &Record) -> bool {
        let rows: Vec<_> = self.table.covering(Sort::Differs, scenario).collect();
        let differences = compare(scenario, record, self.switches(scenario));
        differences
            .iter()
            .all(|difference| rows.iter().any(|row| row.explains(difference)))
    }
}

impl Backend for Real {
    fn name(&self) -> &str {
        self.name
    }

    fn run(&self, scenario: &Scenario) -> Result<Record, NotApplicable> {
        limits::check(scenario, self.has)?;
        let places = CpuPairs::fit(scenario)?;
        let _one: MutexGuard<'_, ()> = ONE.lock().unwrap_or_else(|broken| broken.into_inner());
        let mut record = Record::default();
        for stretch in STRETCH {
            let play = Play::new(scenario);
            record = Runner::new(scenario, play, places.clone(), stretch, self.face).run();
            // Who hangs would hang again, and longer.
            if record.stuck.is_some() || self.agrees(scenario, &record) {
                break;
            }
        }
        Ok(record)
    }

    fn switches(&self, scenario: &Scenario) -> Switches {
        Switches {
            warnings: !(self.said_before)(&scenario.id) || !scenario.warns_of_dependency(),
            times: false,
        }
    }
}
