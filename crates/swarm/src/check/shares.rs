//! The limits of a queue over all nodes: what its parts are, and what they come to.

use cmwq_policy::CpuMask;
use cmwq_policy::queue::Kind;
use cmwq_sim::PwqId;
use cmwq_sim::{Machine, PwqView, QueueId};

use super::{Books, Checked, ensure};

/// What is known of queues.
#[derive(Default)]
pub(super) struct Shares {
    /// By queue: items that hold slots, at the last look.
    active: Vec<u32>,
    /// The pool workqueue that is looked at next.
    next: usize,
}

impl Books {
    /// Between two instants: a limit is what the rule of kernel 6.9 says. They are looked at in
    /// turn, as a wrong one stays wrong until something changes it.
    pub(super) fn check_shares(&mut self, machine: &Machine) -> Checked {
        let pwqs = machine.nr_pwqs();
        self.shares.next = (self.shares.next + 1) % pwqs.max(1);
        if self.shares.next >= pwqs {
            return Ok(());
        }
        let view = machine.pwq_view(PwqId(self.shares.next as u32));
        if machine.queue_kind(view.queue).is_per_cpu() {
            return Ok(());
        }
        let (max, due) = (machine.limit_view(view.limit).max(), due(machine, &view));
        ensure!(
            max == due,
            NodeShares,
            "q{}: its part in pool {} is {max} slots, not {due}",
            view.queue.0,
            view.pool.0
        );
        Ok(())
    }

    /// An event of a pool: the nodes together hold no more slots of an exact limit than it has, but
    /// for those that they held before it was lowered.
    pub(super) fn check_exact(&mut self, machine: &Machine, view: &PwqView, sum: u32) -> Checked {
        let (queue, max) = (view.queue, machine.limit_view(view.limit).max());
        let active = &mut self.shares.active;
        active.resize(active.len().max(queue.0 as usize + 1), 0);
        let before = std::mem::replace(&mut active[queue.0 as usize], sum);
        ensure!(
            !machine.is_exact(queue) || sum <= max.max(before),
            ExactOverNodes,
            "q{}: {sum} hold slots in all nodes, before {before}, of {max}",
            queue.0
        );
        Ok(())
    }
}

/// How many slots there are for a pool workqueue, and for others of its node.
fn due(machine: &Machine, view: &PwqView) -> u32 {
    let (max, frozen) = machine.max_active(view.queue);
    let floor = machine.min_active(view.queue).max(1);
    match node(machine, view) {
        _ if frozen => 0,
        None => max,
        Some(node) => {
            let cpus = usable(machine, view.queue);
            let (own, all) = (cpus.and(&node).count() as u32, cpus.count() as u32);
            (max * own).div_ceil(all).max(floor).min(max)
        }
    }
}

/// The CPUs of the node that the pool is in, if it is in one and that counts.
fn node(machine: &Machine, view: &PwqView) -> Option<CpuMask> {
    // A queue that is spread has the limit of the one pool that it had.
    let pod = match machine.queue_kind(view.queue) {
        Kind::Managed => machine.pool_cpus(view.pool),
        _ => machine.pool_pod(view.pool),
    };
    let topology = machine.topology();
    let mut nodes = (0..).map(|node| topology.mask(|place| place.node == node));
    let first = nodes.find(|node| !node.and(&pod).is_empty())?;
    (pod.and(&first) == pod && !machine.is_exact(view.queue)).then_some(first)
}

/// The CPUs in use that the queue may use; all that it may use if none of them is.
fn usable(machine: &Machine, queue: QueueId) -> CpuMask {
    let unbound = machine.unbound_cpus();
    let own = machine.attrs(queue).cpumask.map(|mask| mask.and(&unbound));
    let own = own.filter(|mask| !mask.is_empty()).unwrap_or(unbound);
    let there = own.and(&machine.online_cpus());
    if there.is_empty() { own } else { there }
}
