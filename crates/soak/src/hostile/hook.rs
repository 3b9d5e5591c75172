//! Report hooks that panic, block, and use queues.

use std::panic::panic_any;
use std::time::Duration;

use crate::books::{self, Part, Ticket};
use crate::plan::{Hook, Plan};
use crate::value::{Mood, Value, defuse};
use crate::world;

pub(crate) fn set(plan: &Plan) {
    let hook = plan.hook;
    match hook {
        // Reports would fill the log of the run.
        Hook::None | Hook::Counts => cmwq::set_report_hook(|_| books::step()),
        Hook::Panics => cmwq::set_report_hook(|_| {
            let ticket = Ticket::new("a hook's panic");
            ticket.may_not_run();
            panic_any(Value::new(&ticket, Part::Payload, Mood::Panics, 0));
        }),
        Hook::Blocks => cmwq::set_report_hook(|_| std::thread::sleep(Duration::from_millis(5))),
        Hook::Uses => cmwq::set_report_hook(|report| {
            let text = report.to_string();
            // Who hears a report may be the thread that starts others: it does not wait for them.
            drop(world::loose(text.len()).spawn(move || defuse(text)));
        }),
    }
}
