use std::path::PathBuf;
use tokio::runtime::Builder;
use tokio::task::JoinSet;

pub fn count_all(paths: Vec<PathBuf>) -> usize {
    let runtime = Builder::new_multi_thread().build().unwrap();
    runtime.block_on(async {
        let mut counts = JoinSet::new();
        for path in paths {
            counts.spawn_blocking(move || super::count(&path));
        }
        counts.join_all().await.into_iter().sum()
    })
}
