//! The helpers of a job: how many, where, and waiting for them.
//!
//! A helper is one item on an unmanaged queue of the job's nice level. `README.md` says why no
//! managed queue would do. The job's quota limits how many helpers there are.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::Arc;

use cmwq_os::{clock, sched, thread};
use cmwq_policy::Time;
use cmwq_policy::job::{Grant, Quota, Speed, nodes_in_turn, willing};
use cmwq_policy::queue::{Attrs, Kind};

use super::run::{Helper, Run};
use crate::item::{Header, Ref, Vtable, count_arc};
use crate::raw::{Awaits, Process, QueueSpec, RawItem, RawQueue};
use crate::sync::Mutex;
use crate::user;
use crate::wait::latch::Latch;

/// One that was made stays for ever.
type HelperQueue = Option<&'static RawQueue>;

/// What the jobs of a process share.
#[derive(Default)]
struct Jobs {
    quota: Mutex<Quota>,
    /// By nice level and node; none if it could not be made.
    queues: Mutex<BTreeMap<(i8, Option<u32>), HelperQueue>>,
}

impl Jobs {
    fn seat(&'static self, process: Process, nodes: &[u32], node: Option<u32>) -> Option<Seat> {
        let cpus = process.cpus() as u32;
        let mut quota = self.quota.lock().expect("nobody panics with it");
        let grant = quota.grant(cpus, nodes, node)?;
        Some(Seat { jobs: self, grant })
    }

    /// The queue for helpers of this nice level, on this node.
    fn queue(&self, process: Process, nice: i8, node: Option<u32>) -> HelperQueue {
        let mut queues = self.queues.lock().expect("nobody panics with it");
        *queues.entry((nice, node)).or_insert_with(|| {
            let spec = QueueSpec {
                kind: Kind::Unmanaged,
                attrs: Attrs {
                    nice,
                    cpumask: node.map(|node| process.node_cpus()[node as usize]),
                    ..Attrs::default()
                },
                ..QueueSpec::default()
            };
            let queue = RawQueue::make(process, &format!("job/{nice}"), &spec);
            queue.ok().map(|queue| &*Box::leak(Box::new(queue)))
        })
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

/// What a helper calls: a [`Run`], whatever its errors are.
trait Helped: Sync {
    fn helped_by(&self, member: &Member<'_>, node: Option<u32>);
}

impl<E: Send> Helped for Run<'_, E> {
    fn helped_by(&self, member: &Member<'_>, node: Option<u32>) {
        self.begin(member.thread);
        self.help(member.thread, node, member.queued);
        self.leave(member.thread);
    }
}

/// A helper's item. The header comes first, so that its address is the member's.
#[repr(C)]
struct Member<'r> {
    header: Header,
    /// Set when the helper is out of the job.
    ended: Latch,
    thread: usize,
    queued: Time,
    /// Taken by the helper; of one that never begins it goes with the crew.
    seat: Mutex<Option<Seat>>,
    /// There until the crew was dropped, which waits for the latch of whoever has begun.
    run: *const (dyn Helped + 'r),
}

// SAFETY: what `run` points to may be used by any thread; the rest may be as well.
unsafe impl Send for Member<'_> {}
// SAFETY: as above.
unsafe impl Sync for Member<'_> {}

static MEMBER: Vtable = Vtable {
    run: help,
    count: count_member,
    name: |_| "job",
};

/// # Safety
/// The header is that of a member in an `Arc`; `Dropped` gives back what `Taken` took.
unsafe fn count_member(header: NonNull<Header>, what: Ref) {
    // SAFETY: the header comes first; the rest is said above.
    unsafe { count_arc(header.cast::<Member<'_>>(), what) }
}

/// # Safety
/// The header is that of a member in an `Arc`, with one reference given to this call.
unsafe fn help(header: NonNull<Header>) {
    // SAFETY: the pointer is from the `Arc` of this member, and queueing left one reference to us.
    let member = unsafe { Arc::from_raw(header.cast::<Member<'_>>().as_ptr()) };
    user::run(|| {
        let seat = member.take_seat();
        let node = seat.as_ref().and_then(Seat::node);
        // SAFETY: the crew waits for the latch, so the job is there.
        unsafe { &*member.run }.helped_by(&member, node);
    });
    member.ended.set();
}

impl Member<'_> {
    fn take_seat(&self) -> Option<Seat> {
        self.seat.lock().expect("nobody panics with it").take()
    }

    fn raw(self: &Arc<Self>) -> RawItem {
        let header = Arc::as_ptr(self).cast::<Header>().cast_mut();
        let header = NonNull::new(header).expect("an Arc is not null");
        // SAFETY: it begins with its header. Whoever calls this keeps the member, and so does the
        // reference that goes to the queue. A member may be sent.
        unsafe { RawItem::new(header) }
    }
}

/// The helpers of one job. However it is dropped, none of them is in the job any more then.
pub(super) struct Crew<'r, 'a, E: Send> {
    run: &'r Run<'a, E>,
    process: Option<Process>,
    members: Vec<(Arc<Member<'r>>, &'static RawQueue)>,
    nice: i8,
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
        nice: i8,
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

    fn member(&self, thread: usize) -> Option<(Arc<Member<'r>>, &'static RawQueue)> {
        let process = self.process?;
        let wanted = nodes_in_turn(&self.nodes, self.caller_node).nth(thread - 1)?;
        let jobs = process.state::<Jobs>();
        let seat = jobs.seat(process, &self.cpus, wanted)?;
        let queue = jobs.queue(process, self.nice, seat.node())?;
        let run: &'r dyn Helped = self.run;
        let member = Arc::new(Member {
            header: Header::new(&MEMBER),
            ended: Latch::new(),
            thread,
            queued: clock::now(),
            seat: Mutex::new(Some(seat)),
            run,
        });
        let queued = member.clone();
        // SAFETY: a new member, of which only this one knows.
        unsafe { queue.queue_new(None, queued.raw()) }.ok()?;
        // The queue's from now on: `help` takes it.
        std::mem::forget(queued);
        Some((member, queue))
    }

    pub(super) fn caller_node(&self) -> Option<u32> {
        self.caller_node
    }

    /// The caller has nothing left to do: those who have not begun never do, and the others are in
    /// their last steps. Waits for one after the other, lifted to the caller's nice level if that
    /// is permitted.
    pub(super) fn dismiss(self) {}

    fn wait_for(&self, (member, queue): &(Arc<Member<'r>>, &'static RawQueue)) {
        if member.ended.is_set() {
            return;
        }
        self.run.lift(member.thread - 1);
        member.ended.announce();
        // A step may wait for the caller's item, which waits for the step.
        let awaits = [Awaits::Item(member.raw())];
        // SAFETY: no pwq is named; the crew has the member.
        unsafe { queue.wait_begun(None, &member.ended, Some("job"), &awaits) };
    }
}

impl<E: Send> Drop for Crew<'_, '_, E> {
    fn drop(&mut self) {
        if self.run.is_foreign() {
            return;
        }
        // First all are taken back: nobody waits for what another one is about to begin.
        let mut members = std::mem::take(&mut self.members);
        members.retain(|(member, _)| !member.raw().cancel());
        members.iter().for_each(|member| self.wait_for(member));
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
