//! Where our canaries are: in a process of their own, which the kernel does not count as ours
//! before it has ended.

use std::fs;
use std::path::{Path, PathBuf};

use cmwq_os::helper;

/// The folders in /proc of their threads; none where they have no process.
pub(super) fn threads() -> Vec<PathBuf> {
    let helpers = children().into_iter().filter(|child| is_helper(child));
    helpers.flat_map(|helper| tasks(&helper)).collect()
}

/// Processes that threads of this one have started. Not every kernel tells.
fn children() -> Vec<PathBuf> {
    let own = tasks(Path::new("/proc/self"));
    let listed = own
        .iter()
        .map(|thread| fs::read_to_string(thread.join("children")));
    let text: String = listed.filter_map(Result::ok).collect();
    let pids = text.split_whitespace();
    pids.map(|pid| Path::new("/proc").join(pid)).collect()
}

fn tasks(process: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(process.join("task")).into_iter().flatten();
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect()
}

fn is_helper(process: &Path) -> bool {
    let name = fs::read_to_string(process.join("comm"));
    name.is_ok_and(|name| name.trim_end() == helper::NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_children_are_not_canaries() {
        let mut child = std::process::Command::new("sleep");
        let mut child = child.arg("60").spawn().unwrap();
        let path = Path::new("/proc").join(child.id().to_string());
        let (listed, helper) = (children(), is_helper(&path));
        child.kill().and_then(|()| child.wait()).unwrap();
        assert!(!helper && (listed.is_empty() || listed.contains(&path)));
    }
}
