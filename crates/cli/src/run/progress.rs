//! One line at the bottom of the terminal that says how far the run is, below the jobs that run.

use super::args::When;
use super::board::clock;
use super::output::is_for_people;
use super::session::Session;
use super::tally::Tally;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Five times a second: people see no more.
const PERIOD: Duration = Duration::from_millis(200);
const BAR_WIDTH: usize = 20;
/// Where standard error is no terminal.
const USUAL_WIDTH: usize = 80;
const USUAL_HEIGHT: usize = 24;

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
        let draw = move || draw_until(&ended, &session);
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

/// Draws the line, and the jobs above it, until the other end of `ended` is dropped.
fn draw_until(ended: &Receiver<()>, session: &Session) {
    let mut meter = Meter::new();
    while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
        let (width, height) = size();
        // The last column stays free: some terminals begin a new line after it.
        let width = width.saturating_sub(1);
        let (tally, runnable_ns) = (session.control.tally(), cmwq::stats().runnable_ns);
        let line = meter.line(tally, runnable_ns, width);
        if !is_in_background() {
            let mut lines = session.board.lines(height / 2, width);
            lines.push(line);
            session.output.show_bar(&lines);
        }
        // For the next line.
        cmwq::look();
    }
    session.output.erase_bar();
}

/// Whether the user and the kind of standard error are for it.
pub(super) fn is_wanted(when: When) -> bool {
    match when {
        When::Always | When::Full => true,
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
    fn line(&mut self, tally: Tally, runnable_ns: u128, width: usize) -> String {
        let now = Instant::now();
        let since = now.duration_since(self.seen).as_nanos().max(1);
        let runnable = runnable_ns.saturating_sub(self.runnable_ns) as f64 / since as f64;
        (self.seen, self.runnable_ns) = (now, runnable_ns);
        text(tally, runnable, now.duration_since(self.started), width)
    }
}

/// As much as fits.
fn text(tally: Tally, runnable: f64, elapsed: Duration, width: usize) -> String {
    let choices = choices(tally, runnable, elapsed);
    let fits = |text: &&String| text.chars().count() <= width;
    let found = choices.iter().find(fits).unwrap_or(&choices[4]);
    found.chars().take(width).collect()
}

/// From long to short: the bar goes first, then what changes all the time, then words.
fn choices(tally: Tally, runnable: f64, elapsed: Duration) -> [String; 5] {
    let rate = tally.jobs as f64 / elapsed.as_secs_f64().max(1e-3);
    let Tally {
        jobs,
        failed,
        running,
        submitted: all,
        ..
    } = tally;
    let blocked = running.saturating_sub(runnable.round() as usize);
    let (bar, count, eta) = match tally.is_all {
        false => (String::new(), format!("{jobs} done"), String::new()),
        true => (bar(jobs, all), format!("{jobs}/{all}"), eta(tally, rate)),
    };
    let numbers =
        format!("{rate:.1}/s, {running} running, {blocked} blocked, {failed} failed{eta}");
    let few = format!("{running} running, {failed} failed{eta}");
    [
        format!("{bar}{count}, {numbers}"),
        format!("{count}, {numbers}"),
        format!("{count}, {few}"),
        format!("{count}, {failed} failed{eta}"),
        format!("{count} {failed}!{eta}").replace(", ETA", ""),
    ]
}

/// When the last job will have ended. `rate`: jobs per second.
fn eta(tally: Tally, rate: f64) -> String {
    if tally.jobs == 0 {
        return ", ETA ?".to_owned();
    }
    let left = tally.submitted.saturating_sub(tally.jobs);
    format!(", ETA {}", clock(left as f64 / rate))
}

fn bar(done: u64, total: u64) -> String {
    let full = (done as u128 * BAR_WIDTH as u128 / u128::from(total.max(1))) as usize;
    let full = full.min(BAR_WIDTH);
    let (done_part, rest) = ("#".repeat(full), " ".repeat(BAR_WIDTH - full));
    format!("[{done_part}{rest}] ")
}

/// Whether the terminal is somebody else's now (`bg`). False where there is none.
fn is_in_background() -> bool {
    let owner = rustix::termios::tcgetpgrp(io::stderr());
    owner.is_ok_and(|group| group.as_raw_pid() != cmwq_os::session::group())
}

/// Columns and rows.
fn size() -> (usize, usize) {
    let size = rustix::termios::tcgetwinsize(io::stderr());
    match size {
        Ok(size) if size.ws_col > 0 => (size.ws_col.into(), size.ws_row.into()),
        _ => (USUAL_WIDTH, USUAL_HEIGHT),
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
            text(tally, 1.8, elapsed, 79),
            "10 done, 2.0/s, 7 running, 5 blocked, 2 failed"
        );
        tally.is_all = true;
        assert_eq!(
            text(tally, 9.0, elapsed, 79),
            "[#####               ] 10/40, 2.0/s, 7 running, 0 blocked, 2 failed, ETA 0:15"
        );
    }

    #[test]
    fn on_a_narrow_terminal_the_bar_goes_and_the_numbers_stay() {
        let tally = Tally {
            submitted: 40,
            is_all: true,
            jobs: 10,
            failed: 2,
            running: 7,
            ..Tally::default()
        };
        let of = |width| text(tally, 2.0, Duration::from_secs(5), width);
        let long = "10/40, 2.0/s, 7 running, 5 blocked, 2 failed, ETA 0:15";
        assert_eq!(of(59), long);
        assert_eq!(of(39), "10/40, 7 running, 2 failed, ETA 0:15");
        assert_eq!(of(27), "10/40, 2 failed, ETA 0:15");
        assert_eq!(of(20), "10/40 2! 0:15");
        assert_eq!(of(4), "10/4");
    }
}
