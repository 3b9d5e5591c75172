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
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::children::{Children, numeric_names};
use super::naps::{Nap, Naps, file_of};
use super::read::{LINE_MOST, read_once};
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
    /// How often those that sleep for a time had been put on a CPU when they did last.
    slices: Option<u64>,
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
    let members = adopted.filter_map(|pid| Member::read(proc_dir, pid));
    members
        .filter(|member| !member.is_helper)
        .map(|member| (member.pid, member.groups))
        .collect()
}

impl Tree {
    /// The tree of this process, which need not lead a process group. Looks at nothing yet.
    pub fn new(leader: i32) -> Self {
        Tree {
            proc_dir: PathBuf::from("/proc"),
            leader,
            groups: vec![leader],
            slices: None,
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
        self.look_at(cap, |_, _| ())
    }

    /// The same. If all threads of the tree sleep for a time of their own choosing, or wait for
    /// processes of it, says too what those have slept that sleep for a time. `None` if there are
    /// none, if a thread waits for anything else, or if nobody can tell.
    pub fn look_for_naps(&mut self, cap: usize) -> (TreeState, Option<Naps>) {
        let mut asleep = Vec::new();
        let state = self.look_at(cap, |pid, tid| asleep.push((pid, tid)));
        if state.runnable > 0 {
            return (state, None);
        }
        (state, self.naps_of(asleep))
    }

    /// What these threads have slept, each with its process. `None` unless all of them sleep for a
    /// time or wait for processes.
    fn naps_of(&mut self, mut asleep: Vec<(i32, i32)>) -> Option<Naps> {
        let (mut count, mut sleepers) = (0, Vec::new());
        // Most processes that have children wait for them: the last one tells most.
        while let Some((pid, tid)) = asleep.pop() {
            match Nap::of(&self.proc_dir, pid, tid) {
                Nap::Time(slices) => {
                    count += slices;
                    sleepers.push(pid);
                }
                Nap::Children => {}
                Nap::Other => return None,
            }
        }
        if sleepers.is_empty() {
            return None;
        }
        let before = self.slices.replace(count);
        let has_woken = before.is_some_and(|before| before != count);
        let has_file = |pid| file_of(&self.proc_dir, pid);
        let file = has_woken.then(|| sleepers.into_iter().find_map(has_file));
        Some(Naps {
            count,
            file: file.flatten(),
        })
    }

    /// As [`look`](Self::look), and calls `asleep` for each thread that sleeps.
    fn look_at(&mut self, cap: usize, mut asleep: impl FnMut(i32, i32)) -> TreeState {
        let mut found = TreeState::default();
        if self.proc_dir == Path::new("/proc") && !is_own_proc() {
            return found;
        }
        let leader = self.leader;
        self.walk(|proc_dir, member| {
            found.seen |= member.pid == leader;
            for &tid in &member.tasks {
                let state = member.state_of(proc_dir, tid);
                found.add(state);
                if state == TaskState::Sleeping {
                    asleep(member.pid, tid);
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
        self.walk(|proc_dir, member| {
            let of_process = resident_pages(proc_dir, member.pid).unwrap_or_default();
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

    /// Visits each process, the leader first, until one says false.
    fn walk(&mut self, mut visit: impl FnMut(&Path, &Member) -> bool) {
        let proc_dir = self.proc_dir.clone();
        let mut children = Children::new(&proc_dir);
        let mut queue: Vec<i32> = [self.leader].into_iter().chain(self.orphans()).collect();
        // Ids can be reused while we look: the set also keeps a walk from going in circles.
        let mut seen: HashSet<i32> = queue.iter().copied().collect();
        let own = crate::adopt::is_on().then(own_groups);
        let mut next = 0;
        while let Some(&pid) = queue.get(next).filter(|_| next < LOOK_MOST) {
            next += 1;
            let member = Member::read(&proc_dir, pid);
            let Some(member) = member.filter(|member| pid == self.leader || !member.is_helper)
            else {
                continue;
            };
            if !visit(&proc_dir, &member) {
                return;
            }
            if let Some(own) = &own {
                self.note_groups(&member, own);
            }
            let below = children.of(pid, &member.tasks).into_iter();
            queue.extend(below.filter(|&child| seen.insert(child)));
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
    fn note_groups(&mut self, member: &Member, own: &[i32]) {
        for id in member.groups {
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

/// A process of a tree. One file shows most of it.
struct Member {
    pid: i32,
    /// Its threads.
    tasks: Vec<i32>,
    /// What the first one does.
    state: TaskState,
    /// Its process group and its session.
    groups: [i32; 2],
    is_helper: bool,
}

impl Member {
    /// `None` if it has gone.
    fn read(proc_dir: &Path, pid: i32) -> Option<Member> {
        let mut line = [0; LINE_MOST];
        let line = read_once(&proc_dir.join(format!("{pid}/stat")), &mut line)?;
        let stat = parse_stat(line)?;
        Some(Member {
            pid,
            tasks: match stat.num_threads {
                1 => vec![pid],
                _ => numeric_names(&proc_dir.join(format!("{pid}/task"))),
            },
            state: stat.state,
            groups: [stat.pgrp, parse_session(line)?],
            is_helper: line[stat.comm] == *crate::helper::NAME.as_bytes(),
        })
    }

    /// What one of its threads does.
    fn state_of(&self, proc_dir: &Path, tid: i32) -> TaskState {
        if tid == self.pid {
            return self.state;
        }
        let file = proc_dir.join(format!("{}/task/{tid}/stat", self.pid));
        let mut line = [0; LINE_MOST];
        match read_once(&file, &mut line) {
            Some(line) => parse_stat(line).map_or(TaskState::Unknown, |stat| stat.state),
            None => TaskState::Dead,
        }
    }
}

/// What says nothing of a member: the group and the session of this process, and 0, which stands
/// for those of outside of this PID namespace.
fn own_groups() -> [i32; 3] {
    [0, session::group(), session::session()]
}

/// The second number of `statm`, in pages, and what the third one leaves of it.
fn resident_pages(proc_dir: &Path, pid: i32) -> Option<Resident> {
    let mut line = [0; LINE_MOST];
    let line = read_once(&proc_dir.join(format!("{pid}/statm")), &mut line)?;
    let text = str::from_utf8(line).ok()?;
    let mut numbers = text.split_ascii_whitespace().skip(1).map(str::parse);
    let all: u64 = numbers.next()?.ok()?;
    let shared = numbers.next()?.ok()?;
    Some(Resident {
        all,
        anonymous: all.saturating_sub(shared),
    })
}
