//! The joblog, and going on where a run has ended.

use crate::support::{
    Folder, Ran, command, feed, finish, give, is_root, number_in, numbers, run, shell, signal,
    start, state, until, wait_until,
};
use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// The lines of jobs, as columns.
fn jobs(path: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let lines = text.lines().skip(2);
    lines
        .map(|line| line.split('\t').map(String::from).collect())
        .collect()
}

fn resume(log: &str, args: &[&str], input: impl Into<Vec<u8>>) -> Ran {
    run(&[&["--joblog", log, "--resume"], args].concat(), input)
}

#[test]
fn has_a_line_for_each_job() {
    let folder = Folder::new();
    let log = folder.name("log");
    let args = [
        "--joblog",
        &log,
        "--retries",
        "1",
        "--halt",
        "never",
        "--timeout",
        "3",
        "sh",
        "-c",
    ];
    let ran = run(
        &args,
        "exit 0 #\texit\nexit 7\nkill -9 $$\nexit 255\nsleep 100\n",
    );
    assert_eq!(ran.code, Some(123), "{}", ran.err);
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(text.starts_with("#cmwq-joblog 1\nsequence\t"), "{text}");
    let jobs = jobs(Path::new(&log));
    let by_job: BTreeMap<&str, &Vec<String>> = jobs.iter().map(|job| (&job[0][..], job)).collect();
    let expected = [
        ("1", "ok", "0", "0", "1", "exit 0 #\\texit"),
        ("2", "failed", "7", "0", "2", "exit 7"),
        ("3", "killed", "0", "9", "2", "kill -9 $$"),
        ("4", "stop", "255", "0", "2", "exit 255"),
        ("5", "timeout", "0", "15", "2", "sleep 100"),
    ];
    for (sequence, result, exit, signal, attempts, arguments) in expected {
        let job = by_job[sequence];
        assert_eq!(job[3..], [result, exit, signal, attempts, arguments]);
    }
    let timed_out: f64 = by_job["5"][2].parse().unwrap();
    assert!(timed_out >= 3.0, "{timed_out}");
    let start: f64 = by_job["1"][1].parse().unwrap();
    assert!(start > 1.6e9, "{start}");
}

#[test]
fn resume_runs_what_failed_or_is_missing_and_each_equal_line_as_often_as_needed() {
    let folder = Folder::new();
    let (log, ok) = (folder.name("log"), folder.name("ok"));
    let script = format!("echo {{}}; [ {{}} != b ] || [ -e '{ok}' ]");
    let job = ["sh", "-c", &script];
    let first = run(&[&["--joblog", &log][..], &job].concat(), "a\nb\na\n");
    assert_eq!(
        (first.code, first.sorted_lines().concat()),
        (Some(123), "aab".into())
    );
    let again = run(&[&["--joblog", &log][..], &job].concat(), "c\n");
    assert_eq!((again.code, again.text().as_str()), (Some(1), ""));
    assert!(
        again.err.contains(&log) && again.err.contains("--resume"),
        "{}",
        again.err
    );
    folder.write("ok", "");
    let dry = resume(&log, &["--dry-run", "echo"], "a\nb\na\na\nc\n");
    assert_eq!(dry.lines(), ["echo b", "echo a", "echo c"]);
    let second = resume(&log, &job, "a\nb\na\na\nc\n");
    assert_eq!(
        (second.code, second.sorted_lines().concat()),
        (Some(0), "abc".into())
    );
    let third = resume(&log, &["--summary", "json", "echo"], "c\na\na\nb\na\n");
    assert_eq!((third.code, third.text().as_str()), (Some(0), ""));
    assert_eq!(
        (&third.summary()["jobs"], &third.summary()["skipped"]),
        (&0.into(), &5.into())
    );
}

#[test]
fn resume_knows_lines_whatever_jobs_they_were_in() {
    let folder = Folder::new();
    let log = folder.name("log");
    let bytes = b"\xff\0a\tb\n\0\\\0x y\0".to_vec();
    assert_eq!(
        run(&["--joblog", &log, "-0n3", "true"], bytes.clone()).code,
        Some(0)
    );
    let more = [&bytes[..], b"new\0"].concat();
    let ran = resume(&log, &["-0n2", "printf", "<%s>"], more);
    assert_eq!((ran.code, ran.text().as_str()), (Some(0), "<new>"));
}

