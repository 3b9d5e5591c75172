//! `--pipe`: blocks of the input as standard input of the jobs.

use crate::support::{Folder, command, feed, lines, numbers, run};

#[test]
fn every_byte_gets_to_one_job_in_whole_lines() {
    let input = numbers(200_000);
    let counts = lines(&["--pipe", "--block", "100k", "wc", "-lc"], input.clone());
    let sum = |at: usize| -> usize {
        let column = |line: &String| line.split_whitespace().nth(at).unwrap().parse::<usize>();
        counts.iter().map(|line| column(line).unwrap()).sum()
    };
    assert_eq!((sum(0), sum(1)), (200_000, input.len()));
    assert_eq!(counts.len(), input.len().div_ceil(100_000));
    let all = run(&["-k", "--pipe", "--block", "64k", "cat"], input.clone());
    assert!(all.out == input.into_bytes(), "in order");
    let default = lines(&["--pipe", "wc", "-c"], numbers(200_000));
    assert_eq!(default.len(), 2, "a block is 1 MiB");
}

#[test]
fn records_are_what_they_are_said_to_be() {
    fn args<'a>(more: &[&'a str]) -> Vec<&'a str> {
        [&["-k", "--pipe"], more, &["sh", "-c", "tr '\\n' _; echo"]].concat()
    }
    assert_eq!(lines(&args(&["-N2"]), numbers(5)), ["1_2_", "3_4_", "5_"]);
    assert_eq!(lines(&args(&["-n1"]), numbers(2)), ["1_", "2_"]);
    assert_eq!(
        lines(&args(&["-L2", "--block", "7"]), numbers(6)),
        ["1_2_", "3_4_", "5_6_"]
    );
    let fasta = ">a\nac\ngt\n>b\n>c\nt\n";
    assert_eq!(
        lines(&args(&["--recstart", ">", "--block", "1"]), fasta),
        [">a_ac_gt_", ">b_", ">c_t_"]
    );
    assert_eq!(
        lines(&args(&["--recend", ";", "-n1"]), "a;b\n;c"),
        ["a;", "b_;", "c"]
    );
    assert_eq!(
        lines(&args(&["--header", ":", "-n1"]), "h\n1\n2\n"),
        ["h_1_", "h_2_"]
    );
}

#[test]
fn a_block_is_called_by_its_number() {
    let folder = Folder::new();
    let (log, results) = (folder.name("log"), folder.name("out"));
    let tagged = ["-k", "--pipe", "-n1", "--tag", "--joblog", &log, "cat"];
    assert_eq!(lines(&tagged, "a\nb\n"), ["1\ta", "2\tb"]);
    let logged = std::fs::read_to_string(&log).unwrap();
    assert!(logged.lines().nth(3).unwrap().ends_with("\t2"), "{logged}");
    let resumed = [&["--resume"][..], &tagged].concat();
    assert_eq!(lines(&resumed, "a\nb\nc\n"), ["3\tc"], "by number");
    let args = ["--pipe", "-n1", "--results", &results, "cat"];
    assert_eq!(lines(&args, "a\nb\n"), [""; 0]);
    let second = std::fs::read_to_string(folder.path("out/1/2/stdout")).unwrap();
    assert_eq!(second, "b\n");
    let args = ["-k", "--pipe", "-n1", "echo", "{#}", "{}", "$PARALLEL_SEQ"];
    assert_eq!(lines(&args, "a\n"), ["1 $PARALLEL_SEQ"]);
}

#[test]
fn a_job_that_is_tried_again_reads_its_block_again() {
    let folder = Folder::new();
    let tries = folder.name("tries");
    let script = format!("cat; echo x >>'{tries}'; [ $(wc -l <'{tries}') = 3 ]");
    let args = ["--pipe", "--retries", "2", "--quiet", "sh", "-c", &script];
    assert_eq!(lines(&args, "a\nb\n"), ["a", "b"]);
}

