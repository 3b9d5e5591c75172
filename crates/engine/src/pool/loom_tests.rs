//! Items that are left without the pool's lock while the pool shuts its inbox, tried in every order
//! that the memory model allows. Run with
//! `RUSTFLAGS="--cfg loom" cargo test --release -p cmwq-engine --lib loom`.
//!
//! What the pool queues is noted in a list. The models fail if `leave` or `shut` lacks its fence
//! (`after_write`), if who leaves an item does not look whether the inbox is open, and if the pool
//! does not look into it after it was shut.

use std::ptr::NonNull;
use std::sync::Arc;

use cmwq_policy::Time;
use cmwq_policy::pool::{Inbox as _, Left};
use loom::thread;

use super::inbox::{Before, Inbox, Leaves, Taken, View};
use crate::item::{Header, Vtable};
use crate::queue::pwq::PwqRef;
use crate::sync::Mutex;

static TABLE: Vtable = Vtable {
    run: |_| (),
    count: |_, _| (),
    name: |_| "item",
};

fn model(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(4);
    builder.max_branches = 10_000;
    builder.check(run);
}

/// A pool in small.
struct Rig {
    inbox: Inbox,
    under_lock: Mutex<(Taken, Vec<usize>)>,
    items: Vec<Box<Header>>,
}

// SAFETY: links and cells of items are watched by loom.
unsafe impl Sync for Rig {}
// SAFETY: as above.
unsafe impl Send for Rig {}

impl Rig {
    /// With an open inbox and so many items.
    fn new(items: usize) -> Arc<Rig> {
        let rig = Rig {
            inbox: Inbox::new(),
            under_lock: Mutex::new(Default::default()),
            items: (0..items).map(|_| Box::new(Header::new(&TABLE))).collect(),
        };
        rig.locked(|view, _| view.open(Time(100)));
        Arc::new(rig)
    }

    /// One hold of the pool's lock.
    fn locked<R>(&self, act: impl FnOnce(&mut View, &mut Vec<usize>) -> R) -> R {
        let mut guard = self.under_lock.lock().unwrap();
        let (taken, queued) = &mut *guard;
        let mut view = View {
            inbox: &self.inbox,
            taken,
            published: Default::default(),
            now: Time(50),
        };
        let result = act(&mut view, queued);
        view.let_go();
        result
    }

    fn number(&self, left: &Left<NonNull<Header>, PwqRef>) -> usize {
        let same = |item: &Box<Header>| std::ptr::eq(&raw const **item, left.work.as_ptr());
        self.items.iter().position(same).unwrap()
    }

    fn take_all(&self, view: &mut View, queued: &mut Vec<usize>) {
        while let Some(left) = view.take() {
            queued.push(self.number(&left));
        }
    }

    /// `Real::leave`, and by the lock where that is not possible.
    fn queue(&self, item: usize) {
        let work = NonNull::from(&*self.items[item]);
        match self
            .inbox
            .leave(work, NonNull::dangling(), 0, Some(|| Time(50)))
        {
            Leaves::Not => self.locked(|view, queued| {
                self.take_all(view, queued);
                queued.push(item);
            }),
            _ if self.inbox.is_open() => {}
            _ => self.locked(|view, queued| self.take_all(view, queued)),
        }
    }

    /// A worker goes idle: it takes what there is, and shuts the inbox (`WorkerPool::publish`).
    fn go_idle(&self) {
        self.locked(|view, queued| {
            self.take_all(view, queued);
            view.shut();
            self.take_all(view, queued);
        });
    }

    fn queued(&self) -> Vec<usize> {
        self.under_lock.lock().unwrap().1.clone()
    }
}

#[test]
fn nothing_is_left_in_an_inbox_that_was_shut() {
    model(|| {
        let rig = Rig::new(2);
        let others: Vec<_> = (0..2)
            .map(|item| {
                let rig = rig.clone();
                thread::spawn(move || rig.queue(item))
            })
            .collect();
        rig.go_idle();
        others.into_iter().for_each(|other| other.join().unwrap());
        let mut queued = rig.queued();
        queued.sort_unstable();
        assert_eq!(queued, [0, 1]);
    });
}

#[test]
fn what_one_thread_leaves_comes_in_order() {
    model(|| {
        let rig = Rig::new(3);
        let other = rig.clone();
        let other = thread::spawn(move || (0..3).for_each(|item| other.queue(item)));
        // A worker that goes on takes one at a time.
        rig.locked(|view, queued| {
            if let Some(left) = view.take() {
                queued.push(rig.number(&left));
            }
        });
        rig.go_idle();
        other.join().unwrap();
        assert_eq!(rig.queued(), [0, 1, 2]);
    });
}

#[test]
fn an_event_sees_what_its_caller_has_left() {
    model(|| {
        let rig = Rig::new(2);
        let other = rig.clone();
        let other = thread::spawn(move || other.queue(1));
        rig.queue(0);
        let mut before = Before::default();
        rig.locked(|view, queued| {
            while !view.has_seen(&mut before) {
                queued.push(rig.number(&view.take().unwrap()));
            }
            assert!(queued.contains(&0));
        });
        rig.go_idle();
        other.join().unwrap();
        assert_eq!(rig.queued().len(), 2);
    });
}