#[test]
fn killed_in_the_middle_nothing_is_skipped() {
    const JOBS: u32 = 600;
    let folder = Folder::new();
    let (log, ran) = (folder.name("log"), folder.name("ran"));
    let script = format!("echo {{}} >>'{ran}'; sleep 0.01");
    let args = ["--joblog", &log, "sh", "-c", &script];
    let mut child = start(&mut command(&args));
    give(&mut child, &numbers(JOBS));
    wait_until("a part has run", || jobs(Path::new(&log)).len() > 100);
    signal(child.id(), libc::SIGKILL);
    assert_eq!(finish(child).signal, Some(libc::SIGKILL));
    let logged = jobs(Path::new(&log)).len() as u32;
    assert!(logged < JOBS, "the run was over before it was killed");
    // What a full disk or a lost page leaves.
    std::fs::OpenOptions::new()
        .append(true)
        .open(&log)
        .unwrap()
        .write_all(b"99\t17")
        .unwrap();
    let rest = resume(
        &log,
        &["--summary", "json", "sh", "-c", &script],
        numbers(JOBS),
    );
    assert_eq!(rest.code, Some(0), "{}", rest.err);
    assert_eq!(rest.summary()["skipped"], logged);
    let ran = std::fs::read_to_string(&ran).unwrap();
    let mut times: HashMap<&str, u32> = HashMap::new();
    ran.lines()
        .for_each(|line| *times.entry(line).or_default() += 1);
    assert_eq!(times.len(), JOBS as usize, "each was run");
    // Twice: those that ran when it was killed, and no other.
    let twice = times.values().filter(|&&count| count == 2).count() as u32;
    assert_eq!(twice + JOBS, times.values().sum::<u32>());
    assert_eq!(jobs(Path::new(&log)).len() as u32, JOBS);
}

/// Runs jobs that leave a file each, with a joblog that gets full. How many were logged and run.
fn with_full_log(folder: &Folder, log: &str, limit: Option<u64>) -> (Ran, usize, usize) {
    std::fs::create_dir(folder.path("made")).unwrap();
    let script = format!("touch '{}/{{}}'", folder.name("made"));
    let mut command = command(&["--joblog", log, "sh", "-c", &script]);
    if let Some(bytes) = limit {
        let limited = move || {
            let limit = libc::rlimit {
                rlim_cur: bytes,
                rlim_max: bytes,
            };
            // SAFETY: the limit is a local; setrlimit is one system call.
            unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) };
            Ok(())
        };
        // SAFETY: one system call, safe between fork and exec.
        unsafe { command.pre_exec(limited) };
    }
    let ran = feed(&mut command, numbers(3000));
    let made = std::fs::read_dir(folder.path("made")).unwrap().count();
    (ran, jobs(Path::new(log)).len(), made)
}

fn assert_full(log: &str, (ran, logged, made): (Ran, usize, usize)) {
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.err.contains(log), "{}", ran.err);
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    assert!(logged > 0 && logged < made, "{logged} logged, {made} run");
    assert!(
        made < 2000,
        "{made} jobs were run, though the joblog is full"
    );
}

#[test]
fn log_that_may_not_grow_stops_the_run_and_nothing_is_skipped_later() {
    let folder = Folder::new();
    let log = folder.name("log");
    let full = with_full_log(&folder, &log, Some(8000));
    let logged = full.1;
    assert_full(&log, full);
    let rest = resume(&log, &["--summary", "json", "true"], numbers(3000));
    assert_eq!(
        (rest.code, rest.summary()["skipped"].as_u64()),
        (Some(0), Some(logged as u64))
    );
    assert_eq!(jobs(Path::new(&log)).len(), 3000);
}

