//! What a process has told, without trust.

use std::io;

use cmwq_stats::Worker;
use cmwq_stats::trace::{Chunk, Event, What};

/// Events of a trace: more make a file that nothing opens.
const MOST: usize = 1 << 18;

/// All that was told so far.
#[derive(Default)]
pub(super) struct Events {
    pub(super) events: Vec<Event>,
    texts: Vec<String>,
    pub(super) lost: u64,
    /// When the last chunk was written.
    pub(super) at: u64,
    /// What was being executed at the end.
    pub(super) busy: Vec<Worker>,
    whole: bool,
    broke_off: Option<String>,
}

impl Events {
    pub(super) fn add(&mut self, chunk: Chunk) {
        self.events.extend(chunk.events);
        self.texts.extend(chunk.texts);
        self.lost = self.lost.saturating_add(chunk.lost);
        self.at = self.at.max(chunk.at);
        self.busy = chunk.busy;
        self.whole = chunk.last;
    }

    /// The process has said that this is all.
    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }

    pub(super) fn is_full(&self) -> bool {
        self.events.len().max(self.texts.len()) >= MOST
    }

    pub(super) fn broke_off(&mut self, error: &io::Error) {
        self.broke_off = Some(match error.kind() {
            io::ErrorKind::UnexpectedEof => "the process has ended".into(),
            io::ErrorKind::WouldBlock => "the process does not answer".into(),
            _ => error.to_string(),
        });
    }

    pub(super) fn text(&self, number: u32) -> &str {
        self.texts.get(number as usize).map_or("?", String::as_str)
    }

    pub(super) fn nr_ran(&self) -> usize {
        let ran = self.events.iter().filter(|event| event.what == What::Ran);
        ran.count()
    }

    /// Why there is less in it than was asked for, in words.
    pub(super) fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if let Some(why) = &self.broke_off {
            faults.push(format!("it ends early: {why}"));
        } else if !self.whole {
            faults.push(format!("it ends early: a trace has {MOST} events at most"));
        }
        if self.lost > 0 {
            faults.push(format!(
                "{} events are missing: too much happened",
                self.lost
            ));
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said() {
        let mut events = Events::default();
        events.add(Chunk {
            texts: vec!["queue".into()],
            lost: u64::MAX,
            ..Chunk::default()
        });
        events.add(Chunk {
            lost: 1,
            ..Chunk::default()
        });
        assert_eq!((events.text(0), events.text(1)), ("queue", "?"));
        let faults = events.faults().join("; ");
        assert!(
            faults.contains("at most") && faults.contains("missing"),
            "{faults}"
        );
        events.broke_off(&io::ErrorKind::UnexpectedEof.into());
        assert!(events.faults()[0].contains("has ended"));
        events.add(Chunk {
            last: true,
            ..Chunk::default()
        });
        assert!(events.is_whole());
    }
}
