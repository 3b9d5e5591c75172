//! The edges that are counted: one for each rule that is applied, and each state that is entered.

use core::sync::atomic::{AtomicU64, Ordering};

/// What an edge belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// An item is queued, begins, ends, is taken back.
    Items,
    /// What stands behind an item and says that it has ended.
    Barriers,
    /// Items with a timer.
    Timers,
    /// The life of a worker.
    Workers,
    /// One more worker: needed, allowed, damped, refused.
    Starts,
    /// Reports of the world and what they do to the estimate.
    Reports,
    /// Items that wait for items of their own pool, and are refused where that would never end.
    Waits,
    /// `max_active`: slots, and turns of those that wait for one.
    Limits,
    /// Flush colours.
    Flushes,
    /// Queues that are emptied, and whom they admit meanwhile.
    Drains,
    /// Attributes that change, and the order of ordered queues across that.
    Attributes,
    /// Pods: where items and workers go.
    Affinity,
    /// Forward progress where no worker can be made.
    Rescue,
    /// Canaries, the pace of the tick, gaps of the clock: only where signals are those of user
    /// space.
    Watchers,
    /// Only between two threads inside one protocol, where the simulator has none and the tests
    /// under loom go; or at bounds that no random run comes to, where the policy's own tests go.
    Rare,
    /// The process around the queues: handles that are dropped, a CPU quota, what items leave
    /// behind.
    Process,
    /// Child processes, which the simulator has not: the tests of `cmwq run` and of the runtime's
    /// `process` go there.
    Children,
}

