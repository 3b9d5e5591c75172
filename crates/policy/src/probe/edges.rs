//! The edges that are counted: rules that random programs seldom come to.

use core::sync::atomic::{AtomicU64, Ordering};

macro_rules! edges {
    ($($edge:ident $name:literal $says:literal)*) => {
        /// A rule that is applied, or a state that is entered.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Edge {
            $(#[doc = $says] $edge,)*
        }

        impl Edge {
            const ALL: &[(Edge, &str)] = &[$((Edge::$edge, $name),)*];
        }
    };
}

edges! {
    ItemRedirectedRetired "item-redirected-retired" "An item that runs in another pool of its queue was queued there, though its pool workqueue is retired."
    ItemLeft "item-left" "An item that was queued without the pool's lock was taken in."
    InactiveDealt "inactive-dealt" "An item that waited for a slot was dealt: it gets that of the one before it."
    MoreDealt "more-dealt" "A worker that had begun all that it was dealt was dealt more, without an event."
    SeveralDealt "several-dealt" "A worker was dealt items while another one's were out."
    OthersRecalled "others-recalled" "A worker could not just go on: what others were dealt was recalled."
    RowLinedUp "row-lined-up" "Items were put into the row, of which several workers take the first one each."
    RowGoesOn "row-goes-on" "A worker that asked went on to the first item in the row."
    LateRecalled "late-recalled" "What a worker was dealt had waited for long, and was recalled."
    StartedForLeft "started-for-left" "A worker was started because too many items were left for those that ran."
    ItemsDealt "items-dealt" "A worker was dealt items that were left, to go on without the pool's lock."
    WorkerWentOn "worker-went-on" "A pool has learnt that a worker went on to items that it was dealt."
    InboxShutLate "inbox-shut-late" "An item was left while the pool shut its inbox."
    ItemUndeferStale "item-undefer-stale" "An execution has ended that an item waited for which was taken back."
    ItemStolenScheduled "item-stolen-scheduled" "An item was taken back from behind its own execution."
    ItemStolenDeferred "item-stolen-deferred" "A deferred item was taken back."
    BarrierBehindScheduled "barrier-behind-scheduled" "A barrier was put behind an item that waits behind its own execution."
    BarrierFreed "barrier-freed" "The item without a slot was taken back, and its barriers went to the worklist."
    TimerHurried "timer-hurried" "An armed item was queued before its time, to be flushed."
    WorkerReceiver "worker-receiver" "The worker that took a report was started: it is awake."
    WorkerCrowded "worker-crowded" "A worker stepped back after its item: too many run, and others want its CPU."
    WorkerGoesOn "worker-goes-on" "A worker has ended an item and begun the next one by the quick way."
    NothingFollows "nothing-follows" "As many run as should, and run on: nothing follows an event."
    WorkerConvoy "worker-convoy" "A worker stepped back after its item, because of a convoy."
    WorkerIsSpare "worker-is-spare" "A new worker is kept as a spare."
    WorkerParksAgain "worker-parks-again" "A worker was woken for nothing and parks again."
    SlotPassedOn "slot-passed-on" "An item has ended, and its slot went to the next one of its pool workqueue."
    StartNoToken "start-no-token" "A start was refused: no token is left."
    Borrowed "borrowed" "A pool that has reached its target had CPUs that others leave: one more worker was woken."
    GaveBack "gave-back" "A worker stepped back after its item: its pool has borrowed what others want."
    SlotKept "slot-kept" "A pool workqueue kept its part of the slots though others waited."
    QueueSpread "queue-spread" "A queue got a pool for each cache shard."
    QueueGathered "queue-gathered" "A queue that was spread got one pool again."
    GrowthAsks "growth-asks" "No worker more before somebody has looked at what the busy ones wait for."
    LaneOpened "lane-opened" "Executions of a kind queue up at one address."
    LaneHolds "lane-holds" "Those of a kind are a convoy: its other items are held back."
    LaneTaken "lane-taken" "A worker took an item of a kind that is held back."
    GrowthProbes "growth-probes" "An item began beyond what its kind is allowed."
    LookConvoy "look-convoy" "A look saw a convoy: most wait at one lock and get through."
    LookBarrier "look-barrier" "A look saw a barrier: most wait at one address and nobody gets through."
    LookOpens "look-opens" "A look saw that most of a crowd went on at once."
    LookSleepers "look-sleepers" "A look saw workers that sleep for different reasons."
    IdleReportStarts "idle-report-starts" "The report of an idle CPU started a worker."
    IdleReportUnused "idle-report-unused" "The report of an idle CPU came too late, or found nothing to start."
    IdleReportPresumes "idle-report-presumes" "More were counted as running than can be: some are presumed asleep."
    ScanAwake "scan-awake" "A worker that had slept was seen able to run."
    UnseenPresumed "unseen-presumed" "Nothing has ended for long: workers that nobody can see are taken for asleep."
    ScanCorrects "scan-corrects" "Who was seen to run is not presumed asleep any more."
    HintReplacesScan "hint-replaces-scan" "An item says that it blocks, and a scan had seen it asleep."
    PresumptionEnds "presumption-ends" "An item that slept ended: one less is presumed asleep."
    HogReported "hog-reported" "An item keeps its CPU: only reported."
    HogUncounted "hog-uncounted" "An item keeps the CPU of its pool, and does not count as running any more."
    HogHeldBack "hog-held-back" "The user is not told again yet."
    WaitBegun "wait-begun" "An item waits for items of its own pool."
    WaitOver "wait-over" "What an item waits for has happened."
    WaitEnded "wait-ended" "An item has stopped waiting."
    TurnOver "turn-over" "A pool was told that it is its turn, but nobody waits any more."
    FlushFull "flush-full" "A flush found all colours in use."
    RescuerGoesOn "rescuer-goes-on" "A rescuer took the next item of its own list."
    RescuerFindsNothing "rescuer-finds-nothing" "No item waits that a rescuer may run."
    TickSkips "tick-skips" "A tick looks at nobody: canaries report."
    WorkerGaveUp "worker-gave-up" "A worker ended because its thread is unfit."
    WorkerGaveItemsUp "worker-gave-items-up" "A worker whose thread is unfit ended, with items that only it was to run."
    ClaimWithin "claim-within" "An item, or a claim, claimed what it was about to wait for, in its own pool."
    ClaimElsewhere "claim-elsewhere" "An item of another pool claimed, and counts there."
    ClaimCrowded "claim-crowded" "A claim was refused: as many threads of others run as CPUs serve the pool."
    ClaimBarrier "claim-barrier" "A barrier behind a claimed item was executed by who had claimed it."
    ClaimGivesBack "claim-gives-back" "Items that stood behind a claimed one went to the workers."
    OrphanRevived "orphan-revived" "An item of a queue without handles queued on."
    LeftoverRetires "leftover-retires" "An item left something behind that cannot be undone: its thread ends."
}

