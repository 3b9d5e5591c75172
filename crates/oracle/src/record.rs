//! What happened when a script ran.

use crate::scenario::{Execution, Returned};
use std::collections::BTreeMap;

/// What happened when a script ran, in the shape in which the kernel's answers were recorded.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Record {
    /// Results by actor (`main`, a thread, `a#2`, `timer`, `irq`), in program order.
    pub returns: BTreeMap<String, Vec<Returned<String>>>,
    /// Starts and ends in order.
    pub events: Vec<Event>,
    /// Where each execution ran, in the order of starts.
    pub executions: Vec<Execution>,
    /// The most items between start and end at one time.
    pub peak: u32,
    /// Reports of misuse and refusals that the implementation made, in its own words.
    pub misuse: Vec<String>,
    /// How much of it had surely happened when the main thread last waited for something.
    pub settled: Settled,
    /// What the main thread never came back from; a backend says so when it gives up.
    pub stuck: Option<String>,
    /// Whether the main thread reached the end of its script.
    pub finished: bool,
}

/// The part of a record that does not hang on who is faster at the end of the script.
///
/// A script may end right after an operation that lets others go on. Whether what they do then is
/// still recorded is a race, in the kernel as here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settled {
    /// Results of each actor.
    pub returns: BTreeMap<String, usize>,
    /// Events.
    pub events: usize,
}

/// A start or an end.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// `a#1`.
    pub execution: String,
    /// Which of the two.
    pub edge: Edge,
    /// Milliseconds after the first queueing call returned.
    pub at_ms: f64,
}

/// A start or an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    /// The function was called.
    Start,
    /// The function returned.
    End,
}

impl Record {
    /// `a#1 start`, `a#1 end`, ...
    pub fn execution_order(&self) -> Vec<String> {
        let text = |e: &Event| match e.edge {
            Edge::Start => format!("{} start", e.execution),
            Edge::End => format!("{} end", e.execution),
        };
        self.events.iter().map(text).collect()
    }

    /// `a#1`, `b#1`, ...: the executions in the order of their starts.
    pub fn start_order(&self) -> Vec<String> {
        let starts = self.events.iter().filter(|e| e.edge == Edge::Start);
        starts.map(|e| e.execution.clone()).collect()
    }

    /// When an execution started or ended, in milliseconds.
    pub fn time(&self, execution: &str, edge: Edge) -> Option<f64> {
        let mut events = self.events.iter();
        let event = events.find(|e| e.execution == execution && e.edge == edge);
        event.map(|e| e.at_ms)
    }

    /// Executions by item, of items that ran.
    pub fn counts(&self) -> BTreeMap<String, u32> {
        let mut counts = BTreeMap::new();
        for execution in &self.executions {
            *counts.entry(execution.item.clone()).or_default() += 1;
        }
        counts
    }

    /// Whether all executions of an item were done by one thread, for items that ran.
    pub fn same_worker(&self) -> BTreeMap<String, bool> {
        let mut first: BTreeMap<&str, &str> = BTreeMap::new();
        let mut same = BTreeMap::new();
        for e in &self.executions {
            let worker = first.entry(&e.item).or_insert(&e.worker);
            *same.entry(e.item.clone()).or_insert(true) &= *worker == e.worker;
        }
        same
    }
}
