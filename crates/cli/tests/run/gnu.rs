//! Command lines that were written for GNU parallel: run as there, or said to be read otherwise.

use crate::support::{Folder, command, feed, lines, numbers, run};
use std::process::Command;

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
fn a_script_with_words_behind_it_is_named() {
    for script in [
        "sleep 0; true",
        "echo {}; true",
        "true|true",
        "cd {} && ls",
        "A=1 echo",
    ] {
        let ran = run(&[script, "{}", ":::", "a"], "");
        assert_eq!(ran.code, Some(127), "{}", ran.err);
        let says =
            format!("\"{script}\" is no program, and no script as words follow it: write {{}}");
        assert_eq!(ran.err.matches(&says).count(), 1, "{}", ran.err);
        assert!(ran.err.contains("--gnu"), "{}", ran.err);
        assert_eq!(
            run(&["--gnu", script, ":::", "/"], "").code,
            Some(0),
            "{script}"
        );
    }
    let folder = Folder::new();
    // A program that we write ourselves cannot be run while another test starts a process.
    let made = r##"printf '#!/bin/sh\necho $1\n' >'my tool'; chmod +x 'my tool'"##;
    let mut maker = Command::new("sh");
    feed(maker.args(["-c", made]).current_dir(folder.path(".")), "");
    let tool = folder.name("my tool");
    let name = folder.name("{} tool");
    let inside = [
        "--workdir",
        &folder.name("."),
        "./my tool",
        "b",
        ":::",
        "my",
    ];
    for args in [
        &[&tool, "b", ":::", "my"][..],
        &[&name, "b", ":::", "my"],
        &inside,
    ] {
        let ran = run(args, "");
        assert_eq!(
            (ran.text().as_str(), ran.err.as_str()),
            ("b\n", ""),
            "{args:?}"
        );
    }
    let ran = feed(
        command(&["my tool", "b", ":::", "my"]).env("PATH", folder.name(".") + ":/usr/bin:/bin"),
        "",
    );
    assert_eq!((ran.text().as_str(), ran.err.as_str()), ("b\n", ""));
}

