//! From the tree to the model: sections other than `[machine]`, and what they say of each other.

use std::cell::RefCell;

use cmwq_policy::affinity::Scope;
use cmwq_policy::queue::Kind;
use cmwq_policy::stacking::Stacking;

use super::acts::{ActReader, Names, Step};
use super::fields::{Cx, Fields};
use super::machine;
use super::model::{Copies, ItemModel, Many, Model, QueueModel, SemaphoreModel, ThreadModel};
use super::source::{Mistake, Source, suggestion};
use super::tree::{Node, Value};
use super::units;
use crate::{DeviceSpec, LockSpec, QueueSpec, Topology};

/// Threads of a scenario, and things of one section.
const MOST: u32 = 100_000;

const SECTIONS: [&str; 10] = [
    "about",
    "machine",
    "constants",
    "queue",
    "item",
    "thread",
    "lock",
    "semaphore",
    "device",
    "data",
];

const KINDS: [(&str, Kind); 7] = [
    ("managed", Kind::Managed),
    ("fifo", Kind::Fifo),
    ("unbound", Kind::Unmanaged),
    ("unmanaged", Kind::Unmanaged),
    ("percpu", Kind::PerCpu),
    ("ordered", Kind::Ordered),
    ("bh", Kind::Bh),
];

const STACKING: [(&str, Stacking); 3] = [
    ("off", Stacking::Off),
    ("stay", Stacking::Stay),
    ("claim", Stacking::Claim),
];

/// Reads a document whose settings were put in and whose sweeps were taken out. `this` is the
/// machine that it may run on.
pub(crate) fn read(
    source: &Source,
    root: &Node,
    this: Option<&Topology>,
) -> Result<Model, Mistake> {
    let cx = Cx {
        source,
        constants: constants(source, root)?,
    };
    let sections = Sections::of(&cx, root)?;
    let machine = machine::read(&cx, root.get("machine"), this)?;
    let names = sections.names()?;
    let mut reader = ActReader {
        cx: &cx,
        names: &names,
        cpus: machine.options.topology.len(),
        in_item: true,
    };
    let items = sections.each("item", |fields| item(&reader, fields))?;
    reader.in_item = false;
    let threads = sections.each("thread", |fields| thread(&reader, fields))?;
    let model = Model {
        queues: sections.each("queue", |fields| queue(fields, reader.cpus))?,
        locks: sections.each("lock", lock)?,
        semaphores: sections.each("semaphore", semaphore)?,
        devices: sections.each("device", device)?,
        data: sections.each("data", |fields| many(fields, |_, _| Ok(())))?,
        items,
        threads,
        options: machine.options,
        duration: machine.duration,
        warmup: machine.warmup,
        hog_threshold: machine.hog_threshold,
        counters: names.counters.into_inner(),
        spans: names.spans.into_inner(),
    };
    check_threads(&cx, root, &model)?;
    Ok(model)
}

fn constants(source: &Source, root: &Node) -> Result<Vec<(String, String)>, Mistake> {
    let Some(node) = root.get("constants") else {
        return Ok(Vec::new());
    };
    let Value::Table(entries) = &node.value else {
        let message = format!("`constants` is {}, but should be a table", node.kind());
        return Err(source.mistake(&node.origin, message));
    };
    let text = |node: &Node| match &node.value {
        Value::Text(text) | Value::Number(text) => Ok(text.clone()),
        Value::Bool(yes) => Ok(yes.to_string()),
        _ => {
            let message = format!("a constant is a string or a number, not {}", node.kind());
            Err(source.mistake(&node.origin, message))
        }
    };
    let named = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let read = |entry: &super::tree::Entry| match named(&entry.key) {
        true => Ok((entry.key.clone(), text(&entry.node)?)),
        false => Err(source.mistake(
            &entry.origin,
            "a constant's name has letters, digits and `_`",
        )),
    };
    entries.iter().map(read).collect()
}

/// The sections of named things.
struct Sections<'a> {
    cx: &'a Cx<'a>,
    root: &'a Node,
}

impl<'a> Sections<'a> {
    fn of(cx: &'a Cx<'a>, root: &'a Node) -> Result<Sections<'a>, Mistake> {
        let Value::Table(entries) = &root.value else {
            unreachable!("a document is a table");
        };
        let known = |key: &str| SECTIONS.contains(&key);
        if let Some(entry) = entries.iter().find(|entry| !known(&entry.key)) {
            let known = SECTIONS.into_iter().chain(["sweep", "variants"]);
            let message = format!(
                "there is no section `{}`{}",
                entry.key,
                suggestion(&entry.key, known)
            );
            return Err(cx.wrong(&entry.origin, message));
        }
        if let Some(about) = root.get("about") {
            cx.text(about)?;
        }
        Ok(Sections { cx, root })
    }

    fn nodes(&self, section: &str) -> Result<&'a [Node], Mistake> {
        let Some(node) = self.root.get(section) else {
            return Ok(&[]);
        };
        match &node.value {
            Value::List(nodes) if nodes.len() <= MOST as usize => Ok(nodes),
            Value::List(_) => Err(self
                .cx
                .wrong(&node.origin, format!("more than {MOST} of them"))),
            _ => {
                let message = format!("there may be several: write [[{section}]]");
                Err(self.cx.wrong(&node.origin, message))
            }
        }
    }

