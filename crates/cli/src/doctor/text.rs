//! The report for people: aligned, one fact a line.

use super::report::{Cache, LimitsReport, QuotaReport, Report, Signal};
use std::collections::BTreeMap;
use std::fmt::Write;

const LABEL: usize = 18;
const VERDICT: usize = 10;

pub(super) fn of(report: &Report) -> String {
    let mut text = String::new();
    cpus(&mut text, report);
    topology(&mut text, report);
    text.push_str("\nsignals\n");
    report
        .signals
        .iter()
        .for_each(|signal| signal_line(&mut text, signal));
    if let (Some(form), Some(reason)) = (report.canaries, &report.canaries_reason) {
        line(
            &mut text,
            "  canaries live in",
            &format!("{form:VERDICT$}{reason}"),
        );
    }
    text.push_str("\nlimits\n");
    let nice = &report.nice;
    let range = format!("{} to {} (now {})", nice.lowest, nice.highest, nice.now);
    line(&mut text, "  nice", &range);
    limits(&mut text, &report.limits);
    if report.blind {
        text.push_str(
            "\nNeither canaries nor /proc tell who sleeps: one more worker starts when no item has ended\n\
             for 10 ms, then twice as many each time. CPUs may idle for that long.\n",
        );
    }
    if !report.usable {
        text.push_str("\nNothing here tells when a CPU is idle: neither canary nor tick.\n");
    }
    text
}

fn line(text: &mut String, label: &str, value: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{label:LABEL$} {value}");
}

fn cpus(text: &mut String, report: &Report) {
    let cpus = &report.cpus;
    line(text, "CPUs online", &cpus.online.to_string());
    line(text, "CPUs allowed", &cpus.allowed);
    line(
        text,
        "CPU quota",
        &cpus.quota.as_ref().map_or("none".into(), quota),
    );
    line(
        text,
        "effective CPUs",
        &format!("{} (kept busy by cmwq)", cpus.effective),
    );
}

fn quota(quota: &QuotaReport) -> String {
    let (whole, thousandths) = (quota.milli_cpus / 1000, quota.milli_cpus % 1000);
    let (time, period) = (quota.quota_us, quota.period_us);
    format!("{whole}.{thousandths:03} CPUs ({time} us in each {period} us)")
}

fn topology(text: &mut String, report: &Report) {
    line(text, "memory nodes", &sets(&report.nodes));
    line(text, "cores", &sets(&report.cores));
    for (name, sets_of_cpus) in by_name(&report.caches) {
        line(text, &name, &sets(&sets_of_cpus));
    }
    for warning in &report.topology_warnings {
        line(text, "warning", warning);
    }
}

/// Sets of CPUs beside each other: `0-3 | 4-7`.
fn sets(sets: &[String]) -> String {
    if sets.is_empty() {
        "unknown".into()
    } else {
        sets.join(" | ")
    }
}

/// The CPU sets of caches of one kind and size, by what that kind is called.
fn by_name(caches: &[Cache]) -> BTreeMap<String, Vec<String>> {
    let mut named = BTreeMap::<_, Vec<String>>::new();
    for cache in caches {
        named
            .entry(cache_name(cache))
            .or_default()
            .push(cache.cpus.clone());
    }
    named
}

fn cache_name(cache: &Cache) -> String {
    let suffix = match cache.kind.as_str() {
        "Data" => "d",
        "Instruction" => "i",
        _ => "",
    };
    format!("L{}{suffix} {} KiB", cache.level, cache.size_kib)
}

fn signal_line(text: &mut String, signal: &Signal) {
    let label = format!("  {}", signal.name);
    let (verdict, purpose) = (signal.verdict, signal.purpose);
    let reason = signal
        .reason
        .as_ref()
        .map_or(String::new(), |reason| format!(": {reason}"));
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{label:LABEL$} {verdict:VERDICT$}{purpose}{reason}");
}

fn limits(text: &mut String, limits: &LimitsReport) {
    for (label, limit, none) in [
        ("  threads", limits.threads, "unknown"),
        ("  open files", limits.open_files, "unlimited"),
        ("  may be raised to", limits.open_files_hard, "unlimited"),
    ] {
        line(text, label, &number(limit, none));
    }
    for (label, bytes, none) in [
        ("  memory", limits.memory_total_bytes, "unknown"),
        ("  available", limits.memory_available_bytes, "unknown"),
        ("  cgroup limit", limits.memory_cgroup_limit_bytes, "none"),
    ] {
        line(text, label, &mebibytes(bytes, none));
    }
    let headroom = mebibytes(limits.memory_headroom_bytes, "unknown: run does not ask");
    let bound = limits.memory_headroom_bound;
    let bound = bound.map_or(String::new(), |by| format!(", limited by the {by}"));
    line(text, "  headroom for jobs", &format!("{headroom}{bound}"));
}

/// `none`: what stands there if there is no limit, or it is unknown.
fn number(limit: Option<u64>, none: &str) -> String {
    limit.map_or(none.into(), |limit| limit.to_string())
}

fn mebibytes(bytes: Option<u64>, none: &str) -> String {
    bytes.map_or(none.into(), |bytes| format!("{} MiB", bytes >> 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(level: u8, kind: &str, cpus: &str) -> Cache {
        Cache {
            level,
            kind: kind.into(),
            size_kib: 32,
            cpus: cpus.into(),
        }
    }

    #[test]
    fn caches_of_one_kind_share_a_line() {
        let caches = [
            cache(1, "Data", "0"),
            cache(1, "Instruction", "0"),
            cache(1, "Data", "1"),
        ];
        let named = by_name(&caches);
        assert_eq!(named["L1d 32 KiB"], ["0", "1"]);
        assert_eq!(named["L1i 32 KiB"], ["0"]);
        assert_eq!(cache_name(&cache(3, "Unified", "0-1")), "L3 32 KiB");
    }

    #[test]
    fn quota_is_told_in_cpus() {
        let report = QuotaReport {
            quota_us: 150_000,
            period_us: 100_000,
            milli_cpus: 1_500,
        };
        assert_eq!(quota(&report), "1.500 CPUs (150000 us in each 100000 us)");
    }

    #[test]
    fn reasons_follow_the_purpose() {
        let mut text = String::new();
        let reason = Some("EPERM".to_owned());
        let (name, purpose, verdict) = ("canary", "idle CPUs", "denied");
        signal_line(
            &mut text,
            &Signal {
                name,
                purpose,
                verdict,
                reason,
            },
        );
        assert_eq!(text, "  canary           denied    idle CPUs: EPERM\n");
    }
}
