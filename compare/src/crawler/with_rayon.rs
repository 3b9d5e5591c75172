use super::fetch;
use rayon::{Scope, ThreadPoolBuilder};
use std::collections::HashSet;
use std::sync::Mutex;

fn visit<'s>(scope: &Scope<'s>, page: usize, seen: &'s Mutex<HashSet<usize>>) {
    for page in fetch(page) {
        if seen.lock().unwrap().insert(page) {
            scope.spawn(move |scope| visit(scope, page, seen));
        }
    }
}

pub fn crawl() -> HashSet<usize> {
    let pool = ThreadPoolBuilder::new().num_threads(8).build().unwrap();
    let seen = Mutex::new(HashSet::from([0]));
    pool.scope(|scope| visit(scope, 0, &seen));
    seen.into_inner().unwrap()
}
