//! Real processes: trees of them, stopped and traced ones, and ones that may open no files.

mod common;

use std::os::unix::fs::MetadataExt;

use cmwq_os::adopt;
use cmwq_os::observe::{Blocked, Sample, TaskFiles, TaskState, tree};
use cmwq_os::thread;

use common::{Child, Gate, eventually, pause_for_ever, start, status_of};

/// In a child that does `spoil` to itself: what it then sees of itself, and once more after `mend`.
/// The exit code of the child says whether it was `want`.
fn child_sees(spoil: fn(), mend: fn(), want: [TaskState; 2]) -> bool {
    let child = Child::fork(|| {
        let files = TaskFiles::new(thread::gettid());
        spoil();
        let spoilt = files.state();
        mend();
        let wrong = [spoilt, files.state()] != want;
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(i32::from(wrong)) }
    });
    status_of(child) == 0
}

fn allow_files(count: u64) {
    // SAFETY: a struct of integers, for which zero is a value.
    let mut limit: libc::rlimit = unsafe { std::mem::zeroed() };
    // SAFETY: the limit is valid for the write, then for the read.
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        limit.rlim_cur = count.min(limit.rlim_max);
        libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
    }
}

#[test]
fn with_no_file_to_be_had_the_state_is_unknown_until_there_is() {
    let want = [TaskState::Unknown, TaskState::Runnable];
    assert!(child_sees(
        || allow_files(0),
        || allow_files(u64::MAX),
        want
    ));
}

/// Without privilege, a process that may not be dumped may not open its own `syscall` files.
#[test]
fn with_the_syscall_file_denied_the_stat_file_tells() {
    // SAFETY: changes a flag of the child.
    let undumpable = || unsafe {
        libc::prctl(libc::PR_SET_DUMPABLE, 0);
    };
    assert!(child_sees(undumpable, || (), [TaskState::Runnable; 2]));
}

#[test]
fn a_tree_counts_runnable_descendants_up_to_the_cap() {
    let child = Child::fork(|| {
        for _ in 0..3 {
            // SAFETY: the grandchildren only spin.
            if unsafe { libc::fork() } == 0 {
                loop {
                    std::hint::spin_loop();
                }
            }
        }
        pause_for_ever();
    });
    eventually("three runnable", || {
        tree::runnable(child.0, 10).runnable == 3
    });
    assert_eq!(tree::runnable(child.0, 2).runnable, 2);
    let state = tree::runnable(child.0, 10);
    assert!(state.alive && !state.stopped);
}

#[test]
fn sleeping_stopped_zombie_and_gone_trees() {
    let child = Child::fork(pause_for_ever);
    let see = || tree::runnable(child.0, 10);
    let asleep = tree::TreeState {
        runnable: 0,
        stopped: false,
        loading: false,
        alive: true,
        seen: true,
    };
    eventually("asleep", || see() == asleep);
    child.signal(libc::SIGSTOP);
    eventually("stopped", || {
        see()
            == tree::TreeState {
                stopped: true,
                ..asleep
            }
    });
    child.signal(libc::SIGCONT);
    eventually("asleep again", || see() == asleep);
    child.signal(libc::SIGKILL);
    let gone = tree::TreeState::default();
    let zombie = tree::TreeState { seen: true, ..gone };
    eventually("a zombie", || see() == zombie);
    let pid = child.0;
    drop(child);
    assert_eq!(tree::runnable(pid, 10), tree::TreeState::default());
}

/// Sleeps for a millisecond again and again.
fn nap_for_ever() -> ! {
    loop {
        let nap = libc::timespec {
            tv_sec: 0,
            tv_nsec: 1_000_000,
        };
        // SAFETY: sleeps.
        unsafe { libc::nanosleep(&nap, std::ptr::null_mut()) };
    }
}

#[test]
fn who_sleeps_for_a_time_is_told_from_who_waits_for_something() {
    let naps = |known: &mut tree::Tree| known.look_for_naps(10).1;
    let waits = Child::fork(pause_for_ever);
    let mut waits = (tree::Tree::new(waits.0), waits);
    eventually("asleep", || waits.0.look(10).runnable == 0);
    assert_eq!(naps(&mut waits.0), None, "for a signal");

    let path = std::env::temp_dir().join(format!("cmwq-naps-{}", std::process::id()));
    let mut options = std::fs::OpenOptions::new();
    let options = options.read(true).write(true).create(true).truncate(true);
    let file = options.open(&path).unwrap();
    let parent = Child::fork(|| {
        // SAFETY: the child naps with the file open, its parent waits for it.
        if unsafe { libc::fork() } == 0 {
            nap_for_ever();
        }
        // SAFETY: waits for any child.
        unsafe { libc::wait(std::ptr::null_mut()) };
        pause_for_ever();
    });
    let mut known = tree::Tree::new(parent.0);
    let mut first = None;
    eventually("the child naps, the parent waits for it", || {
        first = naps(&mut known);
        first.is_some()
    });
    let first = first.unwrap();
    assert_eq!(first.file, None, "nobody knows yet that it wakes up");
    let mut later = None;
    eventually("it has woken up and has a file", || {
        later = naps(&mut known).filter(|naps| naps.file.is_some());
        later.is_some()
    });
    let later = later.unwrap();
    assert!(later.count > first.count);
    assert_eq!(later.file, Some(file.metadata().unwrap().ino()));
    std::fs::remove_file(&path).unwrap();
}

