//! What is told, as data: the JSON form, of which the text is another view.

use cmwq::{CanaryForm, CanaryReason};
use cmwq_os::cgroup::Quota;
use cmwq_os::cpus::{self, EffectiveCpus};
use cmwq_os::limits::{self, Limits};
use cmwq_os::memory::{Bound, Headroom, Memory};
use cmwq_os::observe::is_own_proc;
use cmwq_os::probe::{self, Probe, Support};
use cmwq_os::topology::{self, Topology};
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

#[derive(Serialize)]
pub(super) struct Report {
    /// Of this format.
    pub(super) version: u32,
    /// Whether anything here tells that a CPU is idle.
    pub(super) usable: bool,
    /// Nothing here tells whether a worker is asleep: the passing of time stands in for it.
    pub(super) blind: bool,
    pub(super) cpus: Cpus,
    /// CPUs of each memory node, in the kernel's list format (0-3,8), as everywhere here.
    pub(super) nodes: Vec<String>,
    /// CPUs of each core.
    pub(super) cores: Vec<String>,
    pub(super) caches: Vec<Cache>,
    /// What of the above is missing or contradicts itself, and what is assumed instead.
    pub(super) topology_warnings: Vec<String>,
    pub(super) signals: Vec<Signal>,
    /// Where canaries live: process, threads or off. None: nowhere, since they are denied.
    pub(super) canaries: Option<&'static str>,
    /// Why they live there.
    pub(super) canaries_reason: Option<String>,
    pub(super) nice: Nice,
    pub(super) limits: LimitsReport,
}

#[derive(Serialize)]
pub(super) struct Cpus {
    pub(super) online: usize,
    /// Those this process may run on.
    pub(super) allowed: String,
    pub(super) quota: Option<QuotaReport>,
    /// How many cmwq keeps busy.
    pub(super) effective: usize,
}

#[derive(Serialize)]
pub(super) struct QuotaReport {
    pub(super) quota_us: u64,
    pub(super) period_us: u64,
    /// Quota / period, in thousandths of a CPU.
    pub(super) milli_cpus: u64,
}

#[derive(Serialize)]
pub(super) struct Cache {
    pub(super) level: u8,
    /// As the kernel says: Data, Instruction, Unified.
    pub(super) kind: String,
    pub(super) size_kib: u64,
    pub(super) cpus: String,
}

/// One thing that cmwq uses where it may.
#[derive(Serialize)]
pub(super) struct Signal {
    pub(super) name: &'static str,
    pub(super) purpose: &'static str,
    /// works, degraded or denied.
    pub(super) verdict: &'static str,
    pub(super) reason: Option<String>,
}

#[derive(Serialize)]
pub(super) struct Nice {
    pub(super) now: i32,
    /// The lowest level (most CPU) this process may take.
    pub(super) lowest: i32,
    pub(super) highest: i32,
}

#[derive(Serialize)]
pub(super) struct LimitsReport {
    /// None: could not be read.
    pub(super) threads: Option<u64>,
    /// None: no limit.
    pub(super) open_files: Option<u64>,
    /// How far the process may raise that. None: no limit.
    pub(super) open_files_hard: Option<u64>,
    /// None: could not be read, as for the next.
    pub(super) memory_total_bytes: Option<u64>,
    pub(super) memory_available_bytes: Option<u64>,
    /// None: no limit.
    pub(super) memory_cgroup_limit_bytes: Option<u64>,
    /// What `cmwq run` may give to jobs, less what it keeps free. None: could not be read, then it
    /// starts jobs without asking.
    pub(super) memory_headroom_bytes: Option<u64>,
    /// machine or cgroup: what leaves no more.
    pub(super) memory_headroom_bound: Option<&'static str>,
}

impl Report {
    pub(super) fn of_this_system() -> Self {
        let probe = probe::probe();
        let topology = topology::read(Path::new("/"));
        let limits = limits::read();
        let canaries = canaries();
        Self {
            version: 1,
            usable: is_usable(&probe),
            blind: is_blind(&probe),
            cpus: Cpus::from(&cpus::effective()),
            nodes: topology.nodes.iter().map(ToString::to_string).collect(),
            cores: topology.smt.iter().map(ToString::to_string).collect(),
            caches: caches(&topology),
            topology_warnings: topology.warnings,
            signals: signals(&probe),
            canaries: canaries.as_ref().map(|(form, _)| *form),
            canaries_reason: canaries.map(|(_, reason)| reason),
            nice: nice(&limits),
            limits: LimitsReport::new(&limits, Memory::find(Path::new("/")).headroom()),
        }
    }
}

/// Without canaries the tick starts workers, without the tick the canaries do.
fn is_usable(probe: &Probe) -> bool {
    let denied = |support: &Support| matches!(support, Support::Denied(_));
    !(denied(&probe.canary) && denied(&probe.tick))
}

/// Neither an idle CPU nor a sleeping worker shows.
fn is_blind(probe: &Probe) -> bool {
    let denied = |support: &Support| matches!(support, Support::Denied(_));
    let unseen = denied(&probe.stat_file) && denied(&probe.syscall_file);
    denied(&probe.canary) && (unseen || !is_own_proc())
}

fn caches(topology: &Topology) -> Vec<Cache> {
    let cache = |cache: &topology::Cache| Cache {
        level: cache.level,
        kind: cache.kind.clone(),
        size_kib: cache.size_kib,
        cpus: cache.cpus.to_string(),
    };
    topology.caches.iter().map(cache).collect()
}

