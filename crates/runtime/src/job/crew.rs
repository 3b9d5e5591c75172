//! The helpers of a job: how many, where, and waiting for them.
//!
//! A helper is one item on an unmanaged queue of the job's nice level. Not on a managed one: a
//! helper that starves at nice 19 would count there as one that runs, and would keep a token of the
//! CPUs' budget from the pools of ordinary items. How many helpers there are is limited by the
//! job's quota instead.

use std::collections::BTreeMap;
use std::sync::Arc;

use cmwq_engine::Process;
use cmwq_engine::sync::Mutex;
use cmwq_os::{clock, sched, thread};
use cmwq_policy::job::{Grant, Quota, Speed, nodes_in_turn, willing};

use super::run::{Helper, Run};
use crate::task::{self, AnyTask, Cancel};
use crate::workqueue::Workqueue;

type HelperQueue = Option<Workqueue>;

/// What the jobs of a process share.
#[derive(Default)]
struct Jobs {
    quota: Mutex<Quota>,
    /// By nice level and node; none if it could not be made.
    queues: Mutex<BTreeMap<(i32, Option<u32>), HelperQueue>>,
}

impl Jobs {
    fn seat(&'static self, process: Process, nodes: &[u32], node: Option<u32>) -> Option<Seat> {
        let cpus = process.cpus() as u32;
        let mut quota = self.quota.lock().expect("nobody panics with it");
        let grant = quota.grant(cpus, nodes, node)?;
        Some(Seat { jobs: self, grant })
    }

    /// The queue for helpers of this nice level, on this node.
    fn queue(&self, process: Process, nice: i32, node: Option<u32>) -> Option<Workqueue> {
        let mut queues = self.queues.lock().expect("nobody panics with it");
        let queue = queues.entry((nice, node)).or_insert_with(|| {
            let name = format!("job/{nice}");
            let mut builder = Workqueue::builder(&name).unmanaged().nice(nice);
            if let Some(node) = node {
                builder = builder.cpus(process.node_cpus()[node as usize].iter());
            }
            builder.build_in(process).ok()
        });
        queue.clone()
    }
}

/// A part of the process's quota, given back when dropped.
struct Seat {
    jobs: &'static Jobs,
    grant: Grant,
}

impl Seat {
    fn node(&self) -> Option<u32> {
        match self.grant {
            Grant::Node(node) => Some(node),
            Grant::Anywhere => None,
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut quota = self.jobs.quota.lock().expect("nobody panics with it");
        quota.give_back(self.grant);
    }
}

/// A helper's item.
trait Member: AnyTask<()> + Cancel {}
impl<T: AnyTask<()> + Cancel> Member for T {}

/// The helpers of one job. However it is dropped, none of them is in the job any more then.
pub(super) struct Crew<'r, 'a, E: Send> {
    run: &'r Run<'a, E>,
    process: Option<Process>,
    members: Vec<(Arc<dyn Member + 'r>, Workqueue)>,
    nice: i32,
    /// Of the job's parts.
    nodes: Vec<Option<u32>>,
    /// CPUs of each node; none if the job wants no nodes.
    cpus: Vec<u32>,
    caller_node: Option<u32>,
}

impl<'r, 'a, E: Send> Crew<'r, 'a, E> {
    /// Queues as many helpers as the job is worth and the process has left.
    pub(super) fn start(
        run: &'r Run<'a, E>,
        process: Option<Process>,
        nice: i32,
        nodes: Vec<Option<u32>>,
    ) -> Self {
        run.lock().helpers = vec![Helper::default(); run.threads() as usize - 1];
        let mut crew = Crew {
            run,
            process,
            members: Vec::new(),
            nice,
            nodes,
            cpus: Vec::new(),
            caller_node: None,
        };
        crew.look_at_nodes();
        crew.recruit();
        crew
    }

