//! Scopes whose closures borrow, whose values spawn when they are dropped, within each other, given
//! up.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant};

use cmwq::{Scope, Workqueue};

use super::Player;
use crate::books;
use crate::rng::Rng;
use crate::value::{defuse, quietly};
use crate::world::{self, Level};

/// The books of one scope. They outlive it: who comes late finds them.
#[derive(Debug, Default)]
struct Book {
    returned: AtomicBool,
    spawned: AtomicU64,
    /// Closures that were dropped, whether they ran or not.
    closed: AtomicU64,
    ran: AtomicU64,
    guards: AtomicU64,
    /// Handles that were forgotten, and what their closures returned with them.
    forgotten: AtomicU64,
}

/// What a stack is full of while it is lent.
const LENT: u64 = 0x1e47_1e47_1e47_1e47;

/// What closures borrow.
struct Lent<'a> {
    book: &'a Arc<Book>,
    data: &'a [u64; 64],
    level: Level,
    queue: &'a Workqueue,
}

/// What is captured and returned: spawns when it is dropped.
struct Guard<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    lent: &'scope Lent<'env>,
    /// Beside what is lent.
    book: Arc<Book>,
    depth: u32,
}

impl<'scope, 'env> Guard<'scope, 'env> {
    fn new(scope: &'scope Scope<'scope, 'env>, lent: &'scope Lent<'env>, depth: u32) -> Self {
        lent.book.guards.fetch_add(1, SeqCst);
        Guard {
            scope,
            lent,
            book: lent.book.clone(),
            depth,
        }
    }
}

impl Drop for Guard<'_, '_> {
    fn drop(&mut self) {
        if is_late(&self.book, "a value") {
            return;
        }
        if self.depth > 0 && !books::has_failed() {
            spawn(self.scope, self.lent, self.depth - 1);
        }
        self.book.guards.fetch_sub(1, SeqCst);
        if self.depth == 2 && !std::thread::panicking() {
            panic!("a guard");
        }
    }
}

fn is_late(book: &Book, what: &str) -> bool {
    books::step();
    let late = book.returned.load(SeqCst);
    if late {
        books::fail(&format!("{what} after its scope has returned: {book:?}"));
    }
    late
}

/// Counted when it is dropped.
struct Closed(Arc<Book>);

impl Drop for Closed {
    fn drop(&mut self) {
        if !is_late(&self.0, "a closure is dropped") {
            self.0.closed.fetch_add(1, SeqCst);
        }
    }
}

/// Spawns a closure that captures a guard and returns one.
fn spawn<'scope, 'env>(scope: &'scope Scope<'scope, 'env>, lent: &'scope Lent<'env>, depth: u32) {
    let book = lent.book.clone();
    book.spawned.fetch_add(1, SeqCst);
    let (closed, captured) = (Closed(book.clone()), Guard::new(scope, lent, depth / 2));
    let handle = scope.spawn(move || {
        let closed = closed;
        if is_late(&book, "a closure runs") {
            std::mem::forget(captured);
            return None;
        }
        book.ran.fetch_add(1, SeqCst);
        lent.check();
        act(scope, lent, depth);
        defuse(captured);
        lent.check();
        drop(closed);
        Some(Guard::new(scope, lent, depth))
    });
    match depth % 3 {
        0 => drop(handle),
        1 => {
            lent.book.forgotten.fetch_add(1, SeqCst);
            std::mem::forget(handle);
        }
        _ => defuse(handle),
    }
}

impl Lent<'_> {
    fn check(&self) {
        if self.data.iter().any(|word| *word != LENT) {
            books::fail("what is lent was written to by others");
        }
    }
}

/// What a closure does: joins others of its scope, has a scope of its own, sleeps, panics.
fn act<'scope, 'env>(scope: &'scope Scope<'scope, 'env>, lent: &'scope Lent<'env>, depth: u32) {
    match lent.book.spawned.load(SeqCst) % 7 {
        0 => defuse(scope.spawn(|| lent.check()).join()),
        1 if depth > 0 => {
            let _ = quietly(|| lent.queue.scope(|inner| drop(inner.spawn(|| lent.check()))));
        }
        2 => std::thread::sleep(Duration::from_micros(300)),
        3 if depth > 1 => (0..3).for_each(|_| spawn(scope, lent, depth - 1)),
        4 => drop(scope.spawn(|| panic!("on purpose"))),
        5 => {
            let (queue, _) = world::nested(lent.level, depth as usize);
            let _ = quietly(|| queue.scope(|inner| drop(inner.spawn(|| lent.check()))));
        }
        _ => {}
    }
}