    /// Reads each thing of a section; all keys must be known.
    fn each<T>(
        &self,
        section: &'static str,
        read: impl Fn(&mut Fields<'a>) -> Result<T, Mistake>,
    ) -> Result<Vec<T>, Mistake> {
        let one = |node: &'a Node| {
            let mut fields = Fields::of(self.cx, section, node)?;
            let name = self.name(section, &mut fields)?;
            fields.rename(format!("{section} `{name}`"));
            let thing = read(&mut fields)?;
            fields.done()?;
            Ok(thing)
        };
        self.nodes(section)?.iter().map(one).collect()
    }

    fn name(&self, section: &str, fields: &mut Fields<'a>) -> Result<String, Mistake> {
        let node = fields.needed("name")?;
        let name = self.cx.text(node)?;
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let digit_first = name.starts_with(|c: char| c.is_ascii_digit());
        if name.is_empty() || !name.chars().all(fits) || digit_first {
            let message = format!(
                "the name of a {section} has letters, digits, `_` and `-`, and does not begin with a digit"
            );
            return Err(self.cx.wrong(&node.origin, message));
        }
        Ok(name)
    }

    fn names_of(&self, section: &str) -> Result<Vec<String>, Mistake> {
        let mut names: Vec<String> = Vec::new();
        for node in self.nodes(section)? {
            let mut fields = Fields::of(self.cx, section, node)?;
            let name = self.name(section, &mut fields)?;
            if names.contains(&name) {
                return Err(fields.wrong("name", format!("there is a {section} `{name}` already")));
            }
            names.push(name);
        }
        Ok(names)
    }

    fn names(&self) -> Result<Names, Mistake> {
        self.names_of("thread")?;
        Ok(Names {
            queues: self.names_of("queue")?,
            items: self.names_of("item")?,
            locks: self.names_of("lock")?,
            semaphores: self.names_of("semaphore")?,
            devices: self.names_of("device")?,
            data: self.names_of("data")?,
            counters: RefCell::default(),
            spans: RefCell::default(),
        })
    }
}

fn name_of(fields: &mut Fields<'_>) -> Result<String, Mistake> {
    let name = fields.read("name", |text| Ok(text.to_owned()))?;
    Ok(name.expect("its name was read before"))
}

