//! Liberties that published command lines take: options in any spelling and twice, values that are
//! commands, programs that there are not.

use crate::support::{Folder, command, feed, lines, run};

#[test]
fn options_are_known_in_any_case_cut_short_and_with_two_dashes() {
    for options in [
        &["--Keep-Order"][..],
        &["--keep"],
        &["--keeporder"],
        &["--k"],
        &["-k", "--j", "2"],
        &["-k", "--Jobs=2"],
        &["-k", "--cf"],
        &["-k", "--n", "1"],
    ] {
        let ran = lines(&[options, &["echo", "--N", "{}"]].concat(), "a\nb\n");
        assert_eq!(ran, ["--N a", "--N b"], "{options:?}");
    }
    let unknown = run(&["--No-Such", "echo"], "");
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.err.contains("--no-such"), "{}", unknown.err);
    let absent = run(&["--Max-Chars", "9", "echo"], "");
    assert!(
        absent.err.contains("there is no --max-chars"),
        "{}",
        absent.err
    );
}

#[test]
fn of_an_option_given_twice_the_last_counts() {
    let tagged = [
        "--gnu",
        "-k",
        "--tagstring",
        "x",
        "--gnu",
        "-k",
        "--tagstring",
        "y",
        "echo",
    ];
    assert_eq!(lines(&tagged, "1\n"), ["y\t1"]);
    assert_eq!(
        lines(&["--halt", "2", "--halt", "0", "-j2", "-j1", "echo"], "1\n"),
        ["1"]
    );
}

#[test]
fn a_value_where_the_command_stands_is_one() {
    for command in ["{}", "{1}", "{} 2>&1", "{}; true", "{}|cat"] {
        let ran = lines(&["-k", command], "echo a  b\nfalse || echo 'c  d'\n");
        assert_eq!(ran, ["a b", "c  d"], "{command}");
    }
    let with_others = &["{2} {1}", ":::", "a  b", ":::", "echo x"];
    assert_eq!(lines(with_others, ""), ["x a  b"], "others are only values");
    let with_gnu = &["--gnu", "{2} {1}", ":::", "a  b", ":::", "echo x"];
    assert_eq!(lines(with_gnu, ""), ["x a b"], "there they are not");
    assert_eq!(
        lines(&["--gnu", "{}", "x", ":::", "echo a  b"], ""),
        ["a b x"]
    );
    let several = &["{}", ":::", "printf %s,", ":::", "a  b", "$(echo x)"];
    assert_eq!(
        lines(&[&["-k"], &several[..]].concat(), ""),
        ["a  b,$(echo x),"]
    );
    assert_eq!(lines(&["-n2", "{}"], "echo x\na  b\n"), ["x a  b"]);
    let of_bash = &["{}", ":::", "[[ a == a* ]] && echo yes"];
    assert_eq!(lines(of_bash, ""), ["yes"]);
}

#[test]
fn empty_lines_are_no_commands() {
    for command in [&["{}"][..], &["{}|cat"], &[]] {
        let ran = run(&[&["--summary=json"], command].concat(), "\ntrue\n\n");
        assert_eq!(ran.summary()["jobs"], 1, "{command:?}: {}", ran.err);
        assert_eq!(ran.code, Some(0), "{command:?}");
    }
}

#[test]
fn with_q_a_value_is_no_command() {
    assert_eq!(run(&["-q", "{}"], "echo a\n").code, Some(127));
    assert_eq!(run(&["-q", "{} 2>&1"], "echo a\n").code, Some(123));
    assert_eq!(lines(&["-q", "{}", "x"], "echo\n"), ["x"]);
}

#[test]
fn a_value_that_names_a_program_is_that_whatever_its_name() {
    let folder = Folder::new();
    let there = folder.name("");
    // Another process has it open to write, so that no child of this one does.
    let made = r##"printf '#!/bin/sh\necho it $*\n' >'a b; echo c'; chmod +x 'a b; echo c'"##;
    assert_eq!(
        run(&["--workdir", &there, "-n0", made, ":::", "x"], "").code,
        Some(0)
    );
    let line = format!("{}\n", folder.name("a b; echo c"));
    assert_eq!(lines(&["{}"], &line), ["it"]);
    let from_there = &["--workdir", &there, "{}", ":::", "./a b; echo c"];
    assert_eq!(lines(from_there, ""), ["it"]);
    assert_eq!(lines(&["{} x; echo y"], &line), ["it x", "y"]);
    assert_eq!(
        lines(&["{}", "x"], &line),
        ["it x"],
        "several words are no script"
    );
}

