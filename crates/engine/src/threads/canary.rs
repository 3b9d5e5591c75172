//! Canaries: one SCHED_IDLE thread per CPU that says "this CPU would idle right now".
//!
//! A canary takes no lock, allocates nothing once it runs and creates no thread, because it can be
//! kept off its CPU for seconds at any point. Canaries live in a helper process where one can be
//! made.

use std::io;
use std::sync::atomic::AtomicBool;

use cmwq_os::helper::inside;
use cmwq_os::{memory, sched, thread};
use cmwq_policy::CpuMask;
use cmwq_policy::form::{self, CanaryForm, CanaryReason};

use super::{keeper, relay};
use crate::base::Base;
use crate::engine::{self, Engine};
use crate::signals::board::Ground;
use crate::signals::watch::Watch;
use crate::sync::SeqCst;

/// Bytes of stack: a canary calls nothing deep.
const STACK: usize = 64 * 1024;

/// Makes sure that each CPU of the mask has a canary, and chooses who may be armed now. Called
/// by the tick, which is the one that creates threads.
pub(super) fn serve(engine: &'static Engine, target: usize, mask: &CpuMask, turn: usize) {
    let canaries = engine.canaries();
    if canaries.denied().is_some() {
        return;
    }
    // No lock, for a forked child. Only the tick of a process does this; twice does no harm.
    static SEEN_OFF: AtomicBool = AtomicBool::new(false);
    if !SEEN_OFF.load(SeqCst) {
        thread::at_exit(see_off);
        SEEN_OFF.store(true, SeqCst);
    }
    match decide(engine) {
        Some(CanaryForm::Process) => serve_with_helper(engine, mask),
        Some(CanaryForm::Threads) => serve_with_threads(engine, mask),
        _ => return,
    }
    canaries.choose_armable(target, mask, turn);
}

/// Where they are to live. `None` if that is to be tried again.
fn decide(base: &'static Base) -> Option<CanaryForm> {
    let canaries = base.canaries();
    if let Some((form, _)) = canaries.crew().form {
        return Some(form);
    }
    let (wish, heap) = (base.canary_wish(), memory::private());
    let mut form = form::first(wish, heap, thread::getpid());
    if form.0 == CanaryForm::Process {
        match canaries.ground() {
            Ground::Shared(helper) => {
                // Before there is a helper: its keeper may have to say otherwise.
                canaries.crew().form = Some(form);
                if keeper::start(base, helper).is_err() {
                    // Nor would there be room for others.
                    canaries.crew().form = None;
                    return None;
                }
                return Some(form.0);
            }
            Ground::Own(_, error) => form = form::instead(wish, heap, why_not(error)),
        }
    }
    canaries.settle(form);
    Some(form.0)
}

fn serve_with_helper(engine: &'static Engine, mask: &CpuMask) {
    let canaries = engine.canaries();
    let Ground::Shared(helper) = canaries.ground() else {
        return;
    };
    let relays = canaries.crew().relays;
    for cpu in mask.iter().filter(|&cpu| !relays.contains(cpu)) {
        if relay::start(engine, cpu).is_err() {
            break;
        }
        canaries.hang_up(cpu, |crew| crew.relays.insert(cpu));
    }
    helper.want(&canaries.crew().relays.and(mask));
}

fn serve_with_threads(engine: &'static Engine, mask: &CpuMask) {
    let canaries = engine.canaries();
    let threads = canaries.crew().threads;
    for cpu in mask.iter().filter(|&cpu| !threads.contains(cpu)) {
        let body = move || run(engine, cpu);
        if thread::spawn(&format!("cmwq/c{cpu}"), STACK, body).is_err() {
            // Nor would there be room for the next.
            break;
        }
        canaries.hang_up(cpu, |crew| crew.threads.insert(cpu));
    }
}

/// A canary that is a thread of this process.
fn run(engine: &'static Engine, cpu: usize) {
    let canaries = engine.canaries();
    inside::pin(cpu);
    canaries.note_thread(cpu, thread::gettid());
    // Last: a SCHED_IDLE thread could be kept off its CPU amid its own end, which takes locks.
    if let Err(error) = sched::set_idle_policy_self() {
        canaries.note_thread(cpu, 0);
        return canaries.deny(error);
    }
    let watch = Watch::new(canaries.board(), cpu);
    watch.settle();
    loop {
        if watch.watch() {
            relay::pass_on(engine, cpu);
        }
        watch.linger();
    }
}

/// Why there is no ground for a helper.
fn why_not(error: &io::Error) -> CanaryReason {
    match error.raw_os_error() {
        None => CanaryReason::Unsupported,
        Some(errno) => CanaryReason::Denied(errno),
    }
}

/// The process ends by `exit` or a return from `main`.
extern "C" fn see_off() {
    let Some(engine) = engine::existing() else {
        return;
    };
    engine.canaries().leave();
    // Who would get a CPU last may use any of them, and is an ordinary thread if the system permits
    // it.
    let all = sched::affinity(thread::getpid()).unwrap_or(CpuMask::EMPTY);
    for tid in engine.canaries().threads() {
        let _ = sched::set_affinity(tid, &all);
        let _ = sched::set_normal_policy(tid);
    }
}