#[test]
fn full_disk_under_the_log_stops_the_run() {
    let Some(disk) = SmallDisk::new("fill a disk") else {
        return;
    };
    let log = disk.folder.name("disk/log");
    let full = with_full_log(&disk.folder, &log, None);
    assert_full(&log, full);
}

#[test]
fn full_device_is_an_error_before_any_job() {
    let ran = run(&["--joblog", "/dev/full", "echo"], "x\n");
    assert_eq!((ran.code, ran.text().as_str()), (Some(1), ""));
    assert!(ran.err.contains("/dev/full"), "{}", ran.err);
}

#[test]
fn job_whose_output_is_lost_is_not_logged() {
    let folder = Folder::new();
    let log = folder.name("log");
    let script = format!("yes | \"$0\" run -k --joblog '{log}' sh -c 'echo $0; exit 0' >/dev/full");
    let ran = shell(&script);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert_eq!(jobs(Path::new(&log)).len(), 0);
}

/// With -k a job's output may be written long after its end.
#[test]
fn job_is_logged_when_its_output_is_written() {
    let folder = Folder::new();
    let log = folder.name("log");
    let mut child = start(&mut command(&["-k", "--joblog", &log]));
    let (waits, ended) = (until(&folder.name("go")), folder.name("ended"));
    let input = format!("{waits}; echo first\ntouch '{ended}'\n");
    give(&mut child, &input);
    wait_until("the second job ends", || Path::new(&ended).exists());
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert_eq!(jobs(Path::new(&log)).len(), 0);
    folder.write("go", "");
    assert_eq!(finish(child).text(), "first\n");
    let sequences: Vec<String> = jobs(Path::new(&log))
        .into_iter()
        .map(|job| job[0].clone())
        .collect();
    assert_eq!(sequences, ["1", "2"]);
}

/// 16 KiB of disk, for root.
pub(crate) struct SmallDisk {
    pub(crate) folder: Folder,
}

impl SmallDisk {
    /// None, and a message, where it cannot be had.
    pub(crate) fn new(what_for: &str) -> Option<Self> {
        if !is_root(what_for) {
            return None;
        }
        let folder = Folder::new();
        std::fs::create_dir(folder.path("disk")).unwrap();
        let mount = format!("mount -t tmpfs -o size=16k none '{}'", folder.name("disk"));
        let mounted = feed(std::process::Command::new("sh").args(["-c", &mount]), "");
        if mounted.code != Some(0) {
            eprintln!("left out: {what_for}: {}", mounted.err);
            return None;
        }
        Some(Self { folder })
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmount = format!("umount -l '{}'", self.folder.name("disk"));
        feed(std::process::Command::new("sh").args(["-c", &unmount]), "");
    }
}

/// A further attempt may wait for room until the run is stopped.
#[test]
fn attempt_before_one_that_could_not_begin_counts() {
    // We make room as soon as the run was told to stop. It may see the room first: then there is a
    // further attempt, which is stopped, and this says nothing.
    let tries = (0..50).find_map(|_| stopped_before_another_attempt());
    assert_eq!(tries, Some((true, "failed".to_owned())));
}

/// Whether the output of the one attempt came last, and its result; `None` if there was another.
fn stopped_before_another_attempt() -> Option<(bool, String)> {
    let folder = Folder::new();
    let (log, pid) = (folder.name("log"), folder.name("pid"));
    let mut child = start(&mut command(&["--retries", "1", "--joblog", &log]));
    let fails = format!(
        "echo $$ >'{pid}'; {}; echo failed; exit 3",
        until(&folder.name("go"))
    );
    give(&mut child, &format!("{fails}\nhead -c 300000 /dev/zero\n"));
    let output = child.stdout.as_ref().unwrap();
    wait_until("our output is full", || {
        rustix::io::ioctl_fionread(output).unwrap() >= 60_000
    });
    let job = number_in(Path::new(&pid));
    folder.write("go", "");
    wait_until("the job has failed", || state(job) == 'X');
    signal(child.id(), libc::SIGTERM);
    let ran = finish(child);
    let jobs = jobs(Path::new(&log));
    let of = |sequence| jobs.iter().find(|job| job[0] == sequence).unwrap();
    assert_eq!(of("2")[3], "ok");
    let (result, attempts) = (&of("1")[3], &of("1")[6]);
    // A further attempt may even have ended before the run saw the signal.
    let was_over = attempts == "2" && ran.code == Some(123);
    assert!(was_over || ran.signal == Some(libc::SIGTERM), "{}", ran.err);
    (attempts == "1").then(|| (ran.out.ends_with(b"failed\n"), result.clone()))
}

