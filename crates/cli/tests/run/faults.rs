//! What goes wrong at night.

use crate::support::{
    Folder, Ran, command, feed, finish, is_root, numbers, run, shell, start, until, wait_for,
};
use std::collections::HashSet;
use std::fs::File;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// How many: CMWQ_RUN_JOBS, else 20,000.
#[test]
fn short_jobs_by_the_thousand_are_all_run() {
    let count = std::env::var("CMWQ_RUN_JOBS").map_or(20_000, |text| text.parse().unwrap());
    let folder = Folder::new();
    let log = folder.name("log");
    let args = ["--summary", "json", "--joblog", &log, "echo"];
    let ran = run(&args, numbers(count));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.summary()["jobs"], count);
    let lines = ran.lines();
    assert_eq!(lines.len(), count as usize);
    assert_eq!(
        lines.into_iter().collect::<HashSet<_>>().len(),
        count as usize
    );
    let again = run(&[&["--resume"][..], &args].concat(), numbers(count));
    assert_eq!(
        (again.code, &again.summary()["skipped"]),
        (Some(0), &count.into())
    );
}

#[test]
fn closed_standard_output_is_an_error_before_any_job() {
    let folder = Folder::new();
    let file = folder.name("made");
    let ran = shell(&format!("echo '{file}' | \"$0\" run touch >&-"));
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("standard output is closed"), "{}", ran.err);
    assert!(!folder.path("made").exists());
}

#[test]
fn a_folder_for_large_output_is_looked_for_before_any_job() {
    let folder = Folder::new();
    let file = folder.write("file", "");
    for missing in [folder.name("missing"), file] {
        let run = |args: &[&str]| feed(command(args).env("TMPDIR", &missing), "x\n");
        let ran = run(&["echo"]);
        assert_eq!((ran.code, ran.text().as_str()), (Some(1), ""));
        assert!(ran.err.contains(&missing), "{}", ran.err);
        let ran = run(&["--line-buffer", "echo"]);
        assert_eq!((ran.code, ran.text().as_str()), (Some(0), "x\n"));
    }
}

#[test]
fn closed_standard_input_is_an_error_unless_a_file_has_the_lines() {
    let ran = shell("\"$0\" run echo <&-");
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("standard input is closed"), "{}", ran.err);
    let folder = Folder::new();
    let file = folder.write("lines", "x\n");
    assert_eq!(
        shell(&format!("\"$0\" run -a '{file}' echo <&-")).text(),
        "x\n"
    );
}

#[test]
fn closed_standard_error_does_no_harm() {
    let ran = shell("echo x | \"$0\" run sh -c 'echo {}; echo lost >&2' 2>&-");
    assert_eq!((ran.code, ran.text().as_str()), (Some(0), "x\n"));
}

#[test]
fn full_standard_output_is_our_error() {
    let ran = shell("seq 100 | \"$0\" run echo >/dev/full");
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("standard output"), "{}", ran.err);
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
}

#[test]
fn broken_pipe_stops_the_run_and_ends_the_jobs() {
    let folder = Folder::new();
    let mut child = start(&mut command::<&str>(&[]));
    let mut stdin = child.stdin.take().unwrap();
    let long = format!("touch '{}'; exec sleep 1000", folder.name("runs"));
    let short = format!("{}; echo nobody reads this", until(&folder.name("go")));
    writeln!(stdin, "{long}\n{short}").unwrap();
    wait_for(&folder.path("runs"));
    drop(child.stdout.take());
    folder.write("go", "");
    // Input is still open and a job sleeps: only the broken pipe can end this.
    let ran = finish(child);
    assert_eq!((ran.code, ran.err.as_str()), (Some(1), ""));
}

#[test]
fn output_that_cannot_be_held_is_our_error_and_names_the_job() {
    let job = "rmdir $TMPDIR; yes | head -c 3000000 #";
    let (mut command, folder) = (command(&["sh", "-c", job]), Folder::new());
    let gone = folder.name("gone");
    std::fs::create_dir(&gone).unwrap();
    let ran = feed(command.env("TMPDIR", &gone), "x\n");
    assert_eq!((ran.code, ran.out.len()), (Some(1), 0));
    let why = format!("sh (x): its output was lost: temporary file in {gone}: ");
    assert!(ran.err.contains(&why), "{}", ran.err);
}

