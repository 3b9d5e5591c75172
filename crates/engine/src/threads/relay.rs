//! Relays: an ordinary thread on each CPU that passes on what a canary of the helper process says.
//!
//! A report changes the CPU mask of the worker that it wakes. Only a thread of the same process can
//! be sure which worker a thread number belongs to. And only an ordinary thread may begin to change
//! a mask: the kernel keeps a canary off its CPU for seconds.

use std::io;

use cmwq_os::{helper::inside, sched, thread};

use crate::engine::Engine;

const STACK: usize = 64 * 1024;

/// Starts the relay of this CPU.
pub(super) fn start(engine: &'static Engine, cpu: usize) -> io::Result<()> {
    thread::spawn(&format!("cmwq/r{cpu}"), STACK, move || run(engine, cpu))
}

fn run(engine: &'static Engine, cpu: usize) {
    stay(engine, cpu);
    // Refused by older kernels, and no matter: it gets a CPU sooner, also to end.
    let _ = sched::set_short_slice_self();
    let canaries = engine.canaries();
    let seat = canaries.board().seat(cpu);
    loop {
        seat.relay.park(None);
        if inside::current_cpu() != cpu {
            // Somebody outside has given all threads another mask.
            stay(engine, cpu);
        }
        pass_on(engine, cpu);
    }
}

/// On this CPU, as long as the process has it.
fn stay(engine: &'static Engine, cpu: usize) {
    inside::pin(cpu);
    engine.notice_cpus();
    let cpus = engine.cpus();
    if !cpus.mask.contains(cpu) {
        let _ = sched::set_affinity_self(&cpus.mask);
    }
}

/// The canary of this CPU has fired: somebody gets the report.
pub(super) fn pass_on(engine: &'static Engine, cpu: usize) {
    let canaries = engine.canaries();
    let words = &canaries.wanting()[..engine.pool_words()];
    let receiver = canaries.receiver(engine.wanting_pools(words, cpu));
    if let Some(pool) = receiver.and_then(|pool| engine.pool_at(pool)) {
        pool.report_idle(cpu);
    }
}
