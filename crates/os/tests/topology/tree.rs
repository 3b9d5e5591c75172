//! Trees like `/sys/devices/system`, below a directory of their own, and how they are written down.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use cmwq_os::CpuMask;
use cmwq_os::topology::{self, Topology, parse_cpulist};

/// A tree of one test, removed with it.
pub(crate) struct Tree(PathBuf);

impl Tree {
    pub(crate) fn new() -> Tree {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        // Relaxed: only a number nobody else has.
        let number = NEXT.fetch_add(1, Relaxed);
        let name = format!("cmwq-machine-{}-{number}", std::process::id());
        let tree = Tree(std::env::temp_dir().join(name));
        fs::create_dir_all(tree.path("")).unwrap();
        tree
    }

    /// The files of lines like `path: content`. Braces in a path stand for a file for each number
    /// in them; `{}` in the content is the set of the first braces that the number is from.
    pub(crate) fn of(lines: &str) -> Tree {
        let tree = Tree::new();
        let lines = lines.lines().filter(|line| !line.starts_with('#'));
        for line in lines.filter(|line| !line.is_empty()) {
            let (path, content) = line.split_once(':').expect(line);
            for (path, set) in expanded(path) {
                let content = content.trim().replace("{}", &set.unwrap_or_default());
                tree.write(&path, format!("{content}\n"));
            }
        }
        tree
    }

    /// Where such a file is, or would be.
    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.0.join("sys/devices/system").join(file)
    }

    pub(crate) fn write(&self, file: &str, content: impl AsRef<[u8]>) {
        let path = self.path(file);
        // Most directories are there already.
        if fs::write(&path, &content).is_err() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
    }

    pub(crate) fn link(&self, file: &str, to: impl AsRef<Path>) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(to, path).unwrap();
    }

    pub(crate) fn read(&self) -> Topology {
        topology::read(&self.0)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The paths that one with braces stands for, each with the set in the first braces.
fn expanded(path: &str) -> Vec<(String, Option<String>)> {
    let Some((before, rest)) = path.split_once('{') else {
        return vec![(path.to_owned(), None)];
    };
    let (inside, after) = rest.split_once('}').expect(path);
    let sets = sets(inside);
    let files = sets
        .iter()
        .flat_map(|set| set.iter().map(move |cpu| (cpu, set)));
    let file = |(number, set): (usize, &CpuMask)| {
        (format!("{before}{number}{after}"), Some(set.to_string()))
    };
    files.map(file).collect()
}

/// `0,4 1,5 8-15/2`: sets of CPUs; a slash cuts one into sets of so many.
pub(crate) fn sets(text: &str) -> Vec<CpuMask> {
    let cut = |text: &str| {
        let (list, each) = text.split_once('/').unwrap_or((text, "1024"));
        let cpus: Vec<usize> = parse_cpulist(list).expect(list).iter().collect();
        let parts = cpus.chunks(each.parse().expect(each));
        parts
            .map(|part| part.iter().copied().collect())
            .collect::<Vec<CpuMask>>()
    };
    text.split_whitespace().flat_map(cut).collect()
}
