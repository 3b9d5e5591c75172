//! Multithreaded jobs that fail, panic, are cancelled and undone: each step once.

use std::panic::panic_any;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;

use cmwq::{CancelToken, Job};

use super::Player;
use crate::books::{self, Part, Ticket};
use crate::value::{self, Value, quietly};

/// What one unit of a job came to.
#[derive(Default)]
struct Unit {
    begun: AtomicU32,
    done: AtomicU32,
    undone: AtomicU32,
}

/// How one of its steps goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    Fails,
    Panics,
    Cancels,
    /// It has a job of its own.
    Nests,
}

const FAULTS: [Fault; 5] = [
    Fault::None,
    Fault::Fails,
    Fault::Panics,
    Fault::Cancels,
    Fault::Nests,
];

pub(super) fn play(player: &mut Player) {
    let rng = &mut player.rng;
    let (size, fault) = (1 + rng.below(200), FAULTS[rng.below(FAULTS.len())]);
    let (at, align) = (rng.below(size), 1 + rng.below(8));
    let (threads, adaptive) = (rng.below(5), rng.one_in(2));
    let (mood, undo_panics) = (value::mood(rng), rng.one_in(8));
    player.does(&format!("{fault:?} at {at} of {size}"));
    let units: Vec<Unit> = (0..size).map(|_| Unit::default()).collect();
    let (token, ticket) = (CancelToken::new(), Ticket::new("a job's panic"));
    ticket.may_not_run();
    let step = |range: std::ops::Range<usize>| {
        let mine = &units[range.clone()];
        mine.iter().for_each(|unit| begin(unit, &range));
        std::thread::yield_now();
        if range.contains(&at) {
            match fault {
                Fault::Fails => return Err(range.start),
                Fault::Panics => panic_any(Value::new(&ticket, Part::Payload, mood, 3)),
                Fault::Cancels => token.cancel(),
                Fault::Nests => drop(Job::new(0..10).for_each(|_| books::step())),
                Fault::None => {}
            }
        }
        mine.iter()
            .for_each(|unit| _ = unit.done.fetch_add(1, SeqCst));
        Ok(())
    };
    let undo = |range: std::ops::Range<usize>| {
        units[range]
            .iter()
            .for_each(|unit| _ = unit.undone.fetch_add(1, SeqCst));
        assert!(!undo_panics, "on purpose");
    };
    let job = Job::new(0..size).align(align).max_threads(threads);
    let job = if adaptive { job.adaptive_chunks() } else { job };
    let job = job.cancel_token(&token).undo(undo);
    let result = quietly(|| job.run(step));
    check(&units, matches!(result, Some(Ok(_))), undo_panics, fault);
}

fn begin(unit: &Unit, range: &std::ops::Range<usize>) {
    books::step();
    if unit.begun.fetch_add(1, SeqCst) > 0 {
        books::fail(&format!("a unit of {range:?} is given out a second time"));
    }
}

fn check(units: &[Unit], complete: bool, undo_panics: bool, fault: Fault) {
    for (n, unit) in units.iter().enumerate() {
        let [begun, done, undone] =
            [&unit.begun, &unit.done, &unit.undone].map(|count| count.load(SeqCst));
        let right = match complete {
            true => begun == 1 && done == 1 && undone == 0,
            // A range is undone as a whole, and stops at one that panics.
            false => undone == done || undo_panics && undone <= done,
        };
        if !right || matches!(fault, Fault::None | Fault::Nests) && !complete {
            let size = units.len();
            books::fail(&format!(
                "unit {n} of {size}, {fault:?}, complete {complete}: {begun} begun, {done} done, {undone} undone"
            ));
            return;
        }
    }
}
