//! The jobs that run, a line each, for `--progress=full`.

use crate::whereabouts::{self, Whereabouts};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Lines of jobs at most.
const MOST: usize = 10;
/// Their processes are looked at so often.
const PERIOD: Duration = Duration::from_secs(1);

pub(super) struct Board {
    is_shown: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// By number, so that the oldest come first.
    jobs: BTreeMap<u64, Running>,
    seen: Option<Instant>,
    /// As they were then, with their jobs.
    lines: Vec<(u64, String)>,
}

#[derive(Clone)]
struct Running {
    leader: u32,
    arguments: String,
    began: Instant,
}

impl Board {
    pub(super) fn new(is_shown: bool) -> Self {
        Self {
            is_shown,
            state: Mutex::default(),
        }
    }

    /// Whether somebody wants to see it.
    pub(super) fn is_shown(&self) -> bool {
        self.is_shown
    }

    /// The job `sequence`, from 0, runs as this process.
    pub(super) fn began(&self, sequence: u64, leader: u32, arguments: &[u8]) {
        if self.is_shown {
            let running = Running {
                leader,
                arguments: String::from_utf8_lossy(arguments).into_owned(),
                began: Instant::now(),
            };
            self.lock().jobs.insert(sequence, running);
        }
    }

    pub(super) fn ended(&self, sequence: u64) {
        if self.is_shown {
            self.lock().jobs.remove(&sequence);
        }
    }

    /// The oldest jobs, in no more lines and columns than these.
    pub(super) fn lines(&self, height: usize, width: usize) -> Vec<String> {
        let height = height.min(MOST);
        let oldest: Vec<(u64, Running)> = {
            let state = self.lock();
            if state.seen.is_some_and(|seen| seen.elapsed() < PERIOD) {
                return state.of_running();
            }
            let jobs = state.jobs.iter().take(height);
            jobs.map(|(&sequence, job)| (sequence, job.clone()))
                .collect()
        };
        let line = |(sequence, job): (u64, Running)| {
            let seen = whereabouts::of(job.leader);
            (sequence, line(sequence, &job, &seen, width))
        };
        let lines = oldest.into_iter().map(line).collect();
        let mut state = self.lock();
        (state.seen, state.lines) = (Some(Instant::now()), lines);
        state.of_running()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The lines of jobs that have not ended since.
    fn of_running(&self) -> Vec<String> {
        let runs = |(sequence, _): &&(u64, String)| self.jobs.contains_key(sequence);
        let lines = self.lines.iter().filter(runs);
        lines.map(|(_, line)| line.clone()).collect()
    }
}

/// Age and CPU time before the rest, so that they survive a narrow terminal.
fn line(sequence: u64, job: &Running, seen: &Whereabouts, width: usize) -> String {
    let age = clock(job.began.elapsed().as_secs_f64().floor());
    let computed = clock(seen.computed.as_secs_f64().floor());
    let arguments: String = job.arguments.chars().take(width / 3).collect();
    let (number, doing) = (sequence + 1, &seen.doing);
    let text = format!("{number:>5} {age:>7} cpu {computed:>5}  {arguments}  {doing}");
    // A newline or an escape would make a mess of the terminal.
    let is_plain = |char: &char| !char.is_control();
    text.chars().filter(is_plain).take(width).collect()
}

/// A time for people.
pub(super) fn clock(seconds: f64) -> String {
    let seconds = seconds.ceil() as u64;
    match seconds / 3600 {
        0 => format!("{}:{:02}", seconds / 60, seconds % 60),
        hours => format!("{hours}:{:02}:{:02}", seconds / 60 % 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_shown_while_they_run_and_fit_the_terminal() {
        let board = Board::new(true);
        for sequence in 0..20 {
            board.began(sequence, u32::MAX, b"a\x1b[2J\nb");
        }
        board.ended(0);
        let lines = board.lines(5, 30);
        assert_eq!(lines.len(), 5);
        assert!(
            lines[0].starts_with("    2    0:00 cpu  0:00  a[2Jb"),
            "{lines:?}"
        );
        assert!(lines.iter().all(|line| line.chars().count() <= 30));
        board.ended(1);
        assert_eq!(board.lines(5, 30), lines[1..]);
        assert_eq!(Board::new(false).lines(5, 30), [""; 0]);
    }

    #[test]
    fn times_are_for_people() {
        assert_eq!(clock(0.0), "0:00");
        assert_eq!(clock(59.1), "1:00");
        assert_eq!(clock(3661.0), "1:01:01");
    }
}
