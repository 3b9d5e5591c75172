//! One page over HTTP, for programs that serve no other.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use cmwq_os::thread;

/// Of what is served, and of what [`encode`](crate::encode) returns.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

const STACK: usize = 256 * 1024;
/// Bytes of a request, and how long a peer may take for it. Others wait meanwhile.
const MAX_REQUEST: usize = 8192;
const PATIENCE: Duration = Duration::from_secs(2);
/// After an accept that failed, for example because the process has no descriptor left.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves the metrics of this process at `http://ADDRESS/metrics`, from a thread of its own, to the
/// end of the process. Returns the address, for port 0.
///
/// The thread is none of the workers, so it answers also if all queues stand still. It answers one
/// peer after the other and gives each 2 seconds. There is no encryption and no password: choose an
/// address that only the right machines reach. A forked child serves nothing.
///
/// # Errors
/// What the system answered: the address is no address or taken, or there is no thread.
///
/// ```
/// let address = cmwq_prometheus::serve("127.0.0.1:0")?;
/// assert!(address.port() > 0);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn serve(address: impl ToSocketAddrs) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(address)?;
    let address = listener.local_addr()?;
    thread::spawn("cmwq/metrics", STACK, move || {
        loop {
            match listener.accept() {
                // A peer that goes away has its own loss.
                Ok((peer, _)) => drop(answer(peer)),
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    })?;
    Ok(address)
}

fn answer(mut peer: TcpStream) -> io::Result<()> {
    peer.set_write_timeout(Some(PATIENCE))?;
    let request = read_head(&mut peer)?;
    let (status, sort, body) = response(&request);
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {sort}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    peer.write_all(head.as_bytes())?;
    if !request.starts_with("HEAD ") {
        peer.write_all(body.as_bytes())?;
    }
    peer.flush()
}

fn response(request: &str) -> (&'static str, &'static str, String) {
    let mut words = request.split_ascii_whitespace();
    let (method, target) = (words.next(), words.next().unwrap_or_default());
    let path = target.split('?').next().unwrap_or_default();
    match (method, path) {
        (Some("GET" | "HEAD"), "/metrics") => ("200 OK", CONTENT_TYPE, crate::encode()),
        (Some("GET" | "HEAD"), _) => {
            let body = "The metrics are at /metrics.\n".to_owned();
            ("404 Not Found", "text/plain", body)
        }
        _ => {
            let body = "Only GET and HEAD are known.\n".to_owned();
            ("405 Method Not Allowed", "text/plain", body)
        }
    }
}

/// What comes before the empty line.
fn read_head(peer: &mut TcpStream) -> io::Result<String> {
    let until = Instant::now() + PATIENCE;
    let mut head = Vec::new();
    let mut bytes = [0; 1024];
    while head.len() < MAX_REQUEST {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        peer.set_read_timeout(Some(left))?;
        match peer.read(&mut bytes)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => head.extend(&bytes[..read]),
        }
        if head.windows(4).any(|end| end == b"\r\n\r\n") {
            return Ok(String::from_utf8_lossy(&head).into_owned());
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(address: SocketAddr, request: &str) -> String {
        let mut peer = TcpStream::connect(address).unwrap();
        peer.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        peer.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn only_the_page_is_served() {
        let address = serve("127.0.0.1:0").unwrap();
        let page = asked(address, "GET /metrics?x=1 HTTP/1.1\r\nHost: here\r\n\r\n");
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
        assert!(
            page.contains(CONTENT_TYPE) && page.ends_with("# EOF\n"),
            "{page}"
        );
        let head = asked(address, "HEAD /metrics HTTP/1.1\r\n\r\n");
        assert!(head.ends_with("\r\n\r\n"), "{head}");
        let other = asked(address, "GET / HTTP/1.1\r\n\r\n");
        assert!(other.starts_with("HTTP/1.1 404 "), "{other}");
        let post = asked(address, "POST /metrics HTTP/1.1\r\n\r\n");
        assert!(post.starts_with("HTTP/1.1 405 "), "{post}");
    }

    #[test]
    fn a_peer_that_talks_nonsense_or_says_nothing_harms_nobody() {
        let address = serve("127.0.0.1:0").unwrap();
        let silent = TcpStream::connect(address).unwrap();
        let mut long = TcpStream::connect(address).unwrap();
        let _ = long.write_all(&[b'x'; 2 * MAX_REQUEST]);
        let page = asked(address, "GET /metrics HTTP/1.1\r\n\r\n");
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
        drop((silent, long));
    }
}
