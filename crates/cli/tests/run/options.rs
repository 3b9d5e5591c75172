//! What options do.

use crate::support::{
    Folder, command, feed, finish, give, is_root, numbers, run, shell, start, until, wait_for,
};
use std::io::{BufRead, BufReader, Write};
use std::process::Command;

#[test]
fn max_args_gives_lines_to_a_job_as_xargs_does() {
    let ours = run(&["-k", "-n", "3", "echo", "x"], numbers(10));
    let theirs = feed(
        Command::new("xargs").args(["-n3", "echo", "x"]),
        numbers(10),
    );
    assert_eq!((ours.code, ours.text()), (Some(0), theirs.text()));
    let ran = run(&["-n2", "-k", "echo", "{}", "-", "{}"], "a b\n{}\nc\n");
    assert_eq!(ran.lines(), ["a b {} - a b {}", "c - c"]);
}

#[test]
fn max_args_is_bounded_by_what_an_argument_list_can_hold() {
    let lines: Vec<u8> = [&vec![b'x'; 100_000][..], b"\n"].concat().repeat(60);
    let args = ["-n", "1000000", "--summary", "json", "sh", "-c", "echo $#"];
    let ran = run(&args, lines);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let counts: Vec<u32> = ran
        .lines()
        .iter()
        .map(|line| line.parse().unwrap())
        .collect();
    // The first word is the shell's own name.
    assert_eq!(counts.iter().sum::<u32>() + counts.len() as u32, 60);
    assert!(counts.len() > 1 && counts.len() < 60, "{counts:?}");
}

#[test]
fn max_args_needs_a_command_and_a_word_of_its_own() {
    for (args, named) in [
        (&["-n2", "cp", "{}", "{}.old"][..], "{}.old"),
        (&["-n2"], "COMMAND"),
        (&["-n0"], "COMMAND"),
    ] {
        let ran = run(args, "x\n");
        assert_eq!(ran.code, Some(1), "{args:?}");
        assert!(ran.err.contains(named), "{args:?}: {}", ran.err);
    }
}

#[test]
fn dry_run_prints_what_a_shell_would_do_the_same_with() {
    let folder = Folder::new();
    let made = folder.name("it's made");
    let dry = run(
        &["--dry-run", "-n2", "touch"],
        format!("{made}\n{made} 2\nx y\n"),
    );
    assert_eq!((dry.code, dry.lines().len()), (Some(0), 2));
    assert!(!folder.path("it's made").exists());
    let first = dry.lines().remove(0);
    assert_eq!(run::<&str>(&[], first).code, Some(0));
    assert!(folder.path("it's made").exists() && folder.path("it's made 2").exists());
    assert_eq!(
        run(&["--dry-run"], "a | b\n\nc; d\n").text(),
        "a | b\nc; d\n"
    );
}

#[test]
fn nice_is_that_of_the_jobs() {
    assert_eq!(
        run(&["--nice", "19", "sh", "-c", "nice"], "x\n").text(),
        "19\n"
    );
    if is_root("run at a nice value below 0") {
        assert_eq!(
            run(&["--nice", "-3", "sh", "-c", "nice"], "x\n").text(),
            "-3\n"
        );
    }
    assert_eq!(run(&["--nice", "20", "true"], "x\n").code, Some(1));
}

/// Runs `cmwq` with these arguments at nice 19, as somebody who may not go below.
fn as_nobody(args: &[&str], input: &str) -> crate::support::Ran {
    let mut dropped = Command::new("setpriv");
    dropped.args([
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "--inh-caps=-all",
    ]);
    dropped.args(["--bounding-set=-all", "nice", "-n39"]); // to 19 from any level
    let folder = Folder::new();
    let copy = folder.path("cmwq");
    std::fs::copy(env!("CARGO_BIN_EXE_cmwq"), &copy).unwrap();
    run(
        &["chmod", "755"],
        format!("{}\n{}\n", folder.name("."), folder.name("cmwq")),
    );
    feed(
        dropped.arg(copy).arg("run").args(args).current_dir("/"),
        input,
    )
}

#[test]
fn nice_that_is_not_allowed_is_said_once_and_the_jobs_run() {
    if !is_root("become somebody without rights") {
        return;
    }
    let ran = as_nobody(&["--nice", "0", "sh", "-c", "nice"], "1\n2\n3\n");
    assert_eq!((ran.code, ran.text().as_str()), (Some(0), "19\n19\n19\n"));
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    assert!(ran.err.contains("nice 0 is not allowed"), "{}", ran.err);
    let quiet = as_nobody(&["--quiet", "--nice", "0", "true"], "1\n");
    assert_eq!((quiet.code, quiet.err.as_str()), (Some(0), ""));
}

