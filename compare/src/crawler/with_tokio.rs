use super::fetch;
use std::collections::HashSet;
use std::sync::Arc;
use tokio::runtime::Builder;
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, spawn_blocking};

async fn limited(limit: Arc<Semaphore>, page: usize) -> Vec<usize> {
    let _slot = limit.acquire().await.unwrap();
    spawn_blocking(move || fetch(page)).await.unwrap()
}

pub fn crawl() -> HashSet<usize> {
    let runtime = Builder::new_multi_thread().build().unwrap();
    runtime.block_on(async {
        let limit = Arc::new(Semaphore::new(8));
        let mut seen = HashSet::from([0]);
        let mut fetches = JoinSet::new();
        fetches.spawn(limited(limit.clone(), 0));
        while let Some(links) = fetches.join_next().await {
            for page in links.unwrap() {
                if seen.insert(page) {
                    fetches.spawn(limited(limit.clone(), page));
                }
            }
        }
        seen
    })
}
