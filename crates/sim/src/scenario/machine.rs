//! The section `[machine]`.

use cmwq_policy::stacking::Stacking;
use cmwq_policy::time::MILLISECOND;
use cmwq_policy::{Nanos, hog};

use super::fields::{Cx, Fields};
use super::source::Mistake;
use super::tree::{Node, Value};
use super::units;
use crate::{
    Balance, Costs, Discipline, Domains, Options, Placement, Recent, Signals, Topology,
    UserSignals, WakeTo,
};

/// What `[machine]` says.
pub(crate) struct MachineModel {
    pub(crate) options: Options,
    pub(crate) duration: Option<Nanos>,
    pub(crate) warmup: Nanos,
    pub(crate) hog_threshold: Nanos,
}

/// Reads it; without the section, everything has its default.
pub(crate) fn read(
    cx: &Cx<'_>,
    node: Option<&Node>,
    this: Option<&Topology>,
) -> Result<MachineModel, Mistake> {
    let Some(node) = node else {
        let message = "there is no [machine]: at least say its `topology`";
        return Err(cx.wrong(&super::source::Origin::File(0..0), message));
    };
    let mut fields = Fields::of(cx, "the machine", node)?;
    let mut topology = topology(cx, fields.needed("topology")?, this)?;
    let siblings = [("together", false), ("apart", true)];
    if fields.word("siblings", &siblings)?.unwrap_or(false) {
        topology = topology.siblings_apart();
    }
    let mut options = Options::of(topology);
    options.discipline = discipline(&mut fields)?;
    options.spawn_takes = fields.time("spawn", 0)?;
    options.spawn_jitter = fields.per_mille("spawn_jitter", 0)?;
    options.spawn_fails = fields.per_mille("spawn_fails", 0)?;
    if fields.bool("stays", false)? {
        options.stacking = Stacking::Stay;
    }
    options.thread_limit = fields.number("thread_limit", 1, options.thread_limit)?;
    options.shard_cores = fields.number("shard_cores", 1, options.shard_cores)?;
    options.seed = fields.whole("seed", 0..=i64::MAX, 1)? as u64;
    options.costs = fields
        .node("costs")
        .map(|node| costs(cx, node))
        .transpose()?
        .unwrap_or_default();
    options.placement = fields
        .node("placement")
        .map(|node| placement(cx, node))
        .transpose()?
        .unwrap_or_default();
    options.signals = fields
        .node("signals")
        .map(|node| signals(cx, node))
        .transpose()?
        .unwrap_or_default();
    let hog_threshold = fields.time("hog_threshold", hog::THRESHOLD)?;
    let (duration, warmup) = times(&mut fields)?;
    fields.done()?;
    Ok(MachineModel {
        options,
        duration,
        warmup,
        hog_threshold,
    })
}

fn times(fields: &mut Fields<'_>) -> Result<(Option<Nanos>, Nanos), Mistake> {
    let duration = fields.read("duration", units::time)?;
    if duration == Some(0) {
        return Err(fields.wrong("duration", "in no time nothing happens"));
    }
    let warmup = fields.time("warmup", 0)?;
    match duration.is_some_and(|duration| warmup >= duration) {
        true => Err(fields.wrong(
            "warmup",
            "it is no shorter than the duration: nothing would be measured",
        )),
        false => Ok((duration, warmup)),
    }
}

fn topology(cx: &Cx<'_>, node: &Node, this: Option<&Topology>) -> Result<Topology, Mistake> {
    let text = cx.text(node)?;
    let named = match text.as_str() {
        "this" => this.cloned(),
        name => Topology::named(name),
    };
    if let Some(topology) = named {
        return Ok(topology);
    }
    if text == "this" {
        return Err(cx.wrong(&node.origin, "this machine's shape is not known here"));
    }
    Topology::synthetic(&text).map_err(|error| {
        let origin = cx.part(node, error.at, error.token.len().max(1));
        let what = match error.token.is_empty() {
            true => String::new(),
            false => format!("`{}`: ", error.token),
        };
        cx.wrong(&origin, format!("{what}{}", error.problem))
    })
}

