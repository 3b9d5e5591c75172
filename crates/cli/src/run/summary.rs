//! The one line about the whole run.

use super::args::SummaryFormat;
use super::failures::{self, FailedJob};
use super::long::LongJob;
use super::tally::Tally;
use serde::Serialize;
use std::time::Duration;

/// Documented in `docs/run.md`. A field that is added does not make another version.
#[derive(Serialize)]
struct Summary {
    /// Of this format.
    version: u32,
    jobs: u64,
    failed: u64,
    terminated: u64,
    skipped: u64,
    not_started: u64,
    /// Lines that nobody has read may be further ones.
    not_all_read: bool,
    retries: u64,
    elapsed_s: f64,
    peak_jobs: usize,
    mean_runnable: f64,
    long_jobs: Vec<LongJob>,
    /// The first ones.
    failed_jobs: Vec<FailedJob>,
}

/// The summary without a newline at its end; None where none was asked for. `runnable_ns` is the
/// engine's estimate of runnable jobs, integrated over the whole run.
pub(super) fn text(
    format: SummaryFormat,
    tally: Tally,
    elapsed: Duration,
    runnable_ns: u128,
    long_jobs: Vec<LongJob>,
    failed_jobs: Vec<FailedJob>,
) -> Option<String> {
    let summary = Summary {
        version: 1,
        jobs: tally.jobs,
        failed: tally.failed,
        terminated: tally.terminated,
        skipped: tally.skipped,
        not_started: tally.not_started(),
        not_all_read: tally.is_left_unknown,
        retries: tally.retries,
        elapsed_s: elapsed.as_micros() as f64 / 1e6,
        peak_jobs: tally.peak_jobs,
        mean_runnable: runnable_ns as f64 / elapsed.as_nanos().max(1) as f64,
        long_jobs,
        failed_jobs,
    };
    match format {
        SummaryFormat::None => None,
        SummaryFormat::Text => Some(for_people(&summary)),
        SummaryFormat::Json => serde_json::to_string(&summary).ok(),
    }
}

fn for_people(summary: &Summary) -> String {
    let seldom = [
        (summary.terminated, "terminated"),
        (summary.skipped, "skipped"),
        (summary.not_started, "not started"),
        (summary.retries, "tried again"),
    ]
    .iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{count} {what}, "))
    .collect::<String>();
    let unread = match summary.not_all_read {
        true => "not all lines read, ",
        false => "",
    };
    let long = summary
        .long_jobs
        .iter()
        .map(|job| format!("{}\n", job.says()));
    let long: String = long.collect();
    let failed = failures::lines(&summary.failed_jobs, summary.failed);
    format!(
        "{long}{failed}{} jobs, {} failed, {seldom}{unread}{:.2} s, at most {} at a time, {:.1} runnable on average",
        summary.jobs, summary.failed, summary.elapsed_s, summary.peak_jobs, summary.mean_runnable
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(format: SummaryFormat) -> Option<String> {
        let tally = Tally {
            jobs: 3,
            failed: 1,
            terminated: 2,
            peak_jobs: 2,
            skipped: 4,
            submitted: 5,
            begun: 3,
            left: 10,
            is_left_unknown: true,
            ..Tally::default()
        };
        let long = LongJob {
            sequence: 2,
            arguments: "x".into(),
            ran_s: 9,
            times: 300,
            doing: "sleep (7) sleeps".into(),
        };
        let failed = FailedJob {
            sequence: 3,
            arguments: "y".into(),
            why: "timed out".into(),
        };
        text(
            format,
            tally,
            Duration::from_millis(1_250),
            1_875_000_000,
            vec![long],
            vec![failed],
        )
    }

    #[test]
    fn formats() {
        assert_eq!(of(SummaryFormat::None), None);
        let json: serde_json::Value =
            serde_json::from_str(&of(SummaryFormat::Json).unwrap()).unwrap();
        let expected = serde_json::json!({"version": 1, "jobs": 3, "failed": 1, "terminated": 2,
            "skipped": 4, "not_started": 12, "not_all_read": true, "retries": 0, "elapsed_s": 1.25, "peak_jobs": 2, "mean_runnable": 1.5,
            "long_jobs": [{"sequence": 2, "arguments": "x", "ran_s": 9, "times": 300,
                "doing": "sleep (7) sleeps"}],
            "failed_jobs": [{"sequence": 3, "arguments": "y", "why": "timed out"}]});
        assert_eq!(json, expected);
        let words = of(SummaryFormat::Text).unwrap();
        assert_eq!(
            words,
            "job 2 (x): 9 s, 300 times the others: sleep (7) sleeps\n\
             job 3 (y): timed out\n\
             3 jobs, 1 failed, 2 terminated, 4 skipped, 12 not started, not all lines read, 1.25 s, at most 2 at a time, 1.5 runnable on average"
        );
    }
}
