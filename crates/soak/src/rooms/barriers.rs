//! Items that wait for each other where cmwq does not see it: all of them have to begin.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc;
use std::sync::{Arc, Barrier};
use std::time::Duration;

use cmwq::{Work, Workqueue};

use super::Player;
use crate::value::quietly;

pub(super) fn play(player: &mut Player) {
    let n = match player.plan.thread_limit {
        // Threads that the program has limited cannot all wait.
        Some(_) => 1,
        None => 2 + player.rng.below(14),
    };
    match player.rng.below(3) {
        0 => barrier(player, n),
        1 => chain(player, n),
        _ => beside_traffic(player, n),
    }
}

fn queue(n: usize) -> Option<Workqueue> {
    let built = Workqueue::builder("waits").max_active(n.max(2) * 2).build();
    built.ok()
}

/// All wait for all.
fn barrier(player: &Player, n: usize) {
    let Some(queue) = queue(n) else { return };
    player.does(&format!("a barrier of {n}"));
    let barrier = Arc::new(Barrier::new(n));
    let wait = || {
        let barrier = barrier.clone();
        queue.spawn(move || barrier.wait().is_leader())
    };
    let handles: Vec<_> = (0..n).map(|_| wait()).collect();
    // Not with a call of cmwq: who waits with one helps to start.
    while !handles.iter().all(|handle| handle.is_finished()) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Each waits for the one before it, and the first for us.
fn chain(player: &Player, n: usize) {
    let Some(queue) = queue(n) else { return };
    player.does(&format!("a chain of {n}"));
    let (go, mut before) = mpsc::channel();
    for _ in 0..n {
        let (next, after) = mpsc::channel();
        let wait = std::mem::replace(&mut before, after);
        drop(queue.spawn(move || {
            let waited: Result<(), _> = wait.recv();
            let _ = waited.and_then(|()| next.send(()).map_err(|_| mpsc::RecvError));
        }));
    }
    let _ = go.send(());
    let _ = before.recv();
}

/// The same while items follow each other on another queue, so that something always ends.
fn beside_traffic(player: &Player, n: usize) {
    let Some(other) = queue(2) else { return };
    let over = Arc::new(AtomicBool::new(false));
    let (until, own) = (over.clone(), other.clone());
    let traffic = Work::with_data((), move |work| {
        std::thread::sleep(Duration::from_micros(300));
        if !until.load(SeqCst) {
            let _ = own.queue(work);
        }
    });
    let _ = other.queue(&traffic);
    barrier(player, n);
    over.store(true, SeqCst);
    drop(quietly(|| traffic.flush()));
}
