//! Looks at the running jobs now and then, while others wait: [`cmwq_admission::Crowd`] says how
//! many keep the CPUs busy.

use super::session::Session;
use super::threads;
use cmwq_admission::{Crowd, Nap, Seen};
use cmwq_os::clock;
use cmwq_os::cpus::effective;
use cmwq_os::idle::idle;
use cmwq_os::observe::Naps;
use cmwq_os::observe::tree::{Tree, one_look};
use std::collections::HashMap;
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
    let own = effective().mask;
    let mut crowd = Crowd::new(cpus as u32);
    let mut trees: HashMap<u64, Tree> = HashMap::new();
    let mut pause = FIRST;
    while session.control.wait_to_look(pause) {
        let (begun, cpu) = (clock::now(), clock::thread_cpu());
        let leaders = session.control.leaders();
        let running: HashMap<u64, i32> = leaders.into_iter().map(|(pid, job)| (job, pid)).collect();
        if let Some(idled) = idle(&own) {
            crowd.idled(begun, own.count() as u64, idled, running.len() as u64);
        }
        trees.retain(|job, _| running.contains_key(job));
        let look = |(job, pid)| {
            let tree = trees.entry(job).or_insert_with(|| Tree::new(pid));
            look(job, tree, cpus)
        };
        one_look(|| crowd.looked(begun, running.into_iter().filter_map(look)));
        session.looked(&crowd);
        let now = clock::now();
        // Beside busy jobs a look lasts many times as long as what it takes from them.
        let took = match clock::thread_cpu() {
            0 => now.since(begun),
            after => after.saturating_sub(cpu),
        };
        pause = Duration::from_nanos(crowd.valid(now, took));
    }
}

fn look(job: u64, tree: &mut Tree, cpus: usize) -> Option<Seen> {
    let (state, naps) = tree.look_for_naps(cpus);
    let nap = |naps: Naps| Nap {
        wakes: naps.count,
        file: naps.file,
    };
    (state.seen && state.alive).then_some(Seen {
        job,
        runnable: state.runnable as u64,
        loads: state.loading,
        naps: naps.map(nap),
    })
}
