//! Services that are slow, each for a reason of its own. Somebody who looks with `cmwq top`, `dump`
//! and `explain` has to find the reason. Kinds are letters, so the command line says nothing.
//!
//! `a` a limit, `b` a lock, `c` an item that computes, `d` items that wait for one another, `e` a
//! quota (to be started in a cgroup that has one). Each goes on until standard input ends.

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
        _ => {
            eprintln!("usage: sick a|b|c|d|e");
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