#[test]
fn timeout_ends_the_whole_group_and_counts_as_failed() {
    let job = "trap 'echo told; exit 0' TERM; echo began; while :; do sleep 0.01; done";
    let ran = run(&["--timeout", "3"], format!("{job}\necho quick\n"));
    assert_eq!(ran.code, Some(123));
    assert_eq!(ran.lines(), ["quick", "began", "told"]);
    assert!(ran.err.contains("job 1: "), "{}", ran.err);
    assert!(ran.err.contains("timed out"), "{}", ran.err);
    assert_eq!(run(&["--timeout", "nan", "true"], "x\n").code, Some(1));
}

#[test]
fn timeout_kills_what_does_not_heed_it() {
    let ran = run(
        &["--timeout", "0.1", "--quiet"],
        "trap '' TERM; while :; do sleep 0.1; done\n",
    );
    assert_eq!((ran.code, ran.err.as_str()), (Some(123), ""));
}

/// A job that counts in the file "tries" and succeeds at the third attempt.
fn third_time(folder: &Folder, last: &str) -> String {
    let tries = folder.name("tries");
    format!(
        "echo x >>'{tries}'; n=$(wc -l <'{tries}'); echo try $n; [ $n -ge 3 ] || {{ {last}; }}\n"
    )
}

#[test]
fn retries_until_it_succeeds_and_shows_the_last_attempt() {
    for last in ["exit 1", "kill -9 $$", "sleep 1000"] {
        let folder = Folder::new();
        let args = ["--retries", "2", "--timeout", "20", "--summary", "json"];
        let args = if last == "sleep 1000" {
            ["--retries", "2", "--timeout", "2", "--summary", "json"]
        } else {
            args
        };
        let ran = run(&args, third_time(&folder, last));
        assert_eq!(
            (ran.code, ran.text().as_str()),
            (Some(0), "try 3\n"),
            "{}",
            ran.err
        );
        let summary = ran.summary();
        assert_eq!(
            (&summary["failed"], &summary["retries"]),
            (&0.into(), &2.into())
        );
        let folder = Folder::new();
        let all = run(
            &["--ungroup", "--retries", "2", "--timeout", args[3]],
            third_time(&folder, last),
        );
        assert_eq!(all.lines(), ["try 1", "try 2", "try 3"]);
    }
}

#[test]
fn attempts_are_numbered_where_they_are_named() {
    let args = ["--timeout", "0.2", "--retries", "2", "sleep"];
    let ran = run(&args, "1000\n");
    let says = |what: &str| format!("cmwq run: job 1: sleep (1000): timed out, attempt {what}");
    let told = [
        "1 of 3: trying again",
        "2 of 3: trying again",
        "3 of 3: failed",
    ]
    .map(says);
    assert_eq!(ran.err.lines().collect::<Vec<_>>(), told);
    let once = run(&["--timeout", "0.2", "sleep"], "1000\n");
    assert!(once.err.ends_with("timed out\n"), "{}", once.err);
    let ran = run(&["--retries", "1", "false"], "a\n");
    assert_eq!((ran.code, ran.err.as_str()), (Some(123), ""));
    let ran = run(&["--progress=full", "--retries", "1", "false"], "a\n");
    let again = "job 1: false (a): exited with status 1, attempt 1 of 2: trying again";
    assert_eq!(ran.err.matches(again).count(), 1, "{}", ran.err);
    assert_eq!(ran.err.matches("attempt").count(), 1, "{}", ran.err);
    let folder = Folder::new();
    let first = format!(
        "mkdir '{}' 2>&- && exec sleep 1000; :",
        folder.name("first")
    );
    let endless = ["--gnu", "--timeout", "1", "--retries", "0", &first];
    let ran = run(&endless, "a\n");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    // Where the machine is busy there may be more of them.
    assert!(
        ran.err.contains("timed out, attempt 1: trying again\n"),
        "{}",
        ran.err
    );
}

#[test]
fn retries_end_and_255_is_not_tried_again() {
    let folder = Folder::new();
    let ran = run(
        &["--retries", "1", "--summary", "json"],
        third_time(&folder, "exit 1"),
    );
    assert_eq!((ran.code, ran.text().as_str()), (Some(123), "try 2\n"));
    assert_eq!(ran.summary()["failed"], 1);
    let folder = Folder::new();
    let ran = run(&["--retries", "2"], third_time(&folder, "exit 255"));
    assert_eq!((ran.code, ran.text().as_str()), (Some(124), "try 1\n"));
    let folder = Folder::new();
    let ran = run(
        &["--retries", "2", "--halt", "never"],
        third_time(&folder, "exit 255"),
    );
    assert_eq!((ran.code, ran.text().as_str()), (Some(0), "try 3\n"));
}

