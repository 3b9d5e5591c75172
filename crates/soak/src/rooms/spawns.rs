//! Closures whose handles are joined, dropped, forgotten, given to others, and left to the end of a
//! thread.

use std::cell::RefCell;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cmwq::{JoinHandle, Work};

use super::Player;
use crate::books::{self, Part, Ticket};
use crate::hostile::threads;
use crate::rng::Rng;
use crate::value::{self, Mood, Value, defuse, quietly};
use crate::world::{self, Level};

/// What a closure does before it ends.
#[derive(Clone, Copy, Debug)]
enum Act {
    Nothing,
    Sleeps,
    Burns,
    Yields,
    Panics,
    /// Joins another one, whose level may be waited for.
    Nests,
    /// Leaves its thread with another signal mask.
    Spoils,
    /// Puts a value there that is dropped when the worker ends.
    LeavesInTls,
}

const ACTS: [Act; 9] = [
    Act::Nothing,
    Act::Nothing,
    Act::Sleeps,
    Act::Burns,
    Act::Yields,
    Act::Panics,
    Act::Nests,
    Act::Spoils,
    Act::LeavesInTls,
];

/// A closure that was handed over.
pub(crate) struct Spawned {
    handle: JoinHandle<Value>,
    ticket: Arc<Ticket>,
    /// Items do not wait for it.
    loose: bool,
}

pub(super) fn play(player: &mut Player) {
    player.rng.next();
    let rng = &mut player.rng.clone();
    let fate = rng.below(9);
    player.does(&format!("fate {fate}"));
    let spawned = spawn(rng, 0, 2);
    match fate {
        0 | 1 => defuse(spawned.handle.join()),
        2 => drop_it(spawned),
        3 => forget(spawned),
        4 => join_elsewhere(spawned),
        5 => end_of_thread(spawned),
        6 => end_of_process(spawned),
        7 => never_queued(spawned),
        _ => carried(rng, spawned),
    }
}

/// Spawns a hostile closure on a queue that an item of this level may wait for, or, from outside,
/// on any.
fn spawn(rng: &mut Rng, level: Level, depth: u32) -> Spawned {
    let loose = level == 0 && depth == 2 && rng.one_in(3);
    let (queue, level) = match loose {
        true => (world::loose(rng.below(8)), 0),
        false => world::nested(level, rng.below(16)),
    };
    let act = ACTS[rng.below(ACTS.len())];
    let ticket = Ticket::new(format!("{act:?} on {}", queue.name()));
    if books::is_over() {
        // The process may be shut down.
        ticket.may_not_run();
    }
    let captured = Value::new(&ticket, Part::Captured, value::mood(rng), level);
    let (own, mut rng) = (ticket.clone(), rng.clone());
    let handle = queue.spawn(move || {
        own.runs();
        perform(act, &own, &mut rng, level, depth);
        quietly(|| drop(captured));
        Value::new(&own, Part::Returned, value::mood(&mut rng), level)
    });
    Spawned {
        handle,
        ticket,
        loose,
    }
}

fn perform(act: Act, ticket: &Arc<Ticket>, rng: &mut Rng, level: Level, depth: u32) {
    match act {
        Act::Nothing => {}
        Act::Sleeps => std::thread::sleep(Duration::from_micros(rng.below(2000) as u64)),
        Act::Burns => (0..rng.below(500_000)).for_each(|_| std::hint::spin_loop()),
        Act::Yields => std::thread::yield_now(),
        Act::Panics => {
            let mood = value::mood(rng);
            std::panic::panic_any(Value::new(ticket, Part::Payload, mood, level));
        }
        Act::Nests if depth > 0 => defuse(spawn(rng, level, depth - 1).handle.join()),
        Act::Nests => {}
        Act::Spoils => threads::unblock_signals(),
        Act::LeavesInTls => leave_in_tls(Value::new(ticket, Part::Payload, Mood::Spawns, level)),
    }
}

thread_local! {
    static LEFT: RefCell<Vec<Late>> = const { RefCell::new(Vec::new()) };
}

/// What is done when its thread ends. A panic there would end the process, by Rust's rules.
struct Late(Option<Box<dyn FnOnce() + Send>>);

