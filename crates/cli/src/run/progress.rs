//! One line at the bottom of the terminal that says how far the run is.

use super::args::When;
use super::control::Tally;
use super::output::is_for_people;
use super::session::Session;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Five times a second: people see no more.
const PERIOD: Duration = Duration::from_millis(200);
const BAR_WIDTH: usize = 20;
/// Where standard error is no terminal.
const USUAL_WIDTH: usize = 80;

/// Shows progress until it is dropped.
pub(super) struct Progress {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Shows nothing unless it is [wanted](is_wanted).
    pub(super) fn start(is_wanted: bool, session: &Arc<Session>) -> io::Result<Self> {
        if !is_wanted {
            return Ok(Self {
                end: None,
                thread: None,
            });
        }
        let (end, ended) = channel();
        let session = Arc::clone(session);
        let draw = move || {
            let mut meter = Meter::new();
            while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                let line = meter.line(session.control.tally(), cmwq::stats().runnable_ns);
                if !is_in_background() {
                    session.output.show_bar(&line);
                }
                // For the next line.
                cmwq::look();
            }
            session.output.erase_bar();
        };
        let thread = super::threads::start("cmwq/progress", draw)?;
        Ok(Self {
            end: Some(end),
            thread: Some(thread),
        })
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end = None;
        // It does not panic; if it has, there is no line to take away.
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

/// Whether the user and the kind of standard error are for it.
pub(super) fn is_wanted(when: When) -> bool {
    match when {
        When::Always => true,
        When::Never => false,
        When::Auto => is_for_people(),
    }
}

/// What was seen last.
struct Meter {
    started: Instant,
    seen: Instant,
    runnable_ns: u128,
}

impl Meter {
    fn new() -> Self {
        let now = Instant::now();
        Self {
            started: now,
            seen: now,
            runnable_ns: cmwq::stats().runnable_ns,
        }
    }

    /// `runnable_ns`: the engine's estimate of runnable jobs, integrated over time.
    fn line(&mut self, tally: Tally, runnable_ns: u128) -> String {
        let now = Instant::now();
        let since = now.duration_since(self.seen).as_nanos().max(1);
        let runnable = runnable_ns.saturating_sub(self.runnable_ns) as f64 / since as f64;
        (self.seen, self.runnable_ns) = (now, runnable_ns);
        let text = text(tally, runnable, now.duration_since(self.started));
        // The last column stays free: some terminals begin a new line after it.
        text.chars().take(width().saturating_sub(1)).collect()
    }
}

fn text(tally: Tally, runnable: f64, elapsed: Duration) -> String {
    let rate = tally.jobs as f64 / elapsed.as_secs_f64().max(1e-3);
    let blocked = tally.running.saturating_sub(runnable.round() as usize);
    let (bar, left) = if tally.is_all {
        let left = tally.submitted.saturating_sub(tally.jobs);
        let eta = if tally.jobs == 0 {
            ", ETA ?".into()
        } else {
            format!(", ETA {}", clock(left as f64 / rate))
        };
        (bar(tally.jobs, tally.submitted), eta)
    } else {
        (format!("{} done", tally.jobs), String::new())
    };
    format!(
        "{bar}, {rate:.1}/s, {} running, {blocked} blocked, {} failed{left}",
        tally.running, tally.failed
    )
}

fn bar(done: u64, total: u64) -> String {
    let full = (done as u128 * BAR_WIDTH as u128 / u128::from(total.max(1))) as usize;
    let full = full.min(BAR_WIDTH);
    let (done_part, rest) = ("#".repeat(full), " ".repeat(BAR_WIDTH - full));
    format!("[{done_part}{rest}] {done}/{total}")
}

fn clock(seconds: f64) -> String {
    let seconds = seconds.ceil() as u64;
    match seconds / 3600 {
        0 => format!("{}:{:02}", seconds / 60, seconds % 60),
        hours => format!("{hours}:{:02}:{:02}", seconds / 60 % 60, seconds % 60),
    }
}

/// Whether the terminal is somebody else's now (`bg`). False where there is none.
fn is_in_background() -> bool {
    let owner = rustix::termios::tcgetpgrp(io::stderr());
    owner.is_ok_and(|group| group.as_raw_pid() != cmwq_os::session::group())
}

fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(io::stderr());
    match size {
        Ok(size) if size.ws_col > 0 => size.ws_col.into(),
        _ => USUAL_WIDTH,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_says_how_far_it_is() {
        let mut tally = Tally {
            submitted: 40,
            jobs: 10,
            failed: 2,
            running: 7,
            ..Tally::default()
        };
        let elapsed = Duration::from_secs(5);
        assert_eq!(
            text(tally, 1.8, elapsed),
            "10 done, 2.0/s, 7 running, 5 blocked, 2 failed"
        );
        tally.is_all = true;
        assert_eq!(
            text(tally, 9.0, elapsed),
            "[#####               ] 10/40, 2.0/s, 7 running, 0 blocked, 2 failed, ETA 0:15"
        );
    }

    #[test]
    fn times_are_for_people() {
        assert_eq!(clock(0.0), "0:00");
        assert_eq!(clock(59.1), "1:00");
        assert_eq!(clock(3661.0), "1:01:01");
    }
}
