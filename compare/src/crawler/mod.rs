//! Fetches 300 pages that link to each other, each once, over at most eight connections. The server
//! is a thread for each connection in this program, and takes 3 ms for a page.

mod with_cmwq;
mod with_rayon;
mod with_threadpool;
mod with_tokio;

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use crate::Version;

const PAGES: usize = 300;

fn serve(mut stream: TcpStream) {
    let mut request = String::new();
    BufReader::new(&stream)
        .read_line(&mut request)
        .expect("somebody asks");
    let page: usize = request.trim().parse().expect("a page is a number");
    thread::sleep(Duration::from_millis(3));
    let links = [2 * page + 1, 2 * page + 2].map(|page| page % PAGES);
    write!(stream, "{} {}", links[0], links[1]).expect("he waits for it");
}

fn server() -> SocketAddr {
    static SERVER: OnceLock<SocketAddr> = OnceLock::new();
    *SERVER.get_or_init(|| {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let address = listener.local_addr().expect("it is bound");
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                thread::spawn(|| serve(stream));
            }
        });
        address
    })
}

/// The links of a page.
fn fetch(page: usize) -> Vec<usize> {
    let mut stream = TcpStream::connect(server()).expect("the server listens");
    writeln!(stream, "{page}").expect("the server reads");
    let mut text = String::new();
    stream
        .read_to_string(&mut text)
        .expect("the server answers");
    text.split(' ')
        .map(|page| page.parse().expect("a number"))
        .collect()
}

fn check(pages: HashSet<usize>) -> Option<Duration> {
    assert_eq!(pages.len(), PAGES);
    None
}

pub fn versions() -> [Version; 4] {
    [
        Version {
            library: "cmwq",
            source: include_str!("with_cmwq.rs"),
            cannot: "",
            run: || check(with_cmwq::crawl()),
        },
        Version {
            library: "rayon",
            source: include_str!("with_rayon.rs"),
            cannot: "limit this work only: the limit is a pool of its own threads",
            run: || check(with_rayon::crawl()),
        },
        Version {
            library: "tokio",
            source: include_str!("with_tokio.rs"),
            cannot: "limit without a semaphore",
            run: || check(with_tokio::crawl()),
        },
        Version {
            library: "threadpool",
            source: include_str!("with_threadpool.rs"),
            cannot: "limit this work only; tell a panic",
            run: || check(with_threadpool::crawl()),
        },
    ]
}
