//! What a runner has below it, looked at now and then.

use std::fs;

#[derive(Default)]
pub(super) struct Sample {
    /// Processes that it has started itself, without those that have ended and were not waited for.
    pub(super) peak_jobs: u32,
    /// Resident, shared pages counted in each process.
    pub(super) peak_kib: u64,
}

impl Sample {
    pub(super) fn look(&mut self, runner: u32) {
        let children = children(runner);
        let alive = |pid: &&u32| resident_kib(**pid) > 0;
        self.peak_jobs = self
            .peak_jobs
            .max(children.iter().filter(alive).count() as u32);
        self.peak_kib = self.peak_kib.max(tree_kib(runner));
    }
}

fn tree_kib(pid: u32) -> u64 {
    let below: u64 = children(pid).into_iter().map(tree_kib).sum();
    resident_kib(pid) + below
}

/// Of all of its threads: each has the children that it has started.
fn children(pid: u32) -> Vec<u32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    let lists = tasks
        .flatten()
        .filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_whitespace()
                .flat_map(str::parse)
                .collect::<Vec<u32>>()
        })
        .collect()
}

/// 0 for one that has ended.
fn resident_kib(pid: u32) -> u64 {
    let statm = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    let pages = statm
        .split_whitespace()
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_seen_with_its_memory() {
        let mut child = std::process::Command::new("sleep")
            .arg("10")
            .spawn()
            .unwrap();
        let mut sample = Sample::default();
        // It is there once `spawn` returns.
        sample.look(std::process::id());
        assert!(sample.peak_jobs > 0 && sample.peak_kib > 0);
        child.kill().and_then(|()| child.wait()).unwrap();
    }
}
