//! What people write for GNU parallel and xargs.

use crate::support::{Folder, command, feed, finish, lines, numbers, run, start, wait_for};
use std::io::Write;
use std::process::Command;

#[test]
fn values_come_from_the_command_line_each_with_each() {
    assert_eq!(
        lines(&["-k", "echo", ":::", "a b", "c"], "not read\n"),
        ["a b", "c"]
    );
    let product = ["-k", "echo", "{2}-{1}", ":::", "a", "b", ":::", "1", "2"];
    assert_eq!(lines(&product, ""), ["1-a", "2-a", "1-b", "2-b"]);
    let linked = [
        "-k", "--link", "echo", ":::", "a", "b", ":::", "1", "2", "3",
    ];
    assert_eq!(lines(&linked, ""), ["a 1", "b 2", "a 3"]);
    assert_eq!(lines(&["-k", "echo", ":::"], "not read\n"), [""; 0]);
    assert_eq!(lines(&["-k", ":::", "echo a; echo b"], ""), ["a", "b"]);
}

#[test]
fn sources_are_files_too_and_one_may_be_standard_input() {
    let folder = Folder::new();
    std::fs::write(folder.path("f"), "x\ny\n").unwrap();
    let file = folder.name("f");
    let args = ["-k", "echo", "::::", &file, "-", ":::", "z"];
    assert_eq!(lines(&args, "1\n2\n"), ["x 1 z", "x 2 z", "y 1 z", "y 2 z"]);
    let ran = run(&["echo", "::::", "no-such-file"], "");
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("no-such-file: "), "{}", ran.err);
    assert_eq!(lines(&["-k", "-a", "-", "cat"], "/dev/null\n"), [""; 0]);
}

#[test]
fn names_are_taken_apart_and_look_alikes_left_alone() {
    let names = ["-k", "echo", "{.} {/} {//} {/.}"];
    assert_eq!(lines(&names, "d/a.tar.gz\n"), ["d/a.tar a.tar.gz d a.tar"]);
    let grep = ["-k", "grep", "-c", "-E", "a{2}", "{}"];
    let folder = Folder::new();
    std::fs::write(folder.path("f"), "aa\na\n").unwrap();
    assert_eq!(lines(&grep, format!("{}\n", folder.name("f"))), ["1"]);
    let shell = ["-k", "sh", "-c", "set a b; echo ${#} \"$0\""];
    assert_eq!(lines(&shell, "x\n"), ["2 x"]);
    assert_eq!(lines(&["--plus", "echo {..} {+.}"], "a.tar.gz\n"), ["a gz"]);
    let other = ["-I", "%", "echo", "{}", "%%", "{.}", "{%}"];
    assert_eq!(lines(&other, "x.y\n"), ["{} x.yx.y x 1"]);
    assert_eq!(
        lines(&["echo", "{1}", "{1.}", "a{2}"], "x.y\n"),
        ["x.y x a{2}"]
    );
}

#[test]
fn one_word_with_shell_syntax_is_run_by_a_shell() {
    let folder = Folder::new();
    let file = folder.name("it's \"a\" $HOME.txt");
    lines(&["echo {/} >{}; echo \"{/.}\" >>{}"], format!("{file}\n"));
    let made = std::fs::read_to_string(&file).unwrap();
    assert_eq!(made, "it's \"a\" $HOME.txt\nit's \"a\" $HOME\n");
    let ran = run(&["--dry-run", "wc -l {} >{.}.n"], "a b.c\n");
    assert_eq!(ran.lines(), ["wc -l 'a b.c' >'a b'.n"]);
    let ran = run(&["exit 7"], "x\n");
    assert_eq!(ran.code, Some(123), "{}", ran.err);
}

#[test]
fn what_is_written_for_bash_is_run_by_bash() {
    if Command::new("bash").args(["-c", "exit"]).status().is_err() {
        return println!("skipped: no bash");
    }
    let script = "[[ {} == a* ]] && cat <(echo {1}) &>/dev/stdout; true";
    assert_eq!(lines(&["-k", script], "ab\nb\n"), ["ab"]);
    assert_eq!(lines(&["-k"], "echo {1..3}\necho 4\n"), ["1 2 3", "4"]);
}

