//! The kernel's four tracepoints of workqueues: for the crate `tracing`, and as probes that perf,
//! bpftrace and gdb find in the program (USDT). Without these features all of this is empty.
//!
//! A subscriber of `tracing` is code of the program, so it is called with nothing held. But an item
//! becomes active under locks. That is noted, and the next worker of the pool says so. So no item
//! is said to start before it was said to be active, unless two workers say such things at the same
//! time.
#![cfg_attr(
    not(all(feature = "tracing", feature = "usdt")),
    allow(unused_variables, clippy::unused_self)
)]

use cmwq_policy::ItemKey;

#[cfg(feature = "tracing")]
use said::{Note, on};

/// A probe of the provider `cmwq`. Arguments: the address of the item, its function, and the
/// address and the length of the queue's name.
macro_rules! fire {
    ($name:ident, $key:expr, $queue:expr) => {
        #[cfg(feature = "usdt")]
        {
            let (key, queue): (ItemKey, &str) = ($key, $queue);
            probe::probe!(
                cmwq,
                $name,
                key.addr,
                function(key),
                queue.as_ptr(),
                queue.len()
            );
        }
    };
}

/// The function that was given with the item, else the table that has it.
#[cfg(feature = "usdt")]
fn function(key: ItemKey) -> usize {
    crate::item::Header::func_of(key).unwrap_or(key.func as usize)
}

/// An item is about to be queued: for this CPU, if it was asked for. Called with nothing held.
pub(crate) fn queue_work(queue: &str, cpu: Option<usize>, key: ItemKey) {
    fire!(workqueue_queue_work, key, queue);
    #[cfg(feature = "tracing")]
    if on() {
        said::queue_work(queue, cpu, key);
    }
}

/// Runs the function of an item. Called with nothing held.
pub(crate) fn execute<R>(queue: &str, key: ItemKey, function: impl FnOnce() -> R) -> R {
    fire!(workqueue_execute_start, key, queue);
    #[cfg(feature = "tracing")]
    let span = on().then(|| said::start(queue, key)).flatten();
    let result = function();
    #[cfg(feature = "tracing")]
    said::end(span, key);
    fire!(workqueue_execute_end, key, queue);
    result
}

/// Items that have become active in one event of a pool.
#[derive(Default)]
pub(crate) struct Activated {
    #[cfg(feature = "tracing")]
    notes: Vec<Note>,
}

impl Activated {
    /// This one has, too. Called with the pool held.
    pub(crate) fn note(&mut self, queue: &str, key: ItemKey) {
        fire!(workqueue_activate_work, key, queue);
        #[cfg(feature = "tracing")]
        if on() {
            self.notes.push(Note::new(queue, key));
        }
    }
}

/// Items of a pool that have become active, which nobody has said yet.
#[derive(Default)]
pub(crate) struct Activations {
    #[cfg(feature = "tracing")]
    notes: crate::sync::Mutex<Vec<Note>>,
}

impl Activations {
    /// These have, too. Called with the pool held.
    pub(crate) fn add(&self, activated: &mut Activated) {
        #[cfg(feature = "tracing")]
        if !activated.notes.is_empty() {
            let mut notes = self.notes.lock().expect("nobody panics with it");
            // Of items that are all cancelled nobody would ever say it.
            let room = said::MAX_NOTES.saturating_sub(notes.len());
            notes.extend(activated.notes.drain(..).take(room));
        }
    }

    /// Says it. Called with nothing held.
    pub(crate) fn say(&self) {
        #[cfg(feature = "tracing")]
        if on() {
            let notes = std::mem::take(&mut *self.notes.lock().expect("nobody panics with it"));
            notes.iter().for_each(said::activate_work);
        }
    }
}

/// What is said to `tracing`.
#[cfg(feature = "tracing")]
mod said {
    use cmwq_policy::ItemKey;
    use tracing::level_filters::LevelFilter;
    use tracing::span::EnteredSpan;

    use crate::item::Header;
    use crate::user;

    /// Notes that a pool keeps; more are dropped.
    pub(super) const MAX_NOTES: usize = 1 << 16;

    /// An item of a queue that has become active.
    pub(super) struct Note {
        queue: Box<str>,
        key: ItemKey,
    }

    impl Note {
        pub(super) fn new(queue: &str, key: ItemKey) -> Note {
            let queue = queue.into();
            Note { queue, key }
        }
    }

    /// Whether any subscriber wants to hear of items. Reads one word: it calls nobody.
    pub(super) fn on() -> bool {
        LevelFilter::current() >= LevelFilter::DEBUG
    }

    pub(super) fn queue_work(queue: &str, cpu: Option<usize>, key: ItemKey) {
        let (item, work) = (Header::name_of(key), key.addr);
        let cpu = cpu.map(|cpu| cpu as u64);
        user::run(|| {
            tracing::trace!(target: "cmwq", queue, item, work, cpu, "workqueue_queue_work");
        });
    }

    pub(super) fn activate_work(note: &Note) {
        let (queue, item, work) = (&*note.queue, Header::name_of(note.key), note.key.addr);
        user::run(|| {
            tracing::trace!(target: "cmwq", queue, item, work, "workqueue_activate_work");
        });
    }

    pub(super) fn start(queue: &str, key: ItemKey) -> Option<EnteredSpan> {
        let (item, work) = (Header::name_of(key), key.addr);
        user::call(|| {
            let span = tracing::debug_span!(target: "cmwq", "work", queue, item, work).entered();
            tracing::trace!(target: "cmwq", queue, item, work, "workqueue_execute_start");
            span
        })
        .map_err(user::discard)
        .ok()
    }

    pub(super) fn end(span: Option<EnteredSpan>, key: ItemKey) {
        let Some(span) = span else { return };
        let (item, work) = (Header::name_of(key), key.addr);
        user::run(|| {
            tracing::trace!(target: "cmwq", item, work, "workqueue_execute_end");
            drop(span);
        });
    }
}
