//! Attributes that scripts read and write as text, with the error numbers that the kernel has.

use super::reply::{Reply, applied};
use super::stage::{Made, Stage, limit};
use crate::actor::Answer;
use crate::op::{Flag, Name, Path};
use cmwq_policy::CpuMask;
use cmwq_policy::affinity::Scope;
use cmwq_policy::contract::Machine as _;
use cmwq_policy::queue::{Attrs, Kind};
use cmwq_sim::{Call as Sim, Machine};

const ENOENT: i64 = -2;
const EACCES: i64 = -13;
pub(super) const EINVAL: i64 = -22;
const EOVERFLOW: i64 = -75;

/// How long an item may burn before it counts as CPU intensive.
pub(crate) const THRESHOLD: &str = "cpu_intensive_thresh_us";
/// The scope of queues that name none.
const DEFAULT_SCOPE: &str = "default_affinity_scope";

pub(super) fn write(stage: &Stage, machine: &Machine, path: &Path, value: &str) -> Reply {
    let done = match path {
        Path::Queue { queue, attr } => match visible(stage, machine, queue) {
            Some(made) => return of_queue(machine, &made, attr, value),
            None => Err(ENOENT),
        },
        Path::CpuOnline(cpu) => {
            machine.set_online(*cpu as usize, value == "1");
            Ok(())
        }
        Path::Global(name) => write_global(machine, name, value),
        Path::Param(name) => write_param(machine, name, value),
    };
    Reply::Now(Answer::Number(done.err().unwrap_or(0)))
}

fn write_global(machine: &Machine, name: &str, value: &str) -> Result<(), i64> {
    if name != "cpumask" {
        return Err(EACCES);
    }
    let changed = machine.set_unbound_cpus(parse_mask(machine, value)?);
    changed.then_some(()).ok_or(EINVAL)
}

/// Parameters that can be set while the kernel runs.
fn write_param(machine: &Machine, name: &str, value: &str) -> Result<(), i64> {
    match name {
        THRESHOLD => {
            let us: u32 = value.parse().map_err(|_| EINVAL)?;
            machine.set_hog_threshold(u64::from(us) * 1000);
        }
        DEFAULT_SCOPE => machine.set_default_scope(Scope::parse(value).ok_or(EINVAL)?),
        _ => return Err(EACCES),
    }
    Ok(())
}

fn of_queue(machine: &Machine, made: &Made, attr: &str, value: &str) -> Reply {
    let call = match attr {
        "max_active" => max_active(made, value),
        "nice" => nice(machine, made, value),
        "cpumask" => cpumask(machine, made, value),
        "affinity_scope" => scope(machine, made, value),
        "affinity_strict" => strict(machine, made, value),
        _ => Err(EACCES),
    };
    match call {
        Ok(call) => Reply::Ask(call, Some(applied)),
        Err(number) => Reply::Now(Answer::Number(number)),
    }
}

fn max_active(made: &Made, value: &str) -> Result<Sim, i64> {
    if made.kind == Kind::Ordered {
        return Err(EACCES);
    }
    let wanted: i64 = value.parse().map_err(|_| EINVAL)?;
    if wanted < 1 {
        return Err(EINVAL);
    }
    Ok(Sim::SetMaxActive(made.id, limit(wanted)))
}

fn nice(machine: &Machine, made: &Made, value: &str) -> Result<Sim, i64> {
    let attrs = changeable(machine, made)?;
    let nice: i8 = value.parse().map_err(|_| EINVAL)?;
    match (-20..=19).contains(&nice) {
        true => Ok(Sim::ApplyAttrs(made.id, Attrs { nice, ..attrs })),
        false => Err(EINVAL),
    }
}

/// A mask of no CPU of the machine is as good as none.
fn cpumask(machine: &Machine, made: &Made, value: &str) -> Result<Sim, i64> {
    let attrs = changeable(machine, made)?;
    let cpumask = Some(parse_mask(machine, value)?);
    Ok(Sim::ApplyAttrs(made.id, Attrs { cpumask, ..attrs }))
}

fn parse_mask(machine: &Machine, value: &str) -> Result<CpuMask, i64> {
    let bits = u64::from_str_radix(value, 16).map_err(|_| EINVAL)?;
    let cpus = machine.topology().len();
    match cpus < 64 && bits >> cpus != 0 {
        true => Err(EOVERFLOW),
        false => Ok((0..cpus).filter(|cpu| bits >> cpu & 1 == 1).collect()),
    }
}

