//! Output: whole, unmixed, in order where asked for.

use crate::support::{Folder, command, finish, give, numbers, run, start, until, wait_for};
use std::io::{BufRead, BufReader};
use std::process::Child;
use std::time::Instant;

/// Two jobs, of which the first goes on until there is a file "go".
fn start_two(folder: &Folder, args: &[&str]) -> Child {
    let mut child = start(&mut command(args));
    let (wait, ended) = (until(&folder.name("go")), folder.name("ended"));
    let script = format!("{wait}; echo first\necho second; touch '{ended}'\n");
    give(&mut child, &script);
    child
}

#[test]
fn output_comes_in_the_order_of_ends() {
    let folder = Folder::new();
    let mut child = start_two(&folder, &[]);
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = || {
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        line
    };
    assert_eq!(line(), "second\n");
    folder.write("go", "");
    assert_eq!(line(), "first\n");
    assert_eq!(finish(child).code, Some(0));
}

#[test]
fn keep_order_gives_the_order_of_lines() {
    let folder = Folder::new();
    let child = start_two(&folder, &["-k"]);
    wait_for(&folder.path("ended"));
    folder.write("go", "");
    assert_eq!(finish(child).lines(), ["first", "second"]);
    let ran = run(&["--keep-order", "echo"], numbers(500));
    assert_eq!(ran.text(), numbers(500));
}

#[test]
fn output_of_a_job_is_never_mixed_with_another_ones() {
    let job = "for i in 1 2 3; do echo {} $i; echo {} e$i >&2; sleep 0.01; done";
    let ran = run(&["sh", "-c", job], numbers(40));
    for (text, prefix) in [(ran.text(), ""), (ran.err.clone(), "e")] {
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 120);
        for block in lines.chunks(3) {
            let job = block[0].split(' ').next().unwrap();
            let expected: Vec<String> = (1..=3).map(|i| format!("{job} {prefix}{i}")).collect();
            assert_eq!(block, expected);
        }
    }
}

#[test]
fn standard_output_of_a_job_comes_before_its_standard_error() {
    let folder = Folder::new();
    let file = folder.name("both");
    let redirected = format!(
        "printf 'a\\nb\\n' | '{}' run -k sh -c 'echo {{}}e >&2; echo {{}}o' >>'{file}' 2>&1",
        env!("CARGO_BIN_EXE_cmwq")
    );
    assert_eq!(run::<&str>(&[], redirected).code, Some(0));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "ao\nae\nbo\nbe\n");
}

#[test]
fn large_output_on_both_streams_at_once_neither_deadlocks_nor_changes() {
    const SIZE: usize = 10 * 1024 * 1024;
    let job = format!(
        "head -c {SIZE} /dev/zero | tr '\\0' e >&2 & head -c {SIZE} /dev/zero | tr '\\0' o; wait"
    );
    let ran = run::<&str>(&[], job);
    assert_eq!((ran.out.len(), ran.err.len()), (SIZE, SIZE));
    assert!(ran.out.iter().all(|&byte| byte == b'o') && ran.err.bytes().all(|byte| byte == b'e'));
}

#[test]
fn large_outputs_of_many_jobs_stay_whole() {
    // Each line is as long as some pipes and its job's number all over.
    let job = "yes {} | head -c 1500000";
    let ran = run(&["-k", "sh", "-c", job], numbers(9));
    let mut rest = &ran.out[..];
    for number in 1..=9_u8 {
        let (block, after) = rest.split_at(1_500_000);
        let wanted = [b'0' + number, b'\n'];
        assert!(block.chunks(2).all(|pair| pair == wanted), "job {number}");
        rest = after;
    }
    assert!(rest.is_empty());
}

#[test]
fn holding_the_output_does_not_hold_up_the_job() {
    // The best of three: the machine may be busy.
    let best = |options: &[&str]| {
        let time = || {
            let began = Instant::now();
            assert_eq!(run(options, "seq 3000000").out.len(), 22_888_896);
            began.elapsed()
        };
        (0..3).map(|_| time()).min().unwrap()
    };
    let (passed_on, held) = (best(&["--line-buffer"]), best(&[]));
    assert!(held < 8 * passed_on, "{held:?} against {passed_on:?}");
}
