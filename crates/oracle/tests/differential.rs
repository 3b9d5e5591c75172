//! The simulated machine and real threads carry out the same random programs, and must answer
//! alike: where they do not, one of them does not obey the policy's text. No kernel is asked.
//!
//! `CMWQ_DIFFERENTIAL` is how many programs are tried, from the seed `CMWQ_SEED` on. Programs leave
//! time between their operations, so that what is asked has settled; one that differs all the same
//! is tried again with longer times, by the backend.

mod common;

use cmwq_oracle::{Backend, Real, Record, Scenario, Table, Virtual, replay};
use common::script::line;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::env;
use std::path::Path;

const PROGRAMS: u64 = 40;
/// Operations of the main thread, about.
const OPS: usize = 22;
/// Between two operations, in milliseconds.
const PAUSE: u32 = 10;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

const WORKS: [&str; 4] = ["a", "b", "c", "e"];
const DELAYED: [&str; 2] = ["d", "f"];
const ITEMS: [&str; 6] = ["a", "b", "c", "e", "d", "f"];
/// The item whose body queues this one, which nobody else does.
const CHAINS: &str = "e";
const CHAINED: &str = "x";
const THREADS: [&str; 4] = ["t1", "t2", "t3", "t4"];
const QUEUES: [&str; 3] = ["p", "u", "o"];
const GATES: [&str; 2] = ["g", "h"];

/// A program in the making.
struct Writer {
    random: Random,
    main: Vec<String>,
    made: Vec<&'static str>,
    /// Threads that were started, with what they do.
    threads: BTreeMap<&'static str, String>,
}

impl Writer {
    fn say(&mut self, op: impl Into<String>) {
        self.main.push(op.into());
    }

    /// An operation, and time for what comes of it.
    fn act(&mut self, op: impl Into<String>) {
        self.say(op);
        self.say(format!("sleep {PAUSE}"));
    }

    /// A queue, perhaps not made yet: so some are made while others are in use, or frozen.
    fn queue(&mut self) -> &'static str {
        let queue = self.random.of(&QUEUES);
        if !self.made.contains(&queue) {
            self.made.push(queue);
            let kind = match queue {
                "p" => "percpu",
                "u" => "unbound",
                _ => "ordered",
            };
            let freezable = self.random.of(&["", ",freezable", ",freezable"]);
            let most = match queue {
                "o" => 1,
                _ => 1 + self.random.below(3),
            };
            self.act(format!("alloc_workqueue {queue} {kind}{freezable} {most}"));
        }
        queue
    }

    fn insert(&mut self) {
        let (queue, item) = (self.queue(), self.random.of(&WORKS));
        self.act(match queue {
            "p" => format!("queue_work_on 1 p {item}"),
            _ => format!("queue_work {queue} {item}"),
        });
    }

    /// An item is armed, and its time comes now, soon, or never.
    fn arm(&mut self) {
        let (queue, item) = (self.queue(), self.random.of(&DELAYED));
        let call = self.random.of(&["queue_delayed_work", "mod_delayed_work"]);
        let (call, queue) = match queue {
            "p" => (format!("{call}_on 1"), "p"),
            other => (call.to_owned(), other),
        };
        match self.random.below(3) {
            0 => self.act(format!("{call} {queue} {item} 0")),
            1 => self.act(format!("{call} {queue} {item} 60000")),
            _ => {
                self.say(format!("{call} {queue} {item} 60"));
                for _ in 0..self.random.below(3) {
                    self.small();
                }
                self.say("sleep 120");
            }
        }
    }

    fn change(&mut self) {
        let queue = self.queue();
        let n = 1 + self.random.below(3);
        match (queue, self.random.below(3)) {
            ("o" | "u", 0) => self.act(format!("apply_attrs {queue} nice={n}")),
            ("o", _) => self.act("workqueue_congested -1 o"),
            _ => self.act(format!("set_max_active {queue} {n}")),
        }
    }

    /// A call that may wait is a thread's.
    fn wait(&mut self) {
        let unused = THREADS
            .iter()
            .find(|name| !self.threads.contains_key(*name));
        let Some(&thread) = unused else {
            return;
        };
        let (item, queue) = (self.random.of(&ITEMS), self.queue());
        let does = match self.random.below(7) {
            0 => format!("flush_work {item}"),
            1 => format!("flush_delayed_work {}", self.random.of(&DELAYED)),
            2 => format!("flush_workqueue {queue}"),
            3 | 4 => format!("drain_workqueue {queue}"),
            5 => format!("cancel_work_sync {item}"),
            _ => format!("disable_work_sync {item}"),
        };
        self.threads.insert(thread, does);
        self.say(format!("start {thread}"));
        self.say(format!("is_done {thread} {PAUSE}"));
    }

    /// What changes little, or asks.
    fn small(&mut self) {
        let (item, delayed) = (self.random.of(&ITEMS), self.random.of(&DELAYED));
        match self.random.below(13) {
            0 => self.act(format!("cancel_work {item}")),
            1 => self.act(format!("cancel_delayed_work {delayed}")),
            2 => self.act(format!("disable_work {item}")),
            3 | 4 => self.act(format!("enable_work {item}")),
            5 => self.act("freeze_begin"),
            6 => self.act("thaw"),
            7 => self.say("freeze_busy"),
            8 => self.wait(),
            9 => self.change(),
            10 => {
                let latch = self.random.of(&GATES);
                self.act(format!("open {latch}"));
            }
            _ => {
                self.say(format!("work_busy {item}"));
                self.say(format!("executions {item}"));
            }
        }
    }

    /// Items that go on at one time change nothing that others could see: which was first would be
    /// a race.
    fn body(&mut self, item: &str) -> Vec<String> {
        let latch = self.random.of(&GATES);
        match (item, self.random.below(5)) {
            // It queues one that nobody else does: accepted also while its own queue is drained.
            (CHAINS, _) => {
                let queue = self.queue();
                vec![
                    format!("wait {latch}"),
                    format!("upto 1 queue_work {queue} {CHAINED}"),
                ]
            }
            (CHAINED, _) | (_, 0 | 1) => Vec::new(),
            (_, 2 | 3) => vec![format!("wait {latch}")],
            _ => vec![format!("wait {latch}"), "sleep 1".into()],
        }
    }

    fn end(&mut self) {
        for op in ["thaw", "open g", "open h"] {
            self.act(op);
        }
        self.say("sleep 60");
        for thread in self.threads.keys().copied().collect::<Vec<_>>() {
            self.say(format!("is_done {thread} 2"));
        }
        for item in ITEMS.into_iter().chain([CHAINED]) {
            self.say(format!("executions {item}"));
            self.say(format!("work_busy {item}"));
        }
        self.say("freeze_busy");
    }
}