#[test]
fn a_job_need_not_read_all_and_failures_name_the_block() {
    let first = lines(
        &["-k", "--pipe", "--block", "100k", "head", "-n1"],
        numbers(100_000),
    );
    assert_eq!((first.len(), first[0].as_str()), (6, "1"));
    let ran = run(&["--pipe", "-n1", "--summary=text", "grep", "a"], "a\nb\n");
    assert_eq!((ran.code, ran.text().as_str()), (Some(123), "a\n"));
    assert!(ran.err.contains("job 2 (2): exited"), "{}", ran.err);
}

#[test]
fn a_program_that_wants_a_file_gets_one() {
    for option in ["--cat", "--fifo"] {
        let args = ["-k", "--pipe", "-n2", option, "wc -l <{}; tail -n1 {}"];
        assert_eq!(lines(&args, numbers(3)), ["2", "2", "1", "3"]);
        // Whatever is the standard input where it stands.
        let both = "cat {} </dev/null; echo a | cat - {}; cat {} & wait";
        let args = ["--pipe", option, both];
        assert_eq!(lines(&args, "x\n"), ["x", "a", "x", "x"]);
    }
}

#[test]
fn files_are_read_and_the_jobs_of_an_empty_input_are_none() {
    let folder = Folder::new();
    let file = folder.write("file", numbers(10));
    for source in [&["-a", &file, "wc", "-l"][..], &["wc", "-l", "::::", &file]] {
        let args = [&["--pipe"], source].concat();
        assert_eq!(lines(&args, ""), ["10"]);
    }
    let args = ["--pipepart", "--block", "10M", "-a", &file, "wc", "-l"];
    assert_eq!(lines(&args, ""), ["10"]);
    assert_eq!(lines(&["--pipe", "echo"], ""), [""; 0]);
    let dry = lines(&["--pipe", "--dry-run", "-n1", "wc", "{#}"], "a\nb\n");
    assert_eq!(dry, ["wc 1", "wc 2"]);
}

#[test]
fn blocks_do_not_wait_in_memory_or_descriptors() {
    // More blocks than descriptors.
    let script = "ulimit -n 64; yes | head -c 20000000 | \"$0\" run --pipe --block 100k wc -c";
    let ran = crate::support::shell(script);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let sum: u64 = ran
        .lines()
        .iter()
        .map(|line| line.parse::<u64>().unwrap())
        .sum();
    assert_eq!((sum, ran.lines().len()), (20_000_000, 200));
}

#[test]
fn what_does_not_go_with_it_is_refused() {
    for (args, says) in [
        (&["--pipe"][..], "needs a COMMAND"),
        (&["--pipe", "cat", ":::", "a"], "go without it"),
        (&["--pipe", "--block", "-1", "cat"], "job slot"),
        (&["--pipe", "--block", "0", "cat"], "size"),
        (&["--pipe", "--recend", "", "-n1", "cat"], "--recend"),
        (&["--recend", ";", "cat"], "--pipe"),
        (&["--pipe", "--halt", "soon,fail=10%", "cat"], "percentage"),
        (&["--pipe", "--round-robin", "cat"], "--round-robin"),
        (&["--pipe", "--tee", "cat"], "--tee"),
        (&["--pipe", "-C", ",", "cat"], "--colsep"),
    ] {
        let ran = run(args, "a\n");
        assert_eq!(
            (ran.code, ran.err.contains(says)),
            (Some(1), true),
            "{args:?}: {}",
            ran.err
        );
    }
}

#[test]
fn a_folder_for_the_blocks_that_is_not_there_is_named() {
    let folder = Folder::new();
    let gone = folder.name("gone");
    let args = ["--pipe", "--line-buffer", "cat"];
    let ran = feed(command(&args).env("TMPDIR", &gone), "x\n");
    assert_eq!((ran.code, ran.text().as_str()), (Some(1), ""));
    assert!(ran.err.contains(&gone), "{}", ran.err);
}
