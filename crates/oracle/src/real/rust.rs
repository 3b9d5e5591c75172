//! The Rust face.

use super::calls;
use super::face::{Face, Run};
use super::stage::Stage;
use crate::actor::Answer;
use crate::op::{Call, Name};
use crate::spin::lock;
use cmwq::{Report, Work};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

/// The scenario in which a dependency was reported, and the text: a process says it once.
static DEPENDENCY: OnceLock<(String, String)> = OnceLock::new();

/// Whether that was before this scenario.
pub(super) fn said_before(id: &str) -> bool {
    DEPENDENCY.get().is_some_and(|(first, _)| first != id)
}

/// Makes it for one run.
pub(super) fn make(run: Run) -> Box<dyn Face> {
    let item = |name: &Name| {
        let (execute, item) = (run.execute.clone(), name.clone());
        (name.clone(), Work::new(move || execute(&item)))
    };
    let items = run.items.iter().map(item).collect();
    listen(&run);
    Box::new(Stage {
        run,
        items: Mutex::new(items),
        queues: Mutex::default(),
    })
}

/// Reports of misuse go to the record.
fn listen(run: &Run) {
    let (play, id) = (run.play.clone(), run.id.clone());
    if let Some((_, report)) = DEPENDENCY.get().filter(|(first, _)| *first == id) {
        // An earlier try of this scenario.
        play.misuse(report.clone());
    }
    cmwq::set_report_hook(move |report| {
        let said = report.to_string();
        match report {
            Report::FlushDependency { .. } => {
                DEPENDENCY.get_or_init(|| (id.clone(), said.clone()));
            }
            Report::EnableUnderflow { .. }
            | Report::DisableOverflow { .. }
            | Report::TimerDropped { .. } => {}
            _ => return,
        }
        play.misuse(said);
    });
}

impl Face for Stage {
    fn call(&self, call: Call) -> Answer {
        calls::call(self, call)
    }

    fn blocking(&self, wait: &mut dyn FnMut()) {
        cmwq::blocking(wait);
    }

    fn end(&self) {
        cmwq::freezer::thaw();
        let items = std::mem::take(&mut *lock(&self.items));
        for item in items.values() {
            // Of those who wait for it some are still to come back; all latches are open.
            item.cancel_sync().ok();
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        drop(std::mem::take(&mut *lock(&self.queues)));
        let threshold = Duration::from_micros(calls::DEFAULT_THRESHOLD_US);
        cmwq::set_cpu_intensive_threshold(threshold);
    }
}
