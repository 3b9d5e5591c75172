//! What a seed draws: which features take part, and how much of everything there is.

use std::fmt;

use crate::random::{Random, stream};
use Feature::{Convoy, Crowd, Flushers, Outage};

/// Makes the features and the list of them.
macro_rules! features {
    ($($name:ident),* $(,)?) => {
        /// Something that a seed has or has not. A swarm in which each seed lacks some finds more
        /// than one in which all have everything (Groce et al., "Swarm testing", ISSTA 2012).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        #[allow(missing_docs)]
        pub enum Feature {
            $($name),*
        }

        impl Feature {
            /// All of them.
            pub const ALL: &[Feature] = &[$(Feature::$name),*];
        }
    };
}

features! {
    Delayed, Modify, Cancel, CancelSync, Disable, FlushItem, FlushQueue, Drain, Destroy,
    Freeze, MaxActive, MinActive, Attrs, Latches, Chains, Requeue, Nice, Masks, CpuIntensive,
    Rescuers, Bh, Ordered, PerCpu, Unmanaged, ThreadLimit, Fifo, Hogs, SpawnFails, SlowSpawn,
    Hotplug, Crowd, Convoy, Flushers, Outage, LongBurns, Scopes, DefaultScope, UnboundCpus,
    UserSignals, NoCanaries, FixedTick, LateReports, LostReports, SpuriousReports, Hints,
    Locks, Semaphores, Devices, Interrupts, Data, Yield, Costs, Smt, LinuxScheduler, ItemWaits,
    DropQueues, Shutdown, Quota, LeaveBehind, ExactLimits, Unseen, Claims,
    BriefItems, InOrder,
}

impl Feature {
    /// Of these, little else is seen: one in five seeds has each.
    fn is_heavy(self) -> bool {
        matches!(self, Feature::Convoy | Feature::Flushers | Feature::Outage)
    }

    fn bit(self) -> u64 {
        1 << self as u8
    }
}

/// A run, but for what follows from its seed. A smaller one of the same seed is a part of it as far
/// as that goes: threads, items and queues draw from streams of their own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Everything else is drawn from it.
    pub seed: u64,
    /// Events of the safety phase, at least.
    pub events: u64,
    /// CPUs.
    pub cpus: u32,
    /// Queues, at least 1.
    pub queues: u32,
    /// Items, at least 1.
    pub items: u32,
    /// Threads that call the interface.
    pub threads: u32,
    pub(crate) features: u64,
}

impl Plan {
    /// What this seed draws.
    pub fn of(seed: u64) -> Plan {
        let mut random = stream(seed, 0, 0);
        let cpus = random.one_of(&[1, 1, 2, 2, 3, 4, 4, 6, 8, 8, 12, 16, 24]);
        let features = Feature::ALL
            .iter()
            .filter(|f| random.below(5) < if f.is_heavy() { 1 } else { 3 });
        let features = features.fold(0, |all, f| all | f.bit());
        let has = |feature: Feature| features & feature.bit() != 0;
        let many = has(Crowd) || has(Flushers) || has(Outage);
        let (items, threads) = if many { (64, 20) } else { (16, 6) };
        // Many workers are many for a few CPUs only.
        let cpus = if has(Convoy) { 1 + cpus % 2 } else { cpus };
        // So many flushes of one queue go on at once that it runs out of colours.
        let (threads, least) = if has(Flushers) { (4, 17) } else { (threads, 1) };
        Plan {
            seed,
            features,
            events: 2000,
            cpus,
            queues: 1 + random.below(8) as u32,
            items: 1 + random.below(items) as u32,
            threads: least + random.below(threads) as u32,
        }
    }

    /// Whether it has this.
    pub fn has(&self, feature: Feature) -> bool {
        self.features & feature.bit() != 0
    }

    /// The same without this.
    #[must_use]
    pub fn without(self, feature: Feature) -> Plan {
        let features = self.features & !feature.bit();
        Plan { features, ..self }
    }

    /// What it has.
    pub fn features(&self) -> impl Iterator<Item = Feature> + '_ {
        Feature::ALL.iter().copied().filter(|&f| self.has(f))
    }

    /// A stream of this name for the `number`th of its kind.
    pub fn stream(&self, name: u64, number: u64) -> Random {
        stream(self.seed, name, number)
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Plan {
            cpus,
            queues,
            items,
            threads,
            ..
        } = self;
        write!(
            f,
            "{cpus} CPUs, {queues} queues, {items} items, {threads} threads,"
        )?;
        self.features().try_for_each(|one| write!(f, " {one:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_have_a_bit_each() {
        let all = Feature::ALL.iter().fold(0, |all, f| all | f.bit());
        assert_eq!(all.count_ones() as usize, Feature::ALL.len());
    }

    #[test]
    fn each_feature_is_in_about_three_of_five_plans_or_one() {
        for &feature in Feature::ALL {
            let having = (0..1000).filter(|&s| Plan::of(s).has(feature)).count();
            let expected = if feature.is_heavy() { 200 } else { 600 };
            assert!(having.abs_diff(expected) < 80, "{feature:?}: {having}");
        }
    }
}
