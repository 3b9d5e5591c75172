//! `cmwq top` on a real terminal, that of tmux. It looks at this very process, or at a `cmwq run`.

use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cmwq::Workqueue;

const CMWQ: &str = env!("CARGO_BIN_EXE_cmwq");

/// A tmux server of our own with one window, gone when dropped.
struct Terminal {
    socket: String,
    folder: tempfile::TempDir,
}

impl Terminal {
    /// With a shell that runs `script`. `None`, and a word about it, where there is no tmux.
    fn open(script: &str) -> Option<Terminal> {
        let folder = tempfile::tempdir().unwrap();
        let terminal = Terminal {
            socket: folder.path().join("tmux").display().to_string(),
            folder,
        };
        let home = terminal.folder.path().to_str().expect("text");
        if Command::new("tmux").arg("-V").output().is_err() {
            println!("skipped: no tmux");
            return None;
        }
        let start = [
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "120",
            "-y",
            "30",
        ];
        let started = terminal.tmux(&[&start[..], &["-c", home, "sh"]].concat());
        assert!(started.status.success(), "{started:?}");
        terminal.send(&["-l", script]);
        terminal.send(&["Enter"]);
        Some(terminal)
    }

    fn tmux(&self, args: &[&str]) -> Output {
        let mut tmux = Command::new("tmux");
        // Not that of somebody who runs the tests inside of one.
        tmux.env_remove("TMUX").env_remove("NO_COLOR");
        tmux.args(["-S", &self.socket]).args(args).output().unwrap()
    }

    fn send(&self, keys: &[&str]) {
        let sent = self.tmux(&[&["send-keys"], keys].concat());
        assert!(sent.status.success(), "{sent:?}");
    }

