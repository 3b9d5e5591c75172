//! 64 clients ask a server 20 questions each, one after the other. A question waits for 2 ms, as
//! for a database, and computes for about 0.1 ms.

mod with_cmwq;
mod with_rayon;
mod with_threadpool;
mod with_tokio;

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use crate::Version;

const CLIENTS: usize = 64;
const QUESTIONS: usize = 20;

fn answer(question: &str) -> String {
    thread::sleep(Duration::from_millis(2));
    let hash = (0..50_000_u64).fold(7, |x, n| (x ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    format!(
        "{} {}\n",
        question.to_uppercase(),
        std::hint::black_box(hash) % 2
    )
}

/// Answers each line of a connection with a blocking call.
fn serve(stream: TcpStream) {
    let mut answers = stream.try_clone().expect("a descriptor is left");
    for line in BufReader::new(stream).lines() {
        answers
            .write_all(answer(&line.expect("the client writes")).as_bytes())
            .expect("he reads");
    }
}

fn ask(server: SocketAddr) {
    let stream = TcpStream::connect(server).expect("the server listens");
    let (mut questions, mut answers) = (
        stream.try_clone().expect("one is left"),
        BufReader::new(stream),
    );
    for n in 0..QUESTIONS {
        let question = format!("question {n}\n"); // one packet
        questions
            .write_all(question.as_bytes())
            .expect("the server reads");
        let mut answer = String::new();
        answers.read_line(&mut answer).expect("the server answers");
        assert!(answer.starts_with(&format!("QUESTION {n}")));
    }
}

/// Runs the clients beside a server that serves so many connections and returns.
fn with_clients(server: impl FnOnce(TcpListener) + Send) -> Option<Duration> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let address = listener.local_addr().expect("it is bound");
    thread::scope(|threads| {
        (0..CLIENTS).for_each(|_| drop(threads.spawn(move || ask(address))));
        server(listener);
    });
    None
}

pub fn versions() -> [Version; 4] {
    [
        Version {
            library: "cmwq",
            source: include_str!("with_cmwq.rs"),
            cannot: "",
            run: || with_clients(with_cmwq::serve_all),
        },
        Version {
            library: "rayon",
            source: include_str!("with_rayon.rs"),
            cannot: "serve more connections than it has threads",
            run: || with_clients(with_rayon::serve_all),
        },
        Version {
            library: "tokio",
            source: include_str!("with_tokio.rs"),
            cannot: "limit the threads that compute",
            run: || with_clients(with_tokio::serve_all),
        },
        Version {
            library: "threadpool",
            source: include_str!("with_threadpool.rs"),
            cannot: "serve more connections than it has threads, here as many as clients",
            run: || with_clients(with_threadpool::serve_all),
        },
    ]
}
