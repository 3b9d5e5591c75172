//! Where the threads of a process are, looked at from outside again and again.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use cmwq_os::clock;
use cmwq_os::observe::TaskState;

use super::super::threads;
use crate::whereabouts;

/// Threads that are looked at.
const MOST_THREADS: usize = 1024;
/// Changes that are kept.
const MOST_SAMPLES: usize = 1 << 20;
/// Between two rounds, at least; and so many times what a round took, so that looking does not cost
/// more than a tenth of a CPU.
const PERIOD: Duration = Duration::from_millis(1);
const REST: u32 = 9;
/// How often new threads are looked for.
const LISTING: Duration = Duration::from_millis(10);
/// A `stat` file is shorter.
const LINE: usize = 1024;

/// Where a thread was seen. If it runs on the same CPU as before, or has not been awake since it
/// was last seen to sleep, that is not said again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    /// `CLOCK_MONOTONIC`, in nanoseconds.
    pub(super) at: u64,
    /// The thread, by its number for the process.
    pub(super) tid: i32,
    pub(super) place: Spot,
}

/// Where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Spot {
    /// It runs on this CPU, or waits for it.
    On(u32),
    /// It sleeps: what for, in words.
    Asleep(String),
}

/// All that was seen, in the order of time, and the names of threads.
type Seen = (Vec<Sample>, HashMap<i32, String>);

/// A thread of ours that looks.
pub(super) struct Sampler {
    ends: Arc<AtomicBool>,
    thread: JoinHandle<Seen>,
}

impl Sampler {
    pub(super) fn start(pid: u32) -> io::Result<Sampler> {
        let ends = Arc::new(AtomicBool::new(false));
        let until = ends.clone();
        let thread = thread::Builder::new().spawn(move || Watched::new(pid).follow(&until))?;
        Ok(Sampler { ends, thread })
    }

    pub(super) fn end(self) -> Seen {
        self.ends.store(true, SeqCst);
        self.thread.join().unwrap_or_default()
    }
}

/// The threads of a process.
struct Watched {
    pid: u32,
    /// By their numbers for us.
    threads: HashMap<u32, Known>,
    samples: Vec<Sample>,
    names: HashMap<i32, String>,
}

struct Known {
    stat: File,
    schedstat: Option<File>,
    /// Its number for the process, which may be in a namespace of its own.
    tid: i32,
    place: Option<Spot>,
    /// What `schedstat` said: it changes whenever the thread has been on a CPU.
    used: Vec<u8>,
}

impl Watched {
    fn new(pid: u32) -> Watched {
        Watched {
            pid,
            threads: HashMap::new(),
            samples: Vec::new(),
            names: HashMap::new(),
        }
    }

    fn follow(mut self, ends: &AtomicBool) -> Seen {
        let mut listed: Option<Instant> = None;
        while !ends.load(SeqCst) && self.samples.len() < MOST_SAMPLES {
            let begun = Instant::now();
            if listed.is_none_or(|at| at.elapsed() > LISTING) {
                self.list();
                listed = Some(begun);
            }
            self.look();
            thread::sleep(PERIOD.max(begun.elapsed() * REST));
        }
        (self.samples, self.names)
    }

    fn list(&mut self) {
        let entries = fs::read_dir(format!("/proc/{}/task", self.pid));
        let entries = entries.into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        for number in numbers.take(MOST_THREADS).collect::<Vec<u32>>() {
            if self.threads.contains_key(&number) {
                continue;
            }
            if let Some((known, name)) = known(self.pid, number) {
                self.names.insert(known.tid, name);
                self.threads.insert(number, known);
            }
        }
    }

    fn look(&mut self) {
        let samples = &mut self.samples;
        self.threads.retain(|number, known| {
            let mut line = [0; LINE];
            // A thread that has ended is an error.
            let Ok(len) = known.stat.read_at(&mut line, 0) else {
                return false;
            };
            let at = clock::now().0;
            let Some(thread) = threads::parse(&line[..len]) else {
                return false;
            };
            let has_been_awake = known.has_been_awake();
            let place = match thread.state {
                TaskState::Runnable => Spot::On(thread.cpu),
                _ if !has_been_awake && known.is_asleep() => return true,
                _ => Spot::Asleep(whereabouts::waits(*number)),
            };
            let is_asleep = matches!(place, Spot::Asleep(_));
            // Whether it has begun an item since it was last seen asleep, a sample does not show.
            if is_asleep || known.place.as_ref() != Some(&place) {
                samples.push(Sample {
                    at,
                    tid: known.tid,
                    place: place.clone(),
                });
                known.place = Some(place);
            }
            true
        });
    }
}

impl Known {
    fn is_asleep(&self) -> bool {
        matches!(self.place, Some(Spot::Asleep(_)))
    }

    /// Since it was last asked; always, where the kernel does not tell.
    fn has_been_awake(&mut self) -> bool {
        let mut line = [0; LINE];
        let read = self.schedstat.as_ref();
        let read = read.and_then(|file| file.read_at(&mut line, 0).ok());
        let now = &line[..read.unwrap_or(0)];
        let is_same = !now.is_empty() && self.used == now;
        self.used = now.to_owned();
        !is_same
    }
}

/// A thread and its name; `None`: it has ended.
fn known(pid: u32, number: u32) -> Option<(Known, String)> {
    let dir = format!("/proc/{pid}/task/{number}");
    let status = fs::read_to_string(format!("{dir}/status")).ok()?;
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    let own = numbers.and_then(|line| line.split_ascii_whitespace().last()?.parse().ok());
    let name = fs::read(format!("{dir}/comm")).ok()?;
    let known = Known {
        stat: File::open(format!("{dir}/stat")).ok()?,
        schedstat: File::open(format!("{dir}/schedstat")).ok(),
        tid: own.unwrap_or(number as i32),
        place: None,
        used: Vec::new(),
    };
    Some((known, String::from_utf8_lossy(&name).trim_end().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both are threads of this very process.
    #[test]
    fn a_thread_is_seen_to_sleep_and_to_run() {
        let ends = Arc::new(AtomicBool::new(false));
        let (tell, told) = std::sync::mpsc::channel();
        let (sleep, wake) = std::sync::mpsc::channel::<()>();
        let until = ends.clone();
        let runner = thread::spawn(move || {
            tell.send(cmwq_os::thread::gettid()).unwrap();
            let _ = wake.recv();
            while !until.load(SeqCst) {
                std::hint::spin_loop();
            }
        });
        let tid = told.recv().unwrap();
        let mut watched = Watched::new(std::process::id());
        let mut sees = |is: fn(&Spot) -> bool| {
            let begun = Instant::now();
            loop {
                watched.list();
                watched.look();
                let last = watched.samples.iter().rfind(|sample| sample.tid == tid);
                if last.is_some_and(|sample| is(&sample.place)) {
                    return;
                }
                assert!(begun.elapsed() < Duration::from_secs(60));
            }
        };
        sees(|place| matches!(place, Spot::Asleep(_)));
        sleep.send(()).unwrap();
        sees(|place| matches!(place, Spot::On(_)));
        ends.store(true, SeqCst);
        runner.join().unwrap();
    }
}