    /// The process that `top_of` started last.
    fn pid(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("pid")).expect("it is shown")
    }

    fn shown(&self) -> String {
        let shown = self.tmux(&["capture-pane", "-p"]);
        String::from_utf8_lossy(&shown.stdout).into_owned()
    }

    /// Waits for a minute until the screen is like this.
    fn comes_to_show(&self, what: &str, like: impl Fn(&str) -> bool) -> String {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let shown = self.shown();
            if like(&shown) {
                return shown;
            }
            assert!(Instant::now() < until, "never: {what}\n{shown}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits for the shell, and has it say how `top` ended and left the terminal.
    fn ends(&self, with: u8) -> String {
        self.comes_to_show("the shell", |shown| {
            !shown.contains(" CPUs, ") && !shown.trim().is_empty()
        });
        let ask = "echo status: $?; stty -a | cmp - before && echo terminal: as \"before\"";
        self.send(&["-l", ask]);
        self.send(&["Enter"]);
        let shown = self.shows("terminal: as before");
        assert!(shown.contains(&format!("status: {with}\n")), "{shown}");
        shown
    }

    fn shows(&self, text: &str) -> String {
        self.comes_to_show(text, |shown| shown.contains(text))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// What a shell does to run `top`.
fn top_of(pid: u32) -> String {
    format!("clear; stty -a >before; sh -c 'echo $$ >pid; exec \"$0\" top {pid} -i 0.1' '{CMWQ}'")
}

fn signal(pid: &str, name: &str) -> bool {
    let mut kill = Command::new("kill");
    kill.args(["-s", name, pid.trim()]).stderr(Stdio::null());
    kill.status().is_ok_and(|status| status.success())
}

/// The numbers of a queue: its line, by words.
fn line(shown: &str, queue: &str) -> Vec<String> {
    let line = shown
        .lines()
        .find(|line| line.starts_with(&format!("{queue} ")));
    let words = line.unwrap_or_default().split_whitespace();
    words.map(str::to_owned).collect()
}

/// MAX, ACT and WAIT.
fn limits(shown: &str, queue: &str) -> Option<[u64; 3]> {
    let words = line(shown, queue);
    let number = |at: usize| words.get(at)?.parse().ok();
    Some([number(2)?, number(3)?, number(5)?])
}

#[test]
fn a_starved_queue_is_seen_with_its_reason_and_seen_to_recover() {
    let builder = Workqueue::builder("thumbnails").max_active(1).sysfs();
    let queue = builder.build().unwrap();
    let ended = Arc::new(AtomicBool::new(false));
    let item = || {
        let ended = ended.clone();
        queue.spawn(move || {
            while !ended.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(20));
            }
        })
    };
    let items: Vec<_> = (0..6).map(|_| item()).collect();
    let end = || ended.store(true, Ordering::SeqCst);
    let Some(terminal) = Terminal::open(&top_of(std::process::id())) else {
        end();
        return items.into_iter().for_each(|item| item.join().unwrap());
    };
    let starves = |shown: &str| limits(shown, "thumbnails") == Some([1, 1, 5]);
    let shown = terminal.comes_to_show("one of six holds the slot", starves);
    // Which, why, and what holds the slot.
    let shown = match shown.contains("5 wait: all slots of max_active are taken") {
        true => shown,
        false => terminal.shows("5 wait: all slots of max_active are taken"),
    };
    assert!(shown.contains("-- QUEUE thumbnails:"), "{shown}");
    assert!(shown.contains("1 executed: screen::"), "{shown}");

    let me = std::process::id().to_string();
    let mut set = Command::new(CMWQ);
    let set = set
        .args(["set", &me, "thumbnails", "max_active=8"])
        .output();
    assert!(set.unwrap().status.success());
    let recovered = |shown: &str| limits(shown, "thumbnails") == Some([8, 6, 0]);
    terminal.comes_to_show("all six hold a slot", recovered);
    terminal.shows("nothing waits");
    end();
    items.into_iter().for_each(|item| item.join().unwrap());
    terminal.comes_to_show("all have ended", |shown| {
        limits(shown, "thumbnails") == Some([8, 0, 0])
    });

    // Other pages, another size, and out.
    terminal.send(&["?"]);
    terminal.shows("Of a queue:");
    terminal.send(&["q", "2"]);
    terminal.comes_to_show("pools", |shown| {
        shown.contains("BLOCKED") && !shown.contains("Of a queue:")
    });
    terminal.tmux(&["resize-window", "-x", "20", "-y", "5"]);
    terminal.comes_to_show("a small screen", |shown| {
        shown.contains("POOL") && shown.lines().count() <= 5
    });
    terminal.tmux(&["resize-window", "-x", "120", "-y", "30"]);
    terminal.send(&["1", "/", "("]);
    terminal.send(&["Enter"]);
    terminal.shows("no regular expression");
    terminal.send(&["Escape"]);
    terminal.shows("? help");
    terminal.send(&["q"]);
    let shown = terminal.ends(0);
    assert!(!shown.contains("QUEUE"), "the rows are gone: {shown}");
}

/// A `cmwq run` with two jobs that sleep, killed when dropped.
struct Run(Child);

impl Run {
    fn start() -> Run {
        let mut run = Command::new(CMWQ);
        run.args(["run", "-j", "2", "sleep", "{}", ":::", "1000", "1001"]);
        let streams = run.stdin(Stdio::null()).stdout(Stdio::null());
        Run(streams.stderr(Stdio::null()).spawn().unwrap())
    }

    /// Asks it to end, the second time with its jobs.
    fn terminate(&self) {
        signal(&self.0.id().to_string(), "TERM");
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        for _ in 0..3 {
            self.terminate();
            std::thread::sleep(Duration::from_millis(100));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn jobs_of_a_run_are_shown_and_its_end_is_said_on_a_restored_terminal() {
    let mut run = Run::start();
    let found = || {
        let mut top = Command::new(CMWQ);
        let top = top
            .args(["top", "--once", &run.0.id().to_string()])
            .output();
        top.is_ok_and(|top| String::from_utf8_lossy(&top.stdout).contains("sleep 1001"))
    };
    let until = Instant::now() + Duration::from_secs(60);
    while !found() {
        assert!(Instant::now() < until, "never: both jobs have begun");
        std::thread::sleep(Duration::from_millis(50));
    }
    let Some(terminal) = Terminal::open(&top_of(run.0.id())) else {
        return;
    };
    terminal.shows("QUEUE");
    terminal.send(&["5"]);
    terminal.comes_to_show("both jobs, and that they sleep", |shown| {
        shown.contains("sleep 1000") && shown.contains("sleep 1001") && shown.contains(") sleeps")
    });
    // Nobody waits for it yet: it stays as a zombie, which has ended as well.
    terminal.comes_to_show("the end", |shown| {
        run.terminate();
        shown.contains("has ended")
    });
    terminal.ends(1);
    run.0.wait().unwrap();
}

#[test]
fn signals_and_stops_leave_the_terminal_as_it_was() {
    let queue = Workqueue::builder("signalled").build().unwrap();
    queue.spawn(|| ()).join().unwrap();
    let me = std::process::id();
    for (name, status) in [("TERM", 143), ("INT", 130), ("HUP", 129)] {
        let Some(terminal) = Terminal::open(&top_of(me)) else {
            return;
        };
        terminal.shows("signalled");
        assert!(signal(&terminal.pid(), name));
        terminal.ends(status);
    }
    let Some(terminal) = Terminal::open(&top_of(me)) else {
        return;
    };
    terminal.shows("signalled");
    for stop in ["by a key", "by a signal"] {
        match stop {
            "by a key" => terminal.send(&["C-z"]),
            _ => assert!(signal(&terminal.pid(), "TSTP")),
        }
        // What a shell says of SIGTSTP.
        terminal.ends(128 + 20);
        terminal.send(&["-l", "clear; fg"]);
        terminal.send(&["Enter"]);
        terminal.shows("signalled");
    }
    terminal.send(&["C-c"]);
    terminal.ends(0);
}

#[test]
fn a_terminal_that_goes_away_ends_it_even_if_no_signal_does() {
    let queue = Workqueue::builder("left alone").build().unwrap();
    queue.spawn(|| ()).join().unwrap();
    for trap in ["", "trap '' HUP; "] {
        let Some(terminal) = Terminal::open(&format!("{trap}{}", top_of(std::process::id())))
        else {
            return;
        };
        terminal.shows("left alone");
        let top = format!("/proc/{}/stat", terminal.pid().trim());
        drop(terminal);
        let until = Instant::now() + Duration::from_secs(60);
        // Whoever is its parent now may not wait for it.
        let is_there = || std::fs::read_to_string(&top).is_ok_and(|stat| !stat.contains(") Z "));
        while is_there() {
            assert!(Instant::now() < until, "never: it has ended ({trap})");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn a_dumb_terminal_gets_plain_text() {
    let queue = Workqueue::builder("plainly").build().unwrap();
    queue.spawn(|| ()).join().unwrap();
    let Some(terminal) = Terminal::open(&format!(
        "TERM=dumb '{CMWQ}' top {} -i 60",
        std::process::id()
    )) else {
        return;
    };
    let shown = terminal.shows("POOL KIND");
    assert!(shown.contains("cmwq: process"), "{shown}");
    terminal.send(&["C-c"]);
}
