//! How long CPUs have idled, by `/proc/stat`.

use std::fs;

use cmwq_policy::time::SECOND;
use cmwq_policy::{CpuMask, Nanos};

/// How long these CPUs have run nothing since the machine started, waits for disks included: the
/// sum of all. In steps of the kernel's `USER_HZ`, 10 ms mostly. `None` where the system does not
/// tell. CPUs that are offline do not count.
pub fn idle(cpus: &CpuMask) -> Option<Nanos> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let ticks = parse(&text, cpus)?;
    // SAFETY: it takes no pointer.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    let per_second = u64::try_from(per_second).ok().filter(|&n| n > 0)?;
    Some(ticks.saturating_mul(SECOND / per_second))
}

/// In ticks. `None` if it is not such a text.
fn parse(text: &str, cpus: &CpuMask) -> Option<u64> {
    let lines = text
        .lines()
        .skip(1)
        .map_while(|line| line.strip_prefix("cpu"));
    let mut sum = None;
    for line in lines {
        let mut words = line.split_ascii_whitespace();
        let cpu: usize = words.next()?.parse().ok()?;
        let mut idle = words.skip(3).map(|word| word.parse::<u64>().ok());
        let (idle, disk) = (idle.next()??, idle.next()??);
        if cpus.contains(cpu) {
            *sum.get_or_insert(0) += idle + disk;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "cpu  7 0 7 300 30 0 0 0 0 0\n\
        cpu0 4 0 4 100 10 0 0 0 0 0\n\
        cpu5 3 0 3 200 20 0 0 0 0 0\n\
        intr 6 7 8\n";

    #[test]
    fn it_is_the_sum_of_those_that_are_asked_for() {
        let of = |cpus: &[usize]| parse(TEXT, &cpus.iter().copied().collect());
        assert_eq!(of(&[0, 5]), Some(330));
        assert_eq!(of(&[0, 1]), Some(110));
        assert_eq!(of(&[1]), None, "it is offline");
    }

    #[test]
    fn another_text_says_nothing() {
        let all = CpuMask::from_iter([0]);
        for text in [
            "",
            "cpu 1",
            "cpu\ncpu0",
            "cpu\ncpu0 1 2 3 4",
            "cpu\ncpu0 a b c d e",
        ] {
            assert_eq!(parse(text, &all), None, "{text}");
        }
    }

    #[test]
    fn nobody_idles_for_longer_than_the_machine_runs() {
        let own = crate::cpus::effective().mask;
        let Some(idled) = idle(&own) else {
            return;
        };
        // The kernel rounds, and tells of one CPU after the other.
        let most = (crate::clock::now().0 + SECOND) * own.count() as u64;
        assert!(idled <= most, "{idled} of {most}");
    }
}