macro_rules! edges {
    ($($group:ident { $($edge:ident $name:literal $says:literal)* })*) => {
        /// A rule that is applied, or a state that is entered.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Edge {
            $($(#[doc = $says] $edge,)*)*
        }

        impl Edge {
            const ALL: &[(Edge, Group, &str, &str)] = &[
                $($((Edge::$edge, Group::$group, $name, $says),)*)*
            ];
        }
    };
}

edges! {
    Items {
        ItemPended "item-pended" "An idle item became pending."
        ItemRefusedPending "item-refused-pending" "An item was not queued: it is pending."
        ItemRefusedDisabled "item-refused-disabled" "An item was not queued: it is disabled."
        ItemActive "item-active" "A pending item got a slot at once and went to the worklist."
        ItemInactive "item-inactive" "A pending item got no slot and waits for one."
        ItemActivated "item-activated" "An item that waited for a slot got one."
        ItemBegun "item-begun" "A worker began an item."
        ItemEnded "item-ended" "An item ended."
        ArmingOn "arming-on" "Enough items wait: reports of idle CPUs are asked for."
        ArmingHeld "arming-held" "So few wait that they will be gone before anybody reports."
        ArmingUseless "arming-useless" "They were gone before anybody had reported."
        ItemFirst "item-first" "Of items that come from several pods, the first one was taken."
        ItemOvertakes "item-overtakes" "One that was queued nearer overtook the first one."
        ItemFar "item-far" "An item began outside of the pod that it was queued in."
        ItemRequeued "item-requeued" "An item was queued while it runs in the same pool."
        ItemBehindItself "item-behind-itself" "A worker came to an item that another one runs, and left it to that one."
        ItemRedirected "item-redirected" "An item that runs in another pool of its queue was queued there."
        ItemRedirectedRetired "item-redirected-retired" "The same through a pool workqueue that is not used any more."
        ItemDeferred "item-deferred" "An item that runs in another pool was queued to wait for that execution."
        ItemDeferredInactive "item-deferred-inactive" "The same, and it got no slot."
        ItemUndeferred "item-undeferred" "The execution that an item waited for has ended."
        ItemUndeferStale "item-undefer-stale" "The same, but the item was taken back before."
        ItemStolenInactive "item-stolen-inactive" "An item that waited for a slot was taken back."
        ItemStolenActive "item-stolen-active" "An item was taken back from the worklist."
        ItemStolenScheduled "item-stolen-scheduled" "An item was taken back from behind its own execution."
        ItemStolenDeferred "item-stolen-deferred" "A deferred item was taken back."
        ItemCancelled "item-cancelled" "A pending item was cancelled."
        ItemCancelIdle "item-cancel-idle" "An item to cancel was not pending, and left alone."
        ItemDisabled "item-disabled" "An item was disabled."
        ItemDisabledAgain "item-disabled-again" "A disabled item was disabled once more."
        ItemEnabled "item-enabled" "The last disable of an item was taken back."
        ItemEnabledPartly "item-enabled-partly" "One of several disables of an item was taken back."
        ItemEnableUnderflow "item-enable-underflow" "An item that was not disabled was to be enabled."
        ItemCpuIntensive "item-cpu-intensive" "An item of a CPU-intensive queue began and does not count as running."
    }
    Barriers {
        BarrierBehindInactive "barrier-behind-inactive" "A barrier was put behind an item that waits for a slot."
        BarrierBehindActive "barrier-behind-active" "A barrier was put behind an item of the worklist."
        BarrierBehindScheduled "barrier-behind-scheduled" "A barrier was put behind an item that waits behind its own execution."
        BarrierBehindRunning "barrier-behind-running" "A barrier was put behind an execution."
        BarrierBesideOthers "barrier-beside-others" "The item had barriers behind it already."
        BarrierNowhere "barrier-nowhere" "An item to flush was neither queued nor running."
        BarrierFreed "barrier-freed" "The item without a slot was taken back, and its barriers went to the worklist."
        BarrierReached "barrier-reached" "A worker came to a barrier."
    }
    Timers {
        TimerSkipped "timer-skipped" "A delay of 0: queued at once."
        TimerArmed "timer-armed" "A timer was armed."
        TimerModified "timer-modified" "A pending item was given another time."
        TimerModifiedIdle "timer-modified-idle" "An idle item was given a time."
        TimerModifyDisabled "timer-modify-disabled" "A disabled item was to be given a time."
        TimerDisarmed "timer-disarmed" "An item was taken back from its timer."
        TimerExpired "timer-expired" "A timer expired and its item was queued."
        TimerRefused "timer-refused" "A timer expired and its queue did not admit the item."
        TimerHurried "timer-hurried" "An armed item was queued before its time, to be flushed."
        TimerNotArmed "timer-not-armed" "The item to be hurried had no timer armed."
        TimerOfQueueTaken "timer-of-queue-taken" "A queue that goes took an armed item back."
    }
    Workers {
        WorkerAsked "worker-asked" "A thread was asked for, because work waits."
        WorkerAskedByManager "worker-asked-by-manager" "The worker that took the last idle slot creates a spare."
        WorkerWithoutSpare "worker-without-spare" "A worker goes on without a spare: none may be made now."
        WorkerCreated "worker-created" "A new worker is there."
        WorkerNotCreated "worker-not-created" "A thread could not be made."
        WorkerWoken "worker-woken" "The worker that went idle last was woken."
        WorkerWokenNear "worker-woken-near" "A worker was woken in the pod of an item, and had been elsewhere."
        WorkerReceiver "worker-receiver" "The worker that took a report was started: it is awake."
        WorkerArrived "worker-arrived" "A woken worker is there."
        WorkerGoesOn "worker-goes-on" "A worker looks for the next item."
        WorkerFindsNothing "worker-finds-nothing" "No item waits for a worker."
        WorkerCrowded "worker-crowded" "A worker stepped back after its item: too many run, and others want its CPU."
        WorkerLate "worker-late" "A worker that has arrived went idle: too many run already."
        WorkerConvoy "worker-convoy" "A worker stepped back after its item, because of a convoy."
        WorkerIsSpare "worker-is-spare" "A new worker is kept as a spare."
        WorkerIsAdmitted "worker-is-admitted" "A new worker begins at once."
        WorkerIdle "worker-idle" "A worker went idle."
        WorkerParksAgain "worker-parks-again" "A worker was woken for nothing and parks again."
        WorkerYields "worker-yields" "A worker yields, to see whether others want its CPU."
        WorkerYieldCrowded "worker-yield-crowded" "Others took the CPU of a worker that yielded."
        WorkerYieldAlone "worker-yield-alone" "Nobody did: not so many run as were counted."
        WorkerCulled "worker-culled" "An idle worker is told to end: there are too many."
        ThreadsOutgrown "threads-outgrown" "Nothing moves at a thread limit that nobody has chosen: it was doubled."
        WorkerRetired "worker-retired" "A worker ended."
        BhTurnOver "bh-turn-over" "A BH worker has had its turn."
    }
    Starts {
        StartNeeded "start-needed" "Items wait and fewer run than should."
        StartFirst "start-first" "The first runnable worker of a pool, which needs no token."
        StartToken "start-token" "A further one took a token of the budget."
        StartNoToken "start-no-token" "A start was refused: no token is left."
        StartNoThread "start-no-thread" "A start was refused: no worker is idle and none may be made now."
        StartUnmanaged "start-unmanaged" "A start in a pool that keeps no count."
        GrowthOpen "growth-open" "One more worker may start."
        GrowthAsks "growth-asks" "Not before somebody has looked at what the busy ones wait for."
        LaneOpened "lane-opened" "Executions of a kind queue up at one address."
        LaneHolds "lane-holds" "They are a convoy: its other items are held back."
        LaneTaken "lane-taken" "A worker took an item of a kind that is held back."
        LaneLetsGo "lane-lets-go" "Items of a kind are not held back any more."
        LaneClosed "lane-closed" "A kind was no crowd for long."
        GrowthProbes "growth-probes" "An item began beyond what its kind is allowed."
        LookConvoy "look-convoy" "A look saw a convoy: most wait at one lock and get through."
        LookBarrier "look-barrier" "A look saw a barrier: most wait at one address and nobody gets through."
        LookSleepers "look-sleepers" "A look saw workers that sleep for different reasons."
        TokensUnasked "tokens-unasked" "Workers became runnable that nobody had started."
        TokensReturned "tokens-returned" "A pool gave tokens back."
        PoolUnbound "pool-unbound" "The CPU of a per-CPU pool has gone."
        PoolRebound "pool-rebound" "The CPU of a per-CPU pool is back."
    }
    Reports {
        IdleReportStarts "idle-report-starts" "The report of an idle CPU started a worker."
        IdleReportUnused "idle-report-unused" "The report of an idle CPU came too late, or found nothing to start."
        IdleReportPresumes "idle-report-presumes" "More were counted as running than can be: some are presumed asleep."
        IdleReportNoToken "idle-report-no-token" "One is presumed asleep because other pools hold all tokens."
        ScanMissing "scan-missing" "A scan found fewer running than should."
        ScanStarts "scan-starts" "A scan started a worker."
        ScanAsleep "scan-asleep" "A worker that was taken for running was seen asleep."
        ScanAwake "scan-awake" "A worker that had slept was seen able to run."
        ScanUnseen "scan-unseen" "A look could not see a worker."
        UnseenPresumed "unseen-presumed" "Nothing has ended for long: workers that nobody can see are taken for asleep."
        ScanStale "scan-stale" "What was seen of a worker is of an earlier item."
        ScanCorrects "scan-corrects" "Who was seen to run is not presumed asleep any more."
        HintBegun "hint-begun" "An item says that it blocks."
        HintNested "hint-nested" "It says so inside of another hint, or while it does not count anyway."
        HintReplacesScan "hint-replaces-scan" "It says so, and a scan had seen it asleep."
        HintEnded "hint-ended" "An item is back from its outermost hint."
        HintEndedWithItem "hint-ended-with-item" "An item ended inside of its hint, or while it did not count."
        SleepEndedWithItem "sleep-ended-with-item" "An item ended that a scan had seen asleep."
        PresumptionEnds "presumption-ends" "An item that slept ended: one less is presumed asleep."
        HogReported "hog-reported" "An item keeps its CPU: only reported."
        HogUncounted "hog-uncounted" "An item keeps the CPU of its pool, and does not count as running any more."
        HogWarned "hog-warned" "The user is told of a function that keeps CPUs."
        HogHeldBack "hog-held-back" "The user is not told again yet."
        StallReported "stall-reported" "A worklist stands still."
        StarvationReported "starvation-reported" "Items wait for a slot, and nothing of their limit moves."
        StarvationOnlySlow "starvation-only-slow" "The same, but somebody who holds a slot is only slow."
    }
    Waits {
        WaitBegun "wait-begun" "An item waits for items of its own pool."
        WaitForBegun "wait-for-begun" "An item waits for items that have all begun: such a wait never fails."
        WaitOver "wait-over" "What an item waits for has happened."
        WaitFlushMoved "wait-flush-moved" "A flush that an item waits for has moved on."
        WaitEnded "wait-ended" "An item has stopped waiting."
        WaitRefusedNoWorker "wait-refused-no-worker" "An item may not wait: everybody waits, and no worker can be made."
        WaitRefusedAtLimit "wait-refused-at-limit" "An item may not wait: all slots that it waits for wait likewise."
        WaitFailedNoWorker "wait-failed-no-worker" "A wait failed: no worker is left that could start the item."
        WaitCircle "wait-circle" "A wait was refused: it would have closed a circle."
        WaitGivesUp "wait-gives-up" "A wait failed, of whose circle another one cannot give up."
        WaitOpen "wait-open" "A wait closes no circle."
        WaitFailedAtLimit "wait-failed-at-limit" "A wait failed: all slots that it waits for wait likewise."
    }
    Limits {
        SlotTaken "slot-taken" "An item took a free slot."
        SlotRefused "slot-refused" "No slot is free, or others wait: the pool workqueue joined those that wait."
        SlotBehindOwn "slot-behind-own" "Earlier items of the same pool workqueue wait."
        SlotPlugged "slot-plugged" "The pool workqueue is plugged: its items begin when older ones have ended."
        SlotReturned "slot-returned" "A slot was given back and nobody waited."
        SlotPassedOn "slot-passed-on" "A slot was given back and somebody waited."
        TurnOwn "turn-own" "The first one that waited is of this pool and got a slot."
        TurnElsewhere "turn-elsewhere" "The first one that waited is of another pool, which is told."
        TurnNoSlot "turn-no-slot" "No slot is free for the first one that waits."
        TurnRotates "turn-rotates" "It has more that waits, and goes to the end."
        TurnLast "turn-last" "It has nothing more that waits, and leaves."
        TurnOver "turn-over" "A pool was told that it is its turn, but nobody waits any more."
        WaiterLeaves "waiter-leaves" "The last waiting item of a pool workqueue was taken back."
        LimitExact "limit-exact" "A pool of one node counts for a limit that has no parts."
        LimitRaised "limit-raised" "The limit of a queue was raised."
        LimitLowered "limit-lowered" "The limit of a queue was lowered."
        LimitBelowUse "limit-below-use" "More slots are in use than may be from now on: nobody is cut off."
        LimitOutgrown "limit-outgrown" "Items starved under a limit that nobody has chosen: it was doubled."
        LimitNoRoom "limit-no-room" "The same, and the system has no room for more."
        MinActiveSet "min-active-set" "What each node is granted at least was changed."
        LimitFixed "limit-fixed" "The limit of an ordered or BH queue was to be changed."
        QueueFrozen "queue-frozen" "A queue was frozen."
        QueueThawed "queue-thawed" "A queue was thawed."
    }
    Flushes {
        FlushNothing "flush-nothing" "A flush found nothing in flight."
        FlushBegun "flush-begun" "A flush closed a colour."
        FlushShared "flush-shared" "A flush shares the colour of the one before: nothing was queued in between."
        FlushFull "flush-full" "A flush found all colours in use."
        FlushTold "flush-told" "The oldest colour is done: flushers are told."
        FlushLater "flush-later" "A later colour is done before an older one."
        FlushOver "flush-over" "A flusher found its colour done."
        FlushNotYet "flush-not-yet" "A flusher looked and goes on waiting."
    }
    Drains {
        DrainOver "drain-over" "Two looks found a queue empty, with nothing queued in between."
        DrainGoesOn "drain-goes-on" "A look found something in flight."
        AdmittedChained "admitted-chained" "An item queued on its own queue, which others may not do now."
        RefusedDraining "refused-draining" "Queueing was refused: the queue is drained."
        RefusedDestroying "refused-destroying" "Queueing was refused: the queue is destroyed."
        RefusedShutDown "refused-shut-down" "Queueing was refused: the process wants to end."
    }
    Attributes {
        AttrsFixed "attrs-fixed" "The attributes of a per-CPU queue were to be changed."
        AttrsSamePool "attrs-same-pool" "Changed attributes lead to the same pool."
        AttrsRefit "attrs-refit" "CPUs came or went, or what holds for all queues changed."
        PwqPlaced "pwq-placed" "The first item of a CPU: it gets its pool workqueue now."
        PwqShared "pwq-shared" "A CPU shares the pool workqueue of another one of its pod."
        PwqMade "pwq-made" "A pool workqueue was made."
        PwqReused "pwq-reused" "One that was not used any more is used again."
        PwqPlugged "pwq-plugged" "It is plugged until everything older of its ordered queue has ended."
        PwqUnplugged "pwq-unplugged" "Everything older has ended: its items begin."
        PwqRetiredEmpty "pwq-retired-empty" "A pool workqueue is not used any more, and is empty."
        PwqRetiredBusy "pwq-retired-busy" "The same, with items in flight."
        PwqEmptied "pwq-emptied" "One that is not used any more has emptied."
        PwqEmptiedLate "pwq-emptied-late" "The news of that came when it was in use again."
    }
    Affinity {
        PodUsed "pod-used" "An item goes to the pod of a CPU."
        PodIgnored "pod-ignored" "No CPU of the pod is in use: the whole mask counts."
        MaskIgnored "mask-ignored" "Nothing is left of a queue's mask: it counts for nothing."
        ShareOfNode "share-of-node" "A node has its part of a limit."
        ShareOfNone "share-of-none" "Pools that are in no one node share the whole limit."
        CpuInTurn "cpu-in-turn" "Queues may not use the CPU of the caller: another one in turn."
        WorkerRepatriated "worker-repatriated" "A worker that was last outside of its pod starts in it."
        WorkerStartsAnywhere "worker-starts-anywhere" "A worker starts where it was: in its pod, or no CPU of that is in use."
    }
    Rescue {
        RescueNeeded "rescue-needed" "A worker is missing that would have to be made."
        RescueNotNeeded "rescue-not-needed" "None is missing any more."
        RescuerCalled "rescuer-called" "The rescuer of a queue was called."
        RescuerOnItsWay "rescuer-on-its-way" "It had been called before and has not come yet."
        RescuerAttached "rescuer-attached" "A rescuer has come to a pool."
        RescuerTakes "rescuer-takes" "A rescuer took an item of its queue from the worklist."
        RescuerGoesOn "rescuer-goes-on" "A rescuer took the next item of its own list."
        RescuerFindsNothing "rescuer-finds-nothing" "No item waits that a rescuer may run."
        RescuerNotNeeded "rescuer-not-needed" "A rescuer stops: workers can be made again."
        RescuerTurnOver "rescuer-turn-over" "A rescuer stops: other pools wait for it."
        RescuerDetached "rescuer-detached" "A rescuer has left a pool."
        RescuerComesAgain "rescuer-comes-again" "The same, to come again after its turns in other pools."
    }
    Watchers {
        CanaryFired "canary-fired" "An armed canary reported."
        CanaryKeptQuiet "canary-kept-quiet" "A canary that is not armed reported nothing."
        CanaryAlone "canary-alone" "A canary is alone on its CPU."
        CanaryNotAlone "canary-not-alone" "Somebody took the CPU of a canary that yielded."
        CanaryChoosesPool "canary-chooses-pool" "A report was given to a pool: best nice first, then in turn."
        CanaryQuota "canary-quota" "Fewer canaries are armed than there are CPUs: the quota leaves no more."
        TickLooks "tick-looks" "A tick looks at the workers."
        TickSkips "tick-skips" "A tick does not: canaries report."
        TickQuickens "tick-quickens" "A tick found a worker missing: the next one comes sooner."
        TickSlows "tick-slows" "A tick found nobody missing: the next one comes later."
        ClockAway "clock-away" "The machine was suspended: what is measured begins anew."
    }
    Rare {
        CanariesHeap "canaries-heap" "The heap is too large to fork a process of canaries."
        CanariesFirstProcess "canaries-first-process" "The first process of a PID namespace has its canaries as threads."
        CanariesInstead "canaries-instead" "No process of canaries can be had: threads, or none."
        CanariesGiveUp "canaries-give-up" "The process of canaries was ended by others again and again."
        ItemDeferTooLate "item-defer-too-late" "Two threads: the execution ended before it could be told whom to tell."
        ItemDeferEnded "item-defer-ended" "Two threads: the execution ended while the item was queued behind it."
        ItemStealMissed "item-steal-missed" "Two threads: an item to take back had just left its pool."
        ItemDisableOverflow "item-disable-overflow" "A bound: an item is disabled as often as can be counted, 65,535 times."
        PwqRefused "pwq-refused" "Two threads: the attributes changed while an item was on its way, and it looks again."
        SlotTakenLate "slot-taken-late" "Two threads: a slot came free just before joining those that wait."
        RescuersTooMany "rescuers-too-many" "A bound: a rescuer was sent away, because 16 others help in this pool already."
        RescuerNoRoom "rescuer-no-room" "A bound: a rescuer is called later, because one event says only 12 things."
        HogTableFull "hog-table-full" "A bound: a function is not counted, because 128 others are."
    }
    Process {
        PoolResized "pool-resized" "The CPUs that a pool serves have changed."
        WorkerGaveUp "worker-gave-up" "A worker ended because its thread is unfit."
        WorkerGaveItemsUp "worker-gave-items-up" "The same, with items that only it was to run."
        DrainEmpty "drain-empty" "Nothing was in flight of a pool workqueue to be drained."
        DrainWaits "drain-waits" "Items were in flight of a pool workqueue to be drained."
        DrainTold "drain-told" "Nothing is in flight of it any more: who waits is told."
        DrainWatched "drain-watched" "Who waits for a pool as a whole is told of an end."
        OrphanReleased "orphan-released" "The last item of a queue without handles has ended."
        OrphanRevived "orphan-revived" "An item of a queue without handles queued on."
        HogAsks "hog-asks" "A worker's voluntary switches are needed to call its item a hog."
        LeftoverRestored "leftover-restored" "An item left something behind that can be set back."
        LeftoverRetires "leftover-retires" "An item left something behind that cannot."
    }
    Children {
        ItemForeign "item-foreign" "An item was a process tree."
    }
}

static COUNTS: [AtomicU64; Edge::ALL.len()] = [const { AtomicU64::new(0) }; Edge::ALL.len()];

impl Edge {
    /// All edges, by group.
    pub fn all() -> impl Iterator<Item = Edge> {
        Edge::ALL.iter().map(|&(edge, ..)| edge)
    }

    /// Its name, in kebab-case.
    pub fn name(self) -> &'static str {
        Edge::ALL[self as usize].2
    }

    /// What it says: one sentence.
    pub fn says(self) -> &'static str {
        Edge::ALL[self as usize].3
    }

    /// What it belongs to.
    pub fn group(self) -> Group {
        Edge::ALL[self as usize].1
    }

    /// How often it was counted since the last [`reset`], over all threads of the process.
    pub fn count(self) -> u64 {
        // Relaxed: a number for a report, read when those who count are done.
        COUNTS[self as usize].load(Ordering::Relaxed)
    }

    pub(crate) fn hit(self) {
        // Relaxed: nothing is read by it.
        COUNTS[self as usize].fetch_add(1, Ordering::Relaxed);
    }
}

/// The names of all edges, each with how often it was counted since the last [`reset`].
pub fn counts() -> impl Iterator<Item = (&'static str, u64)> {
    Edge::all().map(|edge| (edge.name(), edge.count()))
}

/// All counts begin at 0 again.
pub fn reset() {
    // Relaxed: as for counting.
    COUNTS.iter().for_each(|n| n.store(0, Ordering::Relaxed));
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
