//! Services that are slow, each for a reason of its own. Somebody who looks with `cmwq top`, `dump`
//! and `explain` has to find the reason. Kinds are letters, so the command line says nothing.
//!
//! `a` a limit, `b` a lock, `c` an item that computes, `d` items that wait for one another, `e` a
//! quota (to be started in a cgroup that has one), `f` one slow item of an ordered queue, `g` a
//! queue that was frozen and never thawed, `h` threads that cannot be made, `i` a CPU that another
//! process has, `j` items that flush a queue with a slow item. Each goes on until standard input
//! ends.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use cmwq::Workqueue;

fn main() {
    let kind = std::env::args().nth(1).unwrap_or_default();
    let begin: fn() = match kind.as_str() {
        "a" => mail,
        "b" => orders,
        "c" => packets,
        "d" => invoices,
        "e" => pictures,
        "f" => journal,
        "g" => backups,
        "h" => uploads,
        "i" => thumbnails,
        "j" => requests,
        // Not a service: what stands in the way of `i`.
        "busy" => stand_in_the_way,
        _ => {
            eprintln!("usage: sick a|b|c|d|e|f|g|h|i|j");
            std::process::exit(2);
        }
    };
    std::thread::spawn(begin);
    // Whoever started this ends it.
    let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
}

fn queue(name: &str) -> Workqueue {
    let queue = Workqueue::builder(name).sysfs().build();
    queue.expect("a queue can be made")
}

fn pause() {
    std::thread::sleep(Duration::from_millis(20));
}

fn compute(time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Mails that take their time, one at a time.
fn mail() {
    let queue = queue("mail");
    queue.set_max_active(1);
    loop {
        let _unjoined = queue.spawn(send_mail);
        pause();
    }
}

fn send_mail() {
    std::thread::sleep(Duration::from_millis(400));
}

static LEDGER: Mutex<u64> = Mutex::new(0);

/// Orders that enter one ledger.
fn orders() {
    let queue = queue("orders");
    loop {
        for _ in 0..8 {
            let _unjoined = queue.spawn(enter_order);
        }
        pause();
    }
}

fn enter_order() {
    let mut ledger = LEDGER.lock().expect("nobody panics");
    std::thread::sleep(Duration::from_millis(5));
    *ledger += 1;
}

/// Packets beside a table that is made anew now and then, on the same CPU.
fn packets() {
    let queue = Workqueue::builder("packets").percpu().sysfs().build();
    let queue = queue.expect("a queue can be made");
    loop {
        let _unjoined = queue.spawn(rebuild_table);
        for _ in 0..20 {
            let _unjoined = queue.spawn(handle_packet);
        }
        std::thread::sleep(Duration::from_millis(400));
    }
}

fn rebuild_table() {
    compute(Duration::from_millis(300));
}

fn handle_packet() {
    compute(Duration::from_micros(10));
}

/// Invoices that need the stock, which needs the prices, which come from far away.
fn invoices() {
    let (invoices, stock, prices) = (queue("invoices"), queue("stock"), queue("prices"));
    prices.set_max_active(1);
    loop {
        let (stock, prices) = (stock.clone(), prices.clone());
        let _unjoined = invoices.spawn(move || write_invoice(&stock, prices));
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn write_invoice(stock: &Workqueue, prices: Workqueue) {
    let _ = stock.spawn(move || count_stock(&prices)).join();
}

fn count_stock(prices: &Workqueue) {
    let _ = prices.spawn(fetch_price).join();
}

fn fetch_price() {
    std::thread::sleep(Duration::from_millis(700));
}

/// Pictures that compute.
fn pictures() {
    let queue = queue("pictures");
    loop {
        let _unjoined = queue.spawn(scale_picture);
        pause();
    }
}

fn scale_picture() {
    compute(Duration::from_millis(40));
}

/// Pages that are written in order, and a compaction among them.
fn journal() {
    let queue = Workqueue::builder("journal").ordered().sysfs().build();
    let queue = queue.expect("a queue can be made");
    loop {
        let _unjoined = queue.spawn(compact);
        for _ in 0..50 {
            let _unjoined = queue.spawn(write_page);
            pause();
        }
    }
}

fn compact() {
    std::thread::sleep(Duration::from_secs(3));
}

fn write_page() {
    std::thread::sleep(Duration::from_micros(100));
}

/// Backups, which somebody has stopped for a moment.
fn backups() {
    let queue = Workqueue::builder("backups").freezable().sysfs().build();
    let queue = queue.expect("a queue can be made");
    cmwq::freezer::freeze();
    loop {
        let _unjoined = queue.spawn(copy_file);
        pause();
    }
}

fn copy_file() {
    std::thread::sleep(Duration::from_millis(1));
}

/// Uploads of a program that may have few threads.
fn uploads() {
    let queue = Workqueue::builder("uploads").mem_reclaim().sysfs().build();
    let queue = queue.expect("a queue can be made");
    // Some memory for a thread, and not for the next: a stack has 2 MiB.
    let now = rustix::process::getrlimit(rustix::process::Resource::As);
    let used = std::fs::read_to_string("/proc/self/statm").expect("it is there");
    let pages: u64 = used
        .split(' ')
        .next()
        .and_then(|word| word.parse().ok())
        .expect("a number");
    let limit = rustix::process::Rlimit {
        current: Some(pages * 4096 + (1 << 20)),
        maximum: now.maximum,
    };
    rustix::process::setrlimit(rustix::process::Resource::As, limit).expect("less is allowed");
    loop {
        let _unjoined = queue.spawn(send_part);
        pause();
    }
}

fn send_part() {
    std::thread::sleep(Duration::from_millis(300));
}

/// Thumbnails on one CPU, with low priority, beside a process that has that CPU.
fn thumbnails() {
    let queue = Workqueue::builder("thumbnails")
        .nice(19)
        .cpus([0])
        .affinity_strict(true);
    let queue = queue.sysfs().build().expect("a queue can be made");
    let me = std::env::current_exe().expect("it is there");
    let mut other = std::process::Command::new("taskset");
    let other = other.args(["-c", "0"]).arg(me).arg("busy");
    let other = other.stdin(std::process::Stdio::piped()).spawn();
    let mut other = other.expect("it starts");
    // It ends with this process, which holds the other end.
    let _held = other.stdin.take();
    std::thread::spawn(move || other.wait());
    loop {
        let _unjoined = queue.spawn(scale_picture);
        pause();
    }
}

fn stand_in_the_way() {
    compute(Duration::from_secs(3600));
}

/// Requests that write to a log and wait until it is written.
fn requests() {
    let (requests, log) = (queue("requests"), queue("log"));
    let _unjoined = log.spawn(rotate_log);
    loop {
        let log = log.clone();
        let _unjoined = requests.spawn(move || answer_request(&log));
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn answer_request(log: &Workqueue) {
    log.flush().expect("it does not wait for itself");
}

fn rotate_log() {
    std::thread::sleep(Duration::from_secs(3600));
}
