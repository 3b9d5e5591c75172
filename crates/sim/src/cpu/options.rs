//! What a machine's scheduler and hardware are like, beside the shape.

use cmwq_policy::Nanos;
use cmwq_policy::time::{MICROSECOND, MILLISECOND};

use super::lines::Trips;
use crate::topology::Distance;

/// The speed of a CPU whose siblings idle, in per mille.
pub(crate) const FULL_SPEED: u32 = 1000;

/// What things cost that take no time by default: nanoseconds of CPU time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Burnt by a thread that gets a CPU on which another one ran before.
    pub switch: Nanos,
    /// `(idled, takes)`, ascending: who gets a CPU that has idled at least so long burns so much
    /// before it goes on (clock and caches come back). The last entry that applies counts.
    pub idle_exit: Vec<(Nanos, Nanos)>,
    /// Burnt per KiB that has to come from so far, by [`Distance`]. A thread's `footprint` comes
    /// after it when it runs on another CPU than before.
    pub refill: [Nanos; 5],
    /// The footprint of each worker's thread, in KiB.
    pub worker_footprint: u32,
    /// Burnt by a thread for each call of the workqueue interface, right after the call took
    /// effect.
    pub call: Nanos,
    /// Per mille of its speed that a CPU keeps while a sibling of its core is busy, 1..=1000; 1000:
    /// all of it.
    pub smt: u32,
    /// Burnt by a thread that wakes a parked worker.
    pub wake: Nanos,
    /// What locks and lines of pools cost.
    pub sharing: Sharing,
}

/// What it costs that CPUs share the lines and the lock of a pool, in nanoseconds. All of it is
/// burnt right after a step took effect, waits included: waiters spin. Nothing by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sharing {
    /// A cache line's way from the CPU that had it last, by [`Distance`].
    pub trips: Trips,
    /// Lines that come along with the lock of a pool, one after the other, when another CPU takes
    /// it.
    pub beside_lock: u32,
    /// The lock is held so long whatever happens.
    pub hold: Nanos,
    /// And so much longer for an event of the pool.
    pub event: Nanos,
    /// And so much longer for each item that is taken in, dealt or recalled.
    pub item: Nanos,
    /// The line of the inbox is held so long by who leaves an item, and by who takes some out.
    pub leave: Nanos,
    /// The lock of the row is held to take an item of it.
    pub row: Nanos,
    /// Private to the CPU: an execution, the free of its memory included.
    pub execution: Nanos,
    /// An item's own lines come to who executes it: thousandths of a trip.
    pub carried: u32,
}

impl Default for Costs {
    fn default() -> Self {
        Costs {
            switch: 0,
            idle_exit: Vec::new(),
            refill: [0; 5],
            worker_footprint: 0,
            call: 0,
            smt: FULL_SPEED,
            wake: 0,
            sharing: Sharing::default(),
        }
    }
}

impl Sharing {
    /// Whether anything costs anything.
    pub fn is_any(&self) -> bool {
        *self != Sharing::default()
    }
}

impl Costs {
    /// What it costs to bring so many KiB from so far, in nanoseconds.
    pub fn refill_of(&self, kib: u32, from: Distance) -> Nanos {
        self.refill[from as usize].saturating_mul(Nanos::from(kib))
    }

    /// What leaving idleness of this length costs, in nanoseconds.
    pub fn idle_exit_after(&self, idled: Nanos) -> Nanos {
        let mut applies = self.idle_exit.iter().rev();
        let found = applies.find(|(least, _)| idled >= *least);
        found.map_or(0, |(_, takes)| *takes)
    }

    /// Whether they make sense.
    ///
    /// # Errors
    /// If not: the field, and what is wrong with it.
    pub fn check(&self) -> Result<(), String> {
        if self.smt == 0 || self.smt > FULL_SPEED {
            let smt = self.smt;
            return Err(format!("smt = {smt}: not in 1..=1000 (per mille)"));
        }
        let mut pairs = self.idle_exit.windows(2);
        match pairs.find(|pair| pair[0].0 >= pair[1].0) {
            Some(pair) => Err(format!(
                "idle_exit: {} ns does not come before {} ns",
                pair[0].0, pair[1].0
            )),
            None => Ok(()),
        }
    }
}

