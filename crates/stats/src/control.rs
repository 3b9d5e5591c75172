//! Requests to a running process, over an abstract UNIX socket: one line each way.
//!
//! Only root and the user of the process are heard (`SO_PEERCRED`). An abstract name is bound to
//! the network namespace, and is gone with the process.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read};
use std::mem::ManuallyDrop;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;

/// Bytes of a line.
const MAX_LINE: usize = 4096;
/// Whoever does not say its line, or does not answer, for so long is given up.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3);
/// Between two attempts to hear a peer.
const PAUSE: Duration = Duration::from_millis(100);

/// What is asked of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Write the page now.
    Look,
    /// The same, with where each thread is: this reads files in `/proc`.
    Dump,
    /// Change a queue.
    Set {
        /// The number of the queue.
        queue: u64,
        /// What, and its new value as it was typed.
        settings: Vec<(String, String)>,
    },
    /// Write what happens to the connection: see [`crate::trace`].
    Trace {
        /// For so many milliseconds.
        millis: u64,
    },
}

/// How a request is met.
pub enum Answer {
    /// It is.
    Done,
    /// This gets the connection, once it was said that the request is met. It must not keep the
    /// thread that serves the others.
    Goes(Box<dyn FnOnce(UnixStream)>),
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Answer::Done => "Done",
            Answer::Goes(_) => "Goes",
        })
    }
}

/// A request that was not met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The kernel's number for it.
    pub errno: i32,
    /// Why, in words.
    pub why: String,
}

impl Refusal {
    /// With this number and these words.
    pub fn new(errno: Errno, why: impl fmt::Display) -> Refusal {
        Refusal {
            errno: errno.raw_os_error(),
            why: why.to_string(),
        }
    }

    /// A value that a setting cannot have (`EINVAL`).
    pub fn invalid(why: impl fmt::Display) -> Refusal {
        Refusal::new(Errno::INVAL, why)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ({})",
            self.why,
            io::Error::from_raw_os_error(self.errno)
        )
    }
}

impl std::error::Error for Refusal {}

impl Request {
    fn line(&self) -> String {
        match self {
            Request::Look => "look\n".into(),
            Request::Dump => "dump\n".into(),
            Request::Set { queue, settings } => {
                let settings = settings
                    .iter()
                    .map(|(key, value)| format!(" {key}={value}"));
                format!("set {queue}{}\n", settings.collect::<String>())
            }
            Request::Trace { millis } => format!("trace {millis}\n"),
        }
    }

    /// What a line asks for.
    ///
    /// # Errors
    /// If it asks for nothing that is known.
    pub fn parse(line: &str) -> Result<Request, Refusal> {
        let mut words = line.split_ascii_whitespace();
        let verb = words.next().unwrap_or_default();
        match verb {
            "look" => Ok(Request::Look),
            "dump" => Ok(Request::Dump),
            "set" => parse_set(words),
            "trace" => {
                let millis = words.next().and_then(|word| word.parse().ok());
                let millis = millis.ok_or_else(|| Refusal::invalid("trace has a time in ms"))?;
                Ok(Request::Trace { millis })
            }
            _ => Err(Refusal::invalid("requests are look, dump, set and trace")),
        }
    }
}

fn parse_set<'a>(mut words: impl Iterator<Item = &'a str>) -> Result<Request, Refusal> {
    let queue = words.next().and_then(|word| word.parse().ok());
    let queue = queue.ok_or_else(|| Refusal::invalid("set begins with the number of a queue"))?;
    let setting = |word: &str| {
        let (key, value) = word.split_once('=')?;
        Some((key.to_owned(), value.to_owned()))
    };
    let settings: Option<Vec<_>> = words.map(setting).collect();
    match settings {
        Some(settings) if !settings.is_empty() => Ok(Request::Set { queue, settings }),
        _ => Err(Refusal::invalid("settings are written NAME=VALUE")),
    }
}

/// Where a process takes requests.
#[derive(Debug)]
pub struct Socket {
    /// Never closed: the program may have closed it already, and its number may be another's.
    listener: ManuallyDrop<UnixListener>,
    name: String,
}

impl Socket {
    /// A socket with a name that nobody can guess, so that nobody else can have taken it before.
    ///
    /// # Errors
    /// The system's answer.
    pub fn bind() -> io::Result<Socket> {
        // Each state has keys of its own from the system.
        let random = RandomState::new().build_hasher().finish();
        let name = format!("cmwq/{}/{random:016x}", std::process::id());
        let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
        Ok(Socket {
            listener: ManuallyDrop::new(listener),
            name,
        })
    }

