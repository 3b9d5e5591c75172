//! Where items of a managed queue run when more wait than there are CPUs: each CPU has the choice
//! then, and takes what was queued near it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use cmwq::{AffinityScope, Work, Workqueue};
use cmwq_os::clock;

use crate::checks::{Checks, Outcome};
use crate::expected::Expected;
use crate::ran::Ran;

/// From each pod.
const ITEMS: usize = 32;

/// CPU time of each item.
const LEAST: Duration = Duration::from_millis(1);

/// Which have to show it together. Below the machine CPUs may be busy, so that those of one pod get
/// more done than those of another, and help that one.
const ROUNDS: usize = 8;

/// With each scope that makes a few pods.
pub(crate) fn check(expected: &Expected, checks: &mut Checks) {
    for scope in AffinityScope::ALL {
        let pods = expected.pods(scope).len();
        if (2..=expected.cpus().count() / 2).contains(&pods) {
            let name = format!("managed {}, backlog", scope.name());
            checks.note(&name, rounds(expected, scope));
        }
    }
}

/// Whether clearly more ran in the pod than chance would have brought there: four standard
/// deviations.
fn rounds(expected: &Expected, scope: AffinityScope) -> Outcome {
    let queue = Workqueue::builder("backlog")
        .affinity_scope(scope)
        .freezable()
        .build();
    let queue = queue.map_err(|error| error.to_string())?;
    let pods = expected.pods(scope).len();
    let (mut near, mut all) = (0, 0);
    for _ in 0..ROUNDS {
        let runs = round(expected, scope, &queue)?;
        let is_near = |ran: &&Ran| expected.pod(scope, ran.from).contains(ran.cpu);
        near += runs.iter().filter(is_near).count();
        all += runs.len();
        if near as f64 >= by_chance(all, pods) {
            return Ok(format!("{near} of {all} in the pod"));
        }
    }
    Err(format!("{near} of {all} in the pod"))
}

/// Of so many items, each of which runs in any of these pods, hardly ever as many in the right one.
fn by_chance(items: usize, pods: usize) -> f64 {
    let (items, right) = (items as f64, 1.0 / pods as f64);
    items * right + 4.0 * (items * right * (1.0 - right)).sqrt()
}

/// Items for the first CPU of each pod in turn. They wait together before the first one begins:
/// queueing them takes longer than executing them where the machine is emulated.
fn round(expected: &Expected, scope: AffinityScope, queue: &Workqueue) -> Result<Vec<Ran>, String> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let mut items = Vec::new();
    for _ in 0..ITEMS {
        for pod in expected.pods(scope) {
            let (cpu, seen) = (pod.iter().next().ok_or("an empty pod")?, seen.clone());
            items.push((
                cpu,
                Work::new(move || seen.lock().expect("no panic").push(burn(cpu))),
            ));
        }
    }
    cmwq::freezer::freeze();
    let queued = items
        .iter()
        .try_for_each(|(cpu, item)| queue.queue_on(*cpu, item).map(drop));
    cmwq::freezer::thaw();
    queued.map_err(|error| error.to_string())?;
    queue.flush().map_err(|error| error.to_string())?;
    let seen = seen.lock().expect("no panic");
    Ok(seen.clone())
}

fn burn(from: usize) -> Ran {
    let begin = clock::thread_cpu();
    while clock::thread_cpu().saturating_sub(begin) < LEAST.as_nanos() as u64 {}
    Ran::here(from)
}
