//! Requests that each wait, through a channel, for an item that waits for an item, and so on: how
//! long they take beside fixed pools of threads. `nest REQUESTS DEPTH [THREADS ...]`, by default
//! 500 requests of depth 3, and pools of 2048, 4096 and 8192 threads. Items sleep for 200 us, as
//! for a disk. A pool with fewer threads than items that wait at once never ends, and is left out.

use std::collections::VecDeque;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

type Task = Box<dyn FnOnce() + Send>;

/// Whatever runs closures.
trait Pool: Clone + Send + 'static {
    fn run(&self, job: Task);
}

impl Pool for cmwq::Workqueue {
    fn run(&self, job: Task) {
        drop(self.spawn(job));
    }
}

/// So many threads, which take jobs from one list.
#[derive(Clone)]
struct Fixed(Arc<(Mutex<VecDeque<Task>>, Condvar)>);

impl Fixed {
    fn new(threads: usize) -> Fixed {
        let pool = Fixed(Arc::default());
        for _ in 0..threads {
            let own = pool.0.clone();
            let body = move || {
                loop {
                    let jobs = own.0.lock().unwrap();
                    let mut jobs = own.1.wait_while(jobs, |jobs| jobs.is_empty()).unwrap();
                    let job = jobs.pop_front().expect("there is one");
                    drop(jobs);
                    job();
                }
            };
            let thread = std::thread::Builder::new().stack_size(256 * 1024);
            thread.spawn(body).expect("a thread");
        }
        pool
    }
}

impl Pool for Fixed {
    fn run(&self, job: Task) {
        self.0.0.lock().unwrap().push_back(job);
        self.0.1.notify_one();
    }
}

fn nest(pool: &impl Pool, depth: usize, done: Sender<()>) {
    let own = pool.clone();
    pool.run(Box::new(move || {
        std::thread::sleep(Duration::from_micros(200));
        if let Some(depth) = depth.checked_sub(1) {
            let (tell, told) = channel();
            nest(&own, depth, tell);
            told.recv().expect("it ends");
        }
        let _ = done.send(());
    }));
}

fn time(pool: &impl Pool, requests: usize, depth: usize) -> Duration {
    let (began, (tell, told)) = (Instant::now(), channel());
    (0..requests).for_each(|_| nest(pool, depth, tell.clone()));
    drop(tell);
    assert_eq!(told.iter().count(), requests);
    began.elapsed()
}

fn main() {
    let mut numbers = std::env::args()
        .skip(1)
        .map(|arg| arg.parse().expect("a number"));
    let (requests, depth) = (numbers.next().unwrap_or(500), numbers.next().unwrap_or(3));
    let mut pools: Vec<usize> = numbers.collect();
    if pools.is_empty() {
        pools = vec![2048, 4096, 8192];
    }
    let queue = cmwq::Workqueue::builder("nest").build().expect("a queue");
    for round in 0..2 {
        let took = time(&queue, requests, depth);
        println!(
            "cmwq, round {round}: {took:?}, {} workers",
            cmwq::stats().workers
        );
    }
    for threads in pools
        .into_iter()
        .filter(|threads| *threads > requests * depth)
    {
        let began = Instant::now();
        let pool = Fixed::new(threads);
        let made = began.elapsed();
        for round in 0..2 {
            let took = time(&pool, requests, depth);
            println!("{threads} threads (made in {made:?}), round {round}: {took:?}");
        }
    }
}
