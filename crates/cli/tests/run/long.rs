//! Jobs that run much longer than the others.

use crate::support::{Folder, command, finish, give, numbers, start, until};
use std::io::{BufRead, BufReader, Read};

/// The last one waits for a fifo that nobody writes to.
fn with_one_that_waits(args: &[&str], how_long: &str) -> crate::support::Ran {
    let folder = Folder::new();
    let fifo = folder.name("fifo");
    let job = format!("[ $0 = 40 ] || exit 0; mkfifo '{fifo}'; {how_long} cat <>'{fifo}'; exit 0");
    let mut child = start(&mut command(&[args, &["sh", "-c", &job]].concat()));
    give(&mut child, &numbers(40));
    finish(child)
}

#[test]
fn a_job_that_runs_much_longer_is_named_once_with_what_it_waits_for() {
    let timeout = "timeout 10";
    let ran = with_one_that_waits(&["--progress", "--summary", "text"], timeout);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let lines = BufReader::new(ran.err.as_bytes())
        .lines()
        .map(Result::unwrap);
    let named: Vec<String> = lines
        .filter(|line| line.contains("times the others"))
        .collect();
    assert_eq!(
        named.len(),
        2,
        "as it runs, and in the summary: {}",
        ran.err
    );
    for line in &named {
        assert!(line.contains("job 40 (40): "), "{line}");
        assert!(line.contains("cat (") && line.contains(" reads "), "{line}");
    }
    assert!(named[0].contains("cmwq run: job 40"), "{}", named[0]);
    assert!(!named[1].contains("cmwq run: "), "{}", named[1]);
}

#[test]
fn nobody_is_told_who_does_not_watch_and_scripts_find_it_in_the_summary() {
    let ran = with_one_that_waits(&["--summary", "json"], "timeout 9");
    assert_eq!(
        (ran.code, ran.err.lines().count()),
        (Some(0), 1),
        "{}",
        ran.err
    );
    let long = &ran.summary()["long_jobs"];
    assert_eq!(long.as_array().map(Vec::len), Some(1), "{long}");
    assert_eq!(
        (&long[0]["sequence"], &long[0]["arguments"]),
        (&40.into(), &"40".into())
    );
}

#[test]
fn full_progress_shows_what_runs_and_what_fails() {
    let folder = Folder::new();
    let waits = until(&folder.name("go"));
    let job = format!("[ $0 != bad ] || exit 3; {waits}; echo done");
    let mut child = start(&mut command(&["--progress=full", "sh", "-c", &job]));
    give(&mut child, "good\nbad\n");
    let mut errors = child.stderr.take().unwrap();
    let (mut seen, mut buffer) = (String::new(), [0; 4096]);
    let is_there = |seen: &str| {
        let line = seen.contains(" cpu ") && seen.contains("  good  ") && seen.contains("sleeps");
        line && seen.contains("job 2: sh: exited with status 3 (bad)")
    };
    while !is_there(&seen) {
        let count = errors.read(&mut buffer).unwrap();
        assert_ne!(count, 0, "{seen}");
        seen += &String::from_utf8_lossy(&buffer[..count]);
    }
    folder.write("go", "");
    errors.read_to_string(&mut seen).unwrap();
    let ran = finish(child);
    assert_eq!((ran.code, ran.text().as_str()), (Some(123), "done\n"));
    assert!(
        seen.ends_with("\r\u{1b}[J") || seen.ends_with("\r\u{1b}[K"),
        "{seen:?}"
    );
}
