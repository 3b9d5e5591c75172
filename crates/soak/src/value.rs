//! Values whose `Drop` is hostile.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::Arc;
use std::time::Duration;

use crate::books::{Part, Ticket};
use crate::rng::Rng;
use crate::world::{self, Level};

/// What a value does when it is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    Quiet,
    /// Panics, with a value that may panic as well.
    Panics,
    /// Spawns an item.
    Spawns,
    /// Spawns an item and joins it.
    Joins,
    /// Spawns two items in a scope.
    Scopes,
    /// Says that it blocks, and does.
    Blocks,
    /// Queues an item that is shared by all.
    Queues,
}

const MOODS: [Mood; 9] = [
    Mood::Quiet,
    Mood::Quiet,
    Mood::Panics,
    Mood::Panics,
    Mood::Spawns,
    Mood::Joins,
    Mood::Scopes,
    Mood::Blocks,
    Mood::Queues,
];

/// How often a value makes values that are hostile again.
const DEPTH: u8 = 2;

/// A value that is counted, with a mood.
pub(crate) struct Value {
    ticket: Arc<Ticket>,
    part: Part,
    mood: Mood,
    depth: u8,
    /// Whom its items may wait for.
    level: Level,
}

impl Value {
    pub(crate) fn new(ticket: &Arc<Ticket>, part: Part, mood: Mood, level: Level) -> Self {
        Value::deep(ticket, part, mood, level, DEPTH)
    }

    fn deep(ticket: &Arc<Ticket>, part: Part, mood: Mood, level: Level, depth: u8) -> Self {
        ticket.count(part).make();
        Value {
            ticket: ticket.clone(),
            part,
            mood,
            depth,
            level,
        }
    }

    fn act(&self) {
        match self.mood {
            Mood::Quiet => {}
            Mood::Panics => self.panic(),
            Mood::Spawns => self.spawn(drop),
            Mood::Joins => self.spawn(|handle| defuse(handle.join())),
            Mood::Scopes => self.scope(),
            Mood::Blocks => cmwq::blocking(|| std::thread::sleep(Duration::from_micros(200))),
            Mood::Queues => _ = world::loose(self.depth.into()).queue(world::shared_item()),
        }
    }

    fn below(&self) -> (Mood, u8) {
        match self.depth {
            0 => (Mood::Quiet, 0),
            depth => (self.mood, depth - 1),
        }
    }

    fn panic(&self) {
        if std::thread::panicking() {
            return;
        }
        let (mood, depth) = self.below();
        let payload = Value::deep(&self.ticket, Part::Payload, mood, self.level, depth);
        panic_any(payload);
    }

    fn spawn(&self, ends: impl FnOnce(cmwq::JoinHandle<Value>)) {
        let (mood, depth) = self.below();
        let (queue, level) = world::nested(self.level, usize::from(depth));
        let ticket = Ticket::new(format!(
            "{:?}, spawned by a drop on {}",
            self.mood,
            queue.name()
        ));
        // The process may be shut down, or a queue of the parent's.
        ticket.may_not_run();
        let captured = Value::deep(&ticket, Part::Captured, mood, level, depth);
        let own = ticket.clone();
        own.handle(1);
        let handle = queue.spawn(move || {
            ticket.runs();
            quietly(|| drop(captured));
            Value::deep(&ticket, Part::Returned, mood, level, depth)
        });
        own.handle(2);
        ends(handle);
        own.handle(3);
    }

    fn scope(&self) {
        let (mood, depth) = self.below();
        let (queue, level) = world::nested(self.level, usize::from(depth) + 1);
        let ticket = &self.ticket;
        let _ = queue.scope(|scope| {
            drop(scope.spawn(|| Value::deep(ticket, Part::Payload, mood, level, depth)));
            let value = scope.spawn(|| Value::deep(ticket, Part::Payload, mood, level, depth));
            defuse(value.join());
        });
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        self.ticket.dropped(self.part);
        match std::thread::panicking() {
            // What comes out of a destructor then ends the process, by Rust's rules.
            true => drop(quietly(|| self.act())),
            false => self.act(),
        }
    }
}

/// A mood.
pub(crate) fn mood(rng: &mut Rng) -> Mood {
    MOODS[rng.below(MOODS.len())]
}

/// Calls, and takes care of what it panics with.
pub(crate) fn quietly<R>(call: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(value) => Some(value),
        Err(payload) => {
            disarm(payload);
            None
        }
    }
}

/// Drops a payload, what that panics with, and so on.
fn disarm(mut payload: Box<dyn Any + Send>) {
    while let Err(next) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        payload = next;
    }
}

/// Drops whatever may panic when it is dropped.
pub(crate) fn defuse<T>(value: T) {
    quietly(|| drop(value));
}