    /// Its abstract name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Answers requests one after the other, as long as the descriptor is this socket's. What a
    /// peer says wrongly, or too slowly, is its own loss.
    pub fn serve(&self, mut answer: impl FnMut(Request) -> Result<Answer, Refusal>) {
        while self.is_there() {
            match self.listener.accept() {
                Ok((peer, _)) => drop(serve_one(peer, &mut answer)),
                // The program may have no descriptor left for the peer. It will have one again.
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    }

    /// Whether the program has left the descriptor as it was made.
    fn is_there(&self) -> bool {
        let address = self.listener.local_addr();
        address.is_ok_and(|address| address.as_abstract_name() == Some(self.name.as_bytes()))
    }
}

fn serve_one(
    mut peer: UnixStream,
    answer: &mut impl FnMut(Request) -> Result<Answer, Refusal>,
) -> io::Result<()> {
    peer.set_write_timeout(Some(PATIENCE))?;
    let answered = match is_allowed(&peer)? {
        true => Request::parse(&read_line(&mut peer)?).and_then(answer),
        false => Err(Refusal::new(Errno::PERM, "only its user and root may ask")),
    };
    match answered {
        Ok(answer) => {
            send(&peer, b"ok\n")?;
            if let Answer::Goes(goes) = answer {
                goes(peer);
            }
            Ok(())
        }
        Err(Refusal { errno, why }) => {
            let line = format!("error {errno} {}\n", why.replace('\n', " "));
            send(&peer, line.as_bytes())
        }
    }
}

/// Writes all of it. A peer that has hung up is an error, and no signal: in a C program that would
/// be its end.
pub(crate) fn send(peer: &UnixStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::net::send(peer, bytes, SendFlags::NOSIGNAL) {
            Ok(sent) => bytes = &bytes[sent..],
            Err(Errno::INTR) => (),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn is_allowed(peer: &UnixStream) -> io::Result<bool> {
    let uid = socket_peercred(peer)?.uid;
    Ok(uid.is_root() || uid == geteuid())
}

/// Reads up to the end of a line, all of it in the time for one.
fn read_line(peer: &mut UnixStream) -> io::Result<String> {
    let until = Instant::now() + PATIENCE;
    let mut line = Vec::new();
    let mut byte = [0];
    while line.len() < MAX_LINE {
        let left = until.saturating_duration_since(Instant::now());
        peer.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        match peer.read(&mut byte) {
            // With a timeout, a signal ends a read even if its handler restarts calls, and so does
            // being stopped and continued.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) if byte == *b"\n" => {
                return String::from_utf8(line).map_err(|_| io::ErrorKind::InvalidData.into());
            }
            Ok(_) => line.push(byte[0]),
        }
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}

/// Asks this process at the socket that its page names. Waits 3 seconds at most for what it does.
///
/// # Errors
/// Its refusal, or `EIO` with the reason if it does not answer: it has ended, or is stopped, or
/// lives in another network namespace. Also if the socket is another process's: a page may name
/// any, and the caller may be allowed what the page's owner is not.
pub fn ask(pid: u32, socket: &str, request: &Request) -> Result<(), Refusal> {
    converse(pid, socket, request).map(drop)
}

/// The same, and the connection, on which more may follow.
pub(crate) fn converse(pid: u32, socket: &str, request: &Request) -> Result<UnixStream, Refusal> {
    let (peer, answer) = exchange(pid, socket, request).map_err(|error| {
        let why = match error.kind() {
            // What the system says of a timeout is no word about it.
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "3 seconds have passed".into(),
            _ => error.to_string(),
        };
        Refusal::new(
            Errno::IO,
            format_args!("the process does not answer: {why}"),
        )
    })?;
    parse_answer(&answer).map(|()| peer)
}

fn exchange(pid: u32, socket: &str, request: &Request) -> io::Result<(UnixStream, String)> {
    let line = request.line();
    if line.len() > MAX_LINE {
        return Err(io::Error::other("the request is too long"));
    }
    let address = SocketAddr::from_abstract_name(socket)?;
    let mut peer = connect(&address)?;
    if socket_peercred(&peer)?.pid.as_raw_nonzero().get() as u32 != pid {
        return Err(io::Error::other(
            "the socket on its page is another process's",
        ));
    }
    peer.set_write_timeout(Some(PATIENCE))?;
    // A refusal is said before the line was read.
    let sent = send(&peer, line.as_bytes());
    match read_line(&mut peer) {
        Err(error) => Err(sent.err().unwrap_or(error)),
        Ok(answer) => Ok((peer, answer)),
    }
}

/// Waits while the process has many to answer. A signal does not end that.
fn connect(address: &SocketAddr) -> io::Result<UnixStream> {
    loop {
        match UnixStream::connect_addr(address) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            connected => return connected,
        }
    }
}

fn parse_answer(line: &str) -> Result<(), Refusal> {
    let refusal = || {
        let (errno, why) = line.strip_prefix("error ")?.split_once(' ')?;
        let errno = errno
            .parse()
            .ok()
            .filter(|errno| (1..4096).contains(errno))?;
        Some(Refusal {
            errno,
            why: why.to_owned(),
        })
    };
    match line {
        "ok" => Ok(()),
        _ => Err(refusal().unwrap_or_else(|| Refusal::new(Errno::IO, "the answer makes no sense"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    /// A thread serves while this asks; what it was asked.
    fn served(ask: impl FnOnce(&str)) -> Vec<Request> {
        let socket = Socket::bind().unwrap();
        let name = socket.name().to_owned();
        let (tell, told) = std::sync::mpsc::channel();
        // It goes on to the end of the process, as it does in programs.
        std::thread::spawn(move || {
            socket.serve(|request| {
                tell.send(request.clone()).unwrap_or_default();
                match request {
                    Request::Set { .. } => Err(Refusal::invalid("no\nsuch thing")),
                    _ => Ok(Answer::Done),
                }
            });
        });
        ask(&name);
        told.try_iter().collect()
    }

    #[test]
    fn requests_come_through_and_answers_come_back() {
        let settings = vec![("max_active".to_owned(), "8".to_owned())];
        let set = Request::Set { queue: 7, settings };
        let asked = served(|name| {
            assert_eq!(ask(std::process::id(), name, &Request::Look), Ok(()));
            let refusal = ask(std::process::id(), name, &set).unwrap_err();
            assert_eq!((refusal.errno, refusal.why.as_str()), (22, "no such thing"));
            assert_eq!(ask(std::process::id(), name, &Request::Dump), Ok(()));
        });
        assert_eq!(asked, [Request::Look, set, Request::Dump]);
    }

    /// What others may send. Each time the next one is served.
    #[test]
    fn a_peer_that_talks_nonsense_or_goes_away_harms_nobody() {
        let asked = served(|name| {
            let address = SocketAddr::from_abstract_name(name).unwrap();
            let long = vec![b'x'; MAX_LINE + 1];
            let said: [&[u8]; 6] = [b"", b"look", b"\n", b"set\n", b"\xff\xfe\n", &long];
            for bytes in said {
                let mut peer = UnixStream::connect_addr(&address).unwrap();
                let _ = peer.write_all(bytes);
            }
            assert_eq!(ask(std::process::id(), name, &Request::Look), Ok(()));
        });
        assert_eq!(asked, [Request::Look]);
    }

    #[test]
    fn a_process_that_has_gone_does_not_answer() {
        let refusal = ask(1, "cmwq/0/nobody", &Request::Look).unwrap_err();
        assert_eq!(refusal.errno, Errno::IO.raw_os_error());
    }

    #[test]
    fn a_socket_of_another_process_is_not_asked() {
        let asked = served(|name| {
            let refusal = ask(1, name, &Request::Look).unwrap_err();
            assert!(refusal.why.contains("another process's"), "{refusal}");
        });
        assert_eq!(asked, []);
    }

    #[test]
    fn answers_that_make_no_sense() {
        for line in [
            "",
            "okay",
            "error",
            "error x y",
            "error 0 y",
            "error -5 y",
            "error 99999 y",
        ] {
            assert_eq!(
                parse_answer(line).unwrap_err().errno,
                Errno::IO.raw_os_error(),
                "{line}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_line_makes_it_panic(line: String) {
            if let Ok(request) = Request::parse(&line) {
                prop_assert_eq!(Request::parse(request.line().trim_end()), Ok(request));
            }
        }
    }
}
