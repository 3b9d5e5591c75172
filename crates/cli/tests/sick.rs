//! Whoever looks at a slow service finds the reason in the words of `top`, `dump` or `explain`. The
//! services are in `rigs/sick.rs`.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

struct Service(Child);

impl Service {
    fn start(kind: &str) -> Service {
        Service::spawn(&mut Command::new(rig()), kind)
    }

    fn spawn(command: &mut Command, kind: &str) -> Service {
        let command = command.arg(kind).stdin(Stdio::piped());
        Service(
            command
                .spawn()
                .expect("it starts: `cargo build -p cmwq-cli --example sick` makes it"),
        )
    }

    /// What the command says of it.
    fn shown(&self, args: &[&str]) -> String {
        let pid = self.0.id().to_string();
        let (verb, rest) = args.split_first().expect("a command");
        let mut command = Command::new(env!("CARGO_BIN_EXE_cmwq"));
        let output = command.arg(verb).arg(pid).args(rest).output();
        String::from_utf8(output.expect("the command starts").stdout).expect("text")
    }

    /// Looks until one look has all of these words.
    fn says(&self, args: &[&str], words: &[&str]) {
        let until = Instant::now() + Duration::from_secs(100);
        loop {
            let shown = self.shown(args);
            if words.iter().all(|words| shown.contains(words)) {
                return;
            }
            assert!(Instant::now() < until, "not {words:?} in {shown}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Beside the command: cargo builds both for these tests.
fn rig() -> PathBuf {
    let command = Path::new(env!("CARGO_BIN_EXE_cmwq"));
    command.with_file_name("examples").join("sick")
}

#[test]
fn a_limit_that_is_too_low() {
    let service = Service::start("a");
    let words = [
        "wait: all slots of max_active are taken",
        "1 executed: sick::send_mail",
    ];
    service.says(&["top", "--once"], &words);
    service.says(&["explain", "mail"], &["1 of 1 slots taken"]);
    // The remedy that the page names.
    let set = service.shown(&["set", "mail", "max_active=100"]);
    assert_eq!(set, "");
    service.says(&["set", "mail"], &["max_active=100"]);
    service.says(&["explain", "mail"], &[" 0 wait"]);
}

#[test]
fn a_lock_that_all_items_take() {
    let service = Service::start("b");
    let words = [
        "executes sick::enter_order",
        "others at the same futex",
        " more in the same place, for ",
    ];
    service.says(&["dump"], &words);
    service.says(&["dump", "--all"], &words[..2]);
}

#[test]
fn an_item_that_keeps_its_cpu() {
    let service = Service::start("c");
    let words = ["wait: ", "executed: sick::rebuild_table, for "];
    service.says(&["top", "--once"], &words);
    // It is counted against its queue.
    let counted = |shown: &str| {
        let line = shown.lines().find(|line| line.starts_with("packets"));
        let columns: Vec<&str> = line.unwrap_or_default().split_whitespace().collect();
        columns.get(8).is_some_and(|hogs| *hogs != "0")
    };
    let until = Instant::now() + Duration::from_secs(100);
    while !counted(&service.shown(&["top", "--once"])) {
        assert!(Instant::now() < until, "no CPU hog is counted");
    }
}

/// The CPU is free at this moment, and the reason of the long waits is not seen any more.
#[test]
fn an_item_that_has_just_let_its_cpu_go() {
    let service = Service::start("c");
    let until = Instant::now() + Duration::from_secs(100);
    let told = |shown: &str, what: &str| {
        let executed = shown.contains("executed: sick::rebuild_table");
        !executed
            && shown
                .lines()
                .any(|line| line.contains(what) && line.contains("rebuild_table"))
    };
    for (args, what) in [
        (&["explain", "packets"][..], " % of a CPU: "),
        (&["top", "--once"], "% "),
    ] {
        while !told(&service.shown(args), what) {
            assert!(Instant::now() < until, "{args:?} does not name it");
            std::thread::sleep(Duration::from_millis(30));
        }
    }
}

#[test]
fn items_that_wait_for_one_another() {
    let service = Service::start("d");
    let words = [
        "executes sick::invoices",
        "waits for sick::write_invoice",
        "waits for sick::fetch_price",
        "wait: all slots of max_active are taken",
    ];
    service.says(&["dump"], &words);
}

#[test]
fn a_slow_item_of_an_ordered_queue() {
    let service = Service::start("f");
    let words = [
        "wait: the queue is ordered: one item at a time",
        "1 executed: sick::compact, for ",
    ];
    service.says(&["top", "--once"], &words);
}

#[test]
fn a_queue_that_nobody_thaws() {
    let service = Service::start("g");
    let words = ["wait: the queue is frozen: nothing begins until it is thawed"];
    service.says(&["top", "--once"], &words);
    service.says(&["explain", "backups"], &words);
}

#[test]
fn threads_that_cannot_be_made() {
    let service = Service::start("h");
    let words = [
        "wait: a worker is on its way, or is being made, or cannot be made",
        "threads could not be made so far, the last one: Resource temporarily unavailable",
    ];
    service.says(&["top", "--once"], &words);
    // Who helps in the meantime.
    let rescued = |shown: &str| {
        let line = shown.lines().find(|line| line.starts_with("uploads"));
        let columns: Vec<&str> = line.unwrap_or_default().split_whitespace().collect();
        columns.get(11).is_some_and(|rescued| *rescued != "0")
    };
    let until = Instant::now() + Duration::from_secs(100);
    while !rescued(&service.shown(&["top", "--once"])) {
        assert!(Instant::now() < until, "the rescuer is not seen");
    }
}

#[test]
fn a_cpu_that_another_process_has() {
    if Command::new("taskset").arg("--version").output().is_err() {
        eprintln!("left out: there is no taskset");
        return;
    }
    let service = Service::start("i");
    let words = [
        "too little of CPUs 0 for ",
        " of its workers at nice 19, as others run there",
    ];
    service.says(&["explain", "thumbnails"], &words);
    service.says(
        &["dump"],
        &["executes sick::scale_picture", "waited for a CPU for "],
    );
}

#[test]
fn items_that_flush_a_queue_with_a_slow_item() {
    let service = Service::start("j");
    let words = ["executed wait for items of queue \"log\", begun "];
    service.says(&["top", "--once"], &words);
    let words = ["executes sick::rotate_log of queue \"log\" for "];
    service.says(&["dump"], &words);
}

/// A cgroup of our own, where that may be made.
struct Group(PathBuf);

impl Group {
    fn with_half_a_cpu() -> Option<Group> {
        let name = format!("cmwq-sick-{}", std::process::id());
        let first = [
            ("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "50000"),
            ("/sys/fs/cgroup", "cpu.max", "50000 100000"),
        ];
        first.into_iter().find_map(|(root, file, quota)| {
            let group = Group(Path::new(root).join(&name));
            std::fs::create_dir(&group.0).ok()?;
            std::fs::write(group.0.join(file), quota).ok()?;
            Some(group)
        })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Its last process may not be quite gone.
        for _ in 0..100 {
            if std::fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn a_quota() {
    let Some(group) = Group::with_half_a_cpu() else {
        eprintln!("left out: no cgroup with a CPU quota can be made here");
        return;
    };
    let enter = format!(
        "echo $$ > '{}/cgroup.procs'; exec '{}' \"$@\"",
        group.0.display(),
        rig().display()
    );
    let service = Service::spawn(Command::new("sh").args(["-c", &enter, "sh"]), "e");
    let words = [
        "as a cgroup's quota is 0.500 CPUs",
        "wait: as many workers run as the CPUs serve",
    ];
    service.says(&["top", "--once"], &words);
    drop(service);
}
