use super::fetch;
use std::collections::HashSet;
use std::sync::mpsc::channel;
use threadpool::ThreadPool;

pub fn crawl() -> HashSet<usize> {
    let pool = ThreadPool::new(8);
    let (tell, links) = channel();
    let mut seen = HashSet::from([0]);
    let visit = |page| {
        let tell = tell.clone();
        pool.execute(move || tell.send(fetch(page)).unwrap());
    };
    visit(0);
    let mut under_way = 1;
    while under_way > 0 {
        under_way -= 1;
        for page in links.recv().unwrap() {
            if seen.insert(page) {
                under_way += 1;
                visit(page);
            }
        }
    }
    seen
}
