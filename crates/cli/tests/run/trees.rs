//! A job is a process tree: what its members do beside it and after it.

use crate::support::{
    Folder, command, feed, finish, give, number_in, numbers, run, signal, start, state, until,
    wait_for, wait_until,
};
use std::process::{Child, Command};

/// Looks a bounded number of times, so that a failure ends.
const LOOKS: &str = "n=0; look() { n=$((n+1)); [ $n -lt 1000 ] || exit 9; sleep 0.01; }";

#[test]
fn a_daemon_neither_holds_the_slot_nor_dies_with_us() {
    let folder = Folder::new();
    let (go, done) = (folder.name("go"), folder.name("done"));
    // It holds the job's output open as well.
    let daemon = format!("{}; touch '{done}'", until(&go)).replace('$', "\\$");
    let job = format!("setsid sh -c \"{daemon}\" & echo started");
    let ran = run(&["--max-active", "1", "sh", "-c", &job], "1\n2\n");
    assert_eq!(
        (ran.code, ran.text().as_str()),
        (Some(0), "started\nstarted\n")
    );
    assert!(!folder.path("done").exists());
    folder.write("go", "");
    wait_for(&folder.path("done"));
}

#[test]
fn orphans_are_ours_and_are_reaped() {
    let folder = Folder::new();
    let orphan = folder.name("orphan");
    // The job's parent is the command, whose main thread is given the orphans.
    let given = "cat /proc/$PPID/task/$PPID/children";
    let job = format!(
        "{LOOKS}
        (setsid sleep 1000 & echo $! >'{orphan}')
        read -r pid <'{orphan}'
        until {given} | grep -qw $pid; do look; done
        kill $pid
        while {given} | grep -qw $pid; do look; done
        echo reaped"
    );
    let ran = run(&["sh", "-c", &job], "1\n");
    assert_eq!(
        (ran.code, ran.text().as_str()),
        (Some(0), "reaped\n"),
        "{}",
        ran.err
    );
}

#[test]
fn a_job_that_stops_itself_keeps_no_other_from_running() {
    let folder = Folder::new();
    let stopped = folder.name("stopped");
    let job = format!(
        "{LOOKS}
        case $1 in
        1) echo $$ >'{stopped}'; kill -STOP $$ ;;
        60) until [ -s '{stopped}' ]; do look; done
            read -r pid <'{stopped}'
            until grep -q 'State:.T' /proc/$pid/status; do look; done
            kill -CONT $pid ;;
        esac"
    );
    let ran = run(&["--summary", "json", "sh", "-c", &job, "sh"], numbers(60));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.summary()["jobs"], 60);
}

#[test]
fn a_make_with_many_children_runs_beside_other_jobs() {
    let folder = Folder::new();
    let all: Vec<String> = (0..32).map(|n| format!("t{n}")).collect();
    let rule = "\t@i=0; while [ $$i -lt 20000 ]; do i=$$((i+1)); done; echo $@";
    folder.write(
        "Makefile",
        format!("all: {0}\n{0}:\n{rule}\n", all.join(" ")),
    );
    let Ok(version) = Command::new("make").arg("--version").output() else {
        return eprintln!("no make here: not tested");
    };
    assert!(version.status.success());
    let job = format!(
        "if [ $1 = 1 ]; then make -s -j8 -C '{}' all; else sleep 0.05; fi",
        folder.name("")
    );
    let mut cmwq = command(&["--summary", "json", "sh", "-c", &job, "sh"]);
    let ran = feed(cmwq.env_remove("MAKEFLAGS"), numbers(20));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let mut made = ran.sorted_lines();
    made.dedup();
    assert_eq!((made.len(), ran.summary()["jobs"].as_u64()), (32, Some(20)));
}

/// Says so in `log` if the process that the attempt before has written down is alive.
fn with_witness(folder: &Folder, child: &str) -> String {
    let (pid, log) = (folder.name("pid"), folder.name("log"));
    let alive = format!("grep -q 'State:.[RSD]' /proc/$(cat '{pid}')/status 2>/dev/null");
    let child = child.replace("PID", &format!("'{pid}'"));
    format!("{alive} && echo both >>'{log}'; echo tried >>'{log}'; rm -f '{pid}'; {child}")
}

#[test]
fn no_attempt_begins_beside_what_the_one_before_has_left() {
    let waits = "until [ -s PID ]; do sleep 0.01; done";
    for child in [
        // It does not heed the signal that its parent ends of.
        "sh -c 'trap \"\" TERM; echo $$ >\"$1\"; exec sleep 1000' sh PID; :".to_owned(),
        // It is in a session of its own.
        "setsid -w sh -c 'echo $$ >\"$1\"; exec sleep 1000' sh PID".to_owned(),
        // Its parent fails before its time.
        format!("(setsid sh -c 'echo $$ >\"$1\"; exec sleep 1000' sh PID &); {waits}; exit 3"),
    ] {
        let folder = Folder::new();
        let job = with_witness(&folder, &child);
        let args = ["--quiet", "--timeout", "2", "--retries", "1", "sh", "-c"];
        let ran = run(&[&args[..], &[&job]].concat(), "x\n");
        assert_eq!(ran.code, Some(123), "{}", ran.err);
        let log = std::fs::read_to_string(folder.path("log")).unwrap();
        assert_eq!(log, "tried\ntried\n", "{child}");
        end_last(&folder);
    }
}

