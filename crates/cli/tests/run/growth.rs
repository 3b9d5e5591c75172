//! Jobs that slow each other down, and that look idle while they do.

use crate::support::{Folder, numbers, run};

#[test]
fn growth_that_makes_jobs_slower_is_undone() {
    let folder = Folder::new();
    // Each takes the square of how many there are: the more, the fewer end in a second.
    let job = format!(
        "cd '{}' && : >$$ && set -- * && echo $# && ms=$(($# * $# * 5 / 2))
        sleep $((ms / 1000)).$(printf %03d $((ms % 1000))); rm $$",
        folder.name("")
    );
    let ran = run(&["--max-active", "40", "sh", "-c", &job], numbers(300));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let at_a_time: Vec<u32> = ran.lines().iter().map(|n| n.parse().unwrap()).collect();
    // Without the rule 40 run at a time, or nearly, from the thirtieth job to the end. With it many
    // only do until it is seen that they end later, and then fewer are tried. These may seem no
    // faster beside others, and be given up: what is looked for is the trial. On a busy machine it
    // may be late that so many run, and the lines be over before their ends tell anything.
    let grown = at_a_time
        .iter()
        .position(|&n| n >= 25)
        .filter(|&at| at < 150);
    let tried = at_a_time.iter().enumerate().any(|(at, &n)| {
        let most = at_a_time[..at].iter().max().copied().unwrap_or(0);
        most >= 25 && 4 * n <= 3 * most
    });
    assert!(grown.is_none() || tried, "{at_a_time:?}");
}

/// Jobs that have the lock of a file for 15 ms each, sleep and try again until then, and print how
/// many run. `None`: there is no perl.
fn retrying() -> Option<Vec<u32>> {
    let folder = Folder::new();
    let job = format!(
        "use Fcntl ':flock'; chdir '{}'; open(my $own, '>', \"run.$$\"); my @all = <run.*>;
        open(my $file, '+>>', 'lock') or die;
        select(undef, undef, undef, 0.005) until flock($file, LOCK_EX | LOCK_NB);
        select(undef, undef, undef, 0.015); unlink \"run.$$\"; print scalar(@all), \"\\n\"",
        folder.name("")
    );
    std::process::Command::new("perl").arg("-v").output().ok()?;
    let ran = run(&["--max-active", "64", "perl", "-e", &job], numbers(128));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let at_a_time = ran.lines().iter().map(|n| n.parse().unwrap()).collect();
    Some(at_a_time)
}

#[test]
fn jobs_that_sleep_and_try_again_at_one_file_are_few() {
    let Some(at_a_time) = retrying() else {
        eprintln!("left out: there is no perl");
        return;
    };
    let median = |quarter: &[u32]| {
        let mut quarter = quarter.to_vec();
        quarter.sort_unstable();
        quarter[quarter.len() / 2]
    };
    // If they counted like others that sleep, more and more would run from the first to the last:
    // 26 and more after the first quarter. On a busy machine it may be seen late, or not always.
    let fewest = at_a_time.chunks(32).skip(1).map(median).min();
    assert!(fewest.unwrap() <= 16, "{at_a_time:?}");
}

#[test]
fn jobs_that_sleep_are_not_runnable_though_none_waits_to_be_started() {
    let ran = run(&["--summary", "json", "sleep"], "1\n".repeat(6));
    let runnable = ran.summary()["mean_runnable"].as_f64().unwrap();
    // As many as there are CPUs where nobody looks.
    assert!(runnable < 0.9, "{runnable}");
}

#[test]
fn jobs_that_sleep_let_others_in_before_the_first_has_ended() {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    // At the beginning four run per CPU.
    let jobs = 4 * cpus + 1;
    if available_mib().is_none_or(|mib| mib < 300 * jobs) {
        eprintln!("left out: a job that is new may take much memory");
        return;
    }
    let ran = run(&["--summary", "json", "sleep"], "4\n".repeat(jobs));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.summary()["peak_jobs"], jobs, "{}", ran.err);
}

fn available_mib() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find(|line| line.starts_with("MemAvailable:"))?;
    let kib: usize = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024)
}
