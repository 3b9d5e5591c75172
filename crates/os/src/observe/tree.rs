//! What a process and those that descend from it do: whether they want a CPU, and how much memory
//! they have.
//!
//! A tree has more than its leader's descendants: a process whose parent has ended is given to the
//! next subreaper above it, or to init. Where this process is that ([`adopt`](crate::adopt)), one
//! of those it was given belongs to the tree if its group or session is one that the tree was seen
//! to have.
//!
//! A [`helper`](crate::helper) of a program that uses cmwq is part of no tree: it wants a CPU only
//! where nobody does, has no memory to speak of, and ends after its parent by itself.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::children::{Children, numeric_names};
use super::naps::{Nap, Naps};
use super::{TaskState, is_own_proc, parse_session, parse_stat};
use crate::session;

/// Processes of one tree that a look reads, at most: a tree must not make a look last for ever.
pub const LOOK_MOST: usize = 256;
/// Groups and sessions of one tree that are remembered.
const GROUPS_MOST: usize = 64;

/// What a process tree was seen doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeState {
    /// Runnable threads found; counting ends at the cap.
    pub runnable: usize,
    /// Some thread seen is stopped or traced.
    pub stopped: bool,
    /// Some thread seen waits for a disk, or cannot be interrupted for another reason.
    pub loading: bool,
    /// Some thread seen has not ended.
    pub alive: bool,
    /// The leader's threads could be looked at: /proc is there, is ours and does not hide them.
    pub seen: bool,
}

/// The memory that processes have, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resident {
    /// Their resident sets.
    pub all: u64,
    /// What of them is neither of a file nor shared memory (kernel `RssAnon`).
    pub anonymous: u64,
}

/// A process tree that is looked at again and again.
#[derive(Debug)]
pub struct Tree {
    proc_dir: PathBuf,
    leader: i32,
    /// Process groups and sessions that members were seen in, the latest last. An id may be used
    /// again for somebody else's once all of its members are gone; then a look is wrong until the
    /// tree ends.
    groups: Vec<i32>,
}

/// [`Tree::look`] at a tree of which nothing is known yet.
pub fn runnable(pid: i32, cap: usize) -> TreeState {
    Tree::new(pid).look(cap)
}

/// The processes that this one was given, each with its group and its session.
type Orphans = Vec<(i32, [i32; 2])>;

thread_local! {
    /// While this thread looks at several trees: what it has read of the orphans for the first.
    static SHARED: RefCell<Option<Option<Rc<Orphans>>>> = const { RefCell::new(None) };
}

/// Calls `look`. All trees at which it looks share one reading of the orphans, or as many trees as
/// there are would each read all of them.
pub fn one_look<T>(look: impl FnOnce() -> T) -> T {
    let is_outermost = SHARED.with_borrow_mut(|shared| {
        let is_new = shared.is_none();
        shared.get_or_insert(None);
        is_new
    });
    let _outermost = Outermost(is_outermost);
    look()
}

/// Forgets the reading at the end of the outermost look, also if it panics.
struct Outermost(bool);

impl Drop for Outermost {
    fn drop(&mut self) {
        if self.0 {
            SHARED.set(None);
        }
    }
}

fn orphans() -> Rc<Orphans> {
    SHARED.with_borrow_mut(|shared| match shared {
        Some(shared) => Rc::clone(shared.get_or_insert_with(|| Rc::new(read_orphans()))),
        None => Rc::new(read_orphans()),
    })
}

fn read_orphans() -> Orphans {
    let proc_dir = Path::new("/proc");
    let adopted = crate::adopt::adopted().into_iter();
    let groups = |pid| Some((pid, groups_of(proc_dir, pid)?));
    let all = adopted.filter_map(groups);
    all.filter(|(pid, _)| !is_helper(proc_dir, *pid)).collect()
}

impl Tree {
    /// The tree of this process, which need not lead a process group. Looks at nothing yet.
    pub fn new(leader: i32) -> Self {
        Tree {
            proc_dir: PathBuf::from("/proc"),
            leader,
            groups: vec![leader],
        }
    }

    /// The process that it began with.
    pub fn leader(&self) -> i32 {
        self.leader
    }

    /// Looks at the threads of the leader, then of its children and so on, until
    /// `cap` runnable ones are found, in at most [`LOOK_MOST`] processes. Zombies and stopped
    /// threads are not runnable. Processes may come and go meanwhile: what has gone is not counted.
    pub fn look(&mut self, cap: usize) -> TreeState {
        self.look_at(cap, |_, _, _| ())
    }

    /// The same. If all threads of the tree sleep for a time of their own choosing, or wait for
    /// processes of it, says too what those have slept that sleep for a time. `None` if there are
    /// none, if a thread waits for anything else, or if nobody can tell.
    pub fn look_for_naps(&mut self, cap: usize) -> (TreeState, Option<Naps>) {
        let mut naps = Some(None);
        let state = self.look_at(cap, |proc_dir, pid, tid| {
            naps = naps.and_then(|sum| Nap::of(proc_dir, pid, tid).added_to(sum));
        });
        (state, naps.flatten().filter(|_| state.runnable == 0))
    }