/// A thing of which there may be several.
fn many<T>(
    fields: &mut Fields<'_>,
    read: impl FnOnce(&mut Fields<'_>, String) -> Result<T, Mistake>,
) -> Result<Many<T>, Mistake> {
    let name = name_of(fields)?;
    let count = fields.whole("count", 1..=i64::from(MOST), 1)? as u32;
    let per_thread = fields.word("per", &[("thread", ())])?;
    if per_thread.is_some() && count > 1 {
        return Err(fields.wrong(
            "per",
            "there is one per thread, or a count of them, not both",
        ));
    }
    Ok(Many {
        one: read(fields, name.clone())?,
        name,
        copies: per_thread.map_or(Copies::Of(count), |()| Copies::PerThread),
    })
}

fn queue(fields: &mut Fields<'_>, cpus: usize) -> Result<Many<QueueModel>, Mistake> {
    many(fields, |fields, name| {
        let kind = fields.word("kind", &KINDS)?.unwrap_or(Kind::Managed);
        let mut spec = QueueSpec::new(name, kind);
        spec.made.max_active = fields.number("max_active", 1, 0)?;
        spec.made.exact = fields.bool("exact", false)?;
        spec.made.attrs.nice = nice(fields)?;
        spec.made.attrs.cpumask = fields.read("cpus", |text| units::cpus(text, cpus))?;
        let scopes = Scope::ALL.map(|scope| (scope.name(), scope));
        spec.made.attrs.scope = fields.word("scope", &scopes)?;
        spec.made.attrs.strict = fields.bool("strict", false)?;
        spec.made.attrs.locality = fields.time("locality", 0)?;
        spec.made.cpu_intensive = fields.bool("cpu_intensive", false)?;
        spec.made.mem_reclaim = fields.bool("mem_reclaim", false)?;
        spec.made.freezable = fields.bool("freezable", false)?;
        spec.stacking = fields.word("stacking", &STACKING)?;
        let min_active = fields.number("min_active", 1, 0)?;
        check_queue(fields, &spec)?;
        Ok(QueueModel {
            spec,
            min_active: (min_active > 0).then_some(min_active),
        })
    })
}

fn check_queue(fields: &Fields<'_>, spec: &QueueSpec) -> Result<(), Mistake> {
    let made = &spec.made;
    let limited = made.max_active > 0;
    match made.kind {
        Kind::Ordered if limited && made.max_active != 1 => {
            Err(fields.wrong("max_active", "an ordered queue runs one item at a time"))
        }
        Kind::Bh if limited => Err(fields.wrong("max_active", "a bh queue has no limit")),
        Kind::PerCpu | Kind::Bh if made.exact => Err(fields.wrong(
            "exact",
            "each CPU of this kind of queue has a limit of its own",
        )),
        Kind::PerCpu | Kind::Bh if made.attrs.scope.is_some() => {
            Err(fields.wrong("scope", "the pods of this kind of queue are its CPUs"))
        }
        Kind::PerCpu | Kind::Bh if made.attrs.cpumask.is_some() => Err(fields.wrong(
            "cpus",
            "this kind of queue is on all CPUs; say `on CPU` where items are queued",
        )),
        _ => Ok(()),
    }
}

fn nice(fields: &mut Fields<'_>) -> Result<i8, Mistake> {
    Ok(fields.whole("nice", -20..=19, 0)? as i8)
}

fn lock(fields: &mut Fields<'_>) -> Result<Many<LockSpec>, Mistake> {
    many(fields, |fields, name| {
        Ok(LockSpec {
            spin: fields.time("spin", 0)?,
            optimistic: fields.bool("optimistic", false)?,
            handoff: fields.bool("handoff", false)?,
            bounce: fields.time("bounce", 0)?,
            ..LockSpec::new(name)
        })
    })
}

fn semaphore(fields: &mut Fields<'_>) -> Result<Many<SemaphoreModel>, Mistake> {
    many(fields, |fields, _| {
        Ok(SemaphoreModel {
            initial: fields.whole("initial", 0..=1_000_000, 0)? as u32,
            requests: fields.bool("requests", false)?,
        })
    })
}

fn device(fields: &mut Fields<'_>) -> Result<Many<DeviceSpec>, Mistake> {
    many(fields, |fields, name| {
        let takes = fields.time("takes", 0)?;
        Ok(DeviceSpec {
            depth: fields.number("depth", 1, 1)?,
            per_kib: fields.read("per_kib", units::per_kib)?.unwrap_or(0),
            jitter: fields.per_mille("jitter", 0)?,
            ..DeviceSpec::new(name, takes)
        })
    })
}

fn item(reader: &ActReader<'_>, fields: &mut Fields<'_>) -> Result<ItemModel, Mistake> {
    let name = name_of(fields)?;
    let does = reader.acts(fields.needed("does")?)?;
    match loops(&does) {
        true => Err(fields.wrong("does", "an item ends: it repeats nothing forever")),
        false => Ok(ItemModel { name, does }),
    }
}

fn thread(reader: &ActReader<'_>, fields: &mut Fields<'_>) -> Result<ThreadModel, Mistake> {
    let name = name_of(fields)?;
    let cpus = fields.read("cpus", |text| units::cpus(text, reader.cpus))?;
    let there = cpus.as_ref().map_or(reader.cpus, |mask| mask.count()) as i64;
    let count = fields.read("count", |text| match text {
        "cpus" => Ok(there),
        text => units::whole(text, 1, i64::from(MOST)),
    })?;
    Ok(ThreadModel {
        name,
        count: count.unwrap_or(1) as u32,
        nice: nice(fields)?,
        cpus,
        pinned: fields.bool("pin", false)?,
        idle_class: fields
            .word("class", &[("normal", false), ("idle", true)])?
            .unwrap_or(false),
        start: fields.time("start", 0)?,
        stagger: fields.time("stagger", 0)?,
        footprint: fields.read("footprint", units::kib)?.unwrap_or(0),
        main: fields.bool("main", false)?,
        does: reader.acts(fields.needed("does")?)?,
    })
}

/// Whether it ever ends.
fn loops(steps: &[Step]) -> bool {
    steps.iter().any(|step| match step {
        Step::Repeat(None, _) => true,
        Step::Repeat(_, does) | Step::AtMost(_, does) => loops(does),
        Step::Choose(_, does, other) => loops(does) || loops(other),
        _ => false,
    })
}

fn check_threads(cx: &Cx<'_>, root: &Node, model: &Model) -> Result<(), Mistake> {
    let threads = &model.threads;
    let number: u64 = threads.iter().map(|thread| u64::from(thread.count)).sum();
    if number == 0 {
        return Err(cx.wrong(&root.origin, "there is no [[thread]]: nobody does anything"));
    }
    if number > u64::from(MOST) {
        return Err(cx.wrong(
            &root.origin,
            format!("{number} threads are too many: at most {MOST}"),
        ));
    }
    let endless = threads.iter().find(|thread| loops(&thread.does));
    let has_end = model.duration.is_some() || threads.iter().any(|thread| thread.main);
    match endless {
        Some(thread) if !has_end => {
            let origin = root
                .get("machine")
                .map_or(&root.origin, |node| &node.origin);
            let message = format!(
                "thread `{}` goes on forever: say how long the machine runs (`duration`), or whose end \
                 is the end (`main = true` of a thread)",
                thread.name
            );
            Err(cx.wrong(origin, message))
        }
        _ => Ok(()),
    }
}
