//! Values where they stand in a script: whatever they are, they are nothing but values. More in the
//! tests of `src/run/script`.

use crate::support::{Folder, command, feed, lines, run};

#[test]
fn no_value_is_code_in_a_comment_a_here_document_or_a_substitution() {
    let folder = Folder::new();
    let touch = "$(touch pwned)";
    for script in [
        "# don't overwrite\ntest -e {}.gz || echo {}",
        "b=`basename \"{}\" .txt`; echo \"$b\"",
        "cat <<EOF\n{}\nEOF",
        "echo $'{}'",
        "echo \"${}\" | cut -c2-",
        "x=\"$(case a in a) echo {};; esac)\"; echo \"$x\"",
    ] {
        for gnu in [&["--gnu"][..], &[]] {
            let mut command = command(&[gnu, &[script, ":::", touch]].concat());
            let ran = feed(command.current_dir(folder.path("")), "");
            assert_eq!(
                (ran.code, ran.text()),
                (Some(0), format!("{touch}\n")),
                "{script}"
            );
            assert!(!folder.path("pwned").exists(), "{script}");
        }
    }
}

#[test]
fn a_job_fails_whose_value_cannot_stand_there_and_others_run() {
    let ran = run(
        &["-k", "echo $(( {} * 2 ))", ":::", "2", "$(echo 3)", "4"],
        "",
    );
    assert_eq!((ran.code, ran.text().as_str()), (Some(123), "4\n8\n"));
    assert!(ran.err.contains("is no whole number"), "{}", ran.err);
    let refused = run(&["cat <<'END'\n{}\nEND"], "a\n");
    assert_eq!((refused.code, refused.text().as_str()), (Some(1), ""));
    assert!(refused.err.contains("write <<END"), "{}", refused.err);
}

#[test]
fn messages_and_dry_runs_show_the_values() {
    let script = "false \"$(cat {})\" # {#}";
    let dry = lines(&["--dry-run", script, ":::", "a b"], "");
    assert_eq!(dry, ["false \"$(cat 'a b')\" # 1"]);
    let ran = run(&["--halt", "soon", script, ":::", "a b"], "");
    assert!(ran.err.contains(&dry[0]), "{}", ran.err);
    let many = lines(&["-n2", "echo {}; echo {2} '{1}'", ":::", "a b", "c"], "");
    assert_eq!(many, ["a b c", "c a b"]);
    let numbers = &[
        "-N2",
        "x=; echo {}1>&2; echo $x{}.y; echo a{}>&2",
        ":::",
        "1",
        "2",
    ];
    let ran = run(numbers, "");
    let said = ["11 21\na1 a2\n", "1 2.y\n"];
    assert_eq!([ran.err.as_str(), ran.text().as_str()], said);
    assert_eq!(
        lines(&["-N2", "echo x{}.y '{}'", ":::", "a", "b"], ""),
        ["xa.y xb.y a b"]
    );
}

#[test]
fn lines_without_a_command_have_the_shell_that_scripts_have() {
    assert_eq!(
        lines(&["--gnu"], "x=(a b); echo ${x[1]}\nlet y=3; echo $y\n").len(),
        2
    );
    let mut exports = command::<&str>(&[]);
    let ran = feed(exports.env("BASH_FUNC_f%%", "() { echo hi $1; }"), "f 1\n");
    assert_eq!(ran.text(), "hi 1\n");
}

#[test]
fn with_halt_never_what_cannot_be_started_fails_alone() {
    for builtin in [["cd", "/"], ["eval", "echo x"], ["exit", "0"]] {
        let ran = run(&["--halt", "never", builtin[0], ":::", builtin[1]], "");
        assert_eq!(
            (ran.code, ran.text().as_str()),
            (Some(123), ""),
            "{builtin:?}"
        );
        let says = format!("{}: command not found", builtin[0]);
        assert!(ran.err.contains(&says), "{}", ran.err);
    }
    let long = format!("{}\nok\n", "x".repeat(131_070));
    let ran = run(&["--gnu", "-k", "echo {} {} | wc -c"], long);
    assert_eq!(
        (ran.code, ran.text().as_str()),
        (Some(123), "6\n"),
        "{}",
        ran.err
    );
}

#[test]
fn what_messages_show_of_a_value_moves_no_cursor() {
    let ran = run(
        &["--halt", "soon", "false {}", ":::", "\u{1b}]0;x\u{7}"],
        "",
    );
    assert!(!ran.err.contains(['\u{1b}', '\u{7}']), "{:?}", ran.err);
}

#[test]
fn options_are_taken_as_they_are_meant_or_refused() {
    assert_eq!(lines(&["--ctag", "echo", ":::", "a"], ""), ["a\ta"]);
    let both = &["-k", "-a", "-", "echo", ":::", "a", "b"];
    assert_eq!(lines(both, "1\n2\n"), ["1 a", "1 b", "2 a", "2 b"]);
    for (refused, says) in [
        (&["--record-env"][..], "there is no --record-env"),
        (
            &["--colsep", " {2,}", "echo", "{1}"],
            "no regular expression",
        ),
        (&["--colsep", "^,", "echo", "{1}"], "no regular expression"),
        (&["--colsep", ",$", "echo", "{1}"], "no regular expression"),
        (&["-L", "2", "--colsep", ",", "echo"], "cannot be used with"),
        (&["-X", "--colsep", ",", "echo"], "cannot be used with"),
        (&["--csv", "-m", "echo"], "cannot be used with"),
        (&["--plus", "echo", "{+..}"], "there is no {+..}"),
    ] {
        let ran = run(refused, "a,b\nc,d\n");
        assert_eq!(
            (ran.code, ran.text().as_str()),
            (Some(1), ""),
            "{refused:?}"
        );
        assert!(ran.err.contains(says), "{}", ran.err);
    }
    for separator in ["{", "^", "$", "{x}"] {
        let line = format!("a{separator}b\n");
        assert_eq!(lines(&["--colsep", separator, "echo", "{2}"], line), ["b"]);
    }
}

#[test]
fn a_job_that_has_ended_while_our_reader_paused_has_not_timed_out() {
    // What it writes fills the pipe that nobody reads before it ends.
    let script = "seq 6000; sleep 0.2";
    let args = "--line-buffer --timeout 4 --summary=json sh -c";
    let text = format!("\"$0\" run {args} '{script}' ::: 1 2 3 2>\"$1\" | (sleep 6; wc -l)");
    let folder = Folder::new();
    let err = folder.path("err");
    let ran = std::process::Command::new("sh")
        .args(["-c", &text, env!("CARGO_BIN_EXE_cmwq")])
        .arg(&err)
        .output()
        .unwrap();
    let says = std::fs::read_to_string(&err).unwrap();
    assert!(!says.contains("timed out"), "{says}");
    assert_eq!(
        String::from_utf8(ran.stdout).unwrap().trim(),
        "18000",
        "{says}"
    );
}
