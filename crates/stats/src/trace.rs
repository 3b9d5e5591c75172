//! What a process does, event by event, as long as somebody listens: `cmwq trace`.
//!
//! After the answer to [`Request::Trace`] the process writes chunks to the same connection: four
//! bytes with the length, and a [`Chunk`]. The last one says that it is. Whoever hangs up ends the
//! recording.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::control::{self, Refusal, Request};
use crate::snapshot::Worker;
use crate::wire::{Malformed, Value, record};

/// Bytes of a chunk.
pub const MAX_CHUNK: usize = 64 << 20;
/// The longest recording that a process makes.
pub const LONGEST: Duration = Duration::from_secs(600);

/// What an event tells of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum What {
    /// An item was queued, at `from`, by this thread.
    #[default]
    Queued,
    /// A thread has executed an item.
    Ran,
    /// A thread has waited for the named item, or for items of the queue, in a call of the library.
    Waited,
}

impl Value for What {
    fn put(&self, out: &mut Vec<u8>) {
        (*self as u8).put(out);
    }

    fn take(from: &mut &[u8]) -> Result<Self, Malformed> {
        match u8::take(from)? {
            0 => Ok(What::Queued),
            1 => Ok(What::Ran),
            2 => Ok(What::Waited),
            _ => Err(Malformed::Choice),
        }
    }
}

record! {
    /// Something that has happened.
    Event {
        /// What.
        what: What,
        /// To which thread, by its number for the process.
        tid: i32,
        /// The address of the item, 0 if it is not known.
        item: u64,
        /// Its queue: the number of a text.
        queue: u32,
        /// Its function, or the item that was waited for: the number of a text.
        function: u32,
        /// The number of the pool.
        pool: u32,
        /// When it began: `CLOCK_MONOTONIC`, in nanoseconds.
        from: u64,
        /// When it ended.
        to: u64,
        /// The CPU at the begin; `u32::MAX`: not known, it began before the recording did.
        from_cpu: u32,
        /// The CPU at the end.
        to_cpu: u32,
        /// CPU time of the thread in between, in nanoseconds; 0 if the begin was not seen.
        cpu_ns: u64,
    }
}

record! {
    /// Events of some milliseconds. Those of different threads are in no order.
    Chunk {
        /// When it was written: `CLOCK_MONOTONIC`, in nanoseconds.
        at: u64,
        /// New texts. They are numbered from 0 on through all chunks.
        texts: Vec<String>,
        /// What has happened.
        events: Vec<Event>,
        /// Events that there was no room for.
        lost: u64,
        /// In the last chunk: what is being executed at its time.
        busy: Vec<Worker>,
        /// Nothing follows.
        last: bool,
    }
}

impl Chunk {
    /// From bytes that may be anything.
    ///
    /// # Errors
    /// If they are not exactly one chunk.
    pub fn decode(mut bytes: &[u8]) -> Result<Chunk, Malformed> {
        let chunk = Chunk::take(&mut bytes)?;
        match bytes.is_empty() {
            true => Ok(chunk),
            false => Err(Malformed::Long),
        }
    }

    /// With its length in front.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![0; 4];
        self.put(&mut out);
        let len = (out.len() - 4) as u32;
        out[..4].copy_from_slice(&len.to_le_bytes());
        out
    }

    /// To whoever listens.
    ///
    /// # Errors
    /// If nobody does, or does not take it for 3 seconds.
    pub fn send(&self, peer: &UnixStream) -> io::Result<()> {
        control::send(peer, &self.encode())
    }
}

/// A recording that runs.
#[derive(Debug)]
pub struct Recording {
    peer: UnixStream,
}

impl Recording {
    /// Has this process, which takes requests at this socket, record for so long.
    ///
    /// # Errors
    /// As for [`ask`](control::ask). `EBUSY`: somebody else records it already.
    pub fn start(pid: u32, socket: &str, time: Duration) -> Result<Recording, Refusal> {
        let millis = time.as_millis().try_into().unwrap_or(u64::MAX);
        let peer = control::converse(pid, socket, &Request::Trace { millis })?;
        Ok(Recording { peer })
    }

    /// The next chunk, for which this waits 3 seconds at most.
    ///
    /// # Errors
    /// If none comes, or it makes no sense.
    pub fn next_chunk(&mut self) -> io::Result<Chunk> {
        self.peer.set_read_timeout(Some(control::PATIENCE))?;
        let mut len = [0; 4];
        self.peer.read_exact(&mut len)?;
        let len = u32::from_le_bytes(len) as usize;
        if len > MAX_CHUNK {
            return Err(io::Error::other(Malformed::Long));
        }
        // Memory is taken for what comes, not for what was said.
        let mut bytes = Vec::new();
        let mut there = (&self.peer).take(len as u64);
        there.read_to_end(&mut bytes)?;
        Chunk::decode(&bytes).map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn example() -> Chunk {
        let event = |what| Event {
            what,
            tid: 5,
            from: 7,
            to: 9,
            ..Event::default()
        };
        Chunk {
            texts: vec!["größe".into()],
            events: vec![event(What::Queued), event(What::Ran), event(What::Waited)],
            last: true,
            ..Chunk::default()
        }
    }

    fn recording() -> (UnixStream, Recording) {
        let (process, peer) = UnixStream::pair().unwrap();
        (process, Recording { peer })
    }

    #[test]
    fn chunks_come_through_one_after_the_other() {
        let (process, mut recording) = recording();
        for _ in 0..2 {
            example().send(&process).unwrap();
        }
        assert_eq!(recording.next_chunk().unwrap(), example());
        assert_eq!(recording.next_chunk().unwrap(), example());
        drop(process);
        assert!(recording.next_chunk().is_err());
    }

    #[test]
    fn a_chunk_that_breaks_off_or_says_too_much_is_an_error() {
        let whole = example().encode();
        let wrong = [
            whole[..whole.len() - 1].to_vec(),
            u32::MAX.to_le_bytes().to_vec(),
            [&whole[..4], &vec![9; whole.len() - 4]].concat(),
        ];
        for bytes in wrong {
            let (process, mut recording) = recording();
            control::send(&process, &bytes).unwrap();
            drop(process);
            assert!(recording.next_chunk().is_err(), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn one_wrong_byte_makes_no_panic(at: prop::sample::Index, byte: u8) {
            let mut bytes = example().encode().split_off(4);
            let at = at.index(bytes.len());
            bytes[at] = byte;
            if let Ok(read) = Chunk::decode(&bytes) {
                prop_assert_eq!(&read.encode()[4..], bytes);
            }
        }
    }
}
