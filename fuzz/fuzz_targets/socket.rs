//! A peer that says anything to a process. Each one gets an answer or none, and the next one is
//! served.
#![no_main]

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::sync::LazyLock;
use std::thread;

use cmwq_stats::control::{Answer, Refusal, Request, Socket, ask};
use libfuzzer_sys::fuzz_target;

static SOCKET: LazyLock<String> = LazyLock::new(|| {
    let socket = Socket::bind().unwrap();
    let name = socket.name().to_owned();
    thread::spawn(move || {
        socket.serve(|request| match request {
            Request::Set { settings, .. } => Err(Refusal::invalid(format!("{settings:?}\n"))),
            _ => Ok(Answer::Done),
        });
    });
    name
});

fuzz_target!(|data: &[u8]| {
    let address = SocketAddr::from_abstract_name(SOCKET.as_str()).unwrap();
    let mut peer = UnixStream::connect_addr(&address).unwrap();
    let _ = peer.write_all(data);
    peer.shutdown(Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    // It may hang up before it has read all.
    if peer.read_to_end(&mut answer).is_ok() && !answer.is_empty() {
        let answer = String::from_utf8(answer).expect("answers are text");
        assert!(answer == "ok\n" || answer.starts_with("error "), "{answer}");
        assert_eq!(answer.matches('\n').count(), 1, "{answer}");
        assert!(answer.ends_with('\n'), "{answer}");
    }
    assert_eq!(ask(std::process::id(), SOCKET.as_str(), &Request::Look), Ok(()));
    if let Ok(line) = std::str::from_utf8(data) {
        let _ = Request::parse(line);
    }
});