#[test]
fn input_that_cannot_be_read_is_named() {
    let folder = Folder::new();
    let path = folder.name("");
    let ran = run(&["-a", &path, "echo"], "");
    assert_eq!((ran.code, ran.out.len()), (Some(1), 0));
    assert!(ran.err.contains(&format!("{path}: ")), "{}", ran.err);
    let ran = run(&["echo"], "a\0b\n");
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.err.contains("standard input: line 1 has"),
        "{}",
        ran.err
    );
}

#[test]
fn daemon_that_holds_the_output_does_not_hold_the_job() {
    let ran = run::<&str>(&[], "sleep 1000 & echo $!\n");
    assert_eq!(ran.code, Some(0));
    let daemon: i32 = ran.text().trim().parse().unwrap();
    // SAFETY: kill takes no pointer; the daemon sleeps long enough to be still there.
    let killed = unsafe { libc::kill(daemon, libc::SIGKILL) };
    assert_eq!(killed, 0, "the run has ended the daemon");
}

#[test]
fn daemon_that_writes_on_and_on_does_not_keep_us() {
    let ran = run::<&str>(&[], "yes & echo $! >&2\n");
    assert_eq!(ran.code, Some(0));
    assert!(ran.err.trim().parse::<i32>().is_ok(), "{}", ran.err);
}

#[test]
fn impossible_argument_is_an_error_that_names_its_line() {
    let ran = run(&["-k", "echo"], "a\nb\0c\nd\n");
    assert_eq!((ran.code, ran.text().as_str()), (Some(1), "a\n"));
    assert!(ran.err.contains("line 2"), "{}", ran.err);
    let long = vec![b'x'; 200_000];
    assert!(run(&["echo"], long).err.contains("line 1"));
}

#[test]
fn a_summary_that_is_lost_is_an_error() {
    for format in ["json", "text"] {
        let script = format!("\"$0\" run --summary {format} true ::: 1 2>/dev/full");
        assert_eq!(shell(&script).code, Some(1), "{format}");
    }
    assert_eq!(shell("\"$0\" run true ::: 1 2>/dev/full").code, Some(0));
    let ended = "\"$0\" run --summary text 'kill -TERM $PPID; sleep 9' ::: 1 2>/dev/full; exit $?";
    assert_eq!(shell(ended).code, Some(128 + 15), "a signal wins");
}

#[test]
fn a_small_stack_does_for_us() {
    for kib in [64, 128, 200] {
        let ran = shell(&format!(
            "ulimit -s {kib}; \"$0\" run 'ulimit -s; echo' ::: 1"
        ));
        let expected = format!("{kib}\n1\n");
        assert_eq!((ran.code, ran.text()), (Some(0), expected), "{}", ran.err);
    }
}

#[test]
fn few_descriptors_only_make_it_slower() {
    // Room for one job, and for ten.
    for (most, jobs) in [(20, 40), (64, 200)] {
        let ran = shell(&format!(
            "ulimit -n {most}; seq {jobs} | \"$0\" run --summary json sh -c 'sleep 0.02; echo {{}}'"
        ));
        assert_eq!(ran.code, Some(0), "{most}: {}", ran.err);
        assert_eq!(ran.lines().len(), jobs, "{most}");
        assert_eq!(ran.summary()["jobs"], jobs, "{most}");
    }
}

#[test]
fn few_descriptors_lose_no_block() {
    for (most, mode) in [(20, "-k"), (32, "-k"), (40, "--ungroup"), (56, "--ungroup")] {
        let ran = shell(&format!(
            "ulimit -n {most}; seq 600 | \"$0\" run {mode} --pipe -n 10 --summary json cat"
        ));
        assert_eq!(ran.code, Some(0), "{most} {mode}: {}", ran.err);
        assert_eq!(ran.lines().len(), 600, "{most} {mode}");
        assert_eq!(ran.summary()["jobs"], 60, "{most} {mode}");
    }
}

#[test]
fn few_descriptors_lose_no_file_of_results() {
    let folder = Folder::new();
    // All that there is room for run at a time, and end at about the same time.
    for (most, path) in [(24, "a"), (64, "b"), (64, "c/{#}")] {
        let path = folder.name(path);
        let ran = shell(&format!(
            "ulimit -n {most}; seq 60 | \"$0\" run --results '{path}' sh -c 'sleep 0.2; echo {{}}'"
        ));
        assert_eq!(ran.code, Some(0), "{most} {path}: {}", ran.err);
    }
    let count = |pattern: &str| {
        let folder = folder.name(".");
        let ran = shell(&format!("cd '{folder}'; cat {pattern} | wc -l"));
        ran.text().trim().to_owned()
    };
    for pattern in ["[ab]/1/*/stdout", "[ab]/1/*/exitval"] {
        assert_eq!(count(pattern), "120", "{pattern}");
    }
    assert_eq!(count("c/*"), "180", "stdout, .seq and .exitval");
}

