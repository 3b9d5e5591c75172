//! What a runner has below it, looked at now and then.

use std::fs;
use std::time::Instant;

use super::Peak;

/// Between two looks so many times what the last one took: a look at many threads costs more.
const PART: u32 = 30;

#[derive(Default)]
pub(super) struct Looks {
    pub(super) peak: Peak,
    /// None: none was taken yet.
    next: Option<Instant>,
}

impl Looks {
    /// Takes one, if it is time.
    pub(super) fn take(&mut self, runner: u32) {
        let begun = Instant::now();
        if self.next.is_none_or(|next| next <= begun) {
            self.look(runner);
            self.next = Some(Instant::now() + begun.elapsed() * PART);
        }
    }

    fn look(&mut self, runner: u32) {
        let children = children(runner);
        let alive = children.iter().filter(|pid| resident_kib(**pid) > 0);
        self.peak.jobs = self.peak.jobs.max(alive.count() as u32);
        self.peak.mib = self.peak.mib.max(tree_kib(runner) as f64 / 1024.0);
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
        let mut looks = Looks::default();
        // It is there once `spawn` returns.
        looks.take(std::process::id());
        assert!(looks.peak.jobs > 0 && looks.peak.mib > 0.0);
        child.kill().and_then(|()| child.wait()).unwrap();
    }
}
