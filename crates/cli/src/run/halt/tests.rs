//! What follows which end.

use super::*;

const FAILED: JobEnd = JobEnd::Failed(3);
const KILLED: JobEnd = JobEnd::Killed(9);
const OK: JobEnd = JobEnd::Succeeded;

fn stop(code: u8) -> Outcome {
    Outcome::Stop {
        code,
        terminate: false,
    }
}

fn stop_now(code: u8) -> Outcome {
    Outcome::Stop {
        code,
        terminate: true,
    }
}

fn rules(halt: &str) -> Rules {
    Rules::new(Some(Halt::parse(halt).unwrap()), 2)
}

fn rules_of(halt: Option<&str>) -> Rules {
    halt.map_or_else(|| Rules::new(None, 2), rules)
}

/// For each --halt: what follows a final failure, a timeout, 255 and a signal.
fn table() -> [(Option<&'static str>, [Outcome; 4]); 4] {
    [
        (None, [Outcome::GoOn, Outcome::GoOn, stop(124), stop(125)]),
        (Some("never"), [Outcome::GoOn; 4]),
        (Some("soon"), [stop(123), stop(123), stop(124), stop(125)]),
        (
            Some("now"),
            [stop_now(123), stop_now(123), stop_now(124), stop_now(125)],
        ),
    ]
}

#[test]
fn last_attempts_end_counts() {
    for (halt, expected) in table() {
        let last = [FAILED, JobEnd::TimedOut, JobEnd::SaidStop, KILLED];
        let verdicts = last.map(|end| {
            let rules = rules_of(halt);
            assert_eq!(rules.after(end, 3), Next::Counts, "{halt:?}");
            rules.ended(end)
        });
        assert_eq!(verdicts, expected, "{halt:?}");
        assert_eq!(rules_of(halt).ended(OK), Outcome::GoOn, "{halt:?}");
    }
}

#[test]
fn who_has_not_chosen_is_told_how() {
    let says = |halt| rules_of(halt).farewell(JobEnd::SaidStop);
    assert!(says(None).ends_with("waited for (with --halt never the run goes on)"));
    let soon = "exited with status 255; no more jobs start, running ones are waited for";
    assert_eq!(says(Some("soon")), soon);
    assert_eq!(says(Some("now")), "exited with status 255; aborting");
}

#[test]
fn failures_are_tried_again_before_they_count_but_255_is_a_wish() {
    let halts = [
        None,
        Some("never"),
        Some("soon"),
        Some("now"),
        Some("soon,fail=2"),
    ];
    for halt in halts {
        let rules = rules_of(halt);
        for end in [FAILED, JobEnd::TimedOut, KILLED] {
            assert_eq!([1, 2].map(|n| rules.after(end, n)), [Next::Retry; 2]);
        }
        let wish = match halt {
            Some("never" | "soon,fail=2") => Next::Retry,
            _ => Next::Counts,
        };
        assert_eq!(rules.after(JobEnd::SaidStop, 1), wish, "{halt:?}");
        assert_eq!(rules.after(OK, 1), Next::Counts, "{halt:?}");
    }
}

/// At which of these ends a run of ten jobs is stopped, from 1, and how.
fn stopped_at(halt: &str, ends: &[JobEnd]) -> Option<(usize, Outcome)> {
    let rules = rules(halt);
    rules.expect(10);
    let mut verdicts = ends.iter().map(|&end| rules.ended(end)).zip(1..);
    let stop = verdicts.find(|(verdict, _)| *verdict != Outcome::GoOn);
    stop.map(|(verdict, at)| (at, verdict))
}

#[test]
fn ends_are_counted_by_kind_and_against_all_jobs() {
    let ends = [OK, FAILED, JobEnd::SaidStop, OK, KILLED, FAILED];
    for (halt, expected) in [
        ("soon,fail=2", Some((3, stop(124)))),
        ("now,fail=3", Some((5, stop_now(125)))),
        ("soon,fail=4", Some((6, stop(123)))),
        ("soon,fail=5", None),
        ("soon,fail=20%", Some((3, stop(124)))),
        ("soon,fail=21%", Some((5, stop(125)))),
        ("31%", Some((6, stop(123)))),
        ("now,fail=100%", None),
        ("soon,success=1", Some((1, stop(0)))),
        ("now,success=2", Some((4, stop_now(0)))),
        ("-2", Some((1, stop_now(0)))),
        ("soon,done=1", Some((1, stop(0)))),
        ("now,done=2", Some((2, stop_now(123)))),
        ("soon,done=45%", Some((5, stop(123)))),
    ] {
        assert_eq!(stopped_at(halt, &ends), expected, "{halt}");
    }
}

#[test]
fn older_and_shorter_forms_mean_the_same() {
    for (one, other) in [
        ("0", "never"),
        ("1", "soon,fail=1"),
        ("2", "now,fail=1"),
        ("now,fail", "now"),
        ("-1", "soon,success=1"),
        ("soon,done", "soon,done=1"),
        ("10%", "soon,fail=10%"),
    ] {
        assert_eq!(Halt::parse(one), Halt::parse(other), "{one}");
    }
}

#[test]
fn what_is_not_there_is_refused_with_what_is() {
    for wrong in [
        "",
        "later",
        "3",
        "-3",
        "now,",
        "now,fail=0",
        "now,fail=-1",
        "soon,fail=101%",
        "soon,fail=x",
        "now,failed=1",
        "kill,fail=1",
        "soon,fail=1,2",
        "%",
        "0%",
        "never,fail=1",
        "soon=1",
    ] {
        let why = Halt::parse(wrong).unwrap_err();
        assert!(why.contains("success=N"), "{wrong}: {why}");
    }
}

#[test]
fn a_run_that_is_stopped_by_many_says_how_many() {
    let says = |halt, ends: &[JobEnd]| {
        let rules = rules(halt);
        ends.iter().for_each(|&end| _ = rules.ended(end));
        rules.farewell(*ends.last().unwrap())
    };
    assert_eq!(
        says("soon,fail=2", &[FAILED, OK, FAILED]),
        "exited with status 3; no more jobs start, running ones are waited for (2 failed)"
    );
    assert_eq!(
        says("now,success", &[OK]),
        "succeeded; the run ends (1 succeeded)"
    );
}