/// Jobs that sleep, run by a user who may have so many processes and threads and has no others. The
/// jobs start none themselves: only our own starts meet the limit.
fn with_processes(most: u32, input: &str) -> Ran {
    let folder = Folder::new();
    let copy = folder.path("cmwq");
    std::fs::copy(env!("CARGO_BIN_EXE_cmwq"), &copy).unwrap();
    let open = run(
        &["chmod", "755"],
        format!("{}\n{}\n", folder.name("."), folder.name("cmwq")),
    );
    assert_eq!(open.code, Some(0));
    let mut limited = Command::new(copy);
    limited.args(["run", "--summary", "json", "sleep"]);
    let user = 1_000_000 + 64 * (std::process::id() % 1_000_000) + most;
    limited.uid(user).gid(user).current_dir("/");
    let limit = move || {
        let limit = libc::rlimit {
            rlim_cur: most.into(),
            rlim_max: most.into(),
        };
        // SAFETY: the limit is a local; setrlimit is one system call.
        unsafe { libc::setrlimit(libc::RLIMIT_NPROC, &limit) };
        Ok(())
    };
    // SAFETY: one system call, safe between fork and exec.
    unsafe { limited.pre_exec(limit) };
    feed(&mut limited, input)
}

#[test]
fn few_processes_only_make_it_slower() {
    if !is_root("become a user without processes") {
        return;
    }
    let ran = with_processes(24, &"0.02\n".repeat(100));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.summary()["jobs"], 100);
}

#[test]
fn too_few_processes_are_an_error_and_no_hang() {
    if !is_root("become a user without processes") {
        return;
    }
    for most in 2..9 {
        let ran = with_processes(most, "0.02\n0.02\n");
        let said = ran.err.contains("cannot start a ");
        assert_eq!(ran.code, Some(i32::from(said)), "{most}: {}", ran.err);
        assert!(said || most > 5, "{most}: where did the job run?");
    }
}

#[test]
fn large_file_of_lines_from_a_file() {
    let folder = Folder::new();
    let mut file = File::create(folder.path("lines")).unwrap();
    for number in 0..3000 {
        writeln!(file, "{number}{}", "x".repeat(1000)).unwrap();
    }
    let ran = run(
        &[
            "-k",
            "-a",
            &folder.name("lines"),
            "sh",
            "-c",
            "printf %.4s%s\\\\n $0 ${#0}",
        ],
        "",
    );
    let lines = ran.lines();
    assert_eq!(lines.len(), 3000, "{}", ran.err);
    assert_eq!(lines[2999], "29991004");
}

/// Descriptors that the process may have.
fn limit_descriptors(pid: u32, soft: u64) -> u64 {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    let pid = pid as i32;
    // SAFETY: both pointers are to a limit of ours, or null.
    unsafe {
        assert_eq!(
            libc::prlimit(pid, libc::RLIMIT_NOFILE, std::ptr::null(), &mut limit),
            0
        );
        let before = std::mem::replace(&mut limit.rlim_cur, soft);
        assert_eq!(
            libc::prlimit(pid, libc::RLIMIT_NOFILE, &limit, std::ptr::null_mut()),
            0
        );
        before
    }
}

/// What was short were others' processes or descriptors: none of ours ends, and there is room
/// again.
#[test]
fn room_that_comes_back_is_found_while_a_long_job_runs() {
    let folder = Folder::new();
    let mut child = start(&mut command::<&str>(&[]));
    let mut stdin = child.stdin.take().unwrap();
    let long = format!(
        "touch '{}'; {}",
        folder.name("runs"),
        until(&folder.name("go"))
    );
    writeln!(stdin, "{long}").unwrap();
    wait_for(&folder.path("runs"));
    let before = limit_descriptors(child.id(), 3);
    writeln!(stdin, "touch '{}'", folder.name("other")).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(!folder.path("other").exists());
    limit_descriptors(child.id(), before);
    wait_for(&folder.path("other"));
    folder.write("go", "");
    drop(stdin);
    let ran = finish(child);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}