#[test]
fn halt_never_goes_on_whatever_happens() {
    let jobs = "exit 1\nexit 255\nkill -9 $$\necho last\n";
    let ran = run(&["--max-active", "1", "--halt", "never"], jobs);
    assert_eq!(
        (ran.code, ran.text().as_str()),
        (Some(123), "last\n"),
        "{}",
        ran.err
    );
}

#[test]
fn halt_soon_waits_for_running_jobs_and_halt_now_ends_them() {
    for (when, lines) in [("soon", &["began", "ended"][..]), ("now", &["began"])] {
        let folder = Folder::new();
        let long = format!(
            "echo began; touch '{}'; sleep 1; echo ended",
            folder.name("runs")
        );
        // The others would take the room of these two if they could start.
        let fails = format!("{}; exit 7", until(&folder.name("runs")));
        let input = format!("{long}\n{fails}\n") + &"echo more\n".repeat(100);
        let ran = run(&["--max-active", "2", "--halt", when], input);
        assert_eq!(
            (ran.code, ran.lines()),
            (Some(123), lines.iter().map(ToString::to_string).collect())
        );
        assert_eq!(ran.err.matches("status 7; ").count(), 1, "{}", ran.err);
        let is_soon = ran
            .err
            .contains("no more jobs start, running ones are waited for");
        let is_now = ran.err.contains("aborting");
        assert_eq!(
            (is_soon, is_now),
            (when == "soon", when == "now"),
            "{}",
            ran.err
        );
    }
}

#[test]
fn halt_now_kills_what_does_not_heed_it() {
    let folder = Folder::new();
    let deaf = format!(
        "trap '' TERM; touch '{}'; while :; do sleep 0.1; done",
        folder.name("runs")
    );
    let fails = format!("{}; exit 1", until(&folder.name("runs")));
    let ran = run(&["--halt", "now"], format!("{deaf}\n{fails}\n"));
    assert_eq!(ran.code, Some(123), "{}", ran.err);
}

#[test]
fn line_buffer_writes_whole_lines_while_the_job_runs() {
    let folder = Folder::new();
    let mut child = start(&mut command(&["--line-buffer"]));
    let job = format!(
        "printf 'first\\nhal'; {}; printf 'f\\nend'\n",
        until(&folder.name("go"))
    );
    give(&mut child, &job);
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = || {
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        line
    };
    assert_eq!(line(), "first\n");
    folder.write("go", "");
    assert_eq!(
        (line(), line(), line()),
        ("half\n".into(), "end\n".into(), String::new())
    );
    assert_eq!(finish(child).code, Some(0));
}

#[test]
fn line_buffer_does_not_mix_lines() {
    let job = "for i in 1 2 3 4 5 6 7 8 9; do printf {}; printf {}; echo; echo e{} >&2; done";
    let ran = run(&["--line-buffer", "sh", "-c", job], numbers(60));
    let mut expected: Vec<String> = (1..=60).flat_map(|n| vec![format!("{n}{n}"); 9]).collect();
    expected.sort();
    assert_eq!(ran.sorted_lines(), expected);
    assert_eq!(ran.err.lines().count(), 9 * 60);
}

#[test]
fn ungroup_gives_jobs_our_own_streams() {
    let folder = Folder::new();
    let mut child = start(&mut command(&["--ungroup"]));
    let job = format!("printf half; {}; echo -whole\n", until(&folder.name("go")));
    give(&mut child, &job);
    let mut half = [0; 4];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut half).unwrap();
    folder.write("go", "");
    assert_eq!(finish(child).text(), "-whole\n");
}

#[test]
fn options_that_contradict_each_other_are_errors() {
    for args in [
        ["--results=x", "--line-buffer"],
        ["--ungroup", "--line-buffer"],
    ] {
        assert_eq!(
            run(&[&args[..], &["true"]].concat(), "x\n").code,
            Some(1),
            "{args:?}"
        );
    }
    assert_eq!(run(&["--resume", "true"], "x\n").code, Some(1));
}

#[test]
fn quiet_leaves_errors_that_end_the_run() {
    let ran = run(&["--quiet", "--progress"], "exit 255\n");
    assert_eq!(ran.code, Some(124));
    assert!(
        ran.err.contains("waited for (with --halt never"),
        "{}",
        ran.err
    );
}

