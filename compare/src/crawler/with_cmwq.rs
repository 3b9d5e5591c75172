use super::fetch;
use std::collections::HashSet;

pub fn crawl() -> HashSet<usize> {
    let queue = cmwq::Workqueue::builder("connections")
        .max_active(8)
        .build()
        .unwrap();
    let mut seen = HashSet::from([0]);
    let mut handles = vec![queue.spawn(|| fetch(0))];
    while !handles.is_empty() {
        let first = cmwq::select(&mut handles).unwrap();
        for page in handles.swap_remove(first).join().unwrap() {
            if seen.insert(page) {
                handles.push(queue.spawn(move || fetch(page)));
            }
        }
    }
    seen
}
