//! Lines become jobs.

use crate::support::{Folder, command, feed, finish, numbers, run, start};
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::process::Command;

#[test]
fn line_is_the_last_argument() {
    let ran = run(&["printf", "<%s>\\n", "x"], "a b\nc");
    assert_eq!(ran.sorted_lines(), ["<a b>", "<c>", "<x>", "<x>"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
}

#[test]
fn braces_stand_for_the_line_wherever_they_are() {
    let ran = run(&["printf", "%s\\n", "{}", "<{}|{}>", "end"], "a b\n");
    assert_eq!(ran.lines(), ["a b", "<a b|a b>", "end"]);
    assert_eq!(run(&["{}", "hello"], "echo\n").text(), "hello\n");
}

#[test]
fn without_command_lines_are_shell_commands_and_empty_ones_nothing() {
    let ran = run(
        &["--summary", "json"],
        "echo a | tr a b\n\n\necho c; echo d\n",
    );
    assert_eq!(ran.sorted_lines(), ["b", "c", "d"]);
    assert_eq!(ran.summary()["jobs"], 2);
}

#[test]
fn empty_line_is_an_empty_argument_for_a_command() {
    assert_eq!(run(&["printf", "<%s>"], "\n").text(), "<>");
}

#[test]
fn words_after_the_command_are_its_own() {
    let ran = run(&["echo", "-k", "--null", "--", "--max-active"], "x\n");
    assert_eq!(ran.text(), "-k --null -- --max-active x\n");
    assert_eq!(run(&["-k", "--", "echo", "-0"], "x\n").text(), "-0 x\n");
}

#[test]
fn last_line_needs_no_newline() {
    assert_eq!(run(&["echo"], "a\nb").sorted_lines(), ["a", "b"]);
}

#[test]
fn empty_input_runs_nothing() {
    let folder = Folder::new();
    let ran = run(&["--summary", "json", "touch", &folder.name("made")], "");
    assert_eq!(ran.code, Some(0));
    assert_eq!(
        (&ran.summary()["jobs"], &ran.summary()["failed"]),
        (&0.into(), &0.into())
    );
    assert!(!folder.path("made").exists());
}

#[test]
fn nul_separates_with_the_option() {
    let ran = run(&["-0", "-k", "printf", "<%s>"], "a\nb\0c d\0\0e");
    assert_eq!(ran.text(), "<a\nb><c d><><e>");
}

#[test]
fn bytes_that_are_no_text_come_through() {
    let line = b"\xff\xfe \x80\xc3";
    assert_eq!(run(&["printf", "%s"], *line).out, line);
    let word = OsString::from_vec(b"\xe9{}\xe8".to_vec());
    let ran = run(&[OsStr::new("printf"), OsStr::new("%s"), &word], "\u{e9}");
    assert_eq!(ran.out, b"\xe9\xc3\xa9\xe8");
    assert_eq!(run::<&str>(&[], b"printf '%s' '\xff'\n").out, b"\xff");
}

#[test]
fn file_that_is_not_text_can_be_named_by_a_line() {
    let folder = Folder::new();
    let path = folder
        .path("x")
        .with_file_name(OsStr::from_bytes(b"\xff\n\xfe"));
    std::fs::write(&path, "content").unwrap();
    let line = path.into_os_string().into_vec();
    assert_eq!(run(&["-0", "cat"], line).text(), "content");
}

#[test]
fn standard_input_of_jobs_is_empty_or_with_a_file_of_lines_ours() {
    assert_eq!(
        run(&["sh", "-c", "cat; echo {}"], "a\nb\n").sorted_lines(),
        ["a", "b"]
    );
    let folder = Folder::new();
    let file = folder.write("lines", "one\n");
    let ran = run(
        &["-a", &file, "sh", "-c", "cat; echo {}"],
        "from standard input\n",
    );
    assert_eq!(ran.lines(), ["from standard input", "one"]);
}

#[test]
fn jobs_start_before_the_input_ends() {
    let mut child = start(&mut command(&["echo"]));
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    for line in ["first\n", "second\n"] {
        input.write_all(line.as_bytes()).unwrap();
        let mut echoed = String::new();
        output.read_line(&mut echoed).unwrap();
        assert_eq!(echoed, line);
    }
    drop(input);
    assert_eq!(finish(child).code, Some(0));
}

#[test]
fn same_checksums_of_real_files_as_xargs() {
    let script = "find /usr/bin /usr/lib -type f -readable -size -200k -print0 | head -z -n 400";
    let files = feed(Command::new("sh").args(["-c", script]), "").out;
    assert!(
        files.split(|&byte| byte == 0).count() > 50,
        "few files here"
    );
    let ours = run(&["-0", "cksum"], files.clone());
    let theirs = feed(Command::new("xargs").args(["-0", "-n1", "cksum"]), files);
    assert_eq!((ours.code, theirs.code), (Some(0), Some(0)), "{}", ours.err);
    assert_eq!(ours.sorted_lines(), theirs.sorted_lines());
}

#[test]
fn summary_counts() {
    let ran = run(
        &["--summary", "json", "sh", "-c", "exit {}"],
        "0\n1\n0\n2\n",
    );
    let summary = ran.summary();
    assert_eq!(
        (&summary["jobs"], &summary["failed"]),
        (&4.into(), &2.into())
    );
    assert!(summary["elapsed_s"].as_f64().unwrap() > 0.0);
    assert!((1..=4).contains(&summary["peak_jobs"].as_u64().unwrap()));
    assert!(summary["mean_runnable"].as_f64().unwrap() >= 0.0);
    let text = run(&["--summary", "text", "true"], "a\n").err;
    assert!(text.starts_with("1 jobs, 0 failed, "), "{text}");
    assert_eq!(run(&["true"], "a\n").err, "");
}

#[test]
fn max_active_is_an_upper_limit() {
    let folder = Folder::new();
    // Fails where another job is there at the same time.
    let alone = format!(
        "mkdir '{0}' && sleep 0.01 && rmdir '{0}'",
        folder.name("busy")
    );
    let args = ["--max-active", "1", "--summary", "json", "sh", "-c", &alone];
    let ran = run(&args, numbers(30));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.summary()["peak_jobs"], 1);
}

#[test]
fn usage_errors_are_named_and_exit_with_1() {
    for (args, named) in [
        (&["--max-active", "0", "true"][..], "--max-active"),
        (&["--max-active", "many", "true"], "many"),
        (&["--summary", "yaml", "true"], "yaml"),
        (&["--summary", "sh", "-c", "true"], "'sh' for '--summary"),
        (&["--max-active", "sh", "-cv"], "'sh' for '--max-active"),
        (&["--no-such-option"], "--no-such-option"),
        (&["-a", "no-such-file", "true"], "no-such-file"),
        (&["-a", "/", "true"], "/: "),
    ] {
        let ran = run(args, "x\n");
        assert_eq!(ran.code, Some(1), "{args:?}");
        assert!(ran.err.contains(named), "{args:?}: {}", ran.err);
    }
}

#[test]
fn help_tells_defaults_and_exit_statuses() {
    let ran = run(&["--help"], "");
    assert_eq!(ran.code, Some(0));
    for part in ["1024", "Exit status", "123", "128+N", "{}", "--keep-order"] {
        assert!(ran.text().contains(part), "{part} is not in the help");
    }
}