#[test]
fn progress_is_erased_before_output_and_at_the_end() {
    let folder = Folder::new();
    let mut child = start(&mut command(&["--progress", "-n1", "sh", "-c"]));
    let slow = format!("{}; echo text >&2\n", until(&folder.name("go")));
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"exit 3\n").unwrap();
    stdin.write_all(slow.as_bytes()).unwrap();
    drop(stdin);
    let mut seen = Vec::new();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    while !String::from_utf8_lossy(&seen).contains("1/2, ") {
        assert_ne!(
            errors.read_until(b']', &mut seen).unwrap(),
            0,
            "no progress"
        );
        errors.read_until(b',', &mut seen).unwrap();
    }
    folder.write("go", "");
    std::io::Read::read_to_end(&mut errors, &mut seen).unwrap();
    assert_eq!(finish(child).code, Some(123));
    let seen = String::from_utf8(seen).unwrap();
    assert!(seen.contains("1 running"), "{seen:?}");
    assert!(seen.contains("1 failed"), "{seen:?}");
    // What is left when each line is erased where the terminal erases it.
    let left: String = seen
        .split("\r\x1b[K")
        .filter(|part| !part.contains("running"))
        .collect();
    assert_eq!(left, "text\n", "{seen:?}");
}

#[test]
fn man_page_and_completions_know_every_option_of_the_help() {
    let help = run(&["--help"], "").text();
    let cmwq = |args: &[&str]| feed(Command::new(env!("CARGO_BIN_EXE_cmwq")).args(args), "").text();
    let page = cmwq(&["man", "run"]).replace('\\', "");
    let scripts = ["bash", "zsh", "fish"].map(|shell| cmwq(&["completions", shell]));
    let options: Vec<&str> = help
        .lines()
        .filter_map(|line| {
            line.trim()
                .split("--")
                .nth(1)
                .filter(|_| line.trim().starts_with('-'))
        })
        .map(|rest| rest.split([' ', '[', '=', ',']).next().unwrap())
        .collect();
    assert!(options.len() > 15, "{options:?}");
    for option in options {
        assert!(
            page.contains(&format!("--{option}")),
            "{option} in the man page"
        );
        for script in &scripts {
            assert!(script.contains(option), "{option} in the completions");
        }
    }
    assert!(page.contains("EXIT STATUS"));
}

#[test]
fn help_that_cannot_be_written_is_an_error() {
    for words in ["--version", "run --help", "man run", "completions bash"] {
        let script = format!("\"$0\" {words} >/dev/full");
        let ran = shell(&script);
        assert_eq!(ran.code, Some(1), "{words}");
        assert!(ran.err.contains("No space left"), "{words}: {}", ran.err);
    }
}

#[test]
fn progress_of_its_own_accord_is_for_terminals() {
    let folder = Folder::new();
    let mut child = start(&mut command::<&str>(&[]));
    let job = format!("touch '{}'; sleep 0.5\n", folder.name("runs"));
    give(&mut child, &job);
    wait_for(&folder.path("runs"));
    assert_eq!(finish(child).err, "");
}

#[test]
fn the_summary_goes_to_a_file_and_names_what_failed() {
    let folder = Folder::new();
    let file = folder.name("summary");
    let args = [
        "--halt",
        "never",
        "--summary-file",
        &file,
        "sh",
        "-c",
        "exit $0",
    ];
    let ran = run(&args, "0\n7\n");
    assert_eq!((ran.code, ran.err.as_str()), (Some(123), ""));
    let read = || std::fs::read_to_string(folder.path("summary")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&read()).unwrap();
    let failed =
        serde_json::json!([{"sequence": 2, "arguments": "7", "why": "exited with status 7"}]);
    assert_eq!(summary["failed_jobs"], failed);
    let text = [&["--summary", "text"], &args[..]].concat();
    assert_eq!(run(&text, "0\n7\n").err, "");
    assert!(read().starts_with("job 2 (7): exited with status 7\n2 jobs, 1 failed, "));
    let nowhere = ["--summary-file", "/nonexistent/x", "echo"];
    let ran = run(&nowhere, "a\n");
    assert_eq!((ran.code, ran.text().as_str()), (Some(1), ""));
    assert!(ran.err.contains("/nonexistent/x: "), "{}", ran.err);
}

#[test]
fn what_is_said_of_a_job_names_its_line() {
    let ran = run(&["--timeout", "0.2", "sleep"], "1000\n");
    let told = "job 1: sleep (1000): timed out";
    assert!(ran.err.contains(told), "{}", ran.err);
    let ran = run(&["sh", "-c", "exit 255"], "a\tb\n");
    let told = "job 1: sh (a b): exited with status 255; no more jobs start";
    assert!(ran.err.contains(told), "{}", ran.err);
}