#[test]
fn a_value_beside_the_first_word_is_no_code() {
    let ran = run(&["{}o 1; echo {}"], "$(echo ech)\n");
    assert_eq!(ran.lines(), ["$(echo ech)"], "{}", ran.err);
    assert_eq!(lines(&["echo {}"], "$(echo x)\n"), ["$(echo x)"]);
}

#[test]
fn with_gnu_a_program_that_there_is_not_stops_nothing() {
    let stopped = run(&["-j1", "cmwq-no-such-command"], "1\n2\n3\n");
    assert_eq!(stopped.code, Some(127));
    for options in [&["--gnu"][..], &["--halt", "never"]] {
        let names = "cmwq-no-such-command\n-a\n/dev/null\necho\n";
        let args = [options, &["-k", "--joblog", "-", "{}", "x"]].concat();
        let ran = run(&args, names);
        assert_eq!(ran.code, Some(123), "{}", ran.err);
        let text = ran.text();
        let exits = text.lines().filter_map(|line| line.split('\t').nth(4));
        let exits: Vec<&str> = exits.collect();
        assert_eq!(exits, ["exit", "127", "127", "126", "0"], "{text}");
        assert!(ran.err.contains("cmwq-no-such-command: "), "{}", ran.err);
    }
}

#[test]
fn the_number_of_jobs_may_be_in_a_file() {
    let folder = Folder::new();
    let number = folder.write("number", "1\n");
    let summary = ["--summary=json", "-j", &number, "sleep", "0.1"];
    assert_eq!(run(&summary, "\n\n\n").summary()["peak_jobs"], 1);
    let wrong = folder.write("wrong", "many\n");
    for (jobs, says) in [
        (&wrong[..], "there is no number of jobs in the file"),
        ("nowhere", "no file with one"),
        ("/dev/zero", "no file with one"),
    ] {
        let ran = run(&["-j", jobs, "echo"], "");
        assert_eq!(ran.code, Some(1));
        assert!(
            ran.err.contains(says) && ran.err.contains(jobs),
            "{}",
            ran.err
        );
    }
}

#[test]
fn the_folder_of_large_output_may_be_an_option() {
    let folder = Folder::new();
    let there = folder.name("");
    let there = there.trim_end_matches('/').to_owned();
    let ran = run(&["--tmpdir", &there, "echo {} $TMPDIR"], "x\n");
    assert_eq!(ran.lines(), [format!("x {there}")]);
    let missing = folder.name("missing");
    let ran = run(&["--tmpdir", &missing, "echo"], "x\n");
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains(&missing), "{}", ran.err);
}

/// What GNU parallel writes.
const GNU_LOG: &str = "\
Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand
1\t:\t1.5\t0.1\t0\t2\t0\t0\techo 1
";

#[test]
fn with_gnu_a_joblog_begins_anew() {
    let folder = Folder::new();
    let log = folder.write("log", GNU_LOG);
    let refused = run(&["--joblog", &log, "echo"], "1\n");
    assert!(
        refused.err.contains("it is GNU parallel's"),
        "{}",
        refused.err
    );
    for value in ["1", "2"] {
        assert_eq!(lines(&["--gnu", "--joblog", &log, "echo"], value), [value]);
        let text = std::fs::read_to_string(&log).unwrap();
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(text.ends_with(&format!("\t{value}\n")), "{text}");
    }
    let resumed = ["--gnu", "--joblog", &log, "--resume", "echo"];
    assert_eq!(lines(&resumed, "2\n3\n"), ["3"]);
    let nowhere = [
        "--gnu",
        "--joblog",
        &log,
        "--summary-file",
        "/no/such",
        "echo",
    ];
    assert_eq!(run(&nowhere, "1\n").code, Some(1));
    let kept = std::fs::read_to_string(&log).unwrap();
    assert_eq!(kept.lines().count(), 4, "{kept}");
    let other = folder.write("other", "a letter\n");
    let mut refused = command(&["--gnu", "--joblog", &other, "echo"]);
    assert_eq!(feed(&mut refused, "1\n").code, Some(1));
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "a letter\n");
}

#[test]
fn with_gnu_a_value_is_divided_at_newlines() {
    assert_eq!(lines(&["echo", ":::", "a\nb"], ""), ["a", "b"], "one job");
    assert_eq!(
        lines(&["--gnu", "-k", "echo x", ":::", "a\nb\n"], ""),
        ["x a", "x b"]
    );
    let with_names = ["--gnu", "-k", "--header", ":", "echo {x}", ":::", "x\n1\n2"];
    assert_eq!(lines(&with_names, ""), ["1", "2"]);
}
