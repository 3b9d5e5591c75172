//! The Chrome trace format, as far as it is used.

use std::io::{self, Write};

use serde_json::{Value, json};

/// A track: the number of a group, and one in it.
pub(super) type Track = (u64, u64);

/// An object with events, written one by one.
pub(super) struct Chrome<'a> {
    out: &'a mut dyn Write,
    /// All times are since then, in nanoseconds.
    zero: u64,
    first: bool,
}

/// From when to when, in nanoseconds.
pub(super) type Span = (u64, u64);

impl Chrome<'_> {
    pub(super) fn new(out: &mut dyn Write, zero: u64) -> io::Result<Chrome<'_>> {
        out.write_all(b"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[")?;
        Ok(Chrome {
            out,
            zero,
            first: true,
        })
    }

    fn event(&mut self, event: &Value) -> io::Result<()> {
        let before: &[u8] = if self.first { b"\n" } else { b",\n" };
        self.first = false;
        self.out.write_all(before)?;
        serde_json::to_writer(&mut *self.out, event)?;
        Ok(())
    }

    /// The format's unit, which has a fraction.
    fn micros(&self, at: u64) -> Value {
        fraction(at.saturating_sub(self.zero))
    }

    /// The name of a group of tracks, and how far below it is shown.
    pub(super) fn group(&mut self, group: u64, name: &str) -> io::Result<()> {
        let names =
            json!({"ph": "M", "pid": group, "name": "process_name", "args": {"name": name}});
        self.event(&names)
    }

    /// The name of a track, which is shown in the order of numbers.
    pub(super) fn track(&mut self, (group, track): Track, name: &str) -> io::Result<()> {
        for (what, args) in [
            ("thread_name", json!({ "name": name })),
            ("thread_sort_index", json!({ "sort_index": track })),
        ] {
            let event = json!({"ph": "M", "pid": group, "tid": track, "name": what, "args": args});
            self.event(&event)?;
        }
        Ok(())
    }

    /// Something on a track. What is inside of something else is written after it.
    pub(super) fn slice(
        &mut self,
        (group, track): Track,
        (from, to): Span,
        (sort, name): (&str, &str),
        args: &Value,
    ) -> io::Result<()> {
        let (at, takes) = (self.micros(from), fraction(to.saturating_sub(from)));
        self.event(&json!({
            "ph": "X", "pid": group, "tid": track, "ts": at, "dur": takes,
            "cat": sort, "name": name, "args": args,
        }))
    }

    /// One end of something that has a number: it gets a track of its own in the group. One that
    /// has begun inside of another one of its number is shown below that.
    pub(super) fn end_of(
        &mut self,
        (group, number): (u64, usize),
        is_begin: bool,
        at: u64,
        name: &str,
    ) -> io::Result<()> {
        let at = self.micros(at);
        let phase = if is_begin { "b" } else { "e" };
        self.event(&json!({
            "ph": phase, "pid": group, "tid": 0, "id": number, "ts": at, "cat": "item",
            "name": name,
        }))
    }

    /// What is known of the whole.
    pub(super) fn finish(self, about: &Value) -> io::Result<()> {
        writeln!(self.out, "\n],\"otherData\":{about}}}")
    }
}

/// Nanoseconds as microseconds. A double has 53 bits: times of a trace have fewer.
fn fraction(ns: u64) -> Value {
    json!(ns as f64 / 1000.0)
}
