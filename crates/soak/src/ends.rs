//! Ends of the process: from an item, in the middle of everything, with handlers that use queues.

use std::time::Duration;

use crate::books;
use crate::plan::{End, Plan};
use crate::rooms::spawns;
use crate::value::{defuse, quietly};
use crate::world;

/// Has `atexit` use what there is.
pub(crate) fn at_exit(plan: &Plan) {
    if plan.late {
        // SAFETY: the handler does not unwind.
        unsafe { libc::atexit(late) };
    }
}

extern "C" fn late() {
    quietly(|| {
        for (n, spawned) in spawns::take_last().into_iter().enumerate() {
            spawns::end(n, spawned);
            books::step();
        }
        // Refused after a shutdown.
        defuse(world::nested(0, 0).0.spawn(books::step).join());
        let _ = world::nested(0, 1)
            .0
            .scope(|scope| drop(scope.spawn(books::step)));
        drop(world::shared_item().cancel_sync());
        let _ = cmwq::Job::new(0..20).for_each(|_| books::step());
        drop(cmwq::Workqueue::builder("late").build());
    });
}

/// Ends the process so, from the main thread.
pub(crate) fn end(plan: &Plan) {
    match plan.end {
        End::Returns | End::ReturnsInTheMiddle => {}
        End::ShutsDown => {
            let report = cmwq::shutdown(Duration::from_secs(600));
            if !report.is_complete() {
                books::fail(&format!("shut down: {report:?}"));
            }
            defuse(cmwq::system().spawn(|| ()).join());
        }
        End::ExitsInItem => {
            drop(cmwq::system().spawn(|| std::process::exit(0)));
            forever();
        }
        End::ExitsInTheMiddle => std::process::exit(0),
    }
}

/// Somebody else ends the process.
fn forever() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(1));
    }
}
