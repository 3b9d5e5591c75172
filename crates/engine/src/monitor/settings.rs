//! What the user of the process changes of a queue from outside (kernel: `wq_sysfs`).

use cmwq_os::topology::parse_cpulist;
use cmwq_policy::affinity::Scope;
use cmwq_policy::contract;
use cmwq_policy::pwq::clamp_max_active;
use cmwq_policy::queue::{Attrs, Kind};
use cmwq_stats::control::Refusal;
use rustix::io::Errno;

use crate::engine::Engine;
use crate::queue::Queue;
use crate::wait::graph;

/// What is to hold from now on.
struct Wish {
    max_active: Option<u32>,
    min_active: Option<u32>,
    attrs: Option<Attrs>,
}

/// Changes the queue with this number: all of it, or nothing.
pub(super) fn set(
    engine: &'static Engine,
    id: u64,
    settings: &[(String, String)],
) -> Result<(), Refusal> {
    let queues = engine.queues();
    let queue = queues.iter().find(|queue| queue.id() == id);
    let queue = queue
        .ok_or_else(|| Refusal::new(Errno::NOENT, format!("there is no queue {id} any more")))?;
    if !queue.is_sysfs() {
        let why = format!("queue \"{}\" was not built with sysfs()", queue.name());
        return Err(Refusal::new(Errno::PERM, why));
    }
    let wish = checked(queue, settings)?;
    carry_out(queue, wish)?;
    graph::relieve(engine);
    Ok(())
}

fn checked(queue: &Queue, settings: &[(String, String)]) -> Result<Wish, Refusal> {
    let mut wish = Wish {
        max_active: None,
        min_active: None,
        attrs: None,
    };
    let kind = queue.made().kind;
    let now = queue.lock_core().attrs();
    for (name, value) in settings {
        if !has(kind, name) {
            let why = format!("queue \"{}\" has no {name} to set", queue.name());
            return Err(Refusal::new(Errno::NOENT, why));
        }
        match name.as_str() {
            "max_active" => wish.max_active = Some(limit(name, value)?),
            "min_active" => wish.min_active = Some(limit(name, value)?),
            _ => set_attr(wish.attrs.get_or_insert(now), name, value)?,
        }
    }
    Ok(wish)
}

/// Whether queues of this kind have a setting with this name.
fn has(kind: Kind, name: &str) -> bool {
    match name {
        "max_active" => kind.has_limit(),
        "min_active" => kind.is_limited_by_node(),
        "nice" | "cpumask" | "affinity_scope" | "affinity_strict" => !kind.is_per_cpu(),
        _ => false,
    }
}

/// As the kernel reads it: below 1 is an error, above the range is the end of the range.
fn limit(name: &str, value: &str) -> Result<u32, Refusal> {
    let asked = value.parse::<u64>().ok().filter(|&asked| asked > 0);
    let asked = asked.ok_or_else(|| {
        Refusal::invalid(format_args!(
            "{name} is a number from 1 on, not \"{value}\""
        ))
    })?;
    Ok(clamp_max_active(u32::try_from(asked).unwrap_or(u32::MAX)))
}

fn set_attr(attrs: &mut Attrs, name: &str, value: &str) -> Result<(), Refusal> {
    let invalid = |may: &str| {
        Err(Refusal::invalid(format_args!(
            "{name} is {may}, not \"{value}\""
        )))
    };
    match name {
        "nice" => match value.parse() {
            Ok(nice @ -20..=19) => attrs.nice = nice,
            _ => return invalid("a number from -20 to 19"),
        },
        "affinity_strict" => match value {
            "0" | "1" => attrs.strict = value == "1",
            _ => return invalid("0 or 1"),
        },
        "affinity_scope" => match (value, Scope::parse(value)) {
            ("default", _) => attrs.scope = None,
            (_, Some(scope)) => attrs.scope = Some(scope),
            _ => {
                return invalid(&format!(
                    "default, {}",
                    Scope::ALL.map(Scope::name).join(", ")
                ));
            }
        },
        _ => match (value, parse_cpulist(value)) {
            ("all", _) => attrs.cpumask = None,
            (_, Some(cpus)) if !cpus.is_empty() => attrs.cpumask = Some(cpus),
            _ => return invalid("all, or a list of CPUs such as 0-3,6"),
        },
    }
    Ok(())
}

fn carry_out(queue: &Queue, wish: Wish) -> Result<(), Refusal> {
    let (m, this) = (queue.machine(), queue.this());
    // What can fail comes first.
    if let Some(attrs) = wish.attrs {
        contract::apply_attrs(&m, this, attrs)
            .map_err(|no_pool| Refusal::new(Errno::NOSPC, no_pool))?;
    }
    if let Some(max_active) = wish.max_active {
        contract::set_max_active(&m, this, max_active);
    }
    if let Some(min_active) = wish.min_active {
        contract::set_min_active(&m, this, min_active);
    }
    Ok(())
}