/// The script of this seed.
fn program(seed: u64) -> Value {
    let mut writer = Writer {
        random: Random(seed),
        main: Vec::new(),
        made: Vec::new(),
        threads: BTreeMap::new(),
    };
    let mut items = BTreeMap::new();
    for item in ITEMS.into_iter().chain([CHAINED]) {
        let kind = match DELAYED.contains(&item) {
            true => "delayed_work",
            false => "work",
        };
        items.insert(item, json!({"kind": kind, "body": writer.body(item)}));
    }
    while writer.main.len() < 2 * OPS {
        match writer.random.below(5) {
            0 | 1 => writer.insert(),
            2 => writer.arm(),
            _ => writer.small(),
        }
    }
    writer.end();
    let threads = writer.threads.iter();
    let threads: BTreeMap<_, _> = threads
        .map(|(name, does)| (*name, json!({"cpu": -1, "body": [does]})))
        .collect();
    json!({"items": items, "threads": threads, "main": writer.main})
}

fn parse(text: &Value) -> Scenario {
    Scenario::parse(&text.to_string(), Path::new("program.jsonl"), 1).expect("a good program")
}

/// The program with these answers, as if a kernel had given them.
fn recorded(seed: u64, script: &Value, record: &Record) -> Scenario {
    let mut text = line(&format!("random/{seed}"), script);
    text["topology"] = json!("T2");
    text["compare"] = json!(["returns", "warnings"]);
    let returns = record.returns.iter();
    let returns: BTreeMap<_, Vec<_>> = returns
        .map(|(actor, all)| (actor, all.iter().map(|r| json!([r.0, r.1])).collect()))
        .collect();
    text["observed"]["returns"] = json!(returns);
    let warns = record.misuse.iter().map(|what| format!("WARN {what}"));
    text["observed"]["kernel_messages"] = json!(warns.collect::<Vec<_>>());
    parse(&text)
}

/// Where real threads answer otherwise than the simulated machine.
fn differences(seed: u64) -> Option<String> {
    let script = program(seed);
    let mut text = line(&format!("random/{seed}"), &script);
    text["topology"] = json!("T2");
    let record = Virtual.run(&parse(&text)).expect("it can be simulated");
    assert!(
        record.finished,
        "seed {seed}: {:?}\n{script:#}",
        record.stuck
    );
    let scenario = recorded(seed, &script, &record);
    let table = Table::default();
    let replay = replay(&[scenario], &[&Real::new(&table)], &table);
    let failures = replay.failures();
    let text = || {
        let bodies = |of: &Value| {
            let of = of.as_object().expect("bodies by name").iter();
            let of = of.map(|(name, item)| format!("  {name}: {}\n", item["body"]));
            of.collect::<String>()
        };
        let main = script["main"].as_array().expect("operations").iter();
        let main = main.map(|op| format!("  {}\n", op.as_str().expect("text")));
        format!(
            "seed {seed} (\"kernel\" is the simulated machine):\n{}\n{}{}main:\n{}",
            failures.join("\n"),
            bodies(&script["items"]),
            bodies(&script["threads"]),
            main.collect::<String>(),
        )
    };
    (!failures.is_empty()).then(text)
}

fn number(name: &str, default: u64) -> u64 {
    let value = env::var(name).ok();
    value.map_or(default, |value| value.parse().expect("a number"))
}

#[test]
fn both_machines_answer_alike() {
    let (first, programs) = (
        number("CMWQ_SEED", 1),
        number("CMWQ_DIFFERENTIAL", PROGRAMS),
    );
    let found: Vec<String> = (first..first + programs).filter_map(differences).collect();
    assert!(
        found.is_empty(),
        "{} of {programs}:\n{}",
        found.len(),
        found.join("\n")
    );
}

#[test]
fn a_machine_that_answers_otherwise_is_found() {
    let script = program(1);
    let mut text = line("random/1", &script);
    text["topology"] = json!("T2");
    let mut record = Virtual.run(&parse(&text)).expect("it can be simulated");
    let last = record
        .returns
        .get_mut("main")
        .and_then(|all| all.last_mut());
    last.expect("it has answers").1 = "another".into();
    let scenario = recorded(1, &script, &record);
    let table = Table::default();
    let replay = replay(&[scenario], &[&Virtual], &table);
    assert_eq!(replay.failures().len(), 1, "{:?}", replay.failures());
}