/// With -k many may wait for the one whose line does not fit.
#[test]
fn outputs_that_cannot_be_logged_are_written() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("made")).unwrap();
    let script = format!(
        "ulimit -f 2; exec \"$0\" run -k --joblog '{}'",
        folder.name("log")
    );
    let mut shell = std::process::Command::new("sh");
    let mut child = start(shell.args(["-c", &script, env!("CARGO_BIN_EXE_cmwq")]));
    let long = format!(
        "{}; echo first #{}",
        until(&folder.name("go")),
        "x".repeat(3000)
    );
    let quick = |n| format!("touch '{}/{n}'; echo {n}\n", folder.name("made"));
    let input: String = (1..=20).map(quick).collect();
    give(&mut child, &format!("{long}\n{input}"));
    wait_until("all others have run", || {
        std::fs::read_dir(folder.path("made")).unwrap().count() == 20
    });
    std::thread::sleep(std::time::Duration::from_millis(200));
    folder.write("go", "");
    let ran = finish(child);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert_eq!(ran.text(), format!("first\n{}", numbers(20)));
}

#[test]
fn a_log_that_cannot_even_begin_is_an_error() {
    let folder = Folder::new();
    let log = folder.name("log");
    let ran = shell(&format!(
        "ulimit -f 0; \"$0\" run --joblog '{log}' echo ::: a b"
    ));
    assert_eq!(
        (ran.code, ran.text().as_str()),
        (Some(1), ""),
        "{}",
        ran.err
    );
    assert!(ran.err.contains(&format!("joblog {log}: ")), "{}", ran.err);
}

#[test]
fn a_joblog_on_a_stream_of_ours_stands_between_what_jobs_write() {
    let folder = Folder::new();
    let out = folder.name("out");
    for log in ["-", "/dev/stdout"] {
        for to in [&format!("| cat >'{out}'"), &format!(">'{out}'")] {
            std::fs::write(&out, "").unwrap();
            let ran = shell(&format!(
                "printf 'a\\nb\\n' | \"$0\" run -k --joblog {log} echo {to}"
            ));
            assert_eq!(ran.err, "", "{log} {to}");
            let text = std::fs::read_to_string(&out).unwrap();
            let first: Vec<&str> = text
                .lines()
                .map(|line| line.split('\t').next().unwrap())
                .collect();
            let expected = ["#cmwq-joblog 1", "sequence", "a", "1", "b", "2"];
            assert_eq!(first, expected, "{log} {to}");
        }
        let ran = run(&["--resume", "--joblog", log, "echo"], "x\n");
        assert_eq!((ran.code, ran.text().as_str()), (Some(1), ""));
        assert!(ran.err.contains("needs a file"), "{}", ran.err);
    }
    let to_errors = run(&["--joblog", "/dev/stderr", "echo"], "x\n");
    assert_eq!(to_errors.text(), "x\n");
    assert!(
        to_errors.err.starts_with("#cmwq-joblog 1\n"),
        "{}",
        to_errors.err
    );
}

