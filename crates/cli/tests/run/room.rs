//! Where there is no room for output: readers that are slow, leave, or have a full disk.

use crate::joblog::SmallDisk;
use crate::support::{
    Folder, command, feed, finish, give, is_root, run, shell, start, until, wait_until,
};
use std::io::Write;
use std::process::Command;
use std::time::Duration;

#[test]
fn head_ends_the_run() {
    let ran = shell("yes | \"$0\" run echo | head -1; echo ${PIPESTATUS:-end}");
    assert_eq!(ran.lines(), ["y", "end"]);
    assert_eq!(ran.err, "", "whoever closed the pipe knows");
    let lines =
        "seq 100000 | \"$0\" run --dry-run echo | head -1; \"$0\" man run | head -1 | wc -l";
    let ran = shell(lines);
    assert_eq!((ran.lines().len(), ran.err.as_str()), (2, ""));
}

#[test]
fn no_job_starts_while_nobody_reads() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("made")).unwrap();
    let made = || std::fs::read_dir(folder.path("made")).unwrap().count();
    // Many have ended when the large one does, so that many might run.
    let quick = "exit 0\n".repeat(400);
    let large = "head -c 300000 /dev/zero\n";
    let late: String = (0..400)
        .map(|job| format!("touch '{}/{job}'\n", folder.name("made")))
        .collect();
    let mut child = start(&mut command(&["--summary", "json"]));
    let mut stdin = child.stdin.take().unwrap();
    stdin
        .write_all(format!("{quick}{large}").as_bytes())
        .unwrap();
    let output = child.stdout.as_ref().unwrap();
    wait_until("our output is full", || {
        rustix::io::ioctl_fionread(output).unwrap() >= 60_000
    });
    // As many as the quick ones have needed: on a busy machine those take long.
    let threads = || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", child.id()));
        tasks.unwrap().count()
    };
    let threads_before = threads();
    stdin.write_all(late.as_bytes()).unwrap();
    drop(stdin);
    // A job that was just being started goes on.
    let mut before = usize::MAX;
    wait_until("nothing more starts", || {
        std::thread::sleep(Duration::from_millis(300));
        let now = made();
        std::mem::replace(&mut before, now) == now
    });
    assert!(
        before < 20,
        "{before} of 400 jobs were run while nobody read"
    );
    // Those that may not begin wait without a thread each.
    let more = threads().saturating_sub(threads_before);
    assert!(more < 100, "{more} threads more than {threads_before}");
    let ran = finish(child);
    assert_eq!((ran.code, ran.out.len(), made()), (Some(0), 300_000, 400));
    assert_eq!(ran.summary()["jobs"], 801);
}

#[test]
fn slow_reader_gets_everything() {
    let ran = shell("seq 300 | \"$0\" run -k sh -c 'seq {} 5000' | (sleep 1; cksum)");
    let directly = shell("for i in $(seq 300); do seq $i 5000; done | cksum");
    assert_eq!((ran.text(), ran.err), (directly.text(), String::new()));
}

#[test]
fn full_disk_for_held_output_names_the_job_which_is_run_again_by_resume() {
    let Some(disk) = SmallDisk::new("fill a disk") else {
        return;
    };
    let log = disk.folder.name("log");
    let job = "head -c {} /dev/zero | tr '\\0' x";
    let mut command = command(&["--max-active", "1", "--joblog", &log, "sh", "-c", job]);
    let ran = feed(
        command.env("TMPDIR", disk.folder.name("disk")),
        "10\n3000000\n20\n",
    );
    assert_eq!(
        (ran.code, ran.text().as_str()),
        (Some(1), "xxxxxxxxxx"),
        "{}",
        ran.err
    );
    assert!(
        ran.err
            .contains("job 2: sh (3000000): its output was lost: "),
        "{}",
        ran.err
    );
    let rest = run(
        &["-k", "--joblog", &log, "--resume", "sh", "-c", job],
        "10\n3000000\n20\n",
    );
    assert_eq!(
        (rest.code, rest.out.len()),
        (Some(0), 3_000_020),
        "{}",
        rest.err
    );
}

/// A group of processes that may use so much memory, file cache included; gone at the end.
struct MemoryGroup(std::path::PathBuf);

impl MemoryGroup {
    /// None, and a message, where it cannot be had.
    fn new(bytes: u64) -> Option<Self> {
        if !is_root("limit memory") {
            return None;
        }
        let name = format!("cmwq-test-{}", std::process::id());
        let roots = [
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            ("/sys/fs/cgroup", "memory.max"),
        ];
        for (root, limit) in roots {
            let group = Self(std::path::Path::new(root).join(&name));
            if std::fs::create_dir(&group.0).is_ok()
                && std::fs::write(group.0.join(limit), bytes.to_string()).is_ok()
            {
                return Some(group);
            }
        }
        eprintln!("left out: no memory cgroup can be made here");
        None
    }
}

