//! The shapes: who queues the items.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;

use super::super::clock::now;
use super::args::Shape;
use super::load::{Answer, Load};
use super::tally::{Cost, Span, count};

/// The name of the second thread of `outside2`.
pub(super) const PRODUCER: &str = "producer";

/// What came of a run.
pub(super) struct Taken {
    pub(super) cost: Cost,
    /// How long each round trip took, in nanoseconds; empty for the other shapes.
    pub(super) trips: Vec<u64>,
}

/// Runs `items` items, or round trips, on `load`.
pub(super) fn run(load: &'static dyn Load, shape: Shape, items: usize) -> Result<Taken, String> {
    let cost = match shape {
        Shape::Outside => waited(items, || load.fill(0, items)),
        Shape::Outside2 => by_two(load, items),
        Shape::Inside => waited(items, || load.fill_inside(items)),
        Shape::Chain => waited(items, || load.chain(items)),
        Shape::Trip => return trips(load, items),
    };
    let trips = Vec::new();
    cost.map(|cost| Taken { cost, trips })
}

fn waited(items: usize, fill: impl FnOnce()) -> Result<Cost, String> {
    let span = Span::begin(items);
    fill();
    span.wait()
}

/// The other thread has come up before the time begins.
fn by_two(load: &'static dyn Load, items: usize) -> Result<Cost, String> {
    const UP: u32 = 1;
    const BEGUN: u32 = 2;
    let stage = AtomicU32::new(0);
    // Spins, because a sleeping thread would begin late.
    let reach = |wanted| {
        while stage.load(SeqCst) != wanted {
            thread::yield_now();
        }
    };
    let half = items / 2;
    thread::scope(|scope| {
        let other = thread::Builder::new().name(PRODUCER.to_owned());
        let other = other.spawn_scoped(scope, || {
            stage.store(UP, SeqCst);
            reach(BEGUN);
            load.fill(0, half);
        });
        other.map_err(|e| format!("no thread for a producer: {e}"))?;
        reach(UP);
        let span = Span::begin(items);
        stage.store(BEGUN, SeqCst);
        load.fill(half, items - half);
        span.wait()
    })
}

fn trips(load: &'static dyn Load, items: usize) -> Result<Taken, String> {
    let answer = Answer::to_caller();
    let mut trips = Vec::with_capacity(items);
    let span = Span::begin(items);
    for _ in 0..items {
        let began = now();
        load.ask(answer);
        answer.take()?;
        trips.push(now() - began);
        count();
    }
    let cost = span.wait()?;
    Ok(Taken { cost, trips })
}