#[test]
fn resume_keeps_the_numbers_of_jobs() {
    let folder = Folder::new();
    let (log, ok, out) = (
        folder.name("log"),
        folder.name("ok"),
        folder.name("out-{#}"),
    );
    let script = format!("[ {{}} != c ] || [ -e '{ok}' ] && echo {{#}} $CMWQ_SEQ {{}}");
    let job = ["--halt", "never", "sh", "-c", &script];
    let into_files = [&["--results", &out][..], &job].concat();
    let first = resume(&log, &into_files, "a\nb\nc\nd\n");
    assert_eq!(first.code, Some(123), "{}", first.err);
    // In the order of the input, which has gaps now.
    let kept = resume(&log, &[&["-k"][..], &job].concat(), "a\nx\nb\nc\nd\ny\n");
    assert_eq!(kept.lines(), ["2 2 x", "6 6 y"], "{}", kept.err);
    folder.write("ok", "");
    let second = resume(&log, &into_files, "a\nb\nc\nd\ne\n");
    assert_eq!(second.code, Some(0), "{}", second.err);
    let results = ["1", "2", "3", "4", "5"].map(|n| {
        let result = std::fs::read_to_string(folder.name(&format!("out-{n}")));
        result.unwrap_or_default()
    });
    assert_eq!(results.concat(), "1 1 a\n2 2 b\n3 3 c\n4 4 d\n5 5 e\n");
    let logged: Vec<String> = jobs(Path::new(&log))
        .into_iter()
        .map(|job| job[0].clone())
        .collect();
    assert_eq!(logged.iter().filter(|n| *n == "3").count(), 2, "{logged:?}");
    let dry = resume(&log, &["--dry-run", "echo", "{#}"], "a\nb\nz\n");
    assert_eq!(dry.lines(), ["echo 3"]);
}

#[test]
fn the_joblog_knows_products_again() {
    let folder = Folder::new();
    let log = folder.name("log");
    let args = [
        "--joblog", &log, "--resume", "-k", "echo", ":::", "a", "b", ":::", "1", "2",
    ];
    assert_eq!(run(&args, "").lines().len(), 4);
    assert_eq!(run(&args, "").lines(), [""; 0]);
    // Each value is a column of its own.
    let logged = std::fs::read_to_string(&log).unwrap();
    let columns = logged
        .lines()
        .skip(2)
        .map(|line| line.split('\t').skip(7).collect::<Vec<_>>());
    let mut columns: Vec<Vec<&str>> = columns.collect();
    columns.sort_unstable();
    assert_eq!(columns, [["a", "1"], ["a", "2"], ["b", "1"], ["b", "2"]]);
    // As earlier versions have written it.
    std::fs::write(&log, logged.replace("a\t1\n", "a\\x001\n")).unwrap();
    assert_eq!(run(&args, "").lines(), [""; 0]);
}

/// The way that the man page has for it, also with several columns.
#[test]
fn what_failed_last_is_listed_from_a_log_that_was_continued() {
    let page = feed(
        Command::new(env!("CARGO_BIN_EXE_cmwq")).args(["man", "run"]),
        "",
    )
    .text();
    let begin = page.find("    awk ").expect("a recipe");
    let recipe = page[begin..].split(".EE").next().unwrap();
    let recipe = recipe
        .replace("\\(aq", "'")
        .replace("\\e", "\\")
        .replace("\\-", "-");
    let folder = Folder::new();
    let (log, flag) = (folder.name("todo.log"), folder.name("flag"));
    let script = format!("test {{1}} = 1 || (test -e '{flag}' && test {{2}} = x)");
    let args = [
        "--joblog", &log, "--resume", &script, ":::", "1", "2", ":::", "x", "y",
    ];
    assert_eq!(run(&args, "").code, Some(123));
    folder.write("flag", "");
    assert_eq!(run(&args, "").code, Some(123));
    let mut listed = Command::new("sh");
    let ran = feed(
        listed.args(["-c", &recipe]).current_dir(folder.path(".")),
        "",
    );
    assert_eq!(ran.lines(), ["failed 2\ty"], "{recipe}: {}", ran.err);
    // The number of a job in its input stays what it is.
    let text = std::fs::read_to_string(&log).unwrap();
    let rows = text.lines().filter(|line| line.ends_with("\t2\ty"));
    assert_eq!(
        rows.filter(|row| row.starts_with("4\t")).count(),
        2,
        "{text}"
    );
    let one = ["--joblog", &folder.name("one"), "true", ":::", "a"];
    assert_eq!(run(&one, "").code, Some(0));
    let again = run(&one, "").err;
    assert!(again.contains("has 1 job in it"), "{again}");
}
