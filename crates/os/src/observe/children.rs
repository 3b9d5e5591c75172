//! Who is whose child.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use super::{Stat, parse_stat};
use crate::adopt::children_of_thread;

/// The children of a process; none if it has gone.
pub(crate) fn children(pid: i32) -> Vec<i32> {
    let proc_dir = Path::new("/proc");
    let tasks = numeric_names(&proc_dir.join(format!("{pid}/task")));
    Children::new(proc_dir).of(pid, &tasks)
}

/// Who is whose child.
pub(super) struct Children<'a> {
    proc_dir: &'a Path,
    /// (child, parent) of every process, read once where the kernel has no `children` files.
    parents: Option<Vec<(i32, i32)>>,
}

impl<'a> Children<'a> {
    pub(super) fn new(proc_dir: &'a Path) -> Self {
        Children {
            proc_dir,
            parents: None,
        }
    }

    pub(super) fn of(&mut self, pid: i32, tasks: &[i32]) -> Vec<i32> {
        let files: Vec<Vec<i32>> = tasks
            .iter()
            .filter_map(|&tid| children_of_thread(self.proc_dir, pid, tid))
            .collect();
        // With no `children` file of any thread, either the process has gone or the kernel has
        // none (CONFIG_PROC_CHILDREN).
        if files.is_empty() && !tasks.is_empty() {
            return self.by_parent(pid);
        }
        files.concat()
    }

    fn by_parent(&mut self, pid: i32) -> Vec<i32> {
        let proc_dir = self.proc_dir;
        let parents = self.parents.get_or_insert_with(|| all_parents(proc_dir));
        let children = parents.iter().filter(|(_, parent)| *parent == pid);
        children.map(|(child, _)| *child).collect()
    }
}

fn all_parents(proc_dir: &Path) -> Vec<(i32, i32)> {
    let stat = |pid: i32| -> Option<Stat> {
        parse_stat(&fs::read(proc_dir.join(format!("{pid}/stat"))).ok()?)
    };
    let pids = numeric_names(proc_dir).into_iter();
    pids.filter_map(|pid| Some((pid, stat(pid)?.ppid)))
        .collect()
}

/// The directory's entries that are numbers; none if it has gone.
pub(super) fn numeric_names(directory: &Path) -> Vec<i32> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let number = |name: &OsStr| name.to_str()?.parse().ok();
    entries
        .flatten()
        .filter_map(|entry| number(&entry.file_name()))
        .collect()
}
