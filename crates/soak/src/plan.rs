//! What a seed makes of a process.

use std::fmt;

use crate::rng::Rng;

/// A kind of program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Room {
    Barriers,
    Cycles,
    Domains,
    Forks,
    Items,
    Jobs,
    Knobs,
    Queues,
    Scopes,
    Spawns,
}

impl Room {
    /// All of them, with their names.
    pub const ALL: [(Room, &str); 10] = [
        (Room::Barriers, "barriers"),
        (Room::Cycles, "cycles"),
        (Room::Domains, "domains"),
        (Room::Forks, "forks"),
        (Room::Items, "items"),
        (Room::Jobs, "jobs"),
        (Room::Knobs, "knobs"),
        (Room::Queues, "queues"),
        (Room::Scopes, "scopes"),
        (Room::Spawns, "spawns"),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        let named = Room::ALL.iter().find(|(room, _)| *room == self);
        named.expect("all have a name").1
    }

    /// The room of this name.
    pub fn named(name: &str) -> Option<Room> {
        let named = Room::ALL.iter().find(|(_, known)| *known == name);
        named.map(|(room, _)| *room)
    }
}

/// What a report hook does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// There is none: reports go to standard error.
    None,
    /// Counts.
    Counts,
    /// Panics, with a value that panics when it is dropped.
    Panics,
    /// Sleeps.
    Blocks,
    /// Spawns items, and joins some.
    Uses,
}

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Returns from main, with everything idle.
    Returns,
    /// The same, after a shutdown.
    ShutsDown,
    /// Calls `exit` on an item's thread.
    ExitsInItem,
    /// Calls `exit` while all rooms go on.
    ExitsInTheMiddle,
    /// Returns from main while items run and wait.
    ReturnsInTheMiddle,
}

/// What a process is.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Determines the rest.
    pub seed: u64,
    /// For how long rooms go on, in milliseconds.
    pub millis: u64,
    /// Workers of a pool.
    pub thread_limit: Option<usize>,
    /// Threads of the process cannot be made at times, the first use included.
    pub no_threads: bool,
    /// `SCHED_IDLE` is denied.
    pub no_idle: bool,
    /// There is no `/proc`, if that can be had.
    pub no_proc: bool,
    /// What a report hook does.
    pub hook: Hook,
    /// How it ends.
    pub end: End,
    /// Threads that call `atexit`, and values of threads that use queues when they end.
    pub late: bool,
    /// The rooms that it has.
    pub rooms: Vec<Room>,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rooms: Vec<_> = self.rooms.iter().map(|room| room.name()).collect();
        write!(
            f,
            "rooms {rooms:?}, {} ms, thread limit {:?}, hook {:?}, end {:?}",
            self.millis, self.thread_limit, self.hook, self.end
        )?;
        let flags = [
            (self.no_threads, "no threads at times"),
            (self.no_idle, "no SCHED_IDLE"),
            (self.no_proc, "no /proc"),
            (self.late, "late uses"),
        ];
        let set = flags.iter().filter(|(set, _)| *set);
        set.clone().try_for_each(|(_, what)| write!(f, ", {what}"))
    }
}

/// Rooms of one process.
const MOST_ROOMS: usize = 4;

impl Plan {
    /// What this seed makes; of all rooms, or of the one that has this name.
    pub fn of(seed: u64, only: Option<&str>) -> Self {
        let mut rng = Rng::new(seed);
        // The first numbers of small seeds are alike.
        (0..8).for_each(|_| _ = rng.next());
        let hooks = [
            Hook::None,
            Hook::Counts,
            Hook::Panics,
            Hook::Blocks,
            Hook::Uses,
        ];
        let ends = [
            End::Returns,
            End::Returns,
            End::ShutsDown,
            End::ExitsInItem,
            End::ExitsInTheMiddle,
            End::ReturnsInTheMiddle,
        ];
        Plan {
            seed,
            millis: 1000 + rng.below(2000) as u64,
            thread_limit: rng.one_in(4).then(|| 1 + rng.below(3)),
            no_threads: rng.one_in(5),
            no_idle: rng.one_in(4),
            no_proc: rng.one_in(4),
            hook: hooks[rng.below(hooks.len())],
            end: ends[rng.below(ends.len())],
            late: rng.one_in(2),
            rooms: rooms(&mut rng, only),
        }
    }

    /// Waits within items may fail though they would end on another day.
    pub fn waits_may_fail(&self) -> bool {
        self.thread_limit.is_some() || self.no_threads
    }
}

fn rooms(rng: &mut Rng, only: Option<&str>) -> Vec<Room> {
    if let Some(name) = only {
        return Room::named(name).into_iter().collect();
    }
    let mut left = Room::ALL.map(|(room, _)| room).to_vec();
    let n = 1 + rng.below(MOST_ROOMS);
    (0..n).map(|_| left.remove(rng.below(left.len()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_have_everything() {
        let plans: Vec<_> = (0..500).map(|seed| Plan::of(seed, None)).collect();
        let some = |is: &dyn Fn(&Plan) -> bool| plans.iter().filter(|plan| is(plan)).count();
        for (room, name) in Room::ALL {
            assert!(some(&|plan| plan.rooms.contains(&room)) > 50, "{name}");
        }
        for flag in [
            some(&|plan| plan.no_threads),
            some(&|plan| plan.no_idle && plan.no_proc),
            some(&|plan| plan.thread_limit.is_some()),
            some(&|plan| plan.late),
            some(&|plan| plan.hook == Hook::Panics),
            some(&|plan| plan.end == End::ExitsInTheMiddle),
        ] {
            assert!((10..450).contains(&flag), "{flag}");
        }
    }

    #[test]
    fn a_seed_makes_the_same_again() {
        for seed in 0..50 {
            let [one, other] = [(); 2].map(|()| Plan::of(seed, None).to_string());
            assert_eq!(one, other);
        }
    }
}