/// Where threads that wake up go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeTo {
    /// To an idle CPU, the nearest to where the thread was before; else to where the fewest are.
    Nearest,
    /// As Linux (`select_task_rq_fair`): the waker's CPU or the previous one, and from there an
    /// idle CPU of the same last-level cache; else it waits there. New threads go where most idle.
    Linux,
}

/// Where a thread goes back to if it can neither stay nor go to its waker (kernel
/// `recent_used_cpu`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recent {
    /// To the CPU that it left last (from kernel 5.15 on).
    Left,
    /// To the CPU from where it last woke another thread (until then). Who does so wherever it
    /// comes never goes back, and walks through the whole cache.
    Woke,
}

/// When threads that wait for a CPU get another one than theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balance {
    /// As soon as any CPU that they may run on has nothing to do.
    AtOnce,
    /// As Linux: in the same last-level cache as soon as a CPU has nothing to do, else from time to
    /// time.
    Domains(Domains),
}

/// How often CPUs look for threads to take over, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Domains {
    /// At every multiple of this, CPUs that idle do, at least 1.
    pub idle_period: Nanos,
    /// At every multiple of this, CPUs that are busy do as well, at least 1.
    pub busy_period: Nanos,
    /// A CPU that has idled less than this leaves other caches alone (kernel
    /// `sched_migration_cost`).
    pub delay: Nanos,
    /// A node leaves another one alone unless that one has more than so many threads more (kernel
    /// `adjust_numa_imbalance`).
    pub node_imbalance: u32,
    /// A CPU that has nothing left to do looks in other caches of its node as well if it idles for
    /// at least so long on average (kernel `max_newidle_lb_cost`); `Nanos::MAX`: never.
    pub newidle_cost: Nanos,
    /// Who ran less than this ago is left where it is by a CPU that has nothing left to do, unless
    /// that is a sibling (kernel `task_hot`, `sched_migration_cost`).
    pub hot: Nanos,
    /// At every multiple of this, an idle CPU of each cache takes threads from other caches of the
    /// node that have more of them; 0: idle CPUs take what waits there, at every `idle_period`.
    pub cache_period: Nanos,
}

impl Default for Domains {
    fn default() -> Self {
        Domains {
            idle_period: 4 * MILLISECOND,
            busy_period: 64 * MILLISECOND,
            delay: 500 * MICROSECOND,
            node_imbalance: 2,
            newidle_cost: Nanos::MAX,
            hot: 0,
            cache_period: 0,
        }
    }
}

/// Who runs where: the scheduler's habits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Where threads that wake up go.
    pub wake_to: WakeTo,
    /// Whether a thread that a bound worker wakes may go to that worker's CPU if it was there
    /// before (kernel 5.6). Only with [`WakeTo::Linux`].
    pub stacking: bool,
    /// Where else a thread may have been lately. Only with [`WakeTo::Linux`].
    pub recent: Recent,
    /// Whether a thread that wakes up takes the CPU from one that has had more of it. Without, only
    /// SCHED_IDLE threads lose it, to all others.
    pub wakeup_preemption: bool,
    /// How much more that one must have had: nanoseconds of a nice-0 thread (kernel
    /// `sched_wakeup_granularity`).
    pub wakeup_granularity: Nanos,
    /// When threads that wait get another CPU.
    pub balance: Balance,
    /// Whether who wakes up looks at the fewer CPUs the busier the cache is (kernel `SIS_UTIL`,
    /// 6.0). Only with [`WakeTo::Linux`].
    pub scan_by_load: bool,
}

impl Default for Placement {
    fn default() -> Self {
        Placement {
            wake_to: WakeTo::Nearest,
            stacking: false,
            recent: Recent::Left,
            wakeup_preemption: false,
            wakeup_granularity: MILLISECOND,
            balance: Balance::AtOnce,
            scan_by_load: false,
        }
    }
}

impl Placement {
    /// As a Linux kernel from 5.6 on does it.
    pub fn linux() -> Placement {
        Placement {
            wake_to: WakeTo::Linux,
            stacking: true,
            wakeup_preemption: true,
            balance: Balance::Domains(Domains::default()),
            ..Placement::default()
        }
    }

    /// Whether it makes sense.
    ///
    /// # Errors
    /// If not: the field, and what is wrong with it.
    pub fn check(&self) -> Result<(), String> {
        match self.balance {
            Balance::Domains(d) if d.idle_period == 0 || d.busy_period == 0 => {
                Err("balance: a period of 0 ns".to_owned())
            }
            _ => Ok(()),
        }
    }
}
