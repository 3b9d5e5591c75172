//! A recorded scenario: its script, and what the kernel answered.

use crate::error::{Error, ScriptError};
use crate::op::{Name, Step};
use crate::parse::{self, Known};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// One recorded scenario, its script understood.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Its name, as `flush/last-instance-only`.
    pub id: String,
    /// The group it belongs to.
    pub group: String,
    /// What of the kernel it needs beside the ordinary calls; empty if nothing.
    pub needs_kernel: String,
    /// The name of the machine.
    pub topology: String,
    /// What it is about.
    pub note: String,
    /// What is done.
    pub script: Script,
    /// What is worth comparing.
    pub compare: Vec<Aspect>,
    /// Which observed fields differed between the runs.
    pub unstable_fields: Vec<String>,
    /// What the kernel did.
    pub observed: Observed,
}

/// What is done: bodies of operations.
#[derive(Debug, Clone, Default)]
pub struct Script {
    /// Items by name.
    pub items: BTreeMap<Name, Item>,
    /// Threads by name; each runs when some body starts it.
    pub threads: BTreeMap<Name, Thread>,
    /// The main thread, on CPU 0 until it pins itself elsewhere.
    pub main: Body,
}

/// Operations in order.
pub type Body = Arc<[Step]>;

/// An item and what its function does.
#[derive(Debug, Clone)]
pub struct Item {
    /// What kind of item.
    pub kind: Kind,
    /// What each execution does.
    pub body: Body,
}

/// The kinds of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A plain item.
    Work,
    /// An item with a timer.
    DelayedWork,
    /// An item that is queued after a grace period.
    RcuWork,
}

/// A thread of the script.
#[derive(Debug, Clone)]
pub struct Thread {
    /// The CPU it is pinned to.
    pub cpu: Option<u32>,
    /// What it does.
    pub body: Body,
}

/// Something that can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aspect {
    /// Results of operations.
    Returns,
    /// The order of starts and ends.
    Order,
    /// The order of starts.
    StartOrder,
    /// The CPU of each execution.
    Cpus,
    /// Whether one thread ran all executions of an item.
    SameWorker,
    /// The most items at one time.
    Peak,
    /// When executions started and ended.
    Times,
    /// Whether misuse was reported.
    Warnings,
    /// Only stable results and last values: the rest is a race.
    Final,
}

impl Aspect {
    /// As scenarios, differences and the table of differences name it.
    pub fn word(self) -> &'static str {
        match self {
            Aspect::Returns => "returns",
            Aspect::Order => "order",
            Aspect::StartOrder => "start_order",
            Aspect::Cpus => "cpus",
            Aspect::SameWorker => "same_worker",
            Aspect::Peak => "peak",
            Aspect::Times => "times",
            Aspect::Warnings => "warnings",
            Aspect::Final => "final",
        }
    }
}

/// A value that was the same in all runs, or not.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Seen<T> {
    /// The runs differed.
    Varies {
        /// What they saw, or a remark.
        varies: Value,
    },
    /// All runs saw this.
    Same(T),
}

impl<T> Seen<T> {
    /// The value, if the runs agreed on it.
    pub fn stable(&self) -> Option<&T> {
        match self {
            Seen::Same(value) => Some(value),
            Seen::Varies { .. } => None,
        }
    }
}

/// An operation's words and its result.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Returned<T>(pub String, pub T);

/// What the kernel did.
#[derive(Debug, Clone, Deserialize)]
pub struct Observed {
    /// Results by actor, in program order.
    pub returns: BTreeMap<String, Vec<Returned<Seen<String>>>>,
    /// Executions by item.
    pub counts: Seen<BTreeMap<String, u32>>,
    /// `a#1 start`, `a#1 end`, ...
    pub execution_order: Seen<Vec<String>>,
    /// `a#1`, `b#1`, ...
    pub start_order: Seen<Vec<String>>,
    /// The most items at one time.
    pub peak_concurrency: Seen<u32>,
    /// The most executions of one item at one time.
    pub max_overlap_of_one_item: Seen<BTreeMap<String, u32>>,
    /// Whether all executions of an item were done by one thread.
    pub same_worker: Seen<BTreeMap<String, bool>>,
    /// Of the first run, in start order.
    pub executions: Vec<Execution>,
    /// Milliseconds after the first queueing call returned.
    #[serde(default)]
    pub times_ms: BTreeMap<String, Times>,
    /// `WARN in F` and `log: TEXT`.
    pub kernel_messages: Vec<String>,
    /// The first run in time order.
    pub trace: Vec<String>,
}

/// Where one execution ran.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Execution {
    /// The item.
    pub item: String,
    /// Its how manieth execution, from 1.
    pub n: u32,
    /// Where it started.
    pub cpu: u32,
    /// `K1`, `K2`, ...: the thread.
    pub worker: String,
    /// The nice level of that thread.
    pub nice: i32,
}

