//! `--halt`: which ends of jobs stop a run, and what is said of it.

use crate::support::{Folder, finish, give, run, signal, start, wait_for};

/// One after the other.
fn halted(halt: &str, jobs: &str) -> (Option<i32>, String, serde_json::Value) {
    let args = ["-j1", "--halt", halt, "--summary", "json"];
    let ran = run(&args, jobs);
    let summary = ran.summary();
    (ran.code, ran.text(), summary)
}

const JOBS: &str = "echo 1\nexit 3\necho 3\nexit 255\necho 5\nkill -9 $$\necho 7\nexit 4\n";

#[test]
fn the_run_stops_when_so_many_jobs_have_ended_so() {
    for (halt, code, text, not_started) in [
        ("soon,fail=1", 123, "1\n", 6),
        ("now,fail=2", 124, "1\n3\n", 4),
        ("soon,fail=3", 125, "1\n3\n5\n", 2),
        ("soon,fail=5", 123, "1\n3\n5\n7\n", 0),
        ("soon,fail=25%", 124, "1\n3\n", 4),
        ("30%", 125, "1\n3\n5\n", 2),
        ("soon,success=2", 0, "1\n3\n", 5),
        ("now,success=1", 0, "1\n", 7),
        ("-1", 0, "1\n", 7),
        ("soon,done=1", 0, "1\n", 7),
        ("soon,done=5", 123, "1\n3\n5\n", 3),
    ] {
        let (ended, printed, summary) = halted(halt, JOBS);
        assert_eq!((ended, printed.as_str()), (Some(code), text), "{halt}");
        assert_eq!(summary["not_started"], not_started, "{halt}: {summary}");
    }
}

#[test]
fn the_first_success_ends_the_others() {
    let ran = run(
        &["--halt", "now,success=1", "--summary", "text"],
        "exec sleep 1000\nexit 1\nsleep 0.2; echo found\nexec sleep 1000\n",
    );
    assert_eq!(
        (ran.code, ran.text().as_str()),
        (Some(0), "found\n"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("succeeded; the run ends"), "{}", ran.err);
    assert!(
        ran.err.contains("4 jobs, 1 failed, 2 terminated, "),
        "{}",
        ran.err
    );
}

#[test]
fn whom_the_run_ends_has_not_failed() {
    let args = ["--halt", "now,fail=1", "--summary", "json"];
    // One of them takes the signal for a reason to exit.
    let script = "trap 'exit 9' TERM; sleep 1000 & wait\nexec sleep 1000\nsleep 0.2; exit 3\n";
    let ran = run(&args, script);
    let summary = ran.summary();
    assert_eq!(ran.code, Some(123), "{summary}");
    let counts = (&summary["jobs"], &summary["failed"], &summary["terminated"]);
    assert_eq!(counts, (&3.into(), &1.into(), &2.into()), "{summary}");
    let failed = summary["failed_jobs"].as_array().unwrap();
    assert_eq!((failed.len(), &failed[0]["sequence"]), (1, &3.into()));
}

#[test]
fn what_cannot_be_meant_is_refused() {
    for wrong in [
        "fail=1",
        "soon,fail=0",
        "soon,fails=1",
        "later,fail=1",
        "7",
        "soon,fail=200%",
    ] {
        let ran = run(&["--halt", wrong, "true"], "x\n");
        assert_eq!(
            (ran.code, ran.err.contains("success=N")),
            (Some(1), true),
            "{}",
            ran.err
        );
    }
}

#[test]
fn tries_that_are_left_come_first() {
    let folder = Folder::new();
    let tries = folder.name("tries");
    let job = format!("echo x >>'{tries}'; [ $(wc -l <'{tries}') = 3 ]\nexit 1\n");
    let ran = run(&["-j1", "--retries", "2", "--halt", "now,fail=1"], job);
    assert_eq!(ran.code, Some(123), "{}", ran.err);
    assert!(ran.err.contains("job 2: exit 1: exited"), "{}", ran.err);
}

#[test]
fn what_was_not_started_is_counted_however_it_is_read() {
    let folder = Folder::new();
    let list = folder.write("list", "0\n".to_owned() + &"1\n".repeat(30_000));
    let args = ["-j1", "--halt", "now", "--summary", "json"];
    for source in [&["-a", &list][..], &["--shuf", "-a", &list]] {
        let script = ["sh", "-c", "exit 1"];
        let ran = run(&[&args[..], source, &script].concat(), "");
        let summary = ran.summary();
        assert_eq!(
            (&summary["not_started"], &summary["not_all_read"]),
            (&30_000.into(), &false.into())
        );
    }
    let args = [&args[..], &["sh", "-c", "exit 1", ":::", "a", "b", "c"]].concat();
    assert_eq!(run(&args, "").summary()["not_started"], 2);
    let text = run(
        &[
            "-j1",
            "--halt=now",
            "--summary=text",
            "false",
            ":::",
            "a",
            "b",
        ],
        "",
    );
    assert!(text.err.contains("not started"), "{}", text.err);
}

#[test]
fn lines_that_nobody_has_written_yet_are_not_counted() {
    let folder = Folder::new();
    let mut child = start(&mut crate::support::command(&["-j1", "--summary", "json"]));
    let stdin = child.stdin.take().unwrap();
    let mut stdin = std::io::BufWriter::new(stdin);
    let runs = folder.name("runs");
    std::io::Write::write_all(
        &mut stdin,
        format!("touch '{runs}'; sleep 1\necho 2\necho 3\n").as_bytes(),
    )
    .unwrap();
    std::io::Write::flush(&mut stdin).unwrap();
    wait_for(&folder.path("runs"));
    signal(child.id(), libc::SIGINT);
    let ran = finish(child);
    drop(stdin);
    let summary = ran.summary();
    assert_eq!(
        (&summary["not_started"], &summary["not_all_read"]),
        (&2.into(), &true.into()),
        "{}",
        ran.err
    );
}

#[test]
fn a_run_that_was_not_stopped_has_started_all() {
    let mut child = start(&mut crate::support::command(&["--summary", "json", "echo"]));
    give(&mut child, "a\nb\n");
    let summary = finish(child).summary();
    assert_eq!(
        (&summary["not_started"], &summary["not_all_read"]),
        (&0.into(), &false.into())
    );
}