fn discipline(fields: &mut Fields<'_>) -> Result<Discipline, Mistake> {
    let is_fair = fields
        .word("scheduler", &[("fair", true), ("fifo", false)])?
        .unwrap_or(true);
    let slice = fields.read("slice", units::time)?;
    match (is_fair, slice) {
        (true, Some(0)) => Err(fields.wrong("slice", "a slice lasts longer than that")),
        (true, slice) => Ok(Discipline::Fair(slice.unwrap_or(3 * MILLISECOND))),
        (false, None) => Ok(Discipline::Fifo),
        (false, Some(_)) => Err(fields.wrong("slice", "first in first out has no slices")),
    }
}

fn costs(cx: &Cx<'_>, node: &Node) -> Result<Costs, Mistake> {
    let mut fields = Fields::of(cx, "`costs`", node)?;
    let mut costs = Costs {
        switch: fields.time("switch", 0)?,
        call: fields.time("call", 0)?,
        smt: fields.per_mille("smt", 1000)?,
        worker_footprint: fields.read("worker_footprint", units::kib)?.unwrap_or(0),
        ..Costs::default()
    };
    if costs.smt == 0 {
        return Err(fields.wrong(
            "smt",
            "a CPU keeps some of its speed beside a busy sibling: more than 0",
        ));
    }
    if let Some(node) = fields.node("refill") {
        costs.refill = refill(cx, node)?;
    }
    if let Some(node) = fields.node("idle_exit") {
        costs.idle_exit = idle_exit(cx, node)?;
    }
    fields.done()?;
    Ok(costs)
}

/// Times per KiB by distance; what is not said is as the next nearer one.
fn refill(cx: &Cx<'_>, node: &Node) -> Result<[Nanos; 5], Mistake> {
    let mut fields = Fields::of(cx, "`refill`", node)?;
    let mut refill = [0; 5];
    let mut before = 0;
    for (at, key) in [(1, "core"), (2, "llc"), (3, "node"), (4, "machine")] {
        before = fields.read(key, units::per_kib)?.unwrap_or(before);
        refill[at] = before;
    }
    fields.done()?;
    Ok(refill)
}

fn idle_exit(cx: &Cx<'_>, node: &Node) -> Result<Vec<(Nanos, Nanos)>, Mistake> {
    let mut steps: Vec<(Nanos, Nanos)> = Vec::new();
    for step in cx.list(node)? {
        let [idled, takes] = cx.list(step)? else {
            let message = "a step is a pair: [\"idle so long\", \"takes so long\"]";
            return Err(cx.wrong(&step.origin, message));
        };
        let idled = cx.read(idled, units::time)?;
        if steps.last().is_some_and(|last| last.0 >= idled) {
            return Err(cx.wrong(
                &step.origin,
                "the steps come in the order of their first times",
            ));
        }
        steps.push((idled, cx.read(takes, units::time)?));
    }
    Ok(steps)
}

type Preset = fn() -> Placement;

const PRESETS: [(&str, Preset); 2] = [("nearest", Placement::default), ("linux", Placement::linux)];

