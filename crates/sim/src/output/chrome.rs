//! The Chrome trace format, as an array of events: a track for each CPU, one for each thread, and
//! an arrow from where an item was queued to where it began.

use std::io::{self, Write};

use cmwq_policy::Time;

use super::{Doing, Flow, Observation, Record, Slice};

/// "Processes" of the trace, which group its tracks.
const CPUS: u32 = 1;
const THREADS: u32 = 2;

impl Observation {
    /// Writes it for Perfetto and `chrome://tracing`.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_chrome(&self, out: &mut dyn Write) -> io::Result<()> {
        let record = self.record();
        let mut events = Events { out, first: true };
        record.tracks(&mut events)?;
        for slice in &record.slices {
            record.slice(&mut events, slice)?;
        }
        for (number, flow) in record.flows.iter().enumerate() {
            arrow(&mut events, number, flow)?;
        }
        if let Some(from) = record.full {
            let at = micros(from);
            events.add(format_args!(
                r#"{{"ph":"i","s":"g","pid":{CPUS},"tid":0,"ts":{at},"name":"too much happens: nothing more is recorded"}}"#
            ))?;
        }
        events.end()
    }
}

/// Events between brackets and commas.
struct Events<'a> {
    out: &'a mut dyn Write,
    first: bool,
}

impl Events<'_> {
    fn add(&mut self, event: std::fmt::Arguments<'_>) -> io::Result<()> {
        let before = if std::mem::take(&mut self.first) {
            "[\n"
        } else {
            ",\n"
        };
        self.out.write_all(before.as_bytes())?;
        self.out.write_fmt(event)
    }

    fn end(self) -> io::Result<()> {
        let end = if self.first { "[]\n" } else { "\n]\n" };
        self.out.write_all(end.as_bytes())
    }
}

impl Record {
    /// Names of the tracks.
    fn tracks(&self, events: &mut Events<'_>) -> io::Result<()> {
        for (pid, name) in [(CPUS, "CPUs"), (THREADS, "threads")] {
            events.add(format_args!(
                r#"{{"ph":"M","pid":{pid},"name":"process_name","args":{{"name":"{name}"}}}}"#
            ))?;
        }
        let cpus = (0..self.lanes.len()).map(|cpu| (CPUS, cpu, format!("CPU {cpu}")));
        let names = self.threads.iter().map(|name| quoted(name));
        let threads = names.enumerate().map(|(id, name)| (THREADS, id, name));
        for (pid, tid, name) in cpus.chain(threads) {
            events.add(format_args!(
                r#"{{"ph":"M","pid":{pid},"tid":{tid},"name":"thread_name","args":{{"name":"{name}"}}}}"#
            ))?;
            events.add(format_args!(
                r#"{{"ph":"M","pid":{pid},"tid":{tid},"name":"thread_sort_index","args":{{"sort_index":{tid}}}}}"#
            ))?;
        }
        Ok(())
    }

    fn slice(&self, events: &mut Events<'_>, slice: &Slice) -> io::Result<()> {
        let (at, takes) = (micros(slice.from), micros(Time(slice.to.since(slice.from))));
        let name = quoted(self.name(slice));
        let (kind, number) = match slice.what {
            Doing::Item(queue, _, number) => (quoted(&self.queues[queue.0 as usize]), number),
            Doing::Worker => ("worker".to_owned(), 0),
            Doing::Program => ("program".to_owned(), 0),
            Doing::IdleClass => ("idle class".to_owned(), 0),
        };
        let (cpu, id) = (slice.cpu, slice.thread.0);
        let thread = quoted(&self.threads[id as usize]);
        events.add(format_args!(
            r#"{{"ph":"X","pid":{CPUS},"tid":{cpu},"ts":{at},"dur":{takes},"name":"{name}","cat":"{kind}","args":{{"thread":"{thread}","queue":"{kind}","execution":{number}}}}}"#
        ))?;
        events.add(format_args!(
            r#"{{"ph":"X","pid":{THREADS},"tid":{id},"ts":{at},"dur":{takes},"name":"{name}","cat":"{kind}","args":{{"cpu":{cpu}}}}}"#
        ))
    }
}

fn arrow(events: &mut Events<'_>, number: usize, flow: &Flow) -> io::Result<()> {
    for (phase, (at, cpu)) in [("\"s\"", flow.from), ("\"f\",\"bp\":\"e\"", flow.to)] {
        let at = micros(at);
        events.add(format_args!(
            r#"{{"ph":{phase},"id":{number},"pid":{CPUS},"tid":{cpu},"ts":{at},"name":"queued","cat":"queued"}}"#
        ))?;
    }
    Ok(())
}

/// The format's unit, exactly.
fn micros(time: Time) -> String {
    format!("{}.{:03}", time.0 / 1000, time.0 % 1000)
}

/// What may stand between the quotes of a JSON string.
fn quoted(text: &str) -> String {
    let mut quoted = String::new();
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c < ' ' => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_and_times_are_exact() {
        assert_eq!(quoted("a\"b\\c\n"), "a\\\"b\\\\c\\u000a");
        assert_eq!(micros(Time(1_234_567)), "1234.567");
        assert_eq!(micros(Time(5)), "0.005");
    }
}
