//! On a terminal, with a shell that does job control: Ctrl-C, Ctrl-Z, a terminal that goes away.

use crate::support::{Folder, heeding, number_in, signal, state, until, wait_for, wait_until};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

/// An interactive shell on a terminal of its own.
struct Terminal {
    /// Dropping it hangs up.
    master: Option<File>,
    shell: Child,
    seen: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    fn new() -> Self {
        let (mut master, mut slave) = (-1, -1);
        let null = std::ptr::null_mut();
        // SAFETY: both numbers are locals; the other arguments may be null.
        let opened =
            unsafe { libc::openpty(&mut master, &mut slave, null, null.cast(), null.cast()) };
        assert_eq!(opened, 0, "a pseudo terminal");
        // SAFETY: openpty has just made both, and nobody else has them.
        let (master, slave) = unsafe { (File::from_raw_fd(master), OwnedFd::from_raw_fd(slave)) };
        // Ctrl-C would throw away what was written and not read yet, which may be what we wait for.
        // SAFETY: all zeroes is a valid termios, and both calls get a local.
        unsafe {
            let mut settings = std::mem::zeroed();
            libc::tcgetattr(slave.as_raw_fd(), &mut settings);
            settings.c_lflag |= libc::NOFLSH;
            libc::tcsetattr(slave.as_raw_fd(), libc::TCSANOW, &settings);
        }
        // SAFETY: F_SETFD takes no pointer.
        unsafe { libc::fcntl(master.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) };
        let mut shell = heeding("sh");
        shell
            .arg("-i")
            .env("PS1", "")
            .env("TERM", "xterm")
            .env_remove("ENV");
        shell.env("CMWQ", env!("CARGO_BIN_EXE_cmwq"));
        let stream = || Stdio::from(slave.try_clone().unwrap());
        shell.stdin(stream()).stdout(stream()).stderr(stream());
        let own_terminal = || {
            // SAFETY: two system calls without pointers.
            unsafe {
                libc::setsid();
                libc::ioctl(0, libc::TIOCSCTTY, 0);
            }
            Ok(())
        };
        // SAFETY: only system calls, safe between fork and exec.
        unsafe { shell.pre_exec(own_terminal) };
        let shell = shell.spawn().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (mut reader, to) = (master.try_clone().unwrap(), Arc::clone(&seen));
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                to.lock().unwrap().extend_from_slice(&buffer[..count]);
            }
        });
        Self {
            master: Some(master),
            shell,
            seen,
        }
    }

    fn type_in(&mut self, text: &str) {
        self.master
            .as_mut()
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().unwrap()).into_owned()
    }

    fn wait_for(&self, text: &str) {
        wait_until(&format!("{text:?} on the terminal"), || {
            self.text().contains(text)
        });
    }

    /// Asks the shell for the exit status of what ran last.
    fn assert_status(&mut self, status: u32) {
        self.type_in("echo status=$?.\n");
        wait_until("a status", || self.text().matches("status=").count() > 1);
        self.wait_for(&format!("status={status}."));
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // The reader has a copy: hang up by the session's end.
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

/// Lines for a run of which each job is the shell's.
fn lines(folder: &Folder, jobs: &[&str]) -> String {
    let file = folder.write("jobs", jobs.join("\n"));
    format!("\"$CMWQ\" run --max-active 1 <'{file}'\n")
}

#[test]
fn first_ctrl_c_waits_for_the_jobs_and_starts_no_other() {
    let (folder, mut terminal) = (Folder::new(), Terminal::new());
    let (runs, go, late) = (
        folder.name("runs"),
        until(&folder.name("go")),
        folder.name("late"),
    );
    let first = format!("touch '{runs}'; {go}; echo end-of-job");
    terminal.type_in(&lines(&folder, &[&first, &format!("touch '{late}'")]));
    wait_for(&folder.path("runs"));
    terminal.type_in("\x03");
    terminal.wait_for("Ctrl-C again");
    folder.write("go", "");
    terminal.wait_for("end-of-job");
    terminal.assert_status(130);
    assert!(!folder.path("late").exists());
}

#[test]
fn second_ctrl_c_terminates_and_third_kills() {
    for deaf in [false, true] {
        let (folder, mut terminal) = (Folder::new(), Terminal::new());
        let trap = if deaf {
            "trap '' TERM;"
        } else {
            "trap 'echo to''ld; exit' TERM;"
        };
        let job = format!(
            "{trap} echo $$ >'{}'; while :; do sleep 0.01; done",
            folder.name("pid")
        );
        terminal.type_in(&lines(&folder, &[&job]));
        let pid = number_in(&folder.path("pid"));
        terminal.type_in("\x03");
        terminal.wait_for("Ctrl-C again terminates");
        terminal.type_in("\x03");
        if deaf {
            terminal.wait_for("terminating 1 running");
            terminal.type_in("\x03");
        } else {
            // It may be over before anything can be said about it.
            terminal.wait_for("told");
        }
        terminal.assert_status(130);
        assert!(matches!(state(pid), 'X' | 'Z'), "{}", state(pid));
    }
}

#[test]
fn ctrl_c_ends_it_where_nobody_takes_the_output() {
    let (folder, mut terminal) = (Folder::new(), Terminal::new());
    let job = format!("touch '{}'; head -c 300000 /dev/zero", folder.name("runs"));
    let (jobs, go) = (folder.write("jobs", job), until(&folder.name("go")));
    // The reader is in the same process group; it heeds no Ctrl-C.
    let reads = folder.name("reads");
    let reader = format!("(trap '' INT; touch '{reads}'; {go}; exit 7)");
    terminal.type_in(&format!("\"$CMWQ\" run <'{jobs}' | {reader}\n"));
    wait_for(&folder.path("reads"));
    wait_for(&folder.path("runs"));
    let run = terminal.foreground();
    let ended = || matches!(state(run), 'X' | 'Z');
    wait_until("Ctrl-C ends it", || {
        terminal.type_in("\x03");
        std::thread::sleep(std::time::Duration::from_millis(200));
        ended()
    });
    folder.write("go", "");
    terminal.assert_status(7);
}

#[test]
fn ctrl_z_stops_the_jobs_and_fg_continues_them() {
    let (folder, mut terminal) = (Folder::new(), Terminal::new());
    let job = format!(
        "echo $$ >'{}'; {}",
        folder.name("pid"),
        until(&folder.name("go"))
    );
    let run = lines(&folder, &[&job]).replace("run ", "run --timeout 60 --progress ");
    terminal.type_in(&run);
    let pid = number_in(&folder.path("pid"));
    terminal.wait_for("1 running");
    for _ in 0..2 {
        terminal.type_in("\x1a");
        wait_until("the job is stopped", || is_stopped(pid));
        terminal.type_in("fg\n");
        wait_until("the job goes on", || !is_stopped(pid));
    }
    folder.write("go", "");
    terminal.assert_status(0);
}

#[test]
fn terminal_that_goes_away_hangs_up_on_the_jobs() {
    let (folder, mut terminal) = (Folder::new(), Terminal::new());
    let (pid, hung_up) = (folder.name("pid"), folder.name("hung up"));
    let job = format!(
        "trap 'touch \"{hung_up}\"; exit' HUP; echo $$ >'{pid}'; while :; do sleep 0.01; done"
    );
    terminal.type_in(&lines(&folder, &[&job]));
    let pid = number_in(&folder.path("pid"));
    // What the kernel does when the last master is closed.
    let foreground = terminal.foreground();
    signal(foreground, libc::SIGHUP);
    wait_for(&folder.path("hung up"));
    wait_until("the job has ended", || matches!(state(pid), 'X' | 'Z'));
    terminal.assert_status(129);
}

#[test]
fn on_a_narrow_terminal_the_bar_goes_and_the_numbers_stay() {
    let (folder, mut terminal) = (Folder::new(), Terminal::new());
    terminal.resize(40);
    let jobs = lines(&folder, &["exit 3", &until(&folder.name("go"))]);
    terminal.type_in(&jobs.replace("run ", "run --progress "));
    terminal.wait_for("1/2, 1 running, 1 failed, ETA ");
    assert!(!terminal.text().contains("[###"), "{}", terminal.text());
    terminal.resize(100);
    terminal.wait_for("[##########          ] 1/2, ");
    folder.write("go", "");
    terminal.assert_status(123);
}

#[test]
fn on_a_terminal_it_is_said_that_dash_j_is_an_upper_limit() {
    let mut terminal = Terminal::new();
    terminal.type_in("printf 'a\\nb\\n' | \"$CMWQ\" run -j4 echo\n");
    terminal.wait_for("-j 4 is taken as --max-active 4");
    terminal.assert_status(0);
    assert_eq!(terminal.text().matches("--max-active 4").count(), 1);
}

#[test]
fn on_a_terminal_who_writes_as_for_parallel_is_told_how_tries_are_counted() {
    for (options, is_told) in [
        ("-j2 --retries 3 true ::: a", true),
        ("-q --retries 3 true ::: a", true),
        ("--retries 3 true ::: a", false),
        ("--gnu --retries 3 true ::: a", false),
        ("-j2 --retries 0 true ::: a", false),
    ] {
        let mut terminal = Terminal::new();
        terminal.type_in(&format!("\"$CMWQ\" run {options}\n"));
        terminal.assert_status(0);
        let told = "--retries 3 are further attempts, 4 in all";
        let text = terminal.text();
        assert_eq!(text.contains(told), is_told, "{options}: {text}");
    }
}

impl Terminal {
    fn resize(&self, columns: u16) {
        let size = libc::winsize {
            ws_row: 24,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let master = self.master.as_ref().unwrap();
        // SAFETY: the kernel reads one `winsize`.
        unsafe { libc::ioctl(master.as_raw_fd(), libc::TIOCSWINSZ, &size) };
    }

    /// The leader of the process group in the foreground.
    fn foreground(&self) -> u32 {
        let master = self.master.as_ref().unwrap();
        // SAFETY: takes no pointer.
        unsafe { libc::tcgetpgrp(master.as_raw_fd()) }
            .try_into()
            .unwrap()
    }
}

/// Whether a process is stopped. A shell that was just starting a command sleeps in vfork(2) until
/// that, which is stopped, has become it.
fn is_stopped(pid: u32) -> bool {
    match state(pid) {
        'T' => true,
        'D' => descendants(pid).iter().any(|child| state(*child) == 'T'),
        _ => false,
    }
}

/// All descendants of a process but the helper that its canaries live in, which is no job's.
fn descendants(pid: u32) -> Vec<u32> {
    let mut all = vec![pid];
    let mut at = 0;
    while let Some(&pid) = all.get(at) {
        at += 1;
        let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else {
            continue;
        };
        for task in tasks.flatten() {
            let children = std::fs::read_to_string(task.path().join("children"));
            let children = children.unwrap_or_default();
            all.extend(
                children
                    .split_whitespace()
                    .filter_map(|child| child.parse::<u32>().ok())
                    .filter(|child| {
                        let name = std::fs::read_to_string(format!("/proc/{child}/comm"));
                        name.unwrap_or_default().trim() != "cmwq/canary"
                    }),
            );
        }
    }
    all.split_off(1)
}

#[test]
fn no_job_runs_on_while_the_run_is_stopped() {
    let mut run = crate::support::command(&["sleep"]);
    // Not an orphaned process group, which SIGTSTP does not stop: we are its parent.
    run.process_group(0);
    let mut child = crate::support::start(&mut run);
    let mut stdin = child.stdin.take().unwrap();
    let feeding =
        std::thread::spawn(move || drop(stdin.write_all("0.003\n".repeat(4000).as_bytes())));
    let mut seen = 0;
    for round in 0..30 {
        signal(child.id(), libc::SIGTSTP);
        wait_until("it is stopped", || state(child.id()) == 'T');
        // A job that ended just before is a zombie.
        let running = |pid: &u32| !matches!(state(*pid), 'T' | 'Z' | 'X');
        let jobs = descendants(child.id());
        let stopping = || !jobs.iter().any(running);
        wait_until("all jobs are stopped", stopping);
        let now = descendants(child.id());
        assert!(!now.iter().any(running), "round {round}");
        seen += now.len();
        signal(child.id(), libc::SIGCONT);
        std::thread::sleep(std::time::Duration::from_millis(7));
    }
    assert!(seen > 0, "no job ran");
    let ran = crate::support::finish(child);
    feeding.join().unwrap();
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

#[test]
fn somebody_at_a_terminal_is_told_which_jobs_failed() {
    let (folder, mut terminal) = (Folder::new(), Terminal::new());
    let file = folder.write("list", "1\n0\n3\n");
    let run = format!("\"$CMWQ\" run -k sh -c 'exit $0' <'{file}'\n");
    terminal.type_in(&run);
    terminal.wait_for("2 of 3 jobs failed:");
    terminal.assert_status(123);
    for line in [
        "job 1 (1): exited with status 1",
        "job 3 (3): exited with status 3",
    ] {
        assert!(terminal.text().contains(line), "{}", terminal.text());
    }
}

#[test]
fn who_is_to_type_the_lines_is_told_so() {
    let mut terminal = Terminal::new();
    terminal.type_in("\"$CMWQ\" run echo got\n");
    terminal.wait_for("lines are read from the terminal");
    terminal.type_in("x\n\x04");
    terminal.wait_for("got x");
    terminal.assert_status(0);
}
