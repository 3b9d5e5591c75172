//! All cells of a scenario, on as many CPUs as there are. Each cell is a machine of its own, so who
//! runs which one when changes nothing.

use std::sync::Mutex;
use std::thread;

use cmwq_sim::scenario::{Report, RunError, Scenario, Sweep};

/// Runs them; of those that fail, the first one's error.
pub(super) fn run(scenario: &Scenario) -> Result<Sweep, RunError> {
    let cells = scenario.cells();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let next = Mutex::new(0..cells.len());
    let results: Mutex<Vec<Option<Result<Report, RunError>>>> = Mutex::new(vec![None; cells.len()]);
    let take = || next.lock().expect("nobody panics with it").next();
    let work = || {
        while let Some(at) = take() {
            let result = cells[at].run();
            results.lock().expect("nobody panics with it")[at] = Some(result);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.min(cells.len()) {
            scope.spawn(work);
        }
        work();
    });
    let results = results.into_inner().expect("nobody panics with it");
    let reports = results
        .into_iter()
        .map(|result| result.expect("each has run"));
    Ok(scenario.sweep(reports.collect::<Result<_, _>>()?))
}
