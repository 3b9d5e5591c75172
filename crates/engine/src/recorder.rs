//! What items do, event by event, while somebody records it (`cmwq trace`). The module `monitor`
//! has the thread that takes the events and writes them down.
//!
//! While nobody records, an item reads one word when it is queued, begins and ends. While somebody
//! does, events are kept here until that thread takes them. Events without room are counted as
//! lost; no thread waits for room.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;

use cmwq_os::{clock, sched, thread};
use cmwq_policy::{ItemKey, Nanos, Time};
use cmwq_stats::trace::What;

use crate::item::Header;
use crate::sync::Mutex;

/// Threads of different numbers meet at different locks.
const SHARDS: usize = 16;
/// Events of a shard that wait to be taken.
const ROOM: usize = 1 << 13;
/// Instead of a CPU: nobody has looked.
const UNKNOWN: u32 = u32::MAX;

/// An event. Names are texts: what they are names of may be gone when it is taken.
pub(crate) struct Note {
    pub(crate) what: What,
    pub(crate) tid: i32,
    pub(crate) item: u64,
    pub(crate) queue: Box<str>,
    pub(crate) function: &'static str,
    pub(crate) pool: u32,
    pub(crate) from: Time,
    pub(crate) to: Time,
    pub(crate) from_cpu: u32,
    pub(crate) to_cpu: u32,
    pub(crate) cpu: Nanos,
}

#[derive(Default)]
pub(crate) struct Shard {
    pub(crate) notes: Vec<Note>,
    pub(crate) lost: u64,
}

/// See the module's page.
pub(crate) struct Recorder {
    on: AtomicBool,
    taken: AtomicBool,
    shards: [Mutex<Shard>; SHARDS],
}

/// Where a thread was when an item began, and its CPU time then.
pub(crate) struct Begun {
    cpu: u32,
    used: Nanos,
}

/// The right to record, which one has at a time. Events are kept as long as this lives.
pub(crate) struct Recording(&'static Recorder);

impl Recorder {
    pub(crate) fn new() -> Self {
        Recorder {
            on: AtomicBool::new(false),
            taken: AtomicBool::new(false),
            shards: std::array::from_fn(|_| Mutex::default()),
        }
    }

    /// Whether anybody records. Who sees it late has an event less, or one more that nobody takes.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.on.load(SeqCst)
    }

    /// `None`: somebody else records.
    pub(crate) fn record(&'static self) -> Option<Recording> {
        let free = !self.taken.swap(true, SeqCst);
        free.then(|| Recording(self))
    }

    /// The calling thread queues an item. Called with nothing held.
    pub(crate) fn queued(&self, queue: &str, key: ItemKey) {
        let (now, cpu) = (clock::now(), sched::current_cpu() as u32);
        self.keep(Note {
            what: What::Queued,
            tid: thread::gettid(),
            item: key.addr,
            queue: queue.into(),
            function: Header::name_of(key),
            pool: 0,
            from: now,
            to: now,
            from_cpu: cpu,
            to_cpu: cpu,
            cpu: 0,
        });
    }

    /// The time and the CPU; `None` if they do not matter.
    pub(crate) fn here(&self) -> Option<(Time, u32)> {
        self.is_on()
            .then(|| (clock::now(), sched::current_cpu() as u32))
    }

    /// The calling thread is about to execute an item; `None` if that does not matter.
    #[inline]
    pub(crate) fn begins(&self) -> Option<Begun> {
        self.is_on().then(|| Begun {
            cpu: sched::current_cpu() as u32,
            used: clock::thread_cpu(),
        })
    }

    /// It has executed it. Called with nothing held.
    pub(crate) fn ran(
        &self,
        (queue, key): (&str, ItemKey),
        pool: u32,
        (from, to): (Time, Time),
        begun: Option<Begun>,
    ) {
        let used = |begun: &Begun| clock::thread_cpu().saturating_sub(begun.used);
        self.keep(Note {
            what: What::Ran,
            tid: thread::gettid(),
            item: key.addr,
            queue: queue.into(),
            function: Header::name_of(key),
            pool,
            from,
            to,
            cpu: begun.as_ref().map_or(0, used),
            from_cpu: begun.map_or(UNKNOWN, |begun| begun.cpu),
            to_cpu: sched::current_cpu() as u32,
        });
    }

    /// The calling thread has waited, since then and from that CPU on, for an item or for all of a
    /// queue. Called with nothing held.
    pub(crate) fn waited(&self, queue: &str, item: Option<&'static str>, began: (Time, u32)) {
        self.keep(Note {
            what: What::Waited,
            tid: thread::gettid(),
            item: 0,
            queue: queue.into(),
            function: item.unwrap_or_default(),
            pool: 0,
            from: began.0,
            to: clock::now(),
            from_cpu: began.1,
            to_cpu: sched::current_cpu() as u32,
            cpu: 0,
        });
    }

    fn keep(&self, note: Note) {
        let shard = &self.shards[note.tid as usize % SHARDS];
        let mut shard = shard.lock().expect("nobody panics with it");
        match shard.notes.len() < ROOM {
            true => shard.notes.push(note),
            false => shard.lost += 1,
        }
    }

    fn take(&self) -> impl Iterator<Item = Shard> {
        let take = |shard: &Mutex<Shard>| {
            let mut shard = shard.lock().expect("nobody panics with it");
            std::mem::take(&mut *shard)
        };
        self.shards.iter().map(take)
    }
}

impl Recording {
    /// From now on events are kept.
    pub(crate) fn start(&self) {
        // What was late for the last recording.
        self.take().for_each(drop);
        self.0.on.store(true, SeqCst);
    }

    /// No more of them.
    pub(crate) fn stop(&self) {
        self.0.on.store(false, SeqCst);
    }

    /// Those that there are.
    pub(crate) fn take(&self) -> impl Iterator<Item = Shard> {
        self.0.take()
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.stop();
        self.take().for_each(drop);
        self.0.taken.store(false, SeqCst);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn recorder() -> &'static Recorder {
        Box::leak(Box::new(Recorder::new()))
    }

    #[test]
    fn one_records_at_a_time() {
        let recorder = recorder();
        let recording = recorder.record().unwrap();
        assert!(recorder.record().is_none() && !recorder.is_on());
        recording.start();
        assert!(recorder.is_on() && recorder.begins().is_some());
        drop(recording);
        assert!(!recorder.is_on() && recorder.begins().is_none());
        assert!(recorder.record().is_some());
    }

    #[test]
    fn what_there_is_no_room_for_is_counted_and_nothing_is_left_for_the_next() {
        let recorder = recorder();
        let recording = recorder.record().unwrap();
        recording.start();
        (0..ROOM + 3).for_each(|_| recorder.waited("q", None, (Time(0), 0)));
        let (notes, lost) = recording.take().fold((0, 0), |(notes, lost), shard| {
            (notes + shard.notes.len(), lost + shard.lost)
        });
        assert_eq!((notes, lost), (ROOM, 3));
        recorder.waited("late", Some("item"), (Time(0), 0));
        drop(recording);
        let next = recorder.record().unwrap();
        next.start();
        assert!(
            next.take()
                .all(|shard| shard.notes.is_empty() && shard.lost == 0)
        );
    }
}
