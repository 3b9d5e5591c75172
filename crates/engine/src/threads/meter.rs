//! What a worker measures of its own items, and what they leave behind in its thread.
//! `cmwq_policy::sampling` and `cmwq_policy::leftovers` say when to measure, and what follows.

use cmwq_os::usage::{self, Rusage};
use cmwq_os::{clock, limits, sched, thread};
use cmwq_policy::leftovers::{self, Leftovers, Remedy, Suspects, ThreadAttrs};
use cmwq_policy::{CpuMask, ItemReport, Nanos, Time, sampling};

/// Voluntary switches and CPU time of the thread, item by item.
pub(super) struct Meter {
    /// What the thread had used at the last look, and when that was.
    used: Option<Rusage>,
    looked: Time,
    /// How long the worker has lingered since.
    lingered: Nanos,
}

impl Meter {
    pub(super) fn new() -> Self {
        let now = clock::now();
        Meter {
            used: usage::thread(),
            looked: now,
            lingered: 0,
        }
    }

    /// The thread has slept of its own: what it used until now says nothing of the next item.
    pub(super) fn restart(&mut self) {
        *self = Meter::new();
    }

    /// The worker has lingered for so long, in no item. To look after each time would cost more
    /// than that says of the next one.
    pub(super) fn lingered(&mut self, time: Nanos) {
        self.lingered += time;
        if sampling::begins_anew(true, self.lingered) {
            self.restart();
        }
    }

    /// The report of an item that has ended `now`, and took so long; its CPU time, if that was
    /// looked at.
    #[inline]
    pub(super) fn end(
        &mut self,
        now: Time,
        ran: Nanos,
        foreign: bool,
    ) -> (ItemReport, Option<Nanos>) {
        let report = ItemReport {
            ran: Some(ran),
            foreign,
            ..ItemReport::default()
        };
        match !foreign && sampling::ask_switches(ran) {
            true => self.look(now, report),
            false => (report, None),
        }
    }

    /// Whether the thread has blocked since the last look, and if not, how long it had no CPU.
    fn look(&mut self, now: Time, report: ItemReport) -> (ItemReport, Option<Nanos>) {
        let before = std::mem::replace(&mut self.used, usage::thread());
        self.lingered = 0;
        let passed = now.since(std::mem::replace(&mut self.looked, now));
        let Some((used, before)) = self.used.zip(before) else {
            return (report, None);
        };
        let slept = used.voluntary_switches != before.voluntary_switches;
        let cpu = used.cpu_ns().saturating_sub(before.cpu_ns());
        let waited = (!slept).then(|| passed.saturating_sub(cpu));
        // Short items may have gone before it since the last look.
        let cpu = report.ran.map(|ran| cpu.min(ran));
        let report = ItemReport {
            slept: Some(slept),
            waited,
            ..report
        };
        (report, cpu)
    }
}

/// What the thread is meant to have, and who may have changed it.
pub(super) struct Tidiness {
    own: ThreadAttrs,
    suspects: Suspects,
}

/// What was found and what became of it.
pub(super) struct Found {
    pub(super) left: Leftovers,
    /// One of the last so many items did it.
    pub(super) suspects: u32,
    /// The thread cannot be set right.
    pub(super) lost: bool,
}

impl Tidiness {
    /// Of the calling thread as it is now.
    pub(super) fn new() -> Self {
        Tidiness {
            own: found(),
            suspects: Suspects::default(),
        }
    }

    /// The thread was given this mask; `None`: that was denied.
    pub(super) fn follow_mask(&mut self, given: Option<CpuMask>) {
        self.own.cpumask = leftovers::own_mask(given, sched::affinity(0).ok());
    }

    /// An item has ended. `is_items`: whether an item may have set this CPU mask, which is not the
    /// thread's own.
    #[inline]
    pub(super) fn item_ended(
        &mut self,
        now: Time,
        (ran, func): (Nanos, u64),
        is_items: impl FnOnce(&CpuMask) -> bool,
    ) -> Option<Found> {
        let suspects = self.suspects.item_ended(now, ran, func)?;
        self.look_and_trust(now, suspects, is_items)
    }