/// Where the probe has a signal, what it is called and what it is for.
type Probed = (fn(&Probe) -> &Support, &'static str, &'static str);

const SIGNALS: [Probed; 11] = [
    (
        |probe| &probe.canary,
        "canary",
        "an idle CPU reports itself (SCHED_IDLE)",
    ),
    (
        |probe| &probe.pinning,
        "pinning",
        "a canary stays on its CPU",
    ),
    (
        |probe| &probe.tick,
        "tick",
        "idle workers are found beside foreign load",
    ),
    (
        |probe| &probe.syscall_file,
        "syscall_file",
        "what a blocked worker waits for",
    ),
    (
        |probe| &probe.stat_file,
        "stat_file",
        "whether a worker is asleep",
    ),
    (
        |probe| &probe.schedstat,
        "schedstat",
        "how long a thread waited for a CPU (not used)",
    ),
    (
        |probe| &probe.process_children,
        "process_children",
        "the processes of a job",
    ),
    (
        |probe| &probe.pidfd,
        "pidfd",
        "the end of a job without asking again and again",
    ),
    (
        |probe| &probe.wipe_on_fork,
        "wipe_on_fork",
        "a forked child notices that it is one",
    ),
    (
        |probe| &probe.perf_switch,
        "perf_switch",
        "exact accounting (not used yet)",
    ),
    (|probe| &probe.bpf, "bpf", "exact accounting (not used yet)"),
];

fn signals(probe: &Probe) -> Vec<Signal> {
    let of = |(support, name, purpose): &Probed| signal(name, purpose, support(probe));
    SIGNALS.iter().map(of).collect()
}

/// Where canaries live here, and why there.
fn canaries() -> Option<(&'static str, String)> {
    let stats = stats_with_canaries()?;
    let form = match stats.canary_form? {
        CanaryForm::Process => "process",
        CanaryForm::Threads => "threads",
        _ => "off",
    };
    Some((form, why(stats.canary_reason?)))
}

/// Gives the engine work until it has decided where canaries live. None: it has not.
fn stats_with_canaries() -> Option<cmwq::Stats> {
    const PAUSE: Duration = Duration::from_millis(5);
    const LOOKS: usize = 200;
    let mut stats = (0..LOOKS).map(|_| {
        // More than there are CPUs, so that some wait: nobody makes canaries before.
        let sleep = |_| cmwq::system().spawn(|| std::thread::sleep(PAUSE));
        let items: Vec<_> = (0..cmwq::stats().cpus + 3).map(sleep).collect();
        items.into_iter().for_each(|item| drop(item.join()));
        cmwq::stats()
    });
    stats.find(|stats| stats.canary_form.is_some() || stats.canary_denied.is_some())
}

fn why(reason: CanaryReason) -> String {
    let text = match reason {
        CanaryReason::Default => "this process ends as fast as one without",
        CanaryReason::Chosen => "the program has chosen so",
        CanaryReason::Unsupported => "a process of their own needs x86-64 and Linux 5.16",
        CanaryReason::Denied(errno) => {
            let error = std::io::Error::from_raw_os_error(errno);
            return format!("a process of their own is denied: {error}");
        }
        CanaryReason::Ended => "somebody has killed their process again and again",
        CanaryReason::FirstProcess => "its PID namespace would wait for a process",
        CanaryReason::LargeHeap => "the heap was too large to fork",
        other => return format!("{other:?}"),
    };
    text.to_owned()
}

fn signal(name: &'static str, purpose: &'static str, support: &Support) -> Signal {
    let (verdict, reason) = match support {
        Support::Works => ("works", None),
        Support::Degraded(reason) => ("degraded", Some(reason.clone())),
        Support::Denied(reason) => ("denied", Some(reason.clone())),
    };
    Signal {
        name,
        purpose,
        verdict,
        reason,
    }
}

fn nice(limits: &Limits) -> Nice {
    Nice {
        now: cmwq_os::sched::nice_self(),
        lowest: limits.nice_best,
        highest: 19,
    }
}

impl From<&EffectiveCpus> for Cpus {
    fn from(cpus: &EffectiveCpus) -> Self {
        Self {
            online: cpus.online,
            allowed: cpus.mask.to_string(),
            quota: cpus.quota.as_ref().map(QuotaReport::from),
            effective: cpus.target,
        }
    }
}

impl From<&Quota> for QuotaReport {
    fn from(quota: &Quota) -> Self {
        Self {
            quota_us: quota.quota_us,
            period_us: quota.period_us,
            milli_cpus: quota.milli_cpus(),
        }
    }
}

impl LimitsReport {
    fn new(limits: &Limits, headroom: Option<Headroom>) -> Self {
        let known = |bytes: u64| (bytes != 0).then_some(bytes);
        let finite = |limit: u64| (limit != u64::MAX).then_some(limit);
        Self {
            threads: limits.threads,
            open_files: finite(limits.open_files),
            open_files_hard: finite(limits.open_files_hard),
            memory_total_bytes: known(limits.memory.total),
            memory_available_bytes: known(limits.memory.available),
            memory_cgroup_limit_bytes: limits.memory.cgroup_limit,
            memory_headroom_bytes: headroom.map(|headroom| headroom.bytes),
            memory_headroom_bound: headroom.map(|headroom| match headroom.bound {
                Bound::Machine => "machine",
                Bound::Cgroup => "cgroup",
            }),
        }
    }
}
