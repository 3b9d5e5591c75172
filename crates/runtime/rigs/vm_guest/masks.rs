//! Masks of queues and of all queues, attributes that change, and kinds of queue that have no pods.

use std::env;
use std::fmt::Display;

use cmwq::{AffinityScope, Workqueue};
use cmwq_policy::CpuMask;

use crate::checks::{Checks, Outcome, same};
use crate::expected::Expected;
use crate::placement::far_apart;
use crate::ran::{all_in, on_cpu, queued_on, spawned};

pub(crate) fn check(expected: &Expected, checks: &mut Checks) {
    checks.note("mask of a queue", own_mask(expected));
    checks.note("mask of a queue cuts its pods", cut_pods(expected));
    checks.note("mask of all queues", unbound_mask(expected));
    checks.note("default scope", default_scope(expected));
    checks.note("attributes of a queue in use", changed(expected));
    checks.note("ordered queue", ordered(expected));
    checks.note("per-CPU queue", per_cpu(expected));
}

/// The same of items that are spawned from this CPU.
fn stay(queue: &Workqueue, from: usize, cpus: &CpuMask) -> Outcome {
    all_in(&spawned(queue, from, 4), cpus)
}

/// A CPU of each of some pods, so that it is no union of pods.
fn some(expected: &Expected) -> CpuMask {
    far_apart(&expected.cpus()).into_iter().collect()
}

fn own_mask(expected: &Expected) -> Outcome {
    let some = some(expected);
    let queue = Workqueue::builder("mask").cpus(some.iter()).build();
    stay(&queue.expect("the mask is good"), 0, &some)
}

/// Strict: the part of the pod; a pod of which the mask has nothing leaves the whole mask.
fn cut_pods(expected: &Expected) -> Outcome {
    let (some, scope) = (some(expected), AffinityScope::CacheShard);
    let queue = Workqueue::builder("cut").cpus(some.iter());
    let queue = queue.affinity_scope(scope).affinity_strict(true).build();
    let queue = queue.expect("the attributes are good");
    let mut seen = Vec::new();
    for pod in expected.pods(scope) {
        let own = pod.and(&some);
        let own = if own.is_empty() { some } else { own };
        let from = pod.iter().next().expect("a pod has a CPU");
        seen.push(stay(&queue, from, &own)?);
    }
    Ok(seen.join(", "))
}

/// Holds for queues that are there, wins over their own, and spares per-CPU queues.
fn unbound_mask(expected: &Expected) -> Outcome {
    let (all, some) = (expected.cpus(), some(expected));
    let [first, second, third] = far_apart(&all);
    let queue = Workqueue::builder("unbound").build().expect("a queue");
    let elsewhere = Workqueue::builder("elsewhere").cpus([0]).build();
    let elsewhere = elsewhere.expect("the mask is good");
    let whole = stay(&queue, first, &all)?;
    set_unbound(&[first, second, third])?;
    let narrow = stay(&queue, second, &some)?;
    stay(&elsewhere, third, &some)?;
    on_its_cpu(0)?;
    if cmwq::set_unbound_cpus(&[]).is_ok() {
        return Err("no CPU at all is accepted".to_owned());
    }
    let all: Vec<usize> = all.iter().collect();
    set_unbound(&all)?;
    stay(&elsewhere, third, &[0].into_iter().collect())?;
    stay(&queue, second, &expected.cpus()).map(|again| format!("{whole}, {narrow}, {again}"))
}

fn set_unbound(cpus: &[usize]) -> Result<(), String> {
    cmwq::set_unbound_cpus(cpus).map_err(text)?;
    match cmwq::unbound_cpus().map_err(text)? {
        now if now == cpus => Ok(()),
        now => Err(format!("{now:?} after {cpus:?} were set")),
    }
}

/// At first it is what the environment says. Queues that name no scope follow it, also those that
/// are there.
fn default_scope(expected: &Expected) -> Outcome {
    let queue = Workqueue::builder("default")
        .unmanaged()
        .affinity_strict(true);
    let queue = queue.build().expect("a queue");
    let before = cmwq::default_affinity_scope().map_err(text)?;
    let named = env::var("CMWQ_DEFAULT_AFFINITY_SCOPE").ok();
    let named = named.and_then(|name| AffinityScope::parse(&name));
    let first = named.unwrap_or(AffinityScope::CacheShard);
    same(before.name(), first.name())?;
    let from = far_apart(&expected.cpus())[1];
    let mut seen = Vec::new();
    for scope in [before, AffinityScope::Smt, AffinityScope::Numa, before] {
        cmwq::set_default_affinity_scope(scope).map_err(text)?;
        seen.push(stay(&queue, from, &expected.pod(scope, from))?);
    }
    Ok(seen.join(", "))
}

fn changed(expected: &Expected) -> Outcome {
    let queue = Workqueue::builder("changed").build().expect("a queue");
    let from = far_apart(&expected.cpus())[2];
    let mut seen = Vec::new();
    for scope in AffinityScope::ALL {
        let mut attrs = queue.attrs();
        (attrs.affinity_scope, attrs.affinity_strict) = (Some(scope), true);
        queue.apply_attrs(&attrs).map_err(text)?;
        seen.push(stay(&queue, from, &expected.pod(scope, from))?);
    }
    Ok(seen.join(", "))
}

fn ordered(expected: &Expected) -> Outcome {
    let queue = Workqueue::builder("ordered")
        .ordered()
        .build()
        .expect("a queue");
    stay(&queue, far_apart(&expected.cpus())[1], &expected.cpus())
}

fn per_cpu(expected: &Expected) -> Outcome {
    let each: Result<Vec<_>, _> = expected.cpus().iter().map(on_its_cpu).collect();
    each.map(|_| format!("on each of {}", expected.cpus()))
}

/// Queued from there as well as for it.
fn on_its_cpu(cpu: usize) -> Outcome {
    let queue = cmwq::system_percpu();
    let only: CpuMask = [cpu].into_iter().collect();
    all_in(&queued_on(queue, cpu, 2), &only)?;
    all_in(&on_cpu(cpu, || spawned(queue, cpu, 2)), &only)
}

fn text(error: impl Display) -> String {
    error.to_string()
}