/// `placement = "linux"`, or a table that begins with that and changes it.
fn placement(cx: &Cx<'_>, node: &Node) -> Result<Placement, Mistake> {
    if !matches!(node.value, Value::Table(_)) {
        let preset = cx.read(node, |text| {
            let found = PRESETS.iter().find(|(name, _)| *name == text);
            found.map(|(_, preset)| preset()).ok_or_else(|| {
                let known = super::source::suggestion(text, PRESETS.iter().map(|(name, _)| *name));
                format!("there is no placement `{text}`{known}")
            })
        });
        return preset;
    }
    let mut fields = Fields::of(cx, "`placement`", node)?;
    let base = fields
        .word("like", &PRESETS)?
        .map_or_else(Placement::default, |preset| preset());
    let wakes = [("nearest", WakeTo::Nearest), ("linux", WakeTo::Linux)];
    let recents = [("left", Recent::Left), ("woke", Recent::Woke)];
    let placement = Placement {
        wake_to: fields.word("wake_to", &wakes)?.unwrap_or(base.wake_to),
        stacking: fields.bool("stacking", base.stacking)?,
        recent: fields.word("recent", &recents)?.unwrap_or(base.recent),
        wakeup_preemption: fields.bool("wakeup_preemption", base.wakeup_preemption)?,
        wakeup_granularity: fields.time("wakeup_granularity", base.wakeup_granularity)?,
        balance: balance(cx, &mut fields, base.balance)?,
        scan_by_load: fields.bool("scan_by_load", base.scan_by_load)?,
    };
    fields.done()?;
    Ok(placement)
}

/// `balance = "at_once"`, or a table with what domains are like.
fn balance(cx: &Cx<'_>, fields: &mut Fields<'_>, base: Balance) -> Result<Balance, Mistake> {
    let Some(node) = fields.node("balance") else {
        return Ok(base);
    };
    if !matches!(node.value, Value::Table(_)) {
        let words = [
            ("at_once", Balance::AtOnce),
            ("linux", Balance::Domains(Domains::default())),
        ];
        let balance = fields.word("balance", &words)?;
        return Ok(balance.unwrap_or(base));
    }
    let default = Domains::default();
    let mut fields = Fields::of(cx, "`balance`", node)?;
    let domains = Domains {
        idle_period: fields.time("idle_period", default.idle_period)?,
        busy_period: fields.time("busy_period", default.busy_period)?,
        delay: fields.time("delay", default.delay)?,
        node_imbalance: fields.number("node_imbalance", 0, default.node_imbalance)?,
        newidle_cost: fields.time("newidle_cost", default.newidle_cost)?,
        hot: fields.time("hot", default.hot)?,
        cache_period: fields.time("cache_period", default.cache_period)?,
    };
    for (key, period) in [
        ("idle_period", domains.idle_period),
        ("busy_period", domains.busy_period),
    ] {
        if period == 0 {
            return Err(fields.wrong(key, "a period lasts longer than that"));
        }
    }
    fields.done()?;
    Ok(Balance::Domains(domains))
}

/// `signals = "exact"` or `"user"`, or a table with what the user's signals are like.
fn signals(cx: &Cx<'_>, node: &Node) -> Result<Signals, Mistake> {
    if !matches!(node.value, Value::Table(_)) {
        return cx.read(node, |text| match text {
            "exact" => Ok(Signals::Exact),
            "user" => Ok(Signals::User(UserSignals::default())),
            _ => Err(format!("signals are `exact` or `user`, not `{text}`")),
        });
    }
    let default = UserSignals::default();
    let mut fields = Fields::of(cx, "`signals`", node)?;
    let signals = UserSignals {
        canaries: fields.bool("canaries", default.canaries)?,
        hints: fields.bool("hints", default.hints)?,
        tick: fields.read("tick", tick)?.unwrap_or(default.tick),
        late: fields.time("late", default.late)?,
        lost: fields.per_mille("lost", default.lost)?,
        spurious: fields.per_mille("spurious", default.spurious)?,
        unseen: fields.per_mille("unseen", default.unseen)?,
        cpu_told: fields.bool("cpu_told", default.cpu_told)?,
        ..default
    };
    fields.done()?;
    Ok(Signals::User(signals))
}

fn tick(text: &str) -> Result<Nanos, String> {
    match text {
        "policy" => Ok(0),
        "never" => Ok(Nanos::MAX),
        text => match units::time(text)? {
            0 => Err("a tick takes its time: `policy`, `never` or a time".to_owned()),
            period => Ok(period),
        },
    }
}