/// A tracer that stops one thread of this process: the other way to stop a thread, while the
/// rest goes on to look at it. Threads cannot trace each other within a process, so a child does.
#[test]
fn a_traced_stop_is_not_sleep() {
    // Lets any process trace this one where the Yama module restricts it; no matter if not there.
    // SAFETY: touches no memory.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY) };
    if !may_trace() {
        eprintln!("not tested: tracing is not allowed here");
        return;
    }
    let gate = Gate::default();
    std::thread::scope(|scope| {
        let _opens = gate.opens();
        let sleeps = start(scope, || gate.sleep());
        let spins = start(scope, || gate.spin());
        let early = TaskFiles::new(sleeps);
        eventually("asleep", || early.state() == TaskState::Sleeping);
        let tracer = Child::fork(|| trace(&[sleeps, spins]));
        let (sleeps, spins) = (TaskFiles::new(sleeps), TaskFiles::new(spins));
        eventually("stopped", || {
            [&sleeps, &spins]
                .iter()
                .all(|f| f.state() == TaskState::Stopped)
        });
        assert_eq!(
            sleeps.sample(),
            Sample {
                state: TaskState::Stopped,
                futex: None
            }
        );
        // The sleep was believed before the stop, but not for ever.
        eventually("no more believed", || early.state() == TaskState::Stopped);
        assert!(!matches!(spins.blocked(), Blocked::Running));
        drop(tracer);
        eventually("asleep again", || early.state() == TaskState::Sleeping);
    });
}

/// Stops these threads of the parent; the kernel lets them go when the tracer dies.
fn trace(tids: &[i32]) {
    for &tid in tids {
        // SAFETY: these two requests use no addresses.
        unsafe {
            libc::ptrace(libc::PTRACE_SEIZE, tid, 0, 0);
            libc::ptrace(libc::PTRACE_INTERRUPT, tid, 0, 0);
        }
    }
    pause_for_ever();
}

/// Whether a child may trace its parent here: tries it.
fn may_trace() -> bool {
    let parent = thread::getpid();
    let child = Child::fork(|| {
        // SAFETY: this request uses no addresses.
        let refused = unsafe { libc::ptrace(libc::PTRACE_SEIZE, parent, 0, 0) } != 0;
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(i32::from(refused)) }
    });
    status_of(child) == 0
}

/// A member in a session of its own whose parent has ended belongs to the tree, where this process
/// is given such orphans; it is reaped when it ends, and nobody else's child is.
#[test]
fn orphans_of_a_tree_belong_to_it() {
    assert!(adopt::begin());
    let mut other = std::process::Command::new("true").spawn().unwrap();
    let child = Child::fork(|| {
        // SAFETY: fork, setsid and alarm, which ends what a failed test leaves behind.
        unsafe {
            if libc::fork() == 0 {
                libc::setsid();
                libc::alarm(60);
                if libc::fork() == 0 {
                    libc::alarm(60);
                    loop {
                        std::hint::spin_loop();
                    }
                }
            }
        }
        pause_for_ever();
    });
    let mut known = tree::Tree::new(child.0);
    let first_child = |pid: i32| -> Option<i32> {
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        children.ok()?.split_whitespace().next()?.parse().ok()
    };
    let middle = || first_child(child.0).filter(|&middle| first_child(middle).is_some());
    eventually("all are there", || middle().is_some());
    eventually("one spins", || known.look(10).runnable == 1);
    // SAFETY: a descendant of ours that pauses.
    unsafe { libc::kill(middle().unwrap(), libc::SIGKILL) };
    eventually("a look that knows nothing misses it", || {
        tree::runnable(child.0, 10).runnable == 0
    });
    assert_eq!(known.look(10).runnable, 1, "known by its session");
    let tree::Resident { all, anonymous } = known.resident();
    assert!(anonymous > 0);
    assert!(all > anonymous, "its program is a file");
    // Other tests' orphans have been killed already.
    for orphan in adopt::adopted() {
        // SAFETY: a descendant that only we may reap.
        unsafe { libc::kill(orphan, libc::SIGKILL) };
    }
    eventually("all are reaped", || {
        adopt::reap();
        adopt::adopted().is_empty()
    });
    assert!(other.wait().unwrap().success(), "its status was not taken");
}
