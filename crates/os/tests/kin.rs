//! Orphans of this process: who of them is signalled, and how often they are read.

#![cfg(not(miri))]

mod common;

use std::fs;
use std::process::{Child as Process, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cmwq_os::observe::tree::{Tree, one_look};
use cmwq_os::{adopt, kin, session};

use common::eventually;

/// All tests of this process have the same orphans.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(adopt::begin());
    alone
}

/// `count` sleepers, each below a shell that leads a session of its own and was given to us.
struct Orphans {
    shells: Vec<i32>,
}

impl Orphans {
    fn new(count: usize) -> Self {
        let shell = "(setsid sh -c 'sleep 1000 & wait' >/dev/null 2>&1 & echo $!)";
        let one = || {
            let output = Command::new("sh").args(["-c", shell]).output();
            let text = String::from_utf8(output.unwrap().stdout).unwrap();
            text.trim().parse().unwrap()
        };
        let all = Orphans {
            shells: (0..count).map(|_| one()).collect(),
        };
        eventually("all are ours and have a sleeper", || {
            let adopted = adopt::adopted();
            let is_there = |pid: &i32| adopted.contains(pid) && !children(*pid).is_empty();
            all.shells.iter().all(is_there)
        });
        all
    }
}

impl Drop for Orphans {
    fn drop(&mut self) {
        let mine = session::session();
        // What a test has left alone; the sleepers are given to us then.
        eventually("all are reaped", || {
            kin::end(libc::SIGKILL, |stat| stat.pgrp != mine, |_| true);
            adopt::reap();
            adopt::adopted().is_empty()
        });
    }
}

fn children(pid: i32) -> Vec<i32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let text = text.unwrap_or_default();
    text.split_whitespace()
        .map(|word| word.parse().unwrap())
        .collect()
}

fn is_alive(pid: i32) -> bool {
    let stat = fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    let end = stat.iter().rposition(|&byte| byte == b')');
    end.is_some_and(|end| !matches!(stat[end + 2], b'Z' | b'X'))
}

/// A child of this thread, which is none of the orphans.
struct Bystander(Process);

impl Bystander {
    fn new() -> Self {
        Self(Command::new("sleep").arg("1000").spawn().unwrap())
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        self.0.kill().and_then(|()| self.0.wait()).unwrap();
    }
}

#[test]
fn whoever_is_meant_ends_with_all_below_and_nobody_else() {
    let _alone = alone();
    let (all, bystander) = (Orphans::new(2), Bystander::new());
    let [meant, other] = all.shells[..] else {
        panic!("two")
    };
    let (sleeper, others) = (children(meant)[0], children(other)[0]);
    let mut told = Vec::new();
    let first = kin::end(
        libc::SIGTERM,
        |stat| stat.pid == meant,
        |stat| {
            told.push(stat.pid);
            true
        },
    );
    assert_eq!(first, Some(meant));
    told.sort_unstable();
    let mut both = vec![meant, sleeper];
    both.sort_unstable();
    assert_eq!(told, both);
    eventually("both have ended", || !is_alive(meant) && !is_alive(sleeper));
    let all_others = [other, others, bystander.0.id() as i32];
    assert!(all_others.iter().all(|&pid| is_alive(pid)));
    assert_eq!(
        kin::end(libc::SIGTERM, |stat| stat.pid == meant, |_| true),
        None,
        "who has ended is nobody"
    );
}

#[test]
fn who_is_no_news_is_left_alone_but_known() {
    let _alone = alone();
    let all = Orphans::new(1);
    let found = kin::end(libc::SIGKILL, |stat| stat.pid == all.shells[0], |_| false);
    assert_eq!(found, Some(all.shells[0]));
    assert!(is_alive(all.shells[0]));
}

#[test]
fn a_stopped_one_is_let_go_to_end() {
    let _alone = alone();
    let all = Orphans::new(1);
    let shell = all.shells[0];
    // SAFETY: an orphan of ours that nobody reaps.
    unsafe { libc::kill(shell, libc::SIGSTOP) };
    kin::end(libc::SIGTERM, |stat| stat.pid == shell, |_| true);
    eventually("it has ended", || !is_alive(shell));
}

#[test]
fn nobody_is_reaped_while_somebody_needs_the_numbers() {
    let _alone = alone();
    let all = Orphans::new(1);
    let shell = all.shells[0];
    adopt::with_none_reaped(|adopted| {
        assert!(adopted.contains(&shell));
        // SAFETY: an orphan of ours that nobody reaps.
        unsafe { libc::kill(shell, libc::SIGKILL) };
        eventually("it has ended", || !is_alive(shell));
        let reaper = std::thread::spawn(adopt::reap);
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(!reaper.is_finished());
        assert!(adopt::adopted().contains(&shell), "its number is its own");
    });
}

/// System calls of this thread that read; `None` where nobody counts them.
fn reads() -> Option<u64> {
    let text = fs::read_to_string("/proc/thread-self/io").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("syscr: "))?;
    line.parse().ok()
}

#[test]
fn trees_that_are_looked_at_together_read_the_orphans_once() {
    let _alone = alone();
    let (_orphans, child) = (Orphans::new(16), Bystander::new());
    let leader = child.0.id() as i32;
    let mut trees: Vec<Tree> = (0..16).map(|_| Tree::new(leader)).collect();
    let mut look = || {
        trees.iter_mut().for_each(|tree| {
            assert!(tree.look(2).seen);
        });
    };
    let counted = |look: &mut dyn FnMut()| {
        let before = reads()?;
        look();
        Some(reads()? - before)
    };
    let Some(apart) = counted(&mut look) else {
        return eprintln!("not tested: nobody counts reads here");
    };
    let together = counted(&mut || one_look(&mut look)).unwrap();
    let again = counted(&mut || one_look(|| one_look(&mut look))).unwrap();
    assert_eq!(together, again);
    // 16 trees apart read 16 orphans each.
    assert!(apart > 16 * 16, "{apart}");
    assert!(together < apart / 3, "{together} of {apart}");
}