impl Late {
    fn new(act: impl FnOnce() + Send + 'static) -> Self {
        Late(Some(Box::new(act)))
    }
}

impl Drop for Late {
    fn drop(&mut self) {
        self.0.take().map(quietly);
    }
}

/// At most so many values wait for the end of one thread.
const MOST_LEFT: usize = 8;

fn leave_in_tls(value: Value) {
    let mut value = Some(value);
    // Who is claimed at the end of a thread has none.
    let left = LEFT.try_with(|left| {
        let Ok(mut left) = left.try_borrow_mut() else {
            return;
        };
        if left.len() < MOST_LEFT {
            let value = value.take();
            left.push(Late::new(|| drop(value)));
        }
    });
    defuse((left, value));
}

fn drop_it(spawned: Spawned) {
    defuse(spawned.handle);
}

fn forget(spawned: Spawned) {
    spawned.ticket.may_leak();
    std::mem::forget(spawned.handle);
}

/// An item joins it.
fn join_elsewhere(spawned: Spawned) {
    let (queue, handle) = (world::ground(), spawned.handle);
    match spawned.loose {
        true => defuse(handle),
        false => drop(queue.spawn(move || defuse(handle.join()))),
    }
}

/// A thread joins it when it has ended, and its names are gone.
fn end_of_thread(spawned: Spawned) {
    let late = Late::new(|| defuse(spawned.handle.join()));
    let body = move || LEFT.with(|left| left.borrow_mut().push(late));
    defuse(threads::making(|| std::thread::spawn(body)).join());
}

/// Handles that are joined, or dropped, by `atexit`.
static LAST: Mutex<Vec<Spawned>> = Mutex::new(Vec::new());
const MOST_LAST: usize = 32;

fn end_of_process(spawned: Spawned) {
    let mut last = LAST.lock().expect("nobody panics with it");
    let first = (last.len() == MOST_LAST).then(|| last.remove(0));
    last.push(spawned);
    drop(last);
    first.into_iter().for_each(drop_it);
}

/// Those that were kept for the end.
pub(crate) fn take_last() -> Vec<Spawned> {
    LAST.lock()
        .map_or_else(|_| Vec::new(), |mut last| std::mem::take(&mut *last))
}

/// How many there are.
pub(crate) fn kept() -> usize {
    LAST.lock().map_or(0, |last| last.len())
}

/// Ends them now.
pub(crate) fn end_all() -> usize {
    take_last()
        .into_iter()
        .enumerate()
        .for_each(|(n, spawned)| end(n, spawned));
    0
}

/// Ends it, somehow.
pub(crate) fn end(n: usize, spawned: Spawned) {
    match n % 3 {
        0 => defuse(spawned.handle.join()),
        1 => drop_it(spawned),
        _ => forget(spawned),
    }
}

/// A handle in an item that nobody ever queues.
fn never_queued(spawned: Spawned) {
    let handle = Mutex::new(Some(spawned.handle));
    let work = Work::new(move || drop(handle.lock().map(|mut handle| handle.take())));
    work.disable();
    defuse(work);
}

/// A handle in what an item carries, which has other handles.
fn carried(rng: &mut Rng, spawned: Spawned) {
    let (loose, ticket) = (spawned.loose, Ticket::new("an item"));
    ticket.may_not_run();
    let value = Value::new(&ticket, Part::Returned, value::mood(rng), 0);
    let handle = Mutex::new(Some(spawned.handle));
    let work = Work::with_data(value, move |_work| {
        let handle = handle.lock().ok().and_then(|mut handle| handle.take());
        match (handle, loose) {
            (Some(handle), false) => defuse(handle.join()),
            (handle, _) => defuse(handle),
        }
    });
    let (queue, other) = (world::ground(), work.clone());
    let _ = queue.queue(&other);
    if rng.one_in(4) {
        work.cancel();
    }
    if rng.one_in(4) {
        drop(quietly(|| work.flush()));
    }
    match rng.below(3) {
        0 => {
            let _ = queue.queue(&work);
            defuse(work);
        }
        1 => defuse(work),
        _ => drop(queue.spawn(move || defuse(work))),
    }
    defuse(other);
}
