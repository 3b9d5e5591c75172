//! What the library reports of its items, as far as that says something of a run.

use cmwq::Report;
use std::io::{self, Write};

/// From now on the rest is not said.
pub(super) fn listen() {
    cmwq::set_report_hook(|report| {
        if is_about_run(report) {
            // A failure to complain cannot be told to anybody.
            let _ = writeln!(io::stderr(), "cmwq: {report}");
        }
    });
}

/// An item of a run starts a process and waits for that. None waits for another item, so that one
/// which waits for a slot waits for long commands only. What the items compute is nothing.
fn is_about_run(report: &Report) -> bool {
    !matches!(
        report,
        Report::Starvation { .. } | Report::CpuIntensive { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn jobs_that_wait_for_long_ones_are_no_news() {
        let starvation = Report::Starvation {
            queue: "run".to_owned(),
            item: "job",
            stood: Duration::from_secs(30),
            nr_inactive: 12,
            nr_active: 4,
            max_active: 4,
            part: None,
            settable: true,
            chain: Vec::new(),
        };
        assert!(!is_about_run(&starvation));
        let stall = Report::Stall {
            queue: "run".to_owned(),
            item: "job",
            stood: Duration::from_secs(30),
            workers: Vec::new(),
            no_thread: None,
        };
        assert!(is_about_run(&stall));
    }
}
