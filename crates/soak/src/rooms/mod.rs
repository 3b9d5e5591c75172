//! Rooms: each plays one kind of program, again and again.

mod barriers;
mod cycles;
mod domains;
mod forks;
pub mod items;
mod jobs;
pub(crate) mod knobs;
mod queues;
mod scopes;
pub(crate) mod spawns;

use std::sync::Mutex;

use crate::books;
use crate::plan::{Plan, Room};
use crate::rng::Rng;
use crate::value;

type Play = fn(&mut Player);

/// How many threads play a room, and what each of them plays.
fn cast(room: Room) -> (usize, Play) {
    match room {
        Room::Barriers => (1, barriers::play),
        Room::Cycles => (1, cycles::play),
        Room::Domains => (2, domains::play),
        Room::Forks => (1, forks::play),
        Room::Items => (1, items::play),
        Room::Jobs => (2, jobs::play),
        Room::Knobs => (1, knobs::play),
        Room::Queues => (2, queues::play),
        Room::Scopes => (2, scopes::play),
        Room::Spawns => (3, spawns::play),
    }
}

/// What a thread of a room has.
pub(crate) struct Player {
    pub(crate) rng: Rng,
    pub(crate) plan: &'static Plan,
    /// Where it says what it does.
    note: usize,
}

/// What each thread of a room does, for when nothing goes on any more.
static NOTES: Mutex<Vec<String>> = Mutex::new(Vec::new());

impl Player {
    /// Says what it does next.
    pub(crate) fn does(&self, what: &str) {
        books::step();
        if let Ok(mut notes) = NOTES.lock() {
            let note = &mut notes[self.note];
            note.truncate(note.find(':').unwrap_or(note.len()));
            note.push_str(": ");
            note.push_str(what);
        }
    }
}

fn note(n: usize) -> String {
    NOTES
        .lock()
        .map_or_else(|_| String::new(), |notes| notes[n].clone())
}

/// What all rooms do.
pub(crate) fn notes() -> Vec<String> {
    NOTES
        .lock()
        .map_or_else(|_| Vec::new(), |notes| notes.clone())
}

/// Plays all rooms of a plan until the books say that it is over.
pub(crate) fn play(plan: &'static Plan) {
    std::thread::scope(|threads| {
        let mut seed = plan.seed << 8;
        for &room in &plan.rooms {
            let (number, play) = cast(room);
            for n in 0..number {
                seed += 1;
                let mut player = player(plan, room, n, seed);
                let body = move || {
                    while !books::is_over() {
                        if value::quietly(|| play(&mut player)).is_none() {
                            let what = note(player.note);
                            books::fail(&format!("a panic comes out: {what}"));
                        }
                    }
                    player.does("over");
                };
                // Threads cannot be made at times.
                let made = std::thread::Builder::new().spawn_scoped(threads, body);
                drop(made);
            }
        }
    });
}

fn player(plan: &'static Plan, room: Room, n: usize, seed: u64) -> Player {
    let mut notes = NOTES.lock().expect("nobody panics with it");
    notes.push(format!("{} {n}", room.name()));
    Player {
        rng: Rng::new(seed),
        plan,
        note: notes.len() - 1,
    }
}
