//! Reusable items: all are made beforehand, and the warm-up has queued them before.

use std::hint::black_box;
use std::sync::OnceLock;

use cmwq::{Work, Workqueue};

use super::super::engine::Engine;
use super::args::Shape;
use super::closures::queue;
use super::load::{Answer, Load};
use super::tally;

struct Works {
    queue: Workqueue,
    items: Vec<Work>,
    /// The item that answers; made for the first question.
    answering: OnceLock<Work>,
}

/// Static, because an item of a chain finds the next one here.
static WORKS: OnceLock<Works> = OnceLock::new();

/// `most` items for `shape`.
pub(super) fn start(shape: Shape, most: usize) -> Result<&'static dyn Load, String> {
    let works = Works {
        queue: queue()?,
        items: (0..most).map(|index| item(shape, index)).collect(),
        answering: OnceLock::new(),
    };
    Ok(WORKS.get_or_init(|| works))
}

fn item(shape: Shape, index: usize) -> Work {
    match shape {
        Shape::Chain => Work::new(move || link(index)),
        _ => Work::new(move || {
            black_box(index);
            tally::item();
        }),
    }
}

fn link(index: usize) {
    tally::item();
    let works = WORKS.get().expect("it was queued there");
    if let Some(next) = works.items.get(index + 1) {
        works.enqueue(next);
    }
}

impl Works {
    fn enqueue(&self, item: &Work) {
        // All have run before they are queued again.
        assert_eq!(self.queue.queue(item), Ok(true), "an item is still pending");
    }
}

impl Load for Works {
    fn fill(&'static self, from: usize, count: usize) {
        let items = &self.items[from..from + count];
        items.iter().for_each(|item| self.enqueue(item));
    }

    fn fill_inside(&'static self, count: usize) {
        self.enqueue(&Work::new(move || self.fill(0, count)));
    }

    /// The last `count` items: the chain ends where the items do.
    fn chain(&'static self, count: usize) {
        self.enqueue(&self.items[self.items.len() - count]);
    }

    fn ask(&'static self, answer: &'static Answer) {
        let make = || Work::new(move || answer.give());
        self.enqueue(self.answering.get_or_init(make));
    }

    fn engine(&self) -> Option<Engine> {
        Some(Engine::now())
    }
}
