//! What a look at the workers is to see, and what it has seen: the types that the core and the
//! reader of `/proc` exchange.

use crate::sampling::MAX_SCAN;
use crate::time::Nanos;
use crate::worker::WorkerId;

/// Which workers a scan looks at, in this order. Reading happens without the pool's lock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plan {
    list: [(u32, u32); MAX_SCAN],
    len: usize,
    /// The scan may stop when it has found this many that can run.
    pub enough: u32,
    /// Of a process tree that stands for one worker no more threads need be found.
    pub threads: u32,
}

impl Plan {
    pub(super) fn new(enough: u32, threads: u32) -> Self {
        Plan {
            enough,
            threads,
            ..Plan::default()
        }
    }

    /// The workers, each with the number of the item it executes.
    pub fn iter(&self) -> impl Iterator<Item = (WorkerId, u32)> + '_ {
        self.list[..self.len]
            .iter()
            .map(|&(id, seq)| (WorkerId(id), seq))
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn push(&mut self, (id, seq): (WorkerId, u32)) {
        if self.len < MAX_SCAN {
            self.list[self.len] = (id.0, seq);
            self.len += 1;
        }
    }
}

/// How a worker was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeenState {
    /// It runs, or waits for a CPU, or is a thread that is stopped or traced: not asleep.
    Runnable,
    /// It stands for a process tree, of which so many threads run or wait for a CPU, at least one.
    Threads(u32),
    /// Asleep, at this futex address if it waits at one.
    Asleep(Option<u64>),
    /// It stands for a process tree that is stopped: it uses no CPU, and waits for nothing that
    /// more workers could bring or hold up.
    Stopped,
    /// Nobody can see it. Its thread, or the leader of its process tree, has used so much CPU
    /// time, if that is told.
    Unknown(Option<Nanos>),
}

impl SeenState {
    /// Of a thread that sleeps at this address, or elsewhere, or does not. Who waits for the lock
    /// of the pool itself has ended its item: the lock's holder has lost its CPU.
    pub fn of_thread(asleep: bool, at: Option<u64>, at_own_lock: bool) -> Self {
        match asleep && !at_own_lock {
            true => SeenState::Asleep(at),
            false => SeenState::Runnable,
        }
    }

    /// Of a process tree in which so many threads were found to run, or else perhaps some to be
    /// stopped.
    pub fn of_tree(runnable: u32, stopped: bool) -> Self {
        match (runnable, stopped) {
            (0, true) => SeenState::Stopped,
            (0, false) => SeenState::Asleep(None),
            (runnable, _) => SeenState::Threads(runnable),
        }
    }

    /// Whether it was seen to use no CPU.
    pub fn is_asleep(self) -> bool {
        matches!(self, SeenState::Asleep(_) | SeenState::Stopped)
    }

    /// For how many that are seen to run it counts.
    pub fn running(self) -> u32 {
        match self {
            SeenState::Runnable => 1,
            SeenState::Threads(threads) => threads.max(1),
            SeenState::Asleep(_) | SeenState::Stopped | SeenState::Unknown(_) => 0,
        }
    }
}

/// One worker as a scan found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The worker.
    pub worker: WorkerId,
    /// The number of its item in the plan. If it has gone on since, the finding counts for
    /// nothing.
    pub item: u32,
    /// How it was found.
    pub state: SeenState,
}

impl Seen {
    /// Where it waits, if that is a futex.
    pub(super) fn futex(&self) -> Option<u64> {
        match self.state {
            SeenState::Asleep(futex) => futex,
            _ => None,
        }
    }
}

/// Whether fewer workers run than should, although items wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shortage {
    /// A worker was missing.
    pub missing: bool,
    /// One was started. Otherwise there may be no thread for it, or no token: the CPUs are busy for
    /// other pools.
    pub ended: bool,
}
