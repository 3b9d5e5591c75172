//! What pools are told of who sleeps: exactly, as the kernel's scheduler tells it, or as little as
//! user space knows.
//!
//! In user space nobody is told. There are *canaries*, one for each CPU, which run when nothing
//! else wants it and report that; the *tick*, a thread that looks at the workers while items wait;
//! and *hints* of items that are about to block. The threads are threads of the simulated machine:
//! they wait for CPUs like others, and are late or starve with them. What they decide is decided in
//! the policy; the engine's `signals/README.md` has the protocol and why nothing is lost for ever.
//!
//! | file | |
//! | --- | --- |
//! | `canary.rs` | the threads that report an idle CPU, and who arms them |
//! | `report.rs` | a report on its way: to whom, late, lost, and who takes it |
//! | `tick.rs` | the thread that looks, expires timers, makes threads |

mod canary;
mod report;
mod tick;

use cmwq_policy::time::MILLISECOND;
use cmwq_policy::{Nanos, Published};

use crate::api::report::SignalStats;
use crate::api::specs::ThreadSpec;
use crate::cpu::ThreadId;
use crate::machine::{Machine, Program};
use crate::state::event::Event;
use crate::state::pool::Pool;

/// How often somebody looks at the pools with backlog.
const TICK: Nanos = 4 * MILLISECOND;

impl Machine {
    /// What the signals have done so far.
    pub fn signal_stats(&self) -> SignalStats {
        self.signals.stats.get()
    }

    /// Whether a thread is a canary or the tick's: none of a program, and never over.
    pub fn is_signaller(&self, id: ThreadId) -> bool {
        let bells = self.signals.bells.borrow();
        self.signals.ticker.get() == Some(id) || bells.values().any(|bell| bell.thread == id)
    }

    /// A thread of the signals. It takes no stream of random numbers: programs draw the same with
    /// and without it.
    fn spawn_signaller(&self, spec: ThreadSpec, program: Box<dyn Program>) -> ThreadId {
        self.create_with(self.of_program(spec, program), self.random.signals)
    }

    /// Tells the others what has newly become true of a pool.
    pub(crate) fn announce(&self, pool: &Pool, next: Published) {
        if self.user_signals().is_none() {
            if next.backlog && !self.tick_is_armed.replace(true) {
                self.after(TICK, Event::Tick);
            }
            return;
        }
        let before = pool.signals.published.replace(next);
        let wanting = self.signals.nr_wanting.get();
        let wanting = wanting + u32::from(next.wants) - u32::from(before.wants);
        self.signals.nr_wanting.set(wanting);
        if next.backlog && !before.backlog {
            self.tick_came.set(true);
            if !self.tick_is_armed.replace(true) {
                self.kick_tick();
            }
        }
        if next.wants && !before.wants {
            let online = self.sched().online();
            self.arm_canaries(&online);
        }
    }
}