#[test]
fn the_words_of_command_are_a_script_where_parallels_rules_are_asked_for() {
    let folder = Folder::new();
    let file = folder.name("made");
    let args = [
        "--gnu", "-k", "echo", "a  b", "{}", ">>", &file, ";", "echo", "{#}",
    ];
    assert_eq!(lines(&args, "it's\n"), ["1"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "a b it's\n");
    assert_eq!(lines(&["--gnu", "-q", "echo", "a;", "{}"], "x\n"), ["a; x"]);
}

#[test]
fn a_job_may_be_given_nothing_of_its_line() {
    assert_eq!(lines(&["-n0", "-k", "echo", "x"], "a\nb\n"), ["x", "x"]);
    assert_eq!(
        lines(&["-N0", "-k", "echo x {#}"], "a\nb\n"),
        ["x 1", "x 2"]
    );
    let numbers = lines(&["-k", "echo", "{#}"], "a\nb\n");
    assert_eq!(numbers, ["1", "2"], "nor where its number is used");
}

#[test]
fn a_script_of_many_lines_is_no_longer_than_a_word_can_be() {
    let input = format!("{}\n", "'".repeat(1000)).repeat(300);
    let ran = run(&["-n", "1000000", "printf '%s\\n' {} | wc -l"], input);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let counts = ran.lines().into_iter();
    let counts: Vec<u32> = counts.map(|line| line.trim().parse().unwrap()).collect();
    assert_eq!(counts.iter().sum::<u32>(), 300);
    assert!(counts.len() > 1, "{counts:?}");
}

#[test]
fn a_file_behind_colons_is_read_as_there_is_room() {
    let folder = Folder::new();
    let mut child = start(&mut command(&["touch", "{1}", "::::", "-"]));
    let mut stdin = child.stdin.take().unwrap();
    let name = folder.name("made");
    stdin.write_all(format!("{name}\n").as_bytes()).unwrap();
    // The input has not ended.
    wait_for(&folder.path("made"));
    drop(stdin);
    assert_eq!(finish(child).code, Some(0));
}

#[test]
fn an_operator_that_is_an_argument_is_said_to_be_one() {
    let ran = run(&["echo", "{}", ">", "x"], "a\n");
    assert_eq!((ran.code, ran.lines()), (Some(0), vec!["a > x".to_owned()]));
    assert!(ran.err.contains("\">\" is given to COMMAND"), "{}", ran.err);
    assert_eq!(run(&["--quiet", "echo", ">"], "a\n").err, "");
}

#[test]
fn lines_have_columns() {
    let csv = ["-k", "--colsep", ",", "echo", "{2}", "{1}", "[{3}]"];
    assert_eq!(lines(&csv, "a,b,c\nd,e\n"), ["b a [c]", "e d []"]);
    assert_eq!(lines(&["-C", r"\s+", "echo", "{-1}"], "a  b\tc\n"), ["c"]);
    assert_eq!(
        lines(&["-k", "-N2", "echo", "{2}{1}"], "a\nb\nc\n"),
        ["ba", "c"]
    );
    assert_eq!(lines(&["-d", ",", "-k", "echo"], "a,b c"), ["a", "b c"]);
}

#[test]
fn functions_of_the_callers_bash_are_commands() {
    let bash = Command::new("bash").args(["-c", "exit"]).status();
    if bash.is_err() {
        return println!("skipped: no bash");
    }
    let script = "f() { echo \"$CMWQ_SEQ:$1\"; }; export -f f; \"$0\" run -k f; \
                  \"$0\" run 'f {} | tr : -' ::: b";
    let mut shell = Command::new("bash");
    let ran = feed(
        shell.args(["-c", script, env!("CARGO_BIN_EXE_cmwq")]),
        "a b\n",
    );
    assert_eq!(ran.lines(), ["1:a b", "1-b"], "{}", ran.err);
}

#[test]
fn jobs_know_their_number_and_their_slot() {
    let script =
        "echo $CMWQ_SEQ $PARALLEL_SEQ {#}; echo $CMWQ_SLOT $PARALLEL_JOBSLOT {%} >&2; : {}";
    let ran = run(&["-k", "-j2", "--quiet", script], "a\n".repeat(40));
    let expected: Vec<String> = (1..=40).map(|n| format!("{n} {n} {n}")).collect();
    assert_eq!(ran.lines(), expected);
    let slots: Vec<&str> = ran.err.lines().collect();
    assert_eq!(slots.len(), 40);
    for slot in slots {
        assert!(["1 1 1", "2 2 2"].contains(&slot), "{slot}");
    }
}

#[test]
fn output_is_tagged() {
    let script = "echo x; printf y; printf 'e\\n' >&2";
    for how in ["--keep-order", "--line-buffer"] {
        let ran = run(&[how, "--tag", "--max-active=1", script, ":::", "a b"], "");
        assert_eq!(ran.lines(), ["a b\tx", "a b\ty"], "{how}: {}", ran.err);
        assert_eq!(ran.err, "a b\te\n", "{how}");
    }
    // Of a line with columns, what {} stands for.
    let columns = ["--tag", "--colsep", ",", "echo", "{2}"];
    assert_eq!(run(&columns, "a,b c\n").lines(), ["a b c\tb c"]);
    let text = [
        "-k",
        "--tagstring",
        "<{2}.{#}>",
        "echo",
        "{1}",
        ":::",
        "a",
        ":::",
        "b",
        "c",
    ];
    assert_eq!(lines(&text, ""), ["<b.1>\ta", "<c.2>\ta"]);
    let both = ["-k", "--line-buffer", "--tagstring", "{}", "echo"];
    assert_eq!(lines(&both, "x\ny\n"), ["x\tx", "y\ty"]);
}

#[test]
fn dash_j_is_an_upper_limit() {
    let ran = run(&["-j4", "true"], "a\nb\n");
    assert_eq!(ran.code, Some(0));
    assert_eq!(ran.err, "", "it is said on a terminal");
    assert_eq!(run(&["-P", "0", "true"], "a\n").err, "");
    let ran = run(&["-jx", "true"], "a\n");
    assert!(
        ran.code == Some(1) && ran.err.contains("-j \"x\""),
        "{}",
        ran.err
    );
    let ran = run(&["-j1", "--max-active=2", "true"], "a\n");
    assert_eq!(ran.code, Some(1));
}

#[test]
fn what_there_is_not_is_refused_with_what_to_do() {
    for (option, says) in [
        ("--round-robin", "--pipe"),
        ("--termseq=TERM,1,KILL", "SIGTERM"),
        ("-p", "--dry-run"),
        ("--semaphore", "flock(1)"),
        ("--rpl={x}", "${x##*.}"),
        ("--trim=x", "both"),
        ("--workdir=/no/such", "/no/such"),
        ("--workdir=/dev/null", "no folder"),
        ("--files", "--results"),
        ("-Shost", "ssh"),
        ("--results=x.csv", "--joblog"),
        ("--header=1", ":"),
    ] {
        let ran = run(&[option, "true"], "a\n");
        assert_eq!(ran.code, Some(1), "{option}");
        assert!(ran.err.contains(says), "{option}: {}", ran.err);
    }
    assert_eq!(
        lines(
            &[
                "--env",
                "f",
                "-rq",
                "--will-cite",
                "--load",
                "80%",
                "--wd",
                ".",
                "-S",
                ":",
                "echo"
            ],
            "a\n"
        ),
        ["a"]
    );
    let cite = run(&["--citation"], "will cite\n");
    assert_eq!((cite.code, cite.text().as_str()), (Some(0), ""));
    let perl = run(&["echo", "{= $_ *= 2 =}"], "1\n");
    assert_eq!(perl.code, Some(1));
    assert!(perl.err.contains("there is no {= =}"), "{}", perl.err);
    let ran = run(
        &["--halt", "now,fail=1", "-j1", "--quiet", "false"],
        "a\nb\n",
    );
    assert_eq!(ran.code, Some(123), "{}", ran.err);
}

#[test]
fn forms_and_contexts_that_are_not_here_are_refused() {
    for form in ["{##}", "{%_demo}", "{#my}", "{/a/b}"] {
        for word in [form.to_owned(), format!("of {form} x")] {
            let refused = run(&["--plus", "echo", &word], "1\n");
            assert_eq!(refused.code, Some(1), "{word}");
            let says = format!("there is no {form}:");
            assert!(refused.err.contains(&says), "{}", refused.err);
        }
    }
    let ours = run(
        &["--plus", "f={}; echo ${f%.c} {#} {%} {/.} {..}"],
        "a.b.c\n",
    );
    assert_eq!(ours.text(), "a.b 1 1 a.b a\n", "{}", ours.err);
    let refused = run(&["-m", "touch", "pict{}.jpg"], "1\n2\n");
    assert_eq!(refused.code, Some(1));
    let says = "part of \"pict{}.jpg\": -N and -X repeat the word";
    assert!(refused.err.contains(says), "{}", refused.err);
    let listed = run(&["--gnu", "-X", "echo", "{}"], "1\n2\n");
    assert_eq!(listed.code, Some(0), "{}", listed.err);
}

#[test]
fn blanks_are_taken_off_values_where_that_is_asked_for() {
    let sides = |sides| {
        lines(
            &["-k", "--trim", sides, "-C", ",", "echo", "[{1}]{2}."],
            " a , b \n",
        )
    };
    assert_eq!(sides("lr"), ["[a]b."]);
    assert_eq!(sides("rl"), ["[a]b."]);
    assert_eq!(sides("l"), ["[a ]b ."]);
    assert_eq!(sides("r"), ["[ a] b."]);
    assert_eq!(sides("n"), ["[ a ] b ."]);
    assert_eq!(
        lines(&["--trim", "lr", "printf", "[%s]"], "\t a b  \n"),
        ["[a b]"]
    );
    assert_eq!(
        lines(&["-k", "--trim=lr", "--tag", "echo", ":::", " x"], ""),
        ["x\tx"]
    );
}

#[test]
fn all_lines_are_spread_over_a_few_jobs() {
    for option in ["-m", "-X"] {
        let jobs = lines(&["-k", "-j2", option, "echo", "x", "{}", "y"], numbers(103));
        assert!((2..=4).contains(&jobs.len()), "{jobs:?}");
        let words = jobs.iter().flat_map(|job| job.split(' '));
        let words: Vec<&str> = words.filter(|word| !["x", "y"].contains(word)).collect();
        assert_eq!(words.len(), 103);
        assert!(
            words
                .iter()
                .zip(1..)
                .all(|(word, n)| **word == format!("{n}")),
            "in order"
        );
    }
    let at_most_two = lines(&["-k", "-m", "-n2", "echo"], numbers(20));
    assert!(at_most_two.iter().all(|job| job.split(' ').count() <= 2));
    for one in [&["-j1", "-m"][..], &["-Xj1"], &["-j2", "--xargs"]] {
        let all = lines(&[one, &["echo", ":::", "a", "b", "c"]].concat(), "");
        assert_eq!(all, ["a b c"], "{one:?}");
    }
}

#[test]
fn jobs_run_where_they_are_to() {
    let folder = Folder::new();
    folder.write("here", "");
    let at = folder.name("");
    assert_eq!(lines(&["--wd", &at, "ls"], "here\n"), ["here"]);
    let args = ["--workdir", &at, "--nice", "19", "cat here; echo {}"];
    assert_eq!(lines(&args, "x\n"), ["x"]);
}

#[test]
fn who_writes_by_himself_is_in_no_order() {
    let ran = run(&["-k", "-u", "echo"], "a\nb\n");
    assert_eq!(
        (ran.code, ran.sorted_lines()),
        (Some(0), vec!["a".into(), "b".into()])
    );
}

#[test]
fn with_the_words_of_parallel_its_count_of_tries_holds() {
    let folder = Folder::new();
    let (tries, count) = (folder.name("tries"), |file: &str| {
        std::fs::read_to_string(file).unwrap().lines().count()
    });
    for (args, attempts) in [
        (&["--retries", "3"][..], 4),
        (&["--gnu", "--retries", "3"], 3),
        (&["--gnu", "--retries", "1"], 1),
    ] {
        let script = format!("echo x >>{tries}; false {{}}");
        let args = [args, &["--quiet", &script, ":::", "a"]].concat();
        assert_eq!(run(&args, "").code, Some(123));
        assert_eq!(count(&tries), attempts);
        std::fs::remove_file(&tries).unwrap();
    }
}

#[test]
fn verbose_prints_commands_and_shuf_keeps_all_lines() {
    let ran = run(&["-t", "true", "a b"], "c\n");
    assert_eq!(ran.err, "true 'a b' c\n");
    let ran = run(&["--shuf", "echo"], "1\n2\n3\n4\n");
    assert_eq!(ran.sorted_lines(), ["1", "2", "3", "4"]);
}

#[test]
fn starts_are_apart_as_far_as_asked() {
    let began = std::time::Instant::now();
    assert_eq!(
        lines(&["--delay", "0.1", "-k", "echo"], "1\n2\n3\n").len(),
        3
    );
    assert!(began.elapsed() >= std::time::Duration::from_millis(200));
}

#[test]
fn results_are_files_where_parallel_puts_them() {
    let folder = Folder::new();
    let file = |name: &str| std::fs::read_to_string(folder.path(name)).unwrap();
    let args = [
        "-k",
        "--results",
        &folder.name("all"),
        "echo {1}; echo {2} >&2; exit {2}",
    ];
    let values = [":::", "a/b", "c", ":::", "0", "3"];
    let ran = run(&[&args[..], &values[..]].concat(), "");
    let nothing = (Some(123), String::new(), String::new());
    assert_eq!((ran.code, ran.text(), ran.err), nothing);
    let of = |name: &str| file(&format!("all/1/a\\_b/2/3/{name}"));
    let all = ["stdout", "stderr", "seq", "exitval"].map(of);
    assert_eq!(all, ["a/b\n", "3\n", "2\n", "3\n"]);
    let each = folder.name("{}.{#}");
    assert_eq!(lines(&["--results", &each, "echo"], "x\n"), [""; 0]);
    assert_eq!(
        (file("x.1"), file("x.1.err"), file("x.1.seq")),
        ("x\n".into(), String::new(), "1\n".into())
    );
    let large = [
        "--results",
        &folder.name("large"),
        "head -c 3000000 /dev/zero #",
    ];
    assert_eq!(run(&large, "x\n").code, Some(0));
    assert_eq!(file("large/1/x/stdout").len(), 3_000_000);
}

#[test]
fn results_that_cannot_be_written_are_our_error() {
    let folder = Folder::new();
    let below = format!("{}/{{#}}", folder.write("file", ""));
    let log = folder.name("log");
    let ran = run(&["--results", &below, "--joblog", &log, "echo"], "x\n");
    assert_eq!((ran.code, ran.text().as_str()), (Some(1), ""));
    assert!(
        ran.err
            .contains("job 1: echo (x): its output was lost: results "),
        "{}",
        ran.err
    );
    let logged = std::fs::read_to_string(log).unwrap();
    assert_eq!(logged.lines().count(), 2, "it is run again: {logged}");
}

#[test]
fn columns_have_names_where_there_is_a_header() {
    let csv = ["-k", "--header", ":", "--colsep", ",", "echo {age} {name.}"];
    assert_eq!(lines(&csv, "name,age\na b.c,3\nd,4\n"), ["3 a b", "4 d"]);
    let sources = [
        "-k", "--header", ":", "echo", "{y}{x}", ":::", "x", "1", "2", ":::", "y", "a",
    ];
    assert_eq!(lines(&sources, ""), ["a1", "a2"]);
    let folder = Folder::new();
    let file = folder.write("list", "host\nalpha\n");
    let results = folder.name("out");
    let named = [
        "--header",
        ":",
        "--results",
        &results,
        "echo",
        "{host}",
        "::::",
        &file,
    ];
    assert_eq!(lines(&named, ""), [""; 0]);
    let made = std::fs::read_to_string(folder.path("out/host/alpha/stdout"));
    assert_eq!(made.unwrap(), "alpha\n");
}
