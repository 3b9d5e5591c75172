//! Whether any thread of a process and its descendants wants a CPU.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use super::{Stat, TaskState, parse_stat};

/// What a process tree was seen doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeState {
    /// Runnable threads found; counting ends at the cap.
    pub runnable: usize,
    /// Some thread seen is stopped or traced: the tree is not merely waiting.
    pub stopped: bool,
    /// Some thread seen has not ended.
    pub alive: bool,
}

/// Looks at the threads of `pid`, then of its children and so on, until `cap` runnable ones are
/// found. Zombies and stopped threads are not runnable. Processes may come and go meanwhile: what
/// has gone is not counted. A descendant whose parent has ended belongs to the tree no more.
pub fn runnable(pid: i32, cap: usize) -> TreeState {
    scan(Path::new("/proc"), pid, cap)
}

fn scan(proc_dir: &Path, pid: i32, cap: usize) -> TreeState {
    let mut walk = Walk {
        proc_dir,
        parents: None,
    };
    let mut found = TreeState::default();
    // Ids can be reused while we look: the set also keeps a walk from going in circles.
    let mut seen = HashSet::from([pid]);
    let mut queue = vec![pid];
    let mut next = 0;
    while let Some(&pid) = queue.get(next) {
        next += 1;
        let tasks = walk.tasks(pid);
        for &tid in &tasks {
            found.add(walk.task_state(pid, tid));
            if found.runnable >= cap {
                return found;
            }
        }
        queue.extend(
            walk.children(pid, &tasks)
                .into_iter()
                .filter(|&child| seen.insert(child)),
        );
    }
    found
}

impl TreeState {
    fn add(&mut self, state: TaskState) {
        self.runnable += usize::from(state == TaskState::Runnable);
        self.stopped |= state == TaskState::Stopped;
        self.alive |= state != TaskState::Dead;
    }
}

struct Walk<'a> {
    proc_dir: &'a Path,
    /// (child, parent) of every process, read once where the kernel has no `children` files.
    parents: Option<Vec<(i32, i32)>>,
}

impl Walk<'_> {
    fn tasks(&self, pid: i32) -> Vec<i32> {
        numeric_names(&self.proc_dir.join(format!("{pid}/task")))
    }

    fn task_state(&self, pid: i32, tid: i32) -> TaskState {
        match fs::read(self.proc_dir.join(format!("{pid}/task/{tid}/stat"))) {
            Ok(line) => parse_stat(&line).map_or(TaskState::Unknown, |stat| stat.state),
            Err(_) => TaskState::Dead,
        }
    }

    fn children(&mut self, pid: i32, tasks: &[i32]) -> Vec<i32> {
        let files: Vec<String> = tasks
            .iter()
            .filter_map(|tid| self.children_file(pid, *tid))
            .collect();
        // With no `children` file of any thread, either the process has gone or the kernel has
        // none (CONFIG_PROC_CHILDREN).
        if files.is_empty() && !tasks.is_empty() {
            return self.children_by_parent(pid);
        }
        let words = files.iter().flat_map(|text| text.split_ascii_whitespace());
        words.filter_map(|word| word.parse().ok()).collect()
    }

    fn children_file(&self, pid: i32, tid: i32) -> Option<String> {
        fs::read_to_string(self.proc_dir.join(format!("{pid}/task/{tid}/children"))).ok()
    }

    fn children_by_parent(&mut self, pid: i32) -> Vec<i32> {
        let proc_dir = self.proc_dir;
        let parents = self.parents.get_or_insert_with(|| all_parents(proc_dir));
        parents
            .iter()
            .filter(|(_, parent)| *parent == pid)
            .map(|(child, _)| *child)
            .collect()
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
fn numeric_names(directory: &Path) -> Vec<i32> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let number = |name: &OsStr| name.to_str()?.parse().ok();
    entries
        .flatten()
        .filter_map(|entry| number(&entry.file_name()))
        .collect()
}
