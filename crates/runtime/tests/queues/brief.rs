//! One worker serves brief items, and what is not brief gets others.

use std::sync::mpsc;

use crate::common::{eventually, queue};

/// So many that one worker is thought to be enough.
const MANY: usize = 2_000;

/// An item that waits, unseen by cmwq, for the one behind it: nobody queues anything after them.
#[test]
fn what_a_brief_item_waits_for_begins() {
    let queue = queue("brief");
    for _ in 0..20 {
        let brief: Vec<_> = (0..MANY).map(|_| queue.spawn(|| ())).collect();
        let (tell, told) = mpsc::channel();
        let waits = queue.spawn(move || told.recv().unwrap());
        let tells = queue.spawn(move || tell.send(()).unwrap());
        eventually("both end", || waits.is_finished() && tells.is_finished());
        for item in brief {
            item.join().unwrap();
        }
    }
}

/// The same from within: the one that queues them all is long, and serves nobody.
#[test]
fn brief_items_of_an_item_that_waits_for_them_begin() {
    let queue = queue("brief");
    let own = queue.clone();
    let all = queue.spawn(move || {
        let (tell, told) = mpsc::channel();
        for _ in 0..10 * MANY {
            let tell = tell.clone();
            drop(own.spawn(move || tell.send(()).unwrap()));
        }
        told.iter().take(10 * MANY).count()
    });
    assert_eq!(all.join().unwrap(), 10 * MANY);
}
