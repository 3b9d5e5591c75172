//! `ktask.toml` and `ktask-job.toml`: what helpers at nice 19 and at nice 0 do to a foreground job.

use std::collections::BTreeMap;

use cmwq_sim::scenario::Report;

use super::cells;

/// Seconds of the spans `job` and `rival`, by case and nice level.
fn seconds(set: &[&str]) -> BTreeMap<(String, String), [f64; 2]> {
    let row = |report: Report| {
        let key = (
            report.cell["case"].clone(),
            report.cell["queue.helpers.nice"].clone(),
        );
        let mean = |span: &str| report.spans[span].mean_ns as f64 / 1e9;
        (key, [mean("job"), mean("rival")])
    };
    cells("ktask.toml", set).into_iter().map(row).collect()
}

#[test]
fn nice_helpers_leave_the_foreground_alone_and_others_share_with_it() {
    let seconds = seconds(&[]);
    let at = |case: &str, nice: &str| seconds[&(case.to_owned(), nice.to_owned())];
    // Case 1: all CPUs are busy until the job ends, whoever has them.
    let ([job_19, rival_19], [job_0, rival_0]) = (at("1", "19"), at("1", "0"));
    assert!((1.005..1.025).contains(&(rival_19 / 43.04)), "{rival_19}");
    assert!((1.7..2.0).contains(&(rival_0 / 43.04)), "{rival_0}");
    assert!((0.98..1.02).contains(&(job_0 / job_19)), "{job_0} {job_19}");
    // 7 of 15 threads on 8 CPUs: who shares a CPU with whom goes round, so that each has its 8/15.
    let share = 43.04 / rival_0;
    assert!((share - 8.0 / 15.0).abs() < 0.01, "{share}");
    // Case 2.
    let ([job_19, rival_19], [job_0, rival_0]) = (at("2", "19"), at("2", "0"));
    assert!((1.005..1.03).contains(&(rival_19 / 10.45)), "{rival_19}");
    assert!((1.25..1.5).contains(&(rival_0 / 10.45)), "{rival_0}");
    assert!((0.6..0.75).contains(&(job_0 / job_19)), "{job_0} {job_19}");
}

#[test]
fn helpers_of_a_job_leave_the_foreground_alone_on_machines_of_all_sizes() {
    let mut seen = 0;
    for report in cells("ktask-job.toml", &[]) {
        let (cpus, helpers) = (&report.cell["cpus"], report.cell["helpers"].as_str());
        let rival = report.spans["rival"].mean_ns as f64 / 2e9;
        let expected = match helpers {
            "nice 19" => 1.005..1.025,
            "nice 0" => 1.7..2.0,
            _ => 1.0..1.001,
        };
        assert!(expected.contains(&rival), "{cpus} CPUs, {helpers}: {rival}");
        seen += 1;
    }
    assert_eq!(seen, 9);
}
