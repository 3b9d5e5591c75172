//! Real threads, blocked and running in many ways, seen through their files.

mod common;

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use cmwq_os::observe::{Blocked, Sample, TaskFiles, TaskState};

use common::{Gate, eventually, start};

fn pipe() -> (OwnedFd, OwnedFd) {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for the two descriptors.
    let status = unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) };
    assert_eq!(status, 0);
    // SAFETY: both are new and ours.
    let own = |fd| unsafe { OwnedFd::from_raw_fd(fd) };
    (own(ends[0]), own(ends[1]))
}

/// Blocks until the other end is closed or something comes.
fn read_byte(end: &OwnedFd) {
    let mut byte = 0u8;
    // SAFETY: one byte is written at most, to a byte.
    unsafe { libc::read(end.as_raw_fd(), (&raw mut byte).cast(), 1) };
}

#[test]
fn a_thread_on_a_futex_shows_its_address() {
    let gate = Gate::default();
    std::thread::scope(|scope| {
        let opens = gate.opens();
        let tid = start(scope, || gate.sleep());
        let files = TaskFiles::new(tid);
        let want = Sample {
            state: TaskState::Sleeping,
            futex: Some(gate.address()),
        };
        eventually("asleep on the word", || files.sample() == want);
        // The same sleep, longer than one is believed.
        assert!((0..100).all(|_| files.sample() == want));
        assert!(matches!(files.blocked(), Blocked::In { nr, .. } if nr == libc::SYS_futex));
        drop(opens);
        eventually("gone", || files.state() == TaskState::Dead);
        assert_eq!(files.sample().futex, None);
    });
}

#[test]
fn a_locked_mutex_shows_as_one_address_for_all_who_wait() {
    let lock = std::sync::Mutex::new(());
    let held = lock.lock().unwrap();
    std::thread::scope(|scope| {
        let _held = held;
        let waiters: Vec<TaskFiles> = (0..3)
            .map(|_| TaskFiles::new(start(scope, || drop(lock.lock().unwrap()))))
            .collect();
        eventually("all on one futex", || {
            let first = waiters[0].sample().futex;
            first.is_some() && waiters.iter().all(|files| files.sample().futex == first)
        });
    });
}

#[test]
fn sleeping_and_reading_threads_are_asleep_on_no_futex() {
    let (read_end, write_end) = pipe();
    let gate = Gate::default();
    std::thread::scope(|scope| {
        let _opens = gate.opens();
        let _closes = write_end;
        let reader = TaskFiles::new(start(scope, || read_byte(&read_end)));
        let sleeper = TaskFiles::new(start(scope, || {
            while !gate.is_open() {
                std::thread::sleep(Duration::from_millis(50));
            }
        }));
        let asleep = Sample {
            state: TaskState::Sleeping,
            futex: None,
        };
        eventually("reader asleep", || reader.sample() == asleep);
        eventually("sleeper asleep", || sleeper.sample() == asleep);
        assert!(matches!(reader.blocked(), Blocked::In { nr, .. } if nr == libc::SYS_read));
    });
}

#[test]
fn a_spinning_thread_is_runnable_even_if_it_has_no_cpu() {
    let gate = Gate::default();
    std::thread::scope(|scope| {
        let _opens = gate.opens();
        // More than this machine has CPUs, so that some of them wait for one.
        let spin = || gate.spin();
        let count = std::thread::available_parallelism().unwrap().get() + 2;
        let spinners: Vec<TaskFiles> = (0..count)
            .map(|_| TaskFiles::new(start(scope, spin)))
            .collect();
        for files in &spinners {
            // It may still be on its way out of the channel's send.
            eventually("spinning", || {
                files.sample()
                    == Sample {
                        state: TaskState::Runnable,
                        futex: None,
                    }
            });
        }
        // From here on none of them blocks, but a page fault may.
        let runnable = (0..200)
            .filter(|i| spinners[i % count].state() == TaskState::Runnable)
            .count();
        assert!(runnable >= 190, "{runnable}");
    });
}

#[test]
fn more_threads_than_files_are_kept_open_for() {
    let gate = Gate::default();
    std::thread::scope(|scope| {
        let _opens = gate.opens();
        let wait = || gate.sleep();
        let all: Vec<TaskFiles> = (0..100)
            .map(|_| TaskFiles::new(start(scope, wait)))
            .collect();
        for files in &all {
            eventually("asleep", || files.sample().futex == Some(gate.address()));
        }
        let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
        let files = open.filter(|fd| {
            std::fs::read_link(fd.path()).is_ok_and(|to| to.to_string_lossy().contains("/task/"))
        });
        assert!(files.count() <= 128);
    });
}

#[test]
fn a_thread_that_never_was_is_dead() {
    let files = TaskFiles::new(i32::MAX);
    assert_eq!(
        files.sample(),
        Sample {
            state: TaskState::Dead,
            futex: None
        }
    );
    assert_eq!(files.blocked(), Blocked::Unknown);
}
