//! An axum service that hands its blocking calls to cmwq, beside one that uses `spawn_blocking`:
//! requests per second, the 99th of 100 times, and the threads of the service at most.
//!
//! `service` runs both in turns, five times, over three kinds of requests, and prints medians and
//! their ratios. A service is a process of its own, and so are its clients.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::Path;
use axum::routing::get;

const CLIENTS: usize = 128;
const REQUESTS: usize = 40;

/// Waits and computes for so many microseconds.
fn blocking_call(waits: u64, computes: u64) -> String {
    thread::sleep(Duration::from_micros(waits));
    let from = Instant::now();
    while from.elapsed() < Duration::from_micros(computes) {
        std::hint::spin_loop();
    }
    "done".to_owned()
}

async fn by_cmwq(Path((waits, computes)): Path<(u64, u64)>) -> String {
    // The executor's thread goes on; the item's end wakes this task.
    cmwq::spawn(move || blocking_call(waits, computes))
        .await
        .expect("it does not panic")
}

async fn by_tokio(Path((waits, computes)): Path<(u64, u64)>) -> String {
    let call = tokio::task::spawn_blocking(move || blocking_call(waits, computes));
    call.await.expect("it does not panic")
}

/// The service: it says where it listens, and ends with its standard input.
fn serve(pool: &str) {
    let handler = match pool {
        "cmwq" => get(by_cmwq),
        _ => get(by_tokio),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.spawn(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        println!("{}", listener.local_addr().expect("it is bound").port());
        let service = Router::new().route("/{waits}/{computes}", handler);
        axum::serve(listener, service).await.expect("it serves");
    });
    let _ = std::io::stdin().read(&mut [0]);
    std::process::exit(0);
}

fn request(stream: &mut BufReader<TcpStream>, path: &str) {
    write!(
        stream.get_mut(),
        "GET {path} HTTP/1.1\r\nHost: here\r\n\r\n"
    )
    .expect("it reads");
    let mut line = String::new();
    while stream.read_line(&mut line).expect("it answers") > 2 {
        line.clear();
    }
    stream
        .read_exact(&mut [0; 4])
        .expect("\"done\" comes after the head");
}

/// Requests per second, and the 99th of 100 times in ms.
fn load(port: u16, path: &str) -> (f64, f64) {
    let (times, from) = (Mutex::new(Vec::new()), Instant::now());
    thread::scope(|threads| {
        for _ in 0..CLIENTS {
            threads.spawn(|| {
                let stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
                stream.set_nodelay(true).expect("a socket");
                let mut stream = BufReader::new(stream);
                for _ in 0..REQUESTS {
                    let from = Instant::now();
                    request(&mut stream, path);
                    times
                        .lock()
                        .expect("no client panics")
                        .push(from.elapsed().as_secs_f64() * 1e3);
                }
            });
        }
    });
    let (mut times, all) = (
        times.into_inner().expect("no client panics"),
        from.elapsed(),
    );
    times.sort_by(f64::total_cmp);
    (
        times.len() as f64 / all.as_secs_f64(),
        times[times.len() * 99 / 100],
    )
}

fn threads_of(pid: u32) -> f64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"));
    tasks.map_or(0, Iterator::count) as f64
}

/// Throughput, p99, threads.
fn measure(pool: &str, path: &str) -> [f64; 3] {
    let mut service = Command::new(std::env::current_exe().expect("this program"));
    let service = service
        .arg(pool)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut service = service.spawn().expect("it starts");
    let mut port = String::new();
    let out = service.stdout.take().expect("it is piped");
    BufReader::new(out)
        .read_line(&mut port)
        .expect("it says where it listens");
    let (throughput, p99) = load(port.trim().parse().expect("a port"), path);
    let threads = threads_of(service.id());
    drop(service.stdin.take());
    service.wait().expect("it ends");
    [throughput, p99, threads]
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    if let Some(pool) = std::env::args().nth(1) {
        return serve(&pool);
    }
    println!("| request | pool | requests/s | p99 ms | threads |\n| --- | --- | --- | --- | --- |");
    let kinds = [
        ("waits 5 ms", "/5000/0"),
        ("computes 1 ms", "/0/1000"),
        ("waits 2 ms, computes 0.3 ms", "/2000/300"),
    ];
    for (kind, path) in kinds {
        let pools = ["cmwq", "spawn_blocking"];
        let mut all = [Vec::new(), Vec::new()];
        for _ in 0..5 {
            pools
                .iter()
                .zip(&mut all)
                .for_each(|(pool, all)| all.push(measure(pool, path)));
        }
        for (pool, all) in pools.iter().zip(&all) {
            let of = |i: usize| median(all.iter().map(|run| run[i]).collect());
            println!(
                "| {kind} | {pool} | {:.0} | {:.1} | {:.0} |",
                of(0),
                of(1),
                of(2)
            );
        }
        // Of one run each: what else the machine did was there for both.
        let ratio = |i: usize| {
            median(
                all[0]
                    .iter()
                    .zip(&all[1])
                    .map(|(a, b)| a[i] / b[i])
                    .collect(),
            )
        };
        println!(
            "| {kind} | ratio | {:.2} | {:.2} | {:.2} |",
            ratio(0),
            ratio(1),
            ratio(2)
        );
    }
}
