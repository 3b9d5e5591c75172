//! Writes down what items do while somebody listens. Its thread exists only for that time.

use std::collections::HashMap;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use cmwq_os::{clock, thread};
use cmwq_stats::control::{Answer, Refusal};
use cmwq_stats::trace::{Chunk, Event, LONGEST};
use rustix::io::Errno;

use super::{STACK, as_program, snapshot};
use crate::engine::Engine;
use crate::recorder::{Note, Recording, Shard};

/// Between two chunks.
const PERIOD: Duration = Duration::from_millis(20);

/// Begins with it once the connection is there.
pub(super) fn start(engine: &'static Engine, millis: u64) -> Result<Answer, Refusal> {
    let time = Duration::from_millis(millis);
    if time.is_zero() || time > LONGEST {
        return Err(Refusal::invalid("it records for 1 ms to 600 s"));
    }
    let recording = engine.recorder().record();
    let recording =
        recording.ok_or_else(|| Refusal::new(Errno::BUSY, "somebody else records it already"))?;
    // Without a thread the connection ends, and the listener says so.
    let goes = move |peer| {
        let _ = thread::spawn("cmwq/trace", STACK, move || {
            as_program(engine);
            record(engine, &recording, &peer, time);
        });
    };
    Ok(Answer::Goes(Box::new(goes)))
}

fn record(engine: &'static Engine, recording: &Recording, peer: &UnixStream, time: Duration) {
    let mut texts = Texts::default();
    let begun = clock::now();
    recording.start();
    loop {
        let passed = Duration::from_nanos(clock::now().since(begun));
        let left = time.saturating_sub(passed);
        std::thread::sleep(left.min(PERIOD));
        let last = left <= PERIOD;
        let (busy, at) = match last {
            // In front of the end: an item that ends in between is among the events as well.
            true => snapshot::busy(engine),
            false => (Vec::new(), clock::now()),
        };
        if last {
            recording.stop();
        }
        let mut chunk = Chunk {
            at: at.0,
            busy,
            last,
            ..Chunk::default()
        };
        recording
            .take()
            .for_each(|shard| texts.add(&mut chunk, shard));
        // Nobody listens any more, or they do not keep up: that ends it.
        if chunk.send(peer).is_err() || last {
            return;
        }
    }
}

/// Texts that the listener knows by numbers.
#[derive(Default)]
struct Texts(HashMap<Box<str>, u32>);

impl Texts {
    fn add(&mut self, chunk: &mut Chunk, shard: Shard) {
        chunk.lost += shard.lost;
        for note in shard.notes {
            let event = self.event(chunk, note);
            chunk.events.push(event);
        }
    }

    fn event(&mut self, chunk: &mut Chunk, note: Note) -> Event {
        Event {
            what: note.what,
            tid: note.tid,
            item: note.item,
            queue: self.number(chunk, &note.queue),
            function: self.number(chunk, note.function),
            pool: note.pool,
            from: note.from.0,
            to: note.to.0,
            from_cpu: note.from_cpu,
            to_cpu: note.to_cpu,
            cpu_ns: note.cpu,
        }
    }

    fn number(&mut self, chunk: &mut Chunk, text: &str) -> u32 {
        if let Some(&number) = self.0.get(text) {
            return number;
        }
        let number = self.0.len() as u32;
        self.0.insert(text.into(), number);
        chunk.texts.push(text.to_owned());
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_said_once_over_all_chunks() {
        let mut texts = Texts::default();
        let mut chunks = [Chunk::default(), Chunk::default()];
        let number = |texts: &mut Texts, chunk: &mut Chunk, text| texts.number(chunk, text);
        assert_eq!(number(&mut texts, &mut chunks[0], "a"), 0);
        assert_eq!(number(&mut texts, &mut chunks[0], "b"), 1);
        assert_eq!(number(&mut texts, &mut chunks[1], "a"), 0);
        assert_eq!(number(&mut texts, &mut chunks[1], "c"), 2);
        assert_eq!(chunks.map(|chunk| chunk.texts), [vec!["a", "b"], vec!["c"]]);
    }
}