/// When an execution started and ended: the least and the most of all runs.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Times {
    /// Milliseconds.
    pub start_ms: [f64; 2],
    /// Milliseconds; an execution that did not end has none.
    #[serde(default)]
    pub end_ms: Option<[f64; 2]>,
}

#[derive(Deserialize)]
struct Raw {
    id: String,
    group: String,
    #[serde(default)]
    needs_kernel: String,
    topology: String,
    #[serde(default)]
    note: String,
    script: RawScript,
    compare: Vec<Aspect>,
    #[serde(default)]
    unstable_fields: Vec<String>,
    observed: Observed,
}

#[derive(Deserialize)]
struct RawScript {
    items: BTreeMap<String, RawItem>,
    threads: BTreeMap<String, RawThread>,
    main: Vec<String>,
}

#[derive(Deserialize)]
struct RawItem {
    kind: Kind,
    body: Vec<String>,
}

#[derive(Deserialize)]
struct RawThread {
    cpu: i64,
    body: Vec<String>,
}

impl Scenario {
    /// Reads one line of a file of scenarios; `path` and `line` are for the error.
    pub fn parse(text: &str, path: &Path, line: usize) -> Result<Scenario, Error> {
        let raw: Raw = serde_json::from_str(text).map_err(|error| Error::Json {
            path: path.into(),
            line,
            error,
        })?;
        Ok(Scenario {
            script: Script::understand(&raw.id, raw.script)?,
            id: raw.id,
            group: raw.group,
            needs_kernel: raw.needs_kernel,
            topology: raw.topology,
            note: raw.note,
            compare: raw.compare,
            unstable_fields: raw.unstable_fields,
            observed: raw.observed,
        })
    }

    /// Whether the kernel warned of a wait from a queue with a rescuer for one without.
    pub(crate) fn warns_of_dependency(&self) -> bool {
        let messages = &self.observed.kernel_messages;
        messages
            .iter()
            .any(|m| m.contains("check_flush_dependency"))
    }

    /// Reads every file of `folder` whose name ends in `.jsonl`, in the order of their names.
    pub fn load_folder(folder: &Path) -> Result<Vec<Scenario>, Error> {
        let io = |error| Error::Io {
            path: folder.into(),
            error,
        };
        let entries = fs::read_dir(folder).map_err(io)?;
        let paths: Result<Vec<_>, _> = entries.map(|e| e.map(|e| e.path())).collect();
        let mut paths = paths.map_err(io)?;
        paths.retain(|path| path.extension().is_some_and(|e| e == "jsonl"));
        paths.sort();
        if paths.is_empty() {
            return Err(Error::NoScenarios(folder.into()));
        }
        let mut all = Vec::new();
        for path in paths {
            all.extend(load(&path)?);
        }
        match all.is_empty() {
            true => Err(Error::NoScenarios(folder.into())),
            false => Ok(all),
        }
    }
}

fn load(path: &Path) -> Result<Vec<Scenario>, Error> {
    let text = fs::read_to_string(path).map_err(|error| Error::Io {
        path: path.into(),
        error,
    })?;
    let lines = (1..).zip(text.lines());
    let filled = lines.filter(|(_, line)| !line.trim().is_empty());
    filled
        .map(|(at, line)| Scenario::parse(line, path, at))
        .collect()
}

impl Script {
    fn understand(id: &str, raw: RawScript) -> Result<Script, ScriptError> {
        let known = Known {
            items: raw.items.keys().cloned().collect(),
            threads: raw.threads.keys().cloned().collect(),
        };
        let read = |actor: String, lines: &[String]| body(id, &actor, lines, &known);
        let item = |(name, item): (String, RawItem)| {
            let body = read(format!("item {name}"), &item.body)?;
            let kind = item.kind;
            Ok((Name::from(name), Item { kind, body }))
        };
        let thread = |(name, thread): (String, RawThread)| {
            let body = read(format!("thread {name}"), &thread.body)?;
            let cpu = u32::try_from(thread.cpu).ok();
            Ok((Name::from(name), Thread { cpu, body }))
        };
        Ok(Script {
            main: read("main".into(), &raw.main)?,
            items: raw.items.into_iter().map(item).collect::<Result<_, _>>()?,
            threads: raw
                .threads
                .into_iter()
                .map(thread)
                .collect::<Result<_, _>>()?,
        })
    }
}

fn body(id: &str, actor: &str, lines: &[String], known: &Known) -> Result<Body, ScriptError> {
    let step = |(at, line): (usize, &String)| {
        parse::step(line, known).map_err(|wrong| ScriptError {
            scenario: id.into(),
            actor: actor.into(),
            line: at,
            word: wrong.word,
            what: wrong.what,
        })
    };
    (1..).zip(lines).map(step).collect()
}