    /// An item is about to begin then. `is_items` as above.
    #[inline]
    pub(super) fn before_item(
        &mut self,
        now: Time,
        func: impl FnOnce() -> u64,
        is_items: impl FnOnce(&CpuMask) -> bool,
    ) -> Option<Found> {
        let owed = self.suspects.is_owed();
        let suspects = owed.then(|| self.suspects.before_item(func()))??;
        self.look_and_trust(now, suspects, is_items)
    }

    /// As [`item_ended`](Self::item_ended), in a rescuer. With a nice level that cannot be set
    /// right it goes on: it is needed just when no other thread can be made.
    pub(super) fn rescued_ended(
        &mut self,
        mut is_items: impl FnMut(&CpuMask) -> bool,
    ) -> Option<Found> {
        let suspects = self.suspects.item_ended(Time(0), u64::MAX, 0)?;
        let found = self.look(suspects, &mut is_items)?;
        if !found.lost {
            return Some(found);
        }
        self.own.nice = sched::nice_self();
        self.look(suspects, &mut is_items)
    }

    /// As [`item_ended`](Self::item_ended), of an item that the thread has claimed: the only one.
    pub(super) fn claimed_ended(&self, is_items: impl FnOnce(&CpuMask) -> bool) -> Option<Found> {
        self.look(1, is_items)
    }

    /// The worker is about to park. `is_items` as above.
    pub(super) fn before_parking(
        &mut self,
        is_items: impl FnOnce(&CpuMask) -> bool,
    ) -> Option<Found> {
        let now = clock::now();
        let suspects = self.suspects.before_parking(now)?;
        self.look_and_trust(now, suspects, is_items)
    }

    /// The worker is about to make a thread. `is_items` as above.
    pub(super) fn before_leaving(
        &mut self,
        is_items: impl FnOnce(&CpuMask) -> bool,
    ) -> Option<Found> {
        let suspects = self.suspects.before_leaving()?;
        let found = self.look(suspects, is_items)?;
        self.suspects.was_found();
        Some(found)
    }

    fn look_and_trust(
        &mut self,
        now: Time,
        suspects: u32,
        is_items: impl FnOnce(&CpuMask) -> bool,
    ) -> Option<Found> {
        let found = self.look(suspects, is_items);
        match found {
            None => self.suspects.was_clean(now),
            Some(_) => self.suspects.was_found(),
        }
        found
    }

    fn look(&self, suspects: u32, is_items: impl FnOnce(&CpuMask) -> bool) -> Option<Found> {
        let found = found();
        let other = found.cpumask.filter(|_| found.cpumask != self.own.cpumask);
        let own = ThreadAttrs {
            cpumask: self
                .own
                .cpumask
                .filter(|_| other.is_none_or(|mask| is_items(&mask))),
            ..self.own
        };
        let left = Leftovers::of(&own, &found)?;
        let lost = match left.remedy(limits::read().nice_best) {
            Remedy::Restore => !restore(&left),
            Remedy::Retire => true,
        };
        Some(Found {
            left,
            suspects,
            lost,
        })
    }
}

fn found() -> ThreadAttrs {
    ThreadAttrs {
        nice: sched::nice_self(),
        cpumask: sched::affinity(0).ok(),
        sigmask: thread::sigmask(),
    }
}

fn restore(left: &Leftovers) -> bool {
    let set_mask = |mask: &CpuMask| sched::set_affinity_self(mask).is_ok();
    if let Some(sigmask) = left.sigmask {
        thread::set_sigmask(sigmask.own);
    }
    left.nice
        .is_none_or(|nice| sched::set_nice_self(nice.own).is_ok())
        && left.cpumask.is_none_or(|mask| set_mask(&mask.own))
}