/// Each of them has a place in the man page that says so.
#[test]
fn what_the_man_page_says_of_other_programs_options_is_so() {
    let page = feed(
        Command::new(env!("CARGO_BIN_EXE_cmwq")).args(["man", "run"]),
        "",
    )
    .text();
    let section = page
        .split(".SH XARGS AND GNU PARALLEL")
        .nth(1)
        .expect("a section");
    let section = section.split(".SH ").next().unwrap().replace("\\-", "-");
    let folder = Folder::new();
    let log = folder.name("log");
    for (options, code) in [
        (&["-P", "2"][..], 0),
        (&["-r"], 0),
        (&["-N", "2"], 0),
        (&["-L", "2"], 0),
        (&["-l", "2"], 0),
        (&["-X"], 0),
        (&["-m"], 0),
        (&["-E", "x"], 0),
        (&["-q"], 0),
        (&["-v"], 0),
        (&["-u"], 0),
        (&["--bar"], 0),
        (&["--eta"], 0),
        (&["--lb"], 0),
        (&["--cat", "--pipe"], 0),
        (&["--fifo", "--pipe"], 0),
        (&["--pipepart"], 0),
        (&["--rrs", "--pipe"], 0),
        (&["--arg-sep", ",,"], 0),
        (&["--arg-file-sep", ",,"], 0),
        (&["--resume-failed", "--joblog", &log], 0),
        (&["--memfree", "1M"], 0),
        (&["-i"], 0),
        (&["--load", "100%"], 0),
        (&["--env", "HOME"], 0),
        (&["--group"], 0),
        (&["--compress"], 0),
        (&["--will-cite"], 0),
        (&["--no-notice"], 0),
        (&["-S", ":"], 0),
        (&["-p"], 1),
        (&["-s", "100"], 1),
        (&["-x"], 1),
        (&["--sshlogin", "host"], 1),
        (&["--semaphore"], 1),
        (&["--rpl", "{x} s/a//"], 1),
        (&["--round-robin"], 1),
        (&["--tee"], 1),
        (&["--files"], 1),
        (&["--regexp"], 1),
        (&["--termseq", "TERM,1,KILL"], 1),
        (&["--tmux"], 1),
        (&["--transfer"], 1),
    ] {
        let ran = run(&[options, &["true"]].concat(), "a\nb\n");
        assert_eq!(ran.code, Some(code), "{options:?}: {}", ran.err);
        assert!(section.contains(options[0]), "{options:?} is not named");
    }
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

#[test]
fn words_are_repeated_for_the_lines_of_a_job() {
    for count in [&["-N2"][..], &["-L2"], &["--gnu", "-N2"]] {
        let of = |command: &[&str]| lines(&[count, &["-k"], command].concat(), "1.x\n2\n3\n");
        assert_eq!(
            of(&["echo", "a{}b", "{.}-{}"]),
            ["a1.xb a2b 1-1.x 2-2", "a3b 3-3"]
        );
        assert_eq!(
            of(&["echo a{}{#}; echo {}"]),
            ["a1.x1 a21", "1.x 2", "a32", "3"]
        );
    }
    // What is joined to quotes is one word of a script, and is not repeated.
    assert_eq!(
        lines(&["-N2", "echo \"a {}\" ${x}{}"], "1\n2\n"),
        ["a 1 2 1 2"]
    );
    assert_eq!(lines(&["-N2", "echo 'a'{}"], "1\n2\n"), ["a1 2"]);
    let all = lines(&["-X", "-k", "echo", "pre-{}-post"], numbers(3000));
    let words: Vec<&str> = all.iter().flat_map(|line| line.split(' ')).collect();
    let expected: Vec<String> = (1..=3000).map(|n| format!("pre-{n}-post")).collect();
    assert_eq!(words, expected);
}

#[test]
fn repeated_words_are_no_more_than_an_argument_list_can_hold() {
    let around = "x".repeat(100_000);
    let word = format!("{around}{{}}");
    let jobs = lines(
        &["-N1000", "-k", "sh", "-c", "echo $#", "x", &word],
        numbers(100),
    );
    let counts = jobs.iter().map(|job| job.parse::<u32>().unwrap());
    assert_eq!(counts.sum::<u32>(), 100);
}

#[test]
fn a_file_with_lines_may_be_one_source_of_several() {
    let folder = Folder::new();
    let (one, two) = (folder.write("one", "a\nb\n"), folder.write("two", "1\n2\n"));
    let both = ["-k", "-a", &one, "-a", &two, "echo"];
    assert_eq!(lines(&both, ""), ["a 1", "a 2", "b 1", "b 2"]);
    assert_eq!(
        lines(&["-k", "--link", "-a", &one, "-a", "-", "echo"], "x\ny\n"),
        ["a x", "b y"]
    );
    let values = ["-k", "-a", &one, "echo", "{2}{1}", ":::", "x", "y"];
    assert_eq!(lines(&values, ""), ["xa", "ya", "xb", "yb"]);
}

#[test]
fn sources_may_be_told_from_command_by_other_words() {
    let folder = Folder::new();
    let file = folder.write("file", "x\n");
    let values = [
        "-k",
        "--arg-sep",
        ",,",
        "echo",
        ":::",
        ",,",
        "a",
        "b",
        "::::",
        &file,
    ];
    assert_eq!(lines(&values, ""), ["::: a x", "::: b x"]);
    let linked = [
        "-k",
        "--arg-sep",
        ",,",
        "echo",
        ",,",
        "a",
        "b",
        ",,+",
        "1",
        "2",
    ];
    assert_eq!(lines(&linked, ""), ["a 1", "b 2"]);
    assert_eq!(
        lines(&["--arg-file-sep", "@", "echo", "@", &file], ""),
        ["x"]
    );
}

#[test]
fn an_input_may_end_before_its_end() {
    let until = |args: &[&str]| lines(&[&["-k", "-E", "end"], args].concat(), "a\nb\nend\nc\n");
    assert_eq!(until(&["echo"]), ["a", "b"]);
    assert_eq!(until(&["-n2", "echo"]), ["a b"]);
    assert_eq!(
        until(&["echo", ":::", "x", "end", "y", ":::", "1", "2"]),
        ["x 1", "x 2"]
    );
    assert_eq!(until(&["echo", "::::", "-", ":::", "1"]), ["a 1", "b 1"]);
    let all = lines(&["--eof=end", "-m", "-j1", "echo"], "a\nendless\n");
    assert_eq!(all, ["a endless"]);
}

#[test]
fn blank_lines_are_left_out_where_that_is_asked_for() {
    let blank = "a\n\n  \nb\n";
    assert_eq!(
        lines(&["-k", "echo", "{}."], blank),
        ["a.", ".", "  .", "b."]
    );
    assert_eq!(
        lines(&["-r", "-k", "echo", "{#}{}."], blank),
        ["1a.", "2b."]
    );
    assert_eq!(lines(&["-r", "echo", ":::", "", "a"], ""), ["a"]);
}

#[test]
fn what_is_between_records_may_be_left_out_of_blocks() {
    let of = |args: &[&str], input| {
        let cat = ["cat; echo '|'"];
        run(&[&["-k", "--pipe", "--rrs"], args, &cat].concat(), input).text()
    };
    assert_eq!(of(&["--recend", ";", "-N2"], "a;b;c;"), "ab|\nc|\n");
    assert_eq!(
        of(&["--recstart", ">", "-N1"], ">a\nb\n>c\n"),
        "a\nb\n|\nc\n|\n"
    );
    assert_eq!(of(&["-N2"], "a\nb\nc\n"), "ab|\nc|\n");
    assert_eq!(run(&["--rrs", "cat"], "").code, Some(1), "of --pipe");
}

#[test]
fn options_that_there_are_not_say_what_to_write() {
    for (option, says) in [
        ("-s9", "-n N gives up to N lines"),
        ("--max-chars=9", "-n N gives up to N lines"),
        ("--retry-failed", "--resume"),
        ("--onall", "ssh"),
        ("--skip-first-line", "tail -n +2"),
        ("--seqreplace", "{#}"),
        ("--shellquote", "--dry-run"),
    ] {
        let ran = run(&[option, "true"], "a\n");
        assert_eq!(ran.code, Some(1), "{option}");
        assert!(ran.err.contains("cmwq run: there is no -"), "{}", ran.err);
        assert!(ran.err.contains(says), "{option}: {}", ran.err);
    }
    let unknown = run(&["--nonsense", "true"], "a\n");
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.err.contains("'--nonsense'"), "{}", unknown.err);
}