static COUNTS: [AtomicU64; Edge::ALL.len()] = [const { AtomicU64::new(0) }; Edge::ALL.len()];

impl Edge {
    /// All edges.
    pub fn all() -> impl Iterator<Item = Edge> {
        Edge::ALL.iter().map(|&(edge, ..)| edge)
    }

    /// Its name, in kebab-case.
    pub fn name(self) -> &'static str {
        Edge::ALL[self as usize].1
    }

    /// How often it was counted, over all threads of the process.
    pub fn count(self) -> u64 {
        // Relaxed: a number for a report, read when those who count are done.
        COUNTS[self as usize].load(Ordering::Relaxed)
    }

    pub(crate) fn hit(self) {
        // Relaxed: nothing is read by it.
        COUNTS[self as usize].fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::format;
    use std::string::String;

    /// `ItemBegun` is `item-begun`.
    fn kebab(edge: Edge) -> String {
        let split = |c: char| match c.is_uppercase() {
            true => format!("-{}", c.to_lowercase()),
            false => c.into(),
        };
        let name: String = format!("{edge:?}").chars().map(split).collect();
        name[1..].into()
    }

    #[test]
    fn edges_are_named_as_they_are_written_and_stand_at_their_number() {
        let names: BTreeSet<_> = Edge::all().map(Edge::name).collect();
        assert_eq!(names.len(), Edge::ALL.len());
        for (at, edge) in Edge::all().enumerate() {
            assert_eq!((edge as usize, edge.name()), (at, &*kebab(edge)));
        }
    }
}