pub(super) fn play(player: &mut Player) {
    match player.rng.below(40) {
        0 => crowd(player),
        n if n % 2 == 0 => {
            let queue = world::nested(0, player.rng.below(16));
            player.does(&format!("scope on {}", queue.0.name()));
            one(&mut player.rng, queue.0, queue.1);
        }
        _ => inside(player),
    }
}

/// A scope that waits for items of its own queue, which may have no slot left: given up then.
fn inside(player: &mut Player) {
    let (queue, level) = world::nested(0, player.rng.below(16));
    player.does(&format!("scope in an item of {}", queue.name()));
    let mut rng = player.rng.clone();
    let handle = queue.spawn(move || one(&mut rng, queue, level));
    defuse(handle.join());
}

/// One scope, looked at when it has returned.
fn one(rng: &mut Rng, queue: &Workqueue, level: Level) {
    let book = Arc::new(Book::default());
    let data = [LENT; 64];
    let lent = Lent {
        book: &book,
        data: &data,
        level,
        queue,
    };
    let (tasks, depth) = (1 + rng.below(6), rng.below(4) as u32);
    let (panics, waits) = (rng.one_in(6), rng.one_in(3));
    let _ = quietly(|| {
        queue.scope(|scope| {
            // SAFETY of lifetimes is the compiler's: `lent` lives longer than the scope.
            (0..tasks).for_each(|_| spawn(scope, &lent, depth));
            if waits {
                std::thread::sleep(Duration::from_millis(1));
            }
            assert!(!panics, "a body");
        })
    });
    book.returned.store(true, SeqCst);
    lent.check();
    let counts = [
        &book.spawned,
        &book.closed,
        &book.ran,
        &book.guards,
        &book.forgotten,
    ];
    let [spawned, closed, ran, guards, forgotten] = counts.map(|count| count.load(SeqCst));
    if closed != spawned || ran > spawned || guards > forgotten {
        books::fail(&format!(
            "a scope of {} returns with {book:?}",
            queue.name()
        ));
    }
}

/// To spawn takes no longer the more is open: compared with itself.
fn crowd(player: &mut Player) {
    player.does("a crowd in a scope");
    let few = time_to_spawn(512).min(time_to_spawn(512));
    let many = time_to_spawn(1 << 15).min(time_to_spawn(1 << 15));
    // It is about the same; with a look at all that is open it is hundreds of times as long.
    if many > few * 30 + Duration::from_micros(20) {
        books::fail(&format!(
            "to spawn takes {few:?} beside 512 and {many:?} beside 32768"
        ));
    }
}

/// What one spawn takes while so many are open. Each that ends makes room for one.
fn time_to_spawn(open: usize) -> Duration {
    let (go, left) = (AtomicBool::new(false), AtomicU64::new(4_000));
    let queue = Workqueue::builder("crowd").max_active(1).build();
    let Ok(queue) = queue else {
        return Duration::ZERO;
    };
    let times = Times::default();
    let _ = queue.scope(|scope| {
        drop(scope.spawn(|| {
            while !go.load(SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
        }));
        (1..open).for_each(|_| next(scope, &left, &times));
        go.store(true, SeqCst);
    });
    times.median()
}

fn next<'scope>(scope: &'scope Scope<'scope, '_>, left: &'scope AtomicU64, times: &'scope Times) {
    drop(scope.spawn(move || {
        if left
            .fetch_update(SeqCst, SeqCst, |n| n.checked_sub(1))
            .is_ok()
        {
            let began = Instant::now();
            next(scope, left, times);
            times.note(began.elapsed());
        }
    }));
}

/// How many took how long, by powers of two of a nanosecond. A mean would say more of the machine,
/// which may take the CPU away in the middle, than of what is measured.
struct Times([AtomicU64; 64]);

impl Default for Times {
    fn default() -> Self {
        Times([const { AtomicU64::new(0) }; 64])
    }
}

impl Times {
    fn note(&self, took: Duration) {
        let nanos = took.as_nanos() as u64 | 1;
        self.0[nanos.ilog2() as usize].fetch_add(1, SeqCst);
    }

    /// Half of them took no longer, up to a factor of two.
    fn median(&self) -> Duration {
        let counts = self.0.each_ref().map(|count| count.load(SeqCst));
        let half = counts.iter().sum::<u64>() / 2;
        let mut below = 0;
        let bucket = counts.iter().position(|&count| {
            below += count;
            below > half
        });
        bucket.map_or(Duration::ZERO, |log| Duration::from_nanos(2 << log.min(62)))
    }
}
