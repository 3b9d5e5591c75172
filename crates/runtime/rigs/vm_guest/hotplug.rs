//! A CPU that goes out of use and comes back.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use cmwq::{AffinityScope, Workqueue};
use cmwq_policy::CpuMask;

use crate::checks::{Checks, Outcome};
use crate::expected::Expected;
use crate::ran::{all_in, queued_on};

/// It is noticed within a second or two. This is for what is not.
const LIMIT: Duration = Duration::from_secs(20);

const PAUSE: Duration = Duration::from_millis(10);

/// Takes a CPU away from the whole machine, so only for machines that are nobody's.
pub(crate) fn check(expected: &Expected, checks: &mut Checks) {
    let cpu = expected.cpus().iter().last().expect("a machine has a CPU");
    for scope in [AffinityScope::Cpu, AffinityScope::Numa] {
        let (queue, pod) = (strict(scope), expected.pod(scope, cpu));
        let name = |when| format!("CPU {cpu} {when}, strict {}", scope.name());
        checks.note(&name("is there"), followed(&queue, cpu, &pod));
        // A pod of which nothing is left leaves all CPUs.
        let left = match all_but(&pod, cpu) {
            left if left.is_empty() => all_but(&expected.cpus(), cpu),
            left => left,
        };
        let gone = set_online(cpu, false).and_then(|()| followed(&queue, cpu, &left));
        checks.note(&name("is gone"), gone);
        let back = set_online(cpu, true).and_then(|()| followed(&queue, cpu, &pod));
        checks.note(&name("is back"), back);
    }
}

fn strict(scope: AffinityScope) -> Workqueue {
    let queue = Workqueue::builder("hotplug").affinity_scope(scope);
    let queue = queue.affinity_strict(true).build();
    queue.expect("the attributes are good")
}

fn all_but(cpus: &CpuMask, cpu: usize) -> CpuMask {
    cpus.iter().filter(|&other| other != cpu).collect()
}

fn set_online(cpu: usize, online: bool) -> Result<(), String> {
    let file = format!("/sys/devices/system/cpu/cpu{cpu}/online");
    let written = fs::write(&file, u8::from(online).to_string());
    written.map_err(|error| format!("{file}: {error}"))?;
    noticed()
}

/// Has more items compute than there are CPUs, until cmwq counts the CPUs as the kernel does: it
/// looks while items wait. Then it reads where they are.
fn noticed() -> Result<(), String> {
    let cpus = cmwq_os::cpus::effective().target;
    let until = Instant::now() + LIMIT;
    let wait = move || while cmwq::stats().cpus != cpus && Instant::now() < until {};
    let items: Vec<_> = (0..4 * cpus).map(|_| cmwq::system().spawn(wait)).collect();
    for item in items {
        item.join().expect("it does not panic");
    }
    loop {
        let known = cmwq::unbound_cpus().map_err(|error| error.to_string())?;
        match Instant::now() < until {
            _ if known.len() == cpus => return Ok(()),
            true => thread::sleep(PAUSE),
            false => return Err(format!("{known:?} are known of {cpus} CPUs")),
        }
    }
}

/// Items for this CPU run on these; soon, as queues follow after that is noticed.
fn followed(queue: &Workqueue, cpu: usize, cpus: &CpuMask) -> Outcome {
    let until = Instant::now() + LIMIT;
    loop {
        match all_in(&queued_on(queue, cpu, 4), cpus) {
            Err(_) if Instant::now() < until => thread::sleep(PAUSE),
            outcome => return outcome,
        }
    }
}
