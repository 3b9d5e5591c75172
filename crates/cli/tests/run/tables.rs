//! Lists that other programs wrote: CSV, ends of lines as on Windows, names of columns.

use crate::support::{Folder, command, finish, run, start};
use std::io::Write;

fn ran(args: &[&str], input: &str) -> (Vec<String>, String) {
    let ran = run(args, input);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    (ran.lines(), ran.err)
}

const OF_WINDOWS: &str = "\u{feff}\"id\",name\r\n1,\"a, b\"\r\n2,\"say \"\"c\"\"\"\r\n";

#[test]
fn csv_is_read_with_its_quotes() {
    let named = ["-k", "--csv", "--header", ":", "echo", "{id}:{name}"];
    let (lines, said) = ran(&named, OF_WINDOWS);
    assert_eq!(lines, ["1:a, b", "2:say \"c\""]);
    assert_eq!(said, "");
    let plain = ["-k", "--csv", "-C", ";", "printf", "[%s]\n", "{2}", "{-1}"];
    let (lines, _) = ran(&plain, "a;\"b\nc\";d\n\n;;\n");
    assert_eq!(lines, ["[b", "c]", "[d]", "[]", "[]"]);
}

#[test]
fn a_row_of_csv_is_known_again() {
    let folder = Folder::new();
    let (log, file) = (folder.name("log"), folder.write("list.csv", OF_WINDOWS));
    let args = [
        "--csv", "--joblog", &log, "--resume", "echo", "{2}", "::::", &file,
    ];
    let (mut lines, _) = ran(&args, "");
    lines.sort();
    assert_eq!(lines, ["a, b", "name", "say \"c\""]);
    assert_eq!(ran(&args, "").0, [""; 0]);
}

#[test]
fn csv_that_cannot_be_read_is_our_error_and_what_came_before_runs() {
    let ran = run(&["--csv", "echo", "{2}"], "a,b\nc,\"d\ne,f\n");
    assert_eq!((ran.code, ran.lines()), (Some(1), vec!["b".to_owned()]));
    let told = "standard input: the record of line 2 has a quote that does not end";
    assert!(ran.err.contains(told), "{}", ran.err);
    for wrong in [
        &["--csv", "-0", "echo"][..],
        &["--csv", "-C", "::", "echo"],
        &["--csv", "-n", "2", "echo"],
        &["--csv", "echo", ":::", "a,b"],
    ] {
        assert_eq!(run(wrong, "").code, Some(1), "{wrong:?}");
    }
}

#[test]
fn what_was_hardly_meant_is_said_once() {
    let args = |rest: &[&'static str]| [&["-k"], rest].concat();
    for (rest, input, told) in [
        (&["true"][..], "a\r\nb\r\n", "carriage return"),
        (&["true"], "\u{feff}a\nb\n", "byte order mark"),
        (
            &["-C", ",", "true"],
            "a,\"b,c\"\nd,\"e\"\n",
            "begins with a quote",
        ),
        (
            &["--header", ":", "-C", ",", "echo", "{nmae}"],
            "name,size\na,1\nb,2\n",
            "{nmae} is no column and stays as it is: the columns are \"name\", \"size\"",
        ),
        (
            &["--header", ":", "echo", "{size}"],
            "name,size\na,1\n",
            "the only column is \"name,size\" (--csv or -C , cuts lines at commas)",
        ),
        (
            &["--header", ":", "echo", "{size}"],
            "name\tsize\na\t1\n",
            "the only column is \"name\\tsize\" (-C '\\t' cuts lines at tabs)",
        ),
        (
            &["--header", ":", "--csv", "echo", "{size}"],
            "",
            "{size} is no column and stays as it is: the input is empty, or its first line is",
        ),
    ] {
        let (_, said) = ran(&args(rest), input);
        assert_eq!(said.matches(told).count(), 1, "{rest:?}: {said}");
        let dry = args(&[&["--dry-run"], rest].concat());
        assert_eq!(ran(&dry, input).1, said, "{rest:?}");
        let quiet = args(&[&["--quiet"], rest].concat());
        assert_eq!(ran(&quiet, input).1, "", "{rest:?}");
    }
    assert_eq!(ran(&["-0", "true"], "a\r\0").1, "");
}

#[test]
fn a_run_that_stops_in_the_middle_of_a_record_does_not_blame_it() {
    let mut child = start(&mut command(&["--csv", "--halt", "now", "false"]));
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"a\nb,\"c").unwrap();
    // It ends while its input is open.
    let ran = finish(child);
    drop(input);
    assert_eq!(ran.code, Some(123), "{}", ran.err);
    assert!(!ran.err.contains("quote"), "{}", ran.err);
}
