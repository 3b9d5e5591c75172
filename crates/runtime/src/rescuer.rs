//! Rescuers: a queue's own thread, made with it, for the time when no worker can be made.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use cmwq_os::{sched, thread};
use cmwq_policy::WorkerPool;

use crate::engine::Engine;
use crate::park::Parker;
use crate::pool::Pool;
use crate::pool::worker::Rescue;
use crate::pwq::{Items, PwqRef, unhold};
use crate::queue::queue_of;
use crate::sync::{AtomicBool, Mutex, SeqCst};

/// Nice value of rescuers, where permitted (kernel `RESCUER_NICE_LEVEL`).
const RESCUER_NICE_LEVEL: i32 = -20;

/// A queue's rescuer. Its thread ends when this is dropped, with the queue.
pub(crate) struct Rescuer {
    shared: Arc<Shared>,
}

struct Shared {
    /// Where it is to help, each with a hold on the queue.
    maydays: Mutex<VecDeque<PwqRef>>,
    parker: Parker,
    stops: AtomicBool,
}

// SAFETY: the pwqs in the list are held.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Rescuer {
    /// Makes the thread: later it may be too late.
    pub(crate) fn start(engine: &'static Engine, name: &str) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            maydays: Mutex::default(),
            parker: Parker::default(),
            stops: AtomicBool::new(false),
        });
        let of = shared.clone();
        thread::spawn(&format!("cmwq/R-{name}"), engine.stack_size(), move || {
            Thread { engine, shared: of }.run()
        })?;
        Ok(Rescuer { shared })
    }
}

impl Drop for Rescuer {
    fn drop(&mut self) {
        self.shared.stops.store(true, SeqCst);
        self.shared.parker.unpark();
    }
}

/// `Mayday` was said: the pwq's queue, which is held, has a rescuer.
pub(crate) fn call(pwq: PwqRef) {
    // SAFETY: the queue is held.
    let queue = unsafe { queue_of(pwq).as_ref() };
    let rescuer = queue.rescuer().expect("only queues with a rescuer call it");
    rescuer.shared.push(pwq);
}

impl Shared {
    fn push(&self, pwq: PwqRef) {
        self.lock().push_back(pwq);
        self.parker.unpark();
    }

    fn lock(&self) -> crate::sync::MutexGuard<'_, VecDeque<PwqRef>> {
        self.maydays.lock().expect("nobody panics with it")
    }

    fn next(&self) -> Option<PwqRef> {
        self.lock().pop_front()
    }

    /// Whether nobody else waits for it.
    fn is_free(&self) -> bool {
        self.lock().is_empty()
    }
}

struct Thread {
    engine: &'static Engine,
    shared: Arc<Shared>,
}

impl Thread {
    fn run(self) {
        if !sched::is_normal_policy_self() {
            let _ = sched::set_normal_policy_self();
        }
        if sched::set_nice_self(RESCUER_NICE_LEVEL).is_err() {
            // Denied: it rescues all the same.
            let _ = sched::set_nice_self(self.engine.base_nice());
        }
        // An item that has forked and returns in the child ends this: see `Worker::run`.
        while self.engine.is_ours() {
            match self.shared.next() {
                Some(pwq) => self.help(pwq),
                None if self.shared.stops.load(SeqCst) => return,
                None => self.shared.parker.park(None),
            }
        }
    }

    fn help(&self, pwq: PwqRef) {
        // SAFETY: the queue is held.
        let pool = unsafe { pwq.as_ref() }.pool();
        match self.rescue(pool, pwq) {
            true => self.shared.push(pwq),
            // In a child the queue stays: it is the parent's.
            false if !self.engine.is_ours() => {}
            false => unhold(pwq),
        }
    }

    /// Runs items of the queue in this pool. True if it is to come again.
    fn rescue(&self, pool: &'static Pool, pwq: PwqRef) -> bool {
        let Some(id) = pool.with(|core, cx| core.rescuer_attach(cx, pwq)) else {
            return false;
        };
        let mut rescue = Rescue::attach(pool, id);
        let (mut done, mut patient);
        done = 0;
        let mut ended = None;
        loop {
            patient = self.shared.is_free();
            let next = pool.with(|core, cx| {
                if let Some(report) = ended.take() {
                    core.item_ended(cx, id, report);
                }
                core.rescuer_next(cx, id, done, patient)
            });
            let Some((work, pwq)) = next else { break };
            ended = Some(rescue.execute(work, pwq));
            if !self.engine.is_ours() {
                return false;
            }
            done += 1;
        }
        drop(rescue);
        let turn_over = WorkerPool::<Items>::is_turn_over(done, patient);
        pool.with(|core, cx| core.rescuer_detach(cx, id, turn_over))
    }
}
