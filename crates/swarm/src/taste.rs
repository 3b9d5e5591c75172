//! What threads and items can do, and how much a plan likes each of it.

use crate::plan::{Feature, Plan};
use crate::random::{Random, streams, weighted};

/// What can be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Doing {
    Burn,
    BurnLong,
    Sleep,
    Queue,
    QueueOnNode,
    Delayed,
    Modify,
    Cancel,
    CancelSync,
    Disable,
    DisableSync,
    Enable,
    EnableAndQueue,
    FlushItem,
    FlushDelayed,
    FlushQueue,
    Drain,
    Destroy,
    Freeze,
    Thaw,
    MaxActive,
    MinActive,
    Attrs,
    MakeLatch,
    OpenLatch,
    WaitAtLatch,
    Lock,
    Semaphore,
    Io,
    Submit,
    Interrupt,
    Touch,
    Yield,
    Drop,
    Leave,
    Join,
    Ask,
}

/// Everything, what it takes, how often it is liked, and whether items do it as well.
const DOINGS: [(Doing, Option<Feature>, u32, bool); 37] = {
    use Doing::*;
    [
        (Burn, None, 12, true),
        (BurnLong, Some(Feature::LongBurns), 2, true),
        (Sleep, None, 12, true),
        (Queue, None, 30, true),
        (QueueOnNode, None, 3, true),
        (Delayed, Some(Feature::Delayed), 8, true),
        (Modify, Some(Feature::Modify), 5, true),
        (Interrupt, Some(Feature::Interrupts), 3, true),
        (Cancel, Some(Feature::Cancel), 3, true),
        (CancelSync, Some(Feature::CancelSync), 3, false),
        (Disable, Some(Feature::Disable), 2, false),
        (DisableSync, Some(Feature::Disable), 2, false),
        (Enable, Some(Feature::Disable), 4, false),
        (EnableAndQueue, Some(Feature::Disable), 3, false),
        (FlushItem, Some(Feature::FlushItem), 4, false),
        (FlushDelayed, Some(Feature::FlushItem), 3, false),
        (FlushQueue, Some(Feature::FlushQueue), 4, false),
        (Drain, Some(Feature::Drain), 2, false),
        (Destroy, Some(Feature::Destroy), 1, false),
        (Freeze, Some(Feature::Freeze), 1, false),
        (Thaw, Some(Feature::Freeze), 3, false),
        (MaxActive, Some(Feature::MaxActive), 3, false),
        (MinActive, Some(Feature::MinActive), 1, false),
        (Attrs, Some(Feature::Attrs), 3, false),
        (MakeLatch, Some(Feature::Latches), 2, false),
        (OpenLatch, Some(Feature::Latches), 3, false),
        (WaitAtLatch, Some(Feature::Latches), 6, true),
        (Lock, Some(Feature::Locks), 8, true),
        (Semaphore, Some(Feature::Semaphores), 4, true),
        (Io, Some(Feature::Devices), 6, true),
        (Submit, Some(Feature::Devices), 2, true),
        (Touch, Some(Feature::Data), 4, true),
        (Yield, Some(Feature::Yield), 3, true),
        (Drop, Some(Feature::DropQueues), 1, false),
        (Leave, Some(Feature::LeaveBehind), 4, true),
        (Join, Some(Feature::Claims), 16, false),
        (Ask, None, 3, true),
    ]
};

/// The place of some in that list.
const QUEUE: usize = 3;
const FLUSH_QUEUE: usize = 16;
const LOCK: usize = 27;

/// Those by which an item queues another one.
const QUEUEING: std::ops::Range<usize> = 3..8;

/// How often what is done, by threads and by items.
pub struct Taste {
    thread: [u32; DOINGS.len()],
    item: [u32; DOINGS.len()],
    /// Items do less than so much each.
    steps: u64,
}

impl Taste {
    /// What this plan likes: each thing that it has, more or less.
    pub fn of(plan: &Plan) -> Taste {
        let mut random = plan.stream(streams::TASTE, 0);
        let weights = DOINGS.map(|(_, feature, weight, _)| {
            let liked = random.one_of(&[1, 2, 8]);
            let has = feature.is_none_or(|feature| plan.has(feature));
            if has { weight * liked } else { 0 }
        });
        let mut weights = weights;
        if plan.has(Feature::Flushers) {
            weights[FLUSH_QUEUE] = 12 * weights[QUEUE];
        }
        let mut item = weights;
        for (weight, doing) in item.iter_mut().zip(DOINGS) {
            *weight *= u32::from(doing.3);
        }
        // Each execution queues less than one other, or they would never end: in a crowd none, and
        // more time for waiting.
        let crowd = plan.has(Feature::Crowd);
        match crowd {
            true => item[QUEUEING].fill(0),
            false => item[0] += 2 * item.iter().sum::<u32>(),
        }
        if plan.has(Feature::Convoy) {
            item[LOCK] = 3 * item.iter().sum::<u32>();
        }
        Taste {
            thread: weights,
            item,
            steps: random.one_of(if crowd { &[2, 4, 8] } else { &[2, 3, 4] }),
        }
    }

    /// What an item, or a thread, does next.
    pub fn draw(&self, is_item: bool, random: &mut Random) -> Doing {
        let weights = if is_item { &self.item } else { &self.thread };
        DOINGS[weighted(random, weights)].0
    }

    /// How much an execution of an item does.
    pub fn steps(&self, random: &mut Random) -> u64 {
        random.below(self.steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_what_they_say() {
        assert_eq!(DOINGS[QUEUE].0, Doing::Queue);
        assert_eq!(DOINGS[FLUSH_QUEUE].0, Doing::FlushQueue);
        assert_eq!(DOINGS[LOCK].0, Doing::Lock);
        let queueing = [Doing::Queue, Doing::QueueOnNode, Doing::Delayed];
        let rest = [Doing::Modify, Doing::Interrupt];
        let named = DOINGS[QUEUEING].iter().map(|d| d.0);
        assert!(named.eq(queueing.into_iter().chain(rest)));
    }
}