#[test]
fn values_are_divided_where_a_delimiter_is_asked_for() {
    let of = |args: &[&str]| lines(&[&["-k"], args].concat(), "");
    assert_eq!(of(&["-d", " ", "echo", ":::", "a b c "]), ["a", "b", "c"]);
    assert_eq!(
        of(&["-d", r"\n", "echo", ":::", "a\nb", "c"]),
        ["a", "b", "c"]
    );
    let whole = run(&["echo", ":::", "a\nb", "c\nd"], "");
    assert_eq!(whole.sorted_lines(), ["a", "b", "c", "d"]);
    let says = "a value behind ::: has newlines in it, and is one value";
    assert_eq!(whole.err.matches(says).count(), 1, "{}", whole.err);
    assert_eq!(run(&["-0", "echo", ":::", "a\nb"], "").err, "");
}

#[test]
fn separators_that_are_regular_expressions_are_cut_or_refused() {
    let cut = ["-C", " *, *", "echo", "{2}{1}."];
    assert_eq!(lines(&cut, "1 , 2\n"), ["21."]);
    for separator in [",|;", "[^0-9]+", r"\W", "(a|b)"] {
        let ran = run(&["-C", separator, "echo", "{2}"], "1,2\n");
        assert_eq!(
            (ran.code, ran.text().as_str()),
            (Some(1), ""),
            "{separator}"
        );
        assert!(ran.err.contains(separator), "{}", ran.err);
    }
    let padded = run(&["echo", "x{0#}"], "a\n");
    assert!(
        padded.code == Some(1) && padded.err.contains("printf %03d"),
        "{}",
        padded.err
    );
}

#[test]
fn attempts_are_apart_as_far_as_asked() {
    let began = std::time::Instant::now();
    let args = ["--retries", "2", "--retry-delay", "0.2", "--quiet", "false"];
    assert_eq!(run(&args, "a\nb\n").code, Some(123));
    let took = began.elapsed();
    assert!(took >= std::time::Duration::from_millis(400), "{took:?}");
    // A run that is stopped waits no more.
    let stopped = "if [ {} = 1 ]; then sleep 0.3; exit 255; fi; false";
    let args = ["--retries", "2", "--retry-delay", "1h", "--quiet", stopped];
    assert_eq!(run(&args, "1\n2\n").code, Some(124));
}

#[test]
fn parallels_rules_are_those_of_its_failures_and_columns_too() {
    let stop = [
        "--gnu", "-k", "-j1", "echo", "{};", "false;", "exit", "255", "#",
    ];
    let ran = run(&stop, "a\nb\n");
    assert_eq!(
        (ran.code, ran.lines()),
        (Some(123), vec!["a".into(), "b".into()])
    );
    let columns = ["-C", ",", "echo", "[{2}]"];
    assert_eq!(
        lines(&[&["--gnu"][..], &columns].concat(), "a, b \n"),
        ["[b]"]
    );
    let noted = run(&columns, "a, b \n");
    assert_eq!(noted.lines(), ["[ b ]"]);
    assert!(noted.err.contains("--trim lr"), "{}", noted.err);
    assert_eq!(
        run(&[&["--trim", "n"][..], &columns].concat(), "a, b \n").err,
        ""
    );
}

#[test]
fn a_column_that_no_line_has_is_named() {
    for args in [&["echo", "{2}", "{1}"][..], &["echo {1} {2}"]] {
        let ran = run(args, "a b\n");
        assert!(ran.err.contains("{2} stays as it is"), "{}", ran.err);
    }
    for args in [
        &["grep", "-c", "-E", "a{2}", "{}"][..],
        &["awk 'NR == 2 {print}' {}"],
    ] {
        assert_eq!(run(args, "/dev/null\n").err, "", "{args:?}");
    }
    let there = ["--colsep", " ", "echo", "{2}"];
    assert_eq!(run(&there, "a b\n").err, "");
}

#[test]
fn what_records_end_with_may_begin_with_a_dash() {
    let args = [
        "--pipe",
        "--block-size",
        "1k",
        "--recend",
        "--",
        "-N1",
        "-k",
        "cat; echo",
    ];
    assert_eq!(lines(&args, "a--b"), ["a--", "b"]);
}
