//! The process that is looked at.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::fs;
use std::io;

use crate::so_far::{self, SoFar};
use cmwq_os::observe::{TaskState, parse_stat};
use cmwq_stats::control::{Request, ask};
use cmwq_stats::find::{self, FindError};
use cmwq_stats::{Pool, Queue, Snapshot, Worker};

/// Which one.
#[derive(clap::Args)]
pub(crate) struct Target {
    /// The number of the process, or the name of its command
    #[arg(value_name = "PID|NAME")]
    process: String,
}

/// A process with a page.
pub(super) struct Process {
    pid: u32,
    /// Where it takes requests.
    socket: String,
}

/// What a process showed.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) pid: u32,
    pub(super) command: String,
    pub(super) snapshot: Snapshot,
    /// Why this is not what it does now, if it is not.
    pub(super) stale: Option<String>,
    /// If it is a `cmwq run`.
    pub(super) run: Option<SoFar>,
    /// Made when it is first asked for.
    pub(super) index: OnceCell<Index>,
}

/// Where what is on the page: one that is hostile, or just large, would have each queue look at all
/// workers.
#[derive(Default)]
pub(super) struct Index {
    /// By the number of the queue.
    queues: HashMap<u64, usize>,
    /// Pool and place in it, by the number of the queue.
    busy: HashMap<u64, Vec<(usize, usize)>>,
    /// Workers by the futex that they sleep at.
    sleepers: HashMap<String, usize>,
}

impl Index {
    fn of(snapshot: &Snapshot) -> Index {
        let mut index = Index::default();
        for (at, queue) in snapshot.queues.iter().enumerate() {
            index.queues.entry(queue.id).or_insert(at);
        }
        for (pool, shown) in snapshot.pools.iter().enumerate() {
            for (at, worker) in shown.busy.iter().enumerate() {
                let busy = index.busy.entry(worker.queue).or_default();
                busy.push((pool, at));
                if let Some(futex) = futex_of(worker) {
                    *index.sleepers.entry(futex.to_owned()).or_default() += 1;
                }
            }
        }
        index
    }
}

fn futex_of(worker: &Worker) -> Option<&str> {
    let call = worker.place.strip_prefix("sleeps in futex(")?;
    call.split_once(',').map(|(address, _)| address)
}

impl Seen {
    fn index(&self) -> &Index {
        self.index.get_or_init(|| Index::of(&self.snapshot))
    }

    /// The queue with this number.
    pub(super) fn queue(&self, id: u64) -> Option<&Queue> {
        let at = self.index().queues.get(&id)?;
        self.snapshot.queues.get(*at)
    }

    /// Who executes items of the queue with this number.
    pub(super) fn busy_of(&self, queue: u64) -> impl Iterator<Item = (&Pool, &Worker)> {
        let busy = self.index().busy.get(&queue).into_iter().flatten();
        busy.filter_map(|(pool, at)| {
            let pool = self.snapshot.pools.get(*pool)?;
            Some((pool, pool.busy.get(*at)?))
        })
    }

    /// How many other workers sleep at the futex that this one sleeps at.
    pub(super) fn others_at_its_futex(&self, worker: &Worker) -> usize {
        let there = futex_of(worker).and_then(|futex| self.index().sleepers.get(futex));
        there.map_or(0, |there| there.saturating_sub(1))
    }
}

impl Target {
    pub(super) fn named(process: &str) -> Target {
        Target {
            process: process.to_owned(),
        }
    }

    #[cfg(test)]
    pub(super) fn of_pid(pid: u32) -> Target {
        Target::named(&pid.to_string())
    }

    pub(super) fn find(&self) -> io::Result<Process> {
        let pid = match self.process.parse() {
            Ok(pid) => pid,
            Err(_) => self.only_one()?,
        };
        let (_, snapshot) = find::of_process(pid).map_err(|error| match error {
            // Nobody has waited for it yet.
            FindError::NoPage(_) if has_ended(pid) => ended(pid),
            error => io::Error::other(error),
        })?;
        Ok(Process::new(pid, snapshot.socket))
    }

    fn only_one(&self) -> io::Result<u32> {
        let name = &self.process;
        match find::by_name(name).as_slice() {
            [pid] => Ok(*pid),
            [] => Err(io::Error::other(format!(
                "no process of yours is called \"{name}\" and has queues of cmwq"
            ))),
            several => Err(io::Error::other(format!(
                "several processes are called \"{name}\": name one of {several:?}"
            ))),
        }
    }
}

impl Process {
    pub(super) fn new(pid: u32, socket: String) -> Process {
        Process { pid, socket }
    }

    /// Its number.
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// Where it takes requests.
    pub(super) fn socket(&self) -> &str {
        &self.socket
    }

    /// What it does now or, where it does not answer, what it showed last.
    pub(super) fn look(&self, request: &Request) -> io::Result<Seen> {
        let answered = ask(self.pid, self.socket(), request);
        // Only now: a process that has ended meanwhile has no page that means anything.
        let snapshot = match find::of_process(self.pid) {
            Ok((_, snapshot)) if snapshot.socket == self.socket => snapshot,
            // The same number, and another process.
            Ok(_) => return Err(ended(self.pid)),
            Err(_) if has_ended(self.pid) => return Err(ended(self.pid)),
            Err(error) => return Err(io::Error::other(error)),
        };
        let command = fs::read_to_string(format!("/proc/{}/comm", self.pid));
        Ok(Seen {
            pid: self.pid,
            command: command.unwrap_or_default().trim_end().to_owned(),
            snapshot,
            stale: answered.err().map(|refusal| refusal.to_string()),
            run: so_far::of(self.pid),
            index: OnceCell::new(),
        })
    }
}

fn ended(pid: u32) -> io::Error {
    io::Error::other(format!("process {pid} has ended"))
}

/// Also one that nobody has waited for yet.
fn has_ended(pid: u32) -> bool {
    let stat = fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    parse_stat(&stat).is_none_or(|stat| stat.state == TaskState::Dead)
}

/// The queue with this name, or with this number after `id:`.
pub(super) fn queue<'a>(queues: &'a [Queue], wanted: &str) -> io::Result<&'a Queue> {
    let id = wanted
        .strip_prefix("id:")
        .and_then(|id| id.parse::<u64>().ok());
    let is_wanted = |queue: &&Queue| match id {
        Some(id) => queue.id == id,
        None => queue.name == wanted,
    };
    let found: Vec<&Queue> = queues.iter().filter(is_wanted).collect();
    match found.as_slice() {
        [queue] => Ok(queue),
        [] => Err(io::Error::other(format!("it has no queue \"{wanted}\""))),
        several => {
            let ids = several.iter().map(|queue| format!("id:{}", queue.id));
            Err(io::Error::other(format!(
                "several queues are called \"{wanted}\": name one of {}",
                ids.collect::<Vec<_>>().join(", ")
            )))
        }
    }
}
