//! Counts the words of 600 files. Reading one waits for 1 ms, as for a disk that is not cached.

mod with_cmwq;
mod with_rayon;
mod with_threadpool;
mod with_tokio;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use crate::Version;

fn count(path: &Path) -> usize {
    std::thread::sleep(Duration::from_millis(1));
    let text = std::fs::read_to_string(path).expect("it was written before");
    text.split_whitespace().count()
}

fn paths() -> Vec<PathBuf> {
    static PATHS: OnceLock<Vec<PathBuf>> = OnceLock::new();
    let make = || {
        let folder = std::env::temp_dir().join("cmwq-compare");
        std::fs::create_dir_all(&folder).expect("the folder can be made");
        let file = |n: usize| {
            let path = folder.join(n.to_string());
            std::fs::write(&path, "some words and ".repeat(2_000)).expect("there is room");
            path
        };
        (0..600).map(file).collect()
    };
    PATHS.get_or_init(make).clone()
}

fn check(words: usize) -> Option<Duration> {
    assert_eq!(words, 600 * 6_000);
    None
}

pub fn versions() -> [Version; 4] {
    [
        Version {
            library: "cmwq",
            source: include_str!("with_cmwq.rs"),
            cannot: "",
            run: || check(with_cmwq::count_all(paths())),
        },
        Version {
            library: "rayon",
            source: include_str!("with_rayon.rs"),
            cannot: "run another file while one is read, beyond its threads",
            run: || check(with_rayon::count_all(paths())),
        },
        Version {
            library: "tokio",
            source: include_str!("with_tokio.rs"),
            cannot: "keep threads that compute from crowding each other out; give results in order with back-pressure",
            run: || check(with_tokio::count_all(paths())),
        },
        Version {
            library: "threadpool",
            source: include_str!("with_threadpool.rs"),
            cannot: "choose its size; give results in order; tell a panic",
            run: || check(with_threadpool::count_all(paths())),
        },
    ]
}
