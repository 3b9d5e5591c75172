use std::path::PathBuf;
use std::sync::mpsc::channel;
use threadpool::ThreadPool;

pub fn count_all(paths: Vec<PathBuf>) -> usize {
    let pool = ThreadPool::new(std::thread::available_parallelism().unwrap().get());
    let (tell, counts) = channel();
    for path in paths {
        let tell = tell.clone();
        pool.execute(move || tell.send(super::count(&path)).unwrap());
    }
    drop(tell);
    counts.iter().sum()
}