#[test]
fn a_job_that_has_timed_out_leaves_nothing() {
    let folder = Folder::new();
    let child = "setsid -w sh -c 'echo $$ >\"$1\"; exec sleep 1000' sh PID";
    let job = with_witness(&folder, child);
    let ran = run(&["--quiet", "--timeout", "1", "sh", "-c", &job], "x\n");
    assert_eq!(ran.code, Some(123), "{}", ran.err);
    if let Some(last) = last_child(&folder) {
        assert!(is_gone(last), "{}", state(last));
    }
}

/// Children of a job in sessions of their own, which write down who they are.
const RUNAWAYS: [&str; 3] = [
    "setsid -w sh -c 'echo $$ >\"$1\"; exec sleep 1000' sh PID",
    // Its parent and that one's do not wait for it.
    "(setsid sh -c 'sh -c \"echo \\$\\$ >$1; exec sleep 1000\" &' sh PID &); exec sleep 1000",
    // It knows nothing of the job, and has moved into a group of its own.
    "set -m; env -i sh -c 'echo $$ >\"$1\"; exec sleep 1000' sh PID & exec sleep 1000",
];

/// How a run of two jobs, of which the second waits for the file "go", can be ended.
const ENDS: [(&str, &[i32]); 6] = [
    ("now", &[]),
    ("never", &[libc::SIGTERM]),
    ("never", &[libc::SIGHUP]),
    ("never", &[libc::SIGQUIT]),
    ("never", &[libc::SIGINT, libc::SIGINT]),
    ("never", &[libc::SIGINT, libc::SIGINT, libc::SIGINT]),
];

fn end(child: &mut Child, folder: &Folder, signals: &[i32]) {
    if signals.is_empty() {
        folder.write("go", "");
    }
    for &number in signals {
        signal(child.id(), number);
        // Two of a kind at once would be one.
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}

#[test]
fn whatever_ends_a_run_ends_the_trees_of_its_jobs() {
    for (at, (halt, signals)) in ENDS.into_iter().enumerate() {
        let (folder, runaway) = (Folder::new(), RUNAWAYS[at % RUNAWAYS.len()]);
        let pid = folder.name("pid");
        let runaway = runaway.replace("PID", &format!("'{pid}'"));
        let failure = format!("{}; exit 1", until(&folder.name("go")));
        let mut child = start(&mut command(&["--halt", halt]));
        give(&mut child, &format!("{runaway}\n{failure}\n"));
        let last = number_in(&folder.path("pid"));
        end(&mut child, &folder, signals);
        let ran = finish(child);
        let expected = match signals {
            [] => (Some(123), None),
            [first, ..] => (None, Some(*first)),
        };
        assert_eq!((ran.code, ran.signal), expected, "{}", ran.err);
        assert!(is_gone(last), "{signals:?}: {runaway}");
    }
}

#[test]
fn what_does_not_heed_the_end_of_a_run_is_killed() {
    let folder = Folder::new();
    let pid = folder.name("pid");
    let deaf = format!("setsid -w sh -c 'trap \"\" TERM; echo $$ >{pid}; exec sleep 1000'");
    let mut child = start(&mut command::<&str>(&[]));
    give(&mut child, &format!("{deaf}\n"));
    let last = number_in(&folder.path("pid"));
    signal(child.id(), libc::SIGTERM);
    assert_eq!(finish(child).signal, Some(libc::SIGTERM));
    assert!(is_gone(last));
}

#[test]
fn what_is_to_outlive_the_terminal_does() {
    let folder = Folder::new();
    let pid = folder.name("pid");
    let deaf =
        format!("(trap '' HUP; setsid sh -c 'echo $$ >{pid}; exec sleep 1000' &); exec sleep 1000");
    let mut child = start(&mut command::<&str>(&[]));
    give(&mut child, &format!("{deaf}\n"));
    let last = number_in(&folder.path("pid"));
    signal(child.id(), libc::SIGHUP);
    assert_eq!(finish(child).signal, Some(libc::SIGHUP));
    assert!(!is_gone(last));
    end_last(&folder);
}

#[test]
fn a_run_that_was_told_to_end_while_a_job_is_cleared_away_ends_that_too() {
    let folder = Folder::new();
    let (pid, leader) = (folder.name("pid"), folder.name("leader"));
    let deaf = format!("setsid sh -c 'trap \"\" TERM; echo $$ >{pid}; exec sleep 1000' &");
    let job =
        format!("({deaf}); until [ -s {pid} ]; do sleep 0.01; done; echo $$ >{leader}; exit 3");
    let mut child = start(&mut command(&["--retries", "1"]));
    give(&mut child, &format!("{job}\n"));
    let (last, leader) = (
        number_in(&folder.path("pid")),
        number_in(&folder.path("leader")),
    );
    // The first attempt has failed: the second one waits for what is left.
    wait_until("the job has ended", || state(leader) == 'Z');
    signal(child.id(), libc::SIGINT);
    let ran = finish(child);
    assert_eq!(ran.signal, Some(libc::SIGINT), "{}", ran.err);
    assert!(is_gone(last));
}

/// Whether it has ended.
fn is_gone(pid: u32) -> bool {
    matches!(state(pid), 'X' | 'Z')
}

/// What the last attempt has left is its own business, and not that of the machine.
fn end_last(folder: &Folder) {
    if let Some(last) = last_child(folder) {
        // SAFETY: kill takes no pointer.
        unsafe { libc::kill(last as i32, libc::SIGKILL) };
    }
}

/// `None` where the machine was so busy that the attempt was over before it had written it down.
fn last_child(folder: &Folder) -> Option<u32> {
    let text = std::fs::read_to_string(folder.path("pid")).ok()?;
    text.trim().parse().ok()
}
