//! A device: requests that it serves, and those that wait.

use std::collections::VecDeque;

use cmwq_policy::{Nanos, Time};

use crate::api::act::Completion;
use crate::api::report::DeviceStats;
use crate::api::specs::DeviceSpec;
use crate::cpu::ThreadId;
use crate::random::Random;

/// A request of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) thread: ThreadId,
    pub(crate) cpu: usize,
    pub(crate) bytes: u64,
    /// `None`: the thread sleeps until then.
    pub(crate) then: Option<Completion>,
}

pub(crate) struct Device {
    pub(crate) spec: DeviceSpec,
    pub(crate) random: Random,
    pub(crate) serving: u32,
    pub(crate) queue: VecDeque<Request>,
    /// The time up to which it is accounted for.
    pub(crate) since: Time,
    pub(crate) stats: DeviceStats,
}

impl Device {
    pub(crate) fn new(spec: DeviceSpec, random: Random, now: Time) -> Device {
        assert!(spec.depth > 0, "device {} serves nothing", spec.name);
        let jitter = spec.jitter;
        assert!(jitter <= 1000, "device {}: jitter {jitter}", spec.name);
        Device {
            spec,
            random,
            serving: 0,
            queue: VecDeque::new(),
            since: now,
            stats: DeviceStats::default(),
        }
    }

    pub(crate) fn account(&mut self, now: Time) {
        let passed = now.since(std::mem::replace(&mut self.since, now));
        self.stats.service_ns += passed * u64::from(self.serving);
        self.stats.active_ns += passed * u64::from(self.serving > 0);
    }

    pub(crate) fn add(&mut self, request: Request) {
        self.queue.push_back(request);
        let free = self.spec.depth - self.serving;
        let waits = (self.queue.len() as u32).saturating_sub(free);
        self.stats.max_queued = self.stats.max_queued.max(waits);
    }

    /// Begins to serve the next request, if it can; how long that takes.
    pub(crate) fn begin(&mut self, now: Time) -> Option<(Request, Nanos)> {
        if self.serving == self.spec.depth {
            return None;
        }
        let request = self.queue.pop_front()?;
        self.account(now);
        self.serving += 1;
        let data = u128::from(self.spec.per_kib) * u128::from(request.bytes) / 1024;
        let data = u64::try_from(data).unwrap_or(u64::MAX);
        let takes = self.spec.takes.saturating_add(data);
        Some((request, self.random.around(takes, self.spec.jitter)))
    }

    pub(crate) fn end(&mut self, now: Time, request: &Request) {
        self.account(now);
        self.serving -= 1;
        self.stats.served += 1;
        self.stats.bytes += request.bytes;
    }
}