    fn look_at_nodes(&mut self) {
        let masks = match self.process {
            Some(process) if self.nodes.iter().any(Option::is_some) => process.node_cpus(),
            _ => return,
        };
        let here = sched::current_cpu();
        let node = masks.iter().position(|mask| mask.contains(here));
        self.caller_node = node.map(|node| node as u32);
        self.cpus
            .extend(masks.iter().map(|mask| mask.count() as u32));
    }

    /// Between two steps of the caller: another job may have given helpers back. Not in a child
    /// that the step has forked, where the locks may be held for ever.
    pub(super) fn ask_again(&mut self, pace: Speed) {
        if pace.is_worth_a_helper(self.run.left()) && !self.run.is_foreign() {
            self.recruit();
        }
    }

    /// Queues helpers until there are enough or the quota is used up. Thread 0 is the caller.
    fn recruit(&mut self) {
        while self.members.len() + 1 < self.run.threads() as usize {
            let Some(member) = self.member(self.members.len() + 1) else {
                return;
            };
            self.members.push(member);
        }
    }

    fn member(&self, thread: usize) -> Option<(Arc<dyn Member + 'r>, Workqueue)> {
        let process = self.process?;
        let wanted = nodes_in_turn(&self.nodes, self.caller_node).nth(thread - 1)?;
        let seat = process.state::<Jobs>().seat(process, &self.cpus, wanted)?;
        let queue = process
            .state::<Jobs>()
            .queue(process, self.nice, seat.node())?;
        Some((self.help(seat, thread, &queue), queue))
    }

    fn help(&self, seat: Seat, thread: usize, queue: &Workqueue) -> Arc<dyn Member + 'r> {
        let (run, queued) = (self.run, clock::now());
        let help = move || {
            run.begin(thread);
            run.help(thread, seat.node(), queued);
            run.leave(thread);
            drop(seat);
        };
        // What it borrows is there until the crew is dropped, which waits for it.
        task::spawn(queue.raw(), help).0
    }

    pub(super) fn caller_node(&self) -> Option<u32> {
        self.caller_node
    }

    /// The caller has nothing left to do: those who have not begun never do, and the others are in
    /// their last steps. Waits for one after the other, lifted to the caller's nice level if that
    /// is permitted.
    pub(super) fn dismiss(self) {}

    fn wait_for(&self, index: usize) {
        let (member, queue) = &self.members[index];
        if member.latch().is_set() {
            return;
        }
        self.run.lift(index);
        let latch = member.latch();
        latch.announce();
        // SAFETY: no pwq is named.
        unsafe {
            queue
                .raw()
                .wait_begun(None, latch, Some(member.name()), &[])
        };
    }
}

impl<E: Send> Drop for Crew<'_, '_, E> {
    fn drop(&mut self) {
        if self.run.is_foreign() {
            return;
        }
        for (member, _) in &self.members {
            task::cancel(member);
        }
        (0..self.members.len()).for_each(|index| self.wait_for(index));
    }
}

impl<E> Run<'_, E> {
    fn begin(&self, thread: usize) {
        let mut state = self.lock();
        state.helpers[thread - 1].tid = thread::gettid();
        state.stats.helpers += 1;
    }

    /// A helper is out: nobody lifts it from now on, and it sets back what was.
    fn leave(&self, thread: usize) {
        let helper = std::mem::take(&mut self.lock().helpers[thread - 1]);
        if let Some(nice) = helper.lifted_from {
            // Downwards: that needs no permission.
            let _ = sched::set_nice_self(nice);
        }
    }

    /// Gives a helper that is still in the job the caller's nice level. Under the lock, so that it
    /// cannot leave meanwhile.
    fn lift(&self, index: usize) {
        let mut state = self.lock();
        let tid = state.helpers[index].tid;
        let Some(before) = sched::nice_of(tid).ok().filter(|_| tid != 0) else {
            return;
        };
        let nice = willing(sched::nice_self(), before);
        // Refused where neither CAP_SYS_NICE nor RLIMIT_NICE allows it.
        if nice.is_some_and(|nice| sched::set_nice(tid, nice).is_ok()) {
            state.helpers[index].lifted_from = Some(before);
            state.stats.lifted += 1;
        }
    }
}
