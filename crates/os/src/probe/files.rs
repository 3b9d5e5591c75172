//! What `/proc` tells here.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc;
use std::time::Duration;

use super::{Support, denied};
use crate::observe::parse_stat;
use crate::schedstat::{OwnSchedStat, SchedStat};
use crate::{futex, observe, thread};

/// A sleeper needs a moment to fall asleep, on a busy machine a long one.
const TRIES: u32 = 2_000;

pub(super) fn schedstat() -> Support {
    let file = match OwnSchedStat::open() {
        Ok(file) => file,
        Err(error) => return denied("/proc/thread-self/schedstat", &error),
    };
    match file.read() {
        None => Support::Denied("/proc/thread-self/schedstat: unreadable".to_owned()),
        Some(stat) if stat == SchedStat::default() => Support::Denied(
            "/proc/thread-self/schedstat: all zero, the kernel does not count".to_owned(),
        ),
        Some(_) => Support::Works,
    }
}

pub(super) fn process_children() -> Support {
    match fs::read("/proc/thread-self/children") {
        Ok(_) => Support::Works,
        Err(error) => {
            let why = super::reason("/proc/thread-self/children", &error);
            Support::Degraded(format!("{why}; all of /proc is searched instead"))
        }
    }
}

/// Whether this file of a thread that sleeps on a futex comes to say so.
pub(super) fn of_a_sleeper(file: &str) -> Support {
    let word = Arc::new(AtomicU32::new(0));
    let tid = match start_sleeper(&word) {
        Ok(tid) => tid,
        Err(error) => return denied("starting a thread", &error),
    };
    let verdict = watch(tid, file);
    word.store(1, SeqCst);
    futex::wake(&word, 1);
    verdict
}

fn start_sleeper(word: &Arc<AtomicU32>) -> std::io::Result<i32> {
    let (tell, told) = mpsc::channel();
    let word = Arc::clone(word);
    thread::spawn("cmwq-probe", 128 * 1024, move || {
        let _ = tell.send(thread::gettid());
        while word.load(SeqCst) == 0 {
            futex::wait(&word, 0, None);
        }
    })?;
    told.recv().map_err(std::io::Error::other)
}

fn watch(tid: i32, file: &str) -> Support {
    let path = format!("/proc/self/task/{tid}/{file}");
    for _ in 0..TRIES {
        match fs::read(&path) {
            Ok(text) if says_asleep(file, &text) => return Support::Works,
            Ok(_) => std::thread::sleep(Duration::from_millis(1)),
            Err(error) => return denied(&format!("/proc/self/task/TID/{file}"), &error),
        }
    }
    Support::Denied(format!(
        "/proc/self/task/TID/{file}: does not show that a thread sleeps"
    ))
}

fn says_asleep(file: &str, text: &[u8]) -> bool {
    match file {
        "stat" => parse_stat(text).is_some_and(|stat| stat.state.is_asleep()),
        _ => observe::parse_syscall(text).is_some_and(|blocked| blocked.futex_address().is_some()),
    }
}
