//! Looks at the running jobs now and then, while others wait: [`cmwq_admission::Crowd`] says how
//! many keep the CPUs busy.

use super::session::Session;
use super::threads;
use cmwq_admission::{Crowd, Seen};
use cmwq_os::clock;
use cmwq_os::observe::tree::Tree;
use cmwq_os::observe::{TaskState, parse_stat};
use std::collections::HashMap;
use std::fs;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// From the first job to the first look.
const FIRST: Duration = Duration::from_millis(10);

/// The thread that looks, while this lives.
pub(super) struct Looks {
    session: Arc<Session>,
    thread: Option<JoinHandle<()>>,
}

impl Looks {
    /// Where there is no room for the thread nobody looks: jobs then start as CPUs idle.
    pub(super) fn start(session: &Arc<Session>) -> Self {
        let looking = Arc::clone(session);
        let thread = threads::start("cmwq/crowd", move || look_on(&looking)).ok();
        Self {
            session: Arc::clone(session),
            thread,
        }
    }
}

impl Drop for Looks {
    fn drop(&mut self) {
        self.session.control.look_no_more();
        // It does not panic; if it has, nobody looks.
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

fn look_on(session: &Session) {
    let cpus = cmwq::cpus();
    let mut crowd = Crowd::new(cpus as u32);
    let mut trees: HashMap<u64, Tree> = HashMap::new();
    let mut pause = FIRST;
    while session.control.wait_to_look(pause) {
        let begun = clock::now();
        let leaders = session.control.leaders();
        let running: HashMap<u64, i32> = leaders.into_iter().map(|(pid, job)| (job, pid)).collect();
        trees.retain(|job, _| running.contains_key(job));
        let seen = running.into_iter().filter_map(|(job, pid)| {
            let tree = trees.entry(job).or_insert_with(|| Tree::new(pid));
            look(job, pid, tree, cpus)
        });
        crowd.looked(begun, seen);
        session.looked(&crowd);
        pause = Duration::from_nanos(crowd.valid(clock::now().since(begun)));
    }
}

fn look(job: u64, pid: i32, tree: &mut Tree, cpus: usize) -> Option<Seen> {
    if let Some(state) = only_thread(pid) {
        return (state != TaskState::Dead).then_some(Seen {
            job,
            runnable: u64::from(state == TaskState::Runnable),
            loads: state == TaskState::DiskSleep,
        });
    }
    let state = tree.look(cpus);
    (state.seen && state.alive).then_some(Seen {
        job,
        runnable: state.runnable as u64,
        loads: state.loading,
    })
}

/// What a process does that has one thread and no children, as most have: much cheaper than to look
/// at a tree. Orphans of it do not count.
fn only_thread(pid: i32) -> Option<TaskState> {
    let stat = parse_stat(&fs::read(format!("/proc/{pid}/stat")).ok()?)?;
    let children = fs::read(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    (stat.num_threads == 1 && children.is_empty()).then_some(stat.state)
}