fn scope(machine: &Machine, made: &Made, value: &str) -> Result<Sim, i64> {
    let attrs = changeable(machine, made)?;
    let scope = match value {
        "default" => None,
        name => Some(Scope::parse(name).ok_or(EINVAL)?),
    };
    Ok(Sim::ApplyAttrs(made.id, Attrs { scope, ..attrs }))
}

fn strict(machine: &Machine, made: &Made, value: &str) -> Result<Sim, i64> {
    let attrs = changeable(machine, made)?;
    let number: i64 = value.parse().map_err(|_| EINVAL)?;
    let strict = number != 0;
    Ok(Sim::ApplyAttrs(made.id, Attrs { strict, ..attrs }))
}

/// What a per-CPU queue has not.
fn changeable(machine: &Machine, made: &Made) -> Result<Attrs, i64> {
    match made.kind.is_per_cpu() {
        true => Err(ENOENT),
        false => Ok(machine.with_queue(made.id, |queue| queue.attrs())),
    }
}

pub(super) fn read(stage: &Stage, machine: &Machine, path: &Path) -> Answer {
    let found = match path {
        Path::Queue { queue, attr } => {
            let made = visible(stage, machine, queue).ok_or(ENOENT);
            made.and_then(|made| read_queue(machine, &made, attr))
        }
        Path::Global(name) => read_global(machine, name),
        Path::Param(name) => read_param(machine, name),
        Path::CpuOnline(_) => unreachable!("refused before the run"),
    };
    found.map_or_else(Answer::Number, Answer::Text)
}

fn read_queue(machine: &Machine, made: &Made, attr: &str) -> Result<String, i64> {
    match attr {
        "max_active" => Ok(machine.with_queue(made.id, |q| q.max_active().to_string())),
        "per_cpu" => Ok(u8::from(made.kind.is_per_cpu()).to_string()),
        "nice" => Ok(changeable(machine, made)?.nice.to_string()),
        "cpumask" => Ok(hex(machine, changeable(machine, made)?.cpumask)),
        "affinity_scope" => Ok(match changeable(machine, made)?.scope {
            None => format!("default ({})", machine.default_scope().name()),
            Some(scope) => scope.name().to_owned(),
        }),
        "affinity_strict" => Ok(u8::from(changeable(machine, made)?.strict).to_string()),
        _ => Err(ENOENT),
    }
}

/// No CPU is kept from queues at boot here, so what was asked for is what there is.
fn read_global(machine: &Machine, name: &str) -> Result<String, i64> {
    match name {
        "cpumask" | "cpumask_requested" => Ok(hex(machine, Some(machine.unbound_cpus()))),
        "cpumask_isolated" => Ok(hex(machine, Some(CpuMask::EMPTY))),
        _ => Err(ENOENT),
    }
}

/// The watchdog is not part of the kernel that was asked.
fn read_param(machine: &Machine, name: &str) -> Result<String, i64> {
    match name {
        THRESHOLD => Ok((machine.hog_threshold() / 1000).to_string()),
        DEFAULT_SCOPE => Ok(machine.default_scope().name().to_owned()),
        "power_efficient" => Ok("N".to_owned()),
        _ => Err(ENOENT),
    }
}

/// As the kernel writes masks: a digit for each four CPUs.
fn hex(machine: &Machine, mask: Option<CpuMask>) -> String {
    let mask = mask.unwrap_or(machine.topology().all());
    let bits: u64 = mask.iter().map(|cpu| 1 << cpu).sum();
    let digits = machine.topology().len().div_ceil(4);
    format!("{bits:0digits$x}")
}

/// A queue that was made with its attributes to be seen.
fn visible(stage: &Stage, machine: &Machine, name: &Name) -> Option<Made> {
    let made = stage.queue(machine, name);
    made.filter(|made| made.flags.has(Flag::Sysfs))
}

/// Workers of the normal pool of a CPU, asked for as `kworker/N:`.
pub(super) fn workers(stage: &Stage, machine: &Machine, prefix: &str) -> i64 {
    let cpu = percpu_of(prefix).expect("refused before the run");
    let queue = stage.queue(machine, &"sys_percpu".into());
    let pool = machine.pool_of(queue.expect("the system has it").id, cpu);
    machine.workers(pool).0.into()
}

/// The CPU whose pool has workers of this name.
pub(super) fn percpu_of(prefix: &str) -> Option<usize> {
    let number = prefix.strip_prefix("kworker/")?.strip_suffix(':')?;
    number.parse().ok()
}