impl Drop for MemoryGroup {
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
fn two_gib_of_one_job_pass_through_little_memory() {
    const SIZE: u64 = 2 << 30;
    let Some(group) = MemoryGroup::new(256 << 20) else {
        return;
    };
    // On a disk, whose cache is given back under pressure.
    let enter = format!(
        "echo $$ >'{}/cgroup.procs' && echo {SIZE} | TMPDIR=/var/tmp exec \"$0\" run sh -c 'head -c {{}} /dev/zero' | wc -c",
        group.0.display()
    );
    let ran = shell(&enter);
    assert_eq!(
        (ran.text().trim(), ran.err.as_str()),
        (SIZE.to_string().as_str(), "")
    );
}

#[test]
fn job_that_is_stopped_is_named_and_the_others_go_on() {
    let folder = Folder::new();
    let mut child = start(&mut command(&["sh", "-c"]));
    let mut stdin = child.stdin.take().unwrap();
    let stops = format!(
        "echo $$ >'{}'; kill -STOP $$; echo went on",
        folder.name("pid")
    );
    writeln!(stdin, "{stops}").unwrap();
    for job in 0..50 {
        writeln!(stdin, "touch '{}'", folder.name(&format!("job{job}"))).unwrap();
    }
    drop(stdin);
    let others = || (0..50).all(|job| folder.path(&format!("job{job}")).exists());
    wait_until("the others end", others);
    let mut errors = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut note = String::new();
    std::io::BufRead::read_line(&mut errors, &mut note).unwrap();
    let pid = std::fs::read_to_string(folder.path("pid")).unwrap();
    assert!(
        note.starts_with("cmwq run: job 1: sh (") && note.contains("): was stopped"),
        "{note}"
    );
    assert!(
        note.contains(&format!("kill -CONT -{}", pid.trim())),
        "{note}"
    );
    let go_on = format!("kill -CONT -{}", pid.trim());
    assert_eq!(run::<&str>(&[], go_on).code, Some(0));
    let ran = finish(child);
    assert_eq!((ran.code, ran.text().as_str()), (Some(0), "went on\n"));
}

#[test]
fn job_that_wants_the_terminal_is_not_to_be_continued() {
    let mut child = start(&mut command::<&str>(&[]));
    give(&mut child, "kill -TTIN $$\n");
    let mut errors = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut note = String::new();
    std::io::BufRead::read_line(&mut errors, &mut note).unwrap();
    let group = note.split(" -").last().unwrap().split('"').next().unwrap();
    let end = format!("kill -KILL -{group}");
    assert!(
        note.contains("wants the terminal") && note.contains(&end),
        "{note}"
    );
    assert_eq!(run::<&str>(&[], end).code, Some(0), "{note}");
    assert_eq!(finish(child).code, Some(125));
}

#[test]
fn job_in_a_tree_of_make() {
    let folder = Folder::new();
    let rule =
        "T := $(shell seq 40)\nall: $(T)\n$(T):\n\t@\"$(CMWQ)\" run --summary none echo <lines\n";
    folder.write("Makefile", rule);
    folder.write("lines", "a\nb\nc\n");
    let mut make = Command::new("make");
    make.args(["-s", "-j8", "-C", &folder.name(".")]);
    let nested = format!("make -s -j8 -C '{}'\n", folder.name("."));
    let mut outer = command::<&str>(&[]);
    outer.env("CMWQ", env!("CARGO_BIN_EXE_cmwq"));
    let ran = feed(&mut outer, nested.repeat(2));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.lines().len(), 2 * 40 * 3);
}

/// How many temporary files a run has open.
fn files_of(run: u32) -> usize {
    let all = std::fs::read_dir(format!("/proc/{run}/fd"))
        .unwrap()
        .flatten();
    let targets = all.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    targets
        .filter(|to| to.to_string_lossy().ends_with("(deleted)"))
        .count()
}

/// With -k, outputs that wait for their turn may need a file each.
#[test]
fn outputs_behind_a_slow_job_leave_descriptors_to_others() {
    let folder = Folder::new();
    let script = "ulimit -n 100; exec \"$0\" run -k --summary json";
    let mut shell = Command::new("sh");
    let mut child = start(shell.args(["-c", script, env!("CARGO_BIN_EXE_cmwq")]));
    let large = "head -c 600000 /dev/zero\n".repeat(80);
    let slow = until(&folder.name("go"));
    give(&mut child, &format!("{slow}\n{large}"));
    let (mut before, mut equal) = (0, 0);
    wait_until("nothing more starts", || {
        std::thread::sleep(Duration::from_millis(300));
        let now = files_of(child.id());
        equal = if now == before { equal + 1 } else { 0 };
        before = now;
        now > 25 && equal == 3
    });
    folder.write("go", "");
    let ran = finish(child);
    assert_eq!(
        (ran.code, ran.out.len()),
        (Some(0), 80 * 600_000),
        "{}",
        ran.err
    );
    assert_eq!(ran.summary()["jobs"], 81);
    // Those that have started when the last one that may wait comes go on, and wait as well: each
    // has two pipes until it ends.
    let most = 25 + (100 - 25) / 2;
    assert!(before <= most, "{before} files, {most} can be had");
}

#[test]
fn job_whose_output_is_lost_is_killed_if_it_does_not_end() {
    let job = "trap '' TERM PIPE; while :; do echo x; sleep 0.05; done";
    let run = format!("yes | \"$0\" run --max-active 2 --line-buffer sh -c \"{job}\"");
    let ran = shell(&format!("{run} | head -1; echo end"));
    assert_eq!(ran.lines(), ["x", "end"]);
    assert_eq!(ran.err, "");
    let job = "trap '' TERM PIPE; rmdir $TMPDIR; head -c 3000000 /dev/zero; sleep 1000 #";
    let (mut command, folder) = (command(&["sh", "-c", job]), Folder::new());
    std::fs::create_dir(folder.path("gone")).unwrap();
    let ran = feed(command.env("TMPDIR", folder.name("gone")), "x\n");
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("its output was lost"), "{}", ran.err);
}