    /// As [`look`](Self::look), and calls `asleep` for each thread that sleeps.
    fn look_at(&mut self, cap: usize, mut asleep: impl FnMut(&Path, i32, i32)) -> TreeState {
        let mut found = TreeState::default();
        if self.proc_dir == Path::new("/proc") && !is_own_proc() {
            return found;
        }
        let leader = self.leader;
        self.walk(|proc_dir, pid, tasks| {
            found.seen |= pid == leader && !tasks.is_empty();
            for &tid in tasks {
                let state = task_state(proc_dir, pid, tid);
                found.add(state);
                if state == TaskState::Sleeping {
                    asleep(proc_dir, pid, tid);
                }
                if found.runnable >= cap {
                    return false;
                }
            }
            true
        });
        found
    }

    /// The memory of the processes of the tree, at most [`LOOK_MOST`] of them. What several share,
    /// such as libraries, counts for each.
    pub fn resident(&mut self) -> Resident {
        let mut sum = Resident::default();
        self.walk(|proc_dir, pid, _| {
            let of_process = resident_pages(proc_dir, pid).unwrap_or_default();
            sum.all += of_process.all;
            sum.anonymous += of_process.anonymous;
            true
        });
        let page = rustix::param::page_size() as u64;
        Resident {
            all: sum.all.saturating_mul(page),
            anonymous: sum.anonymous.saturating_mul(page),
        }
    }

    /// Visits each process with its threads, the leader first, until one says false.
    fn walk(&mut self, mut visit: impl FnMut(&Path, i32, &[i32]) -> bool) {
        let proc_dir = self.proc_dir.clone();
        let mut children = Children::new(&proc_dir);
        let mut queue: Vec<i32> = [self.leader].into_iter().chain(self.orphans()).collect();
        // Ids can be reused while we look: the set also keeps a walk from going in circles.
        let mut seen: HashSet<i32> = queue.iter().copied().collect();
        let own = crate::adopt::is_on().then(own_groups);
        let mut next = 0;
        while let Some(&pid) = queue.get(next).filter(|_| next < LOOK_MOST) {
            next += 1;
            let tasks = numeric_names(&proc_dir.join(format!("{pid}/task")));
            if !visit(&proc_dir, pid, &tasks) {
                return;
            }
            if let Some(own) = &own {
                self.note_groups(pid, own);
            }
            let below = children.of(pid, &tasks).into_iter();
            let fresh = below.filter(|&child| seen.insert(child));
            queue.extend(fresh.filter(|&child| !is_helper(&proc_dir, child)));
        }
    }

    /// Those that this process was given and that were of the tree before.
    fn orphans(&self) -> Vec<i32> {
        let orphans = orphans();
        let belongs = |groups: &[i32; 2]| groups.iter().any(|id| self.groups.contains(id));
        let own = orphans.iter().filter(|(_, groups)| belongs(groups));
        own.map(|(pid, _)| *pid).collect()
    }

    /// Remembers the group and the session of a member, unless they are among `own`.
    fn note_groups(&mut self, pid: i32, own: &[i32]) {
        for id in groups_of(&self.proc_dir, pid).unwrap_or_default() {
            if !own.contains(&id) && !self.groups.contains(&id) {
                self.groups.push(id);
            }
        }
        if self.groups.len() > GROUPS_MOST {
            self.groups.remove(1);
        }
    }
}

impl TreeState {
    fn add(&mut self, state: TaskState) {
        self.runnable += usize::from(state == TaskState::Runnable);
        self.stopped |= state == TaskState::Stopped;
        self.loading |= state == TaskState::DiskSleep;
        self.alive |= state != TaskState::Dead;
    }
}

fn task_state(proc_dir: &Path, pid: i32, tid: i32) -> TaskState {
    match fs::read(proc_dir.join(format!("{pid}/task/{tid}/stat"))) {
        Ok(line) => parse_stat(&line).map_or(TaskState::Unknown, |stat| stat.state),
        Err(_) => TaskState::Dead,
    }
}

/// What says nothing of a member: the group and the session of this process, and 0, which stands
/// for those of outside of this PID namespace.
fn own_groups() -> [i32; 3] {
    [0, session::group(), session::session()]
}

/// Whether this is the helper of another process.
fn is_helper(proc_dir: &Path, pid: i32) -> bool {
    let name = fs::read(proc_dir.join(format!("{pid}/comm"))).unwrap_or_default();
    name.strip_suffix(b"\n") == Some(crate::helper::NAME.as_bytes())
}

/// The process group and the session of a process.
fn groups_of(proc_dir: &Path, pid: i32) -> Option<[i32; 2]> {
    let line = fs::read(proc_dir.join(format!("{pid}/stat"))).ok()?;
    Some([parse_stat(&line)?.pgrp, parse_session(&line)?])
}

/// The second number of `statm`, in pages, and what the third one leaves of it.
fn resident_pages(proc_dir: &Path, pid: i32) -> Option<Resident> {
    let text = fs::read_to_string(proc_dir.join(format!("{pid}/statm"))).ok()?;
    let mut numbers = text.split_ascii_whitespace().skip(1).map(str::parse);
    let all: u64 = numbers.next()?.ok()?;
    let shared = numbers.next()?.ok()?;
    Some(Resident {
        all,
        anonymous: all.saturating_sub(shared),
    })
}
