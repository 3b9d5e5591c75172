//! A process that answers anything. Whoever asks gets an answer, a refusal with an errno, or `EIO`.
//! Whoever records gets whole chunks, and an error at the end.
#![no_main]

use std::io::{Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::{LazyLock, Mutex};
use std::thread;
use std::time::Duration;

use cmwq_stats::control::{Request, ask};
use cmwq_stats::trace::{Chunk, Recording};
use libfuzzer_sys::fuzz_target;

static NEXT: Mutex<Vec<u8>> = Mutex::new(Vec::new());

static PROCESS: LazyLock<String> = LazyLock::new(|| {
    let name = format!("cmwq-fuzz/{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let listener = UnixListener::bind_addr(&address).unwrap();
    thread::spawn(move || {
        for peer in listener.incoming() {
            let mut peer = peer.unwrap();
            let _ = peer.read(&mut [0; 64]);
            let _ = peer.write_all(&NEXT.lock().unwrap());
        }
    });
    name
});

fuzz_target!(|data: &[u8]| {
    *NEXT.lock().unwrap() = data.to_vec();
    if let Err(refusal) = ask(std::process::id(), PROCESS.as_str(), &Request::Look) {
        assert!((1..4096).contains(&refusal.errno), "{refusal:?}");
        let _ = refusal.to_string();
    } else {
        assert!(data.starts_with(b"ok\n"), "{data:?}");
    }
    if let Ok(mut recording) = Recording::start(std::process::id(), PROCESS.as_str(), Duration::from_secs(1)) {
        while let Ok(chunk) = recording.next_chunk() {
            assert_eq!(Chunk::decode(&chunk.encode()[4..]).as_ref(), Ok(&chunk));
        }
    }
});
