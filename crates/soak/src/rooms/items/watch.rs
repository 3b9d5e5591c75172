//! Who is at what, for when nothing goes on any more.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::world::World;
use crate::hostile::threads;

/// Nothing at all is finished for this long: only in a run that hangs.
const PATIENCE: u32 = 60;

/// What one thread does.
#[derive(Default)]
pub(crate) struct Now {
    count: AtomicU64,
    what: Mutex<String>,
}

impl Now {
    pub(crate) fn begins(&self, op: &str, slot: usize, n: usize) {
        *self.what.lock().unwrap() = format!("{op} item {slot} queue {n}");
        self.count.fetch_add(1, SeqCst);
        crate::books::step();
    }

    pub(crate) fn rest(&self) {
        *self.what.lock().unwrap() = "ready".to_owned();
        self.count.fetch_add(1, SeqCst);
    }
}

/// Ends the process, with all that is known, if nothing goes on until it is dropped.
pub(crate) struct Watch {
    over: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Watch {
    pub(crate) fn start(world: Arc<World>, actors: Arc<Vec<Now>>) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let until = over.clone();
        let watch = move || watch(&world, &actors, &until);
        let thread = threads::making(|| std::thread::spawn(watch));
        Watch {
            over,
            thread: Some(thread),
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.over.store(true, SeqCst);
        let thread = self.thread.take().expect("once");
        thread.thread().unpark();
        let _ = thread.join();
    }
}

fn watch(world: &World, actors: &[Now], over: &AtomicBool) {
    let (mut last, mut stood) = (0, 0);
    while !over.load(SeqCst) {
        std::thread::park_timeout(Duration::from_secs(1));
        let done = progress(world, actors);
        stood = if done == last { stood + 1 } else { 0 };
        last = done;
        if stood == PATIENCE {
            tell(world, actors);
            std::process::abort();
        }
    }
}

fn progress(world: &World, actors: &[Now]) -> u64 {
    let begun = |n: &Now| n.count.load(SeqCst);
    let runs = world.tallies.lock().unwrap();
    let runs = runs.iter().map(|tally| tally.begun.load(SeqCst));
    actors.iter().map(begun).sum::<u64>() + runs.sum::<u64>()
}

fn tell(world: &World, actors: &[Now]) {
    eprintln!("seed {}: hangs. {:?}", world.seed, cmwq::stats());
    for (n, now) in actors.iter().enumerate() {
        eprintln!("thread {n}: {}", now.what.lock().unwrap());
    }
    for item in &world.items {
        let Ok(item) = item.try_read() else { continue };
        eprintln!("{item:?} {:?} {:?}", item.busy(), item.data().tally);
    }
    for queue in &world.queues {
        let Ok(queue) = queue.try_read() else {
            continue;
        };
        eprintln!("{} congested {}", queue.name(), queue.is_congested(None));
    }
}
