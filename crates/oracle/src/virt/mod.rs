//! Scenarios on the simulated machine: the policy's own text, virtual CPUs, virtual time.

mod attributes;
mod calls;
mod limits;
mod player;
mod reply;
mod stage;

pub(crate) use attributes::THRESHOLD;

use crate::actor::Play;
use crate::compare::Switches;
use crate::op::{MS, Nanos};
use crate::record::Record;
use crate::replay::{Backend, NotApplicable};
use crate::scenario::Scenario;
use cmwq_policy::Time;
use cmwq_policy::affinity::DFL_SHARD_CORES;
use cmwq_sim::{Machine, Options, Report, ThreadSpec, Trouble};
use player::Player;
use stage::Stage;
use std::rc::Rc;

/// Longer than any script lasts: the longest sleeps for some minutes.
const HORIZON: Nanos = 3600 * 1000 * MS;

/// The simulated machine. Times are exact there.
#[derive(Debug, Clone, Copy, Default)]
pub struct Virtual;

impl Backend for Virtual {
    fn name(&self) -> &str {
        "virtual"
    }

    fn run(&self, scenario: &Scenario) -> Result<Record, NotApplicable> {
        play(scenario, false)
    }

    /// What waits for what is checked by the engine alone.
    fn switches(&self, scenario: &Scenario) -> Switches {
        Switches {
            warnings: !scenario.warns_of_dependency(),
            times: true,
        }
    }
}

/// The same, with exact limits wherever a queue can have one: no kernel has them.
#[derive(Debug, Clone, Copy, Default)]
pub struct VirtualExact;

impl Backend for VirtualExact {
    fn name(&self) -> &str {
        "virtual, exact limits"
    }

    fn run(&self, scenario: &Scenario) -> Result<Record, NotApplicable> {
        play(scenario, true)
    }

    fn switches(&self, scenario: &Scenario) -> Switches {
        Virtual.switches(scenario)
    }
}

fn play(scenario: &Scenario, exact: bool) -> Result<Record, NotApplicable> {
    limits::check(scenario)?;
    let options = Options::on(&scenario.topology).ok_or_else(|| {
        let what = format!("there is no machine `{}`", scenario.topology);
        NotApplicable(what)
    })?;
    let machine = Machine::new(Options {
        shard_cores: shard_cores(&scenario.topology),
        ..options
    });
    let play = Play::new(scenario);
    let stage = Rc::new(Stage::new(&play, exact));
    for item in scenario.script.items.keys() {
        let (of, name) = (stage.clone(), item.clone());
        stage.add_item(&machine, item, move || Player::of_item(&of, &name));
    }
    let main = Player::of_thread(&stage, play.main());
    machine.spawn(ThreadSpec::named("main").on(0), main);
    Ok(run(&machine, &stage))
}

/// Of the named machines, `T16S` was booted with another size of cache shards.
fn shard_cores(topology: &str) -> u32 {
    match topology {
        "T16S" => 2,
        _ => DFL_SHARD_CORES,
    }
}

/// Of the reports those from this number on that are about misuse go to the record, as they come:
/// the record is closed with the script. How many there are.
fn tell(machine: &Machine, stage: &Stage, from: usize) -> usize {
    let reports = machine.reports_from(from);
    let dropped = |report: &&Report| report.what == Trouble::TimerDropped;
    for _ in reports.iter().filter(dropped) {
        let what = "a delayed item was dropped when its time came";
        stage.play.misuse(what);
    }
    from + reports.len()
}

fn run(machine: &Machine, stage: &Stage) -> Record {
    let mut told = 0;
    machine.run_while(Time(HORIZON), |machine| {
        told = tell(machine, stage, told);
        !stage.play.is_over()
    });
    let mut record = stage.play.record();
    if !record.finished {
        record.stuck = Some(format!("main waits in `{}`", stage.main_op()));
    }
    record
}
