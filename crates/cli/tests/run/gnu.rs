//! Command lines that were written for GNU parallel: run as there, or said to be read otherwise.

use crate::support::run;

/// What standard output has, of a run that succeeds.
fn lines(args: &[&str], input: &str) -> Vec<String> {
    let ran = run(args, input);
    assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.err);
    ran.lines()
}

#[test]
fn words_that_only_a_shell_reads_are_named_once() {
    for (args, word) in [
        (&["echo", "{};", "echo", "{}"][..], "{};"),
        (&["echo", "\"$HOME\""], "\"$HOME\""),
        (&["echo", "{}", ">/dev/null"], ">/dev/null"),
        (&["echo", "{}", "|tr", "a", "b"], "|tr"),
        (&["echo", "$(date)"], "$(date)"),
        (&["echo", "*"], "*"),
    ] {
        let ran = run(args, "a\nb\n");
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let says = format!("\"{word}\" is given to COMMAND as an argument; for a shell, quote");
        assert_eq!(ran.err.matches(&says).count(), 1, "{}", ran.err);
        assert!(ran.err.contains("--gnu"), "{}", ran.err);
        assert_eq!(run(&[&["--gnu"], args].concat(), "a\n").err, "", "{word}");
        assert_eq!(run(&[&["-q"], args].concat(), "a\n").err, "", "{word}");
    }
}

#[test]
fn words_that_programs_are_given_are_not() {
    for args in [
        &["grep", "-c", "a*", "{}"][..],
        &["grep", "-c", ">", "{}"],
        &["sed", "s/a/b/;s/c/d/", "{}"],
        &["awk", "{print $1}", "{}"],
        &["echo", "http://h/?a={}&b=2"],
        &["find", "{}", "-name", "*.c", "-exec", "echo", "{}", ";"],
        &["cut", "-d", "|", "-f1", "{}"],
        &["sh", "-c", "exit $#; >x"],
    ] {
        let ran = run(args, "/dev/null\n");
        assert_eq!(ran.err, "", "{args:?}");
    }
}

#[test]
fn what_only_a_shell_can_run_is_said_to_be_no_program() {
    for word in ["exit", "A=1", "(cd"] {
        let ran = run(&[word, "echo"], "a\n");
        assert_eq!(ran.code, Some(127));
        let says = format!("\"{word}\" is no program: for a shell, quote COMMAND");
        assert!(ran.err.contains(&says), "{}", ran.err);
    }
    assert_eq!(run(&["A=1 echo"], "a\n").err, "");
}

#[test]
fn a_shell_runs_its_builtins_where_parallels_rules_are_asked_for() {
    assert_eq!(run(&["--gnu", "exit"], "0\n0\n").code, Some(0));
    assert_eq!(run(&["--gnu", "exit"], "3\n").code, Some(123));
    assert_eq!(run(&["--gnu", "cd"], "/\n").code, Some(0));
    assert_eq!(
        run(&["--gnu", "A={};", "exit", "$A"], "4\n").code,
        Some(123)
    );
}

#[test]
fn scripts_are_bashs_where_they_are_written_for_it() {
    if std::process::Command::new("bash")
        .args(["-c", "exit"])
        .status()
        .is_err()
    {
        return println!("skipped: no bash");
    }
    let of = |script| lines(&["-k", script], "a.b.c\n");
    assert_eq!(of("x={}; echo ${x/b/d}"), ["a.d.c"]);
    assert_eq!(of("x={}; echo ${x:2} ${x^}"), ["b.c A.b.c"]);
    // The echo of other shells reads backslashes.
    assert_eq!(lines(&["--gnu", "echo", "x", "{}"], "a\\tb\n"), ["x a\\tb"]);
}
