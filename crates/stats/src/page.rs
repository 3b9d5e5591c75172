//! The page: a header and a snapshot, in memory that has a descriptor and no name on disk.
//!
//! A snapshot is written where the last one is not; then the header says where it is. So who reads
//! waits for no writer, who may be kept off its CPU in the middle for as long as the machine is
//! busy, which is when people look. A reader starts again if two snapshots have come meanwhile.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, memfd_create};

use crate::snapshot::Snapshot;
use crate::wire::Malformed;

/// Of its descriptor: `/proc/PID/fd` shows it as `/memfd:cmwq-page (deleted)`.
pub const NAME: &str = "cmwq-page";
/// Of the layout. A reader knows one.
pub const VERSION: u32 = 4;
/// Bytes of a snapshot.
pub const MAX_SNAPSHOT: usize = 64 << 20;

const MAGIC: [u8; 8] = *b"cmwqpage";
const HEADER: usize = 64;
/// For so long a reader that is overtaken twice tries again.
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(2);

/// Why a page cannot be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum PageError {
    /// It does not begin as pages do.
    NoPage,
    /// It has another layout.
    Version(u32),
    /// It says that it is longer than it is, or than pages may be.
    Length(u64),
    /// What its header says of the snapshot was not true of it, each time.
    Torn,
    /// It says what no snapshot says.
    Malformed(Malformed),
    /// The system's answer.
    Io(io::Error),
}

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PageError::NoPage => f.write_str("this is no statistics page"),
            PageError::Version(found) => write!(
                f,
                "the page has layout {found} and this command reads layout {VERSION}: use the \
                 command that belongs to the program's version of cmwq"
            ),
            PageError::Length(len) => {
                write!(f, "the page is cut short or says a wrong length ({len})")
            }
            PageError::Torn => f.write_str("the page is no whole one, and stays so"),
            PageError::Malformed(why) => write!(f, "the page is damaged: {why}"),
            PageError::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PageError {}

/// The page of this process, for writing.
#[derive(Debug)]
pub struct Page {
    file: File,
    /// The last one that was written.
    header: Header,
}

fn checksum(bytes: &[u8]) -> u64 {
    let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, fold)
}

impl Page {
    /// A page with nothing in it: it is found once something was published.
    ///
    /// # Errors
    /// The system's answer.
    pub fn new() -> io::Result<Page> {
        let fd = memfd_create(NAME, MemfdFlags::CLOEXEC)?;
        Ok(Page {
            file: File::from(fd),
            header: Header {
                pid: std::process::id(),
                ..Header::default()
            },
        })
    }

    /// Replaces what the page shows.
    ///
    /// # Errors
    /// The system's answer, or if the snapshot is too long; it shows what it did, or nothing, then.
    /// Where the page would grow beyond `RLIMIT_FSIZE`, the kernel also sends SIGXFSZ, which who
    /// calls keeps from the program.
    pub fn publish(&mut self, snapshot: &Snapshot) -> io::Result<()> {
        let bytes = snapshot.encode();
        if bytes.len() > MAX_SNAPSHOT {
            return Err(io::Error::from(io::ErrorKind::FileTooLarge));
        }
        let last = &self.header;
        let next = Header {
            pid: last.pid,
            sequence: last.sequence + 1,
            len: bytes.len() as u64,
            checksum: checksum(&bytes),
            offset: last.elsewhere(bytes.len() as u64),
        };
        self.file.write_all_at(&bytes, next.offset)?;
        self.file.write_all_at(&next.encode(), 0)?;
        self.header = next;
        Ok(())
    }

    /// Its memory.
    pub fn file(&self) -> &File {
        &self.file
    }
}

/// What a header says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Header {
    pid: u32,
    /// Counts the snapshots.
    sequence: u64,
    /// Of the snapshot, in bytes.
    len: u64,
    checksum: u64,
    /// Where it begins.
    offset: u64,
}

impl Header {
    /// Where a snapshot of this length does not touch the one that the header tells of: in front of
    /// it if there is room, else behind it.
    fn elsewhere(&self, len: u64) -> u64 {
        match self.offset.checked_sub(HEADER as u64) {
            Some(room) if len > room => self.offset + self.len,
            _ => HEADER as u64,
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER);
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(self.pid.to_le_bytes());
        for long in [self.sequence, self.len, self.checksum, self.offset] {
            bytes.extend(long.to_le_bytes());
        }
        bytes.resize(HEADER, 0);
        bytes
    }

    /// The snapshot's place in a page of this length.
    fn is_within(&self, there: u64) -> bool {
        let end = self.offset.saturating_add(self.len);
        self.len <= MAX_SNAPSHOT as u64 && self.offset >= HEADER as u64 && end <= there
    }
}

fn read_header(file: &File) -> Result<Header, PageError> {
    let mut bytes = [0; HEADER];
    file.read_exact_at(&mut bytes, 0)
        .map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => PageError::NoPage,
            _ => PageError::Io(error),
        })?;
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
    match word(8) {
        _ if bytes[..8] != MAGIC => Err(PageError::NoPage),
        VERSION => Ok(Header {
            pid: word(12),
            sequence: long(16),
            len: long(24),
            checksum: long(32),
            offset: long(40),
        }),
        other => Err(PageError::Version(other)),
    }
}

/// Reads a page, which somebody else may be writing: who writes it, by its own number for itself,
/// and what it shows.
///
/// # Errors
/// If it is no whole page of this version. Whatever the page says, this ends and takes no more
/// memory than [`MAX_SNAPSHOT`] several times.
pub fn read(file: &File) -> Result<(u32, Snapshot), PageError> {
    let begun = Instant::now();
    loop {
        let header = read_header(file)?;
        match read_snapshot(file, &header) {
            // What a header tells of is not written while that header is there. So what is wrong
            // behind the same header stays wrong. A header that changes all the time is not waited
            // for.
            Err(PageError::Torn) if begun.elapsed() < PATIENCE && read_header(file)? != header => {
                std::thread::sleep(PAUSE);
            }
            other => return other.map(|snapshot| (header.pid, snapshot)),
        }
    }
}

fn read_snapshot(file: &File, header: &Header) -> Result<Snapshot, PageError> {
    let there = file.metadata().map_err(PageError::Io)?.len();
    if !header.is_within(there) {
        return Err(PageError::Length(header.len));
    }
    let mut bytes = vec![0; header.len as usize];
    file.read_exact_at(&mut bytes, header.offset)
        .map_err(|error| match error.kind() {
            // It was cut short just now.
            io::ErrorKind::UnexpectedEof => PageError::Length(header.len),
            _ => PageError::Io(error),
        })?;
    // Two snapshots later its place is another one's, whose bytes may be seen before its header is.
    if checksum(&bytes) != header.checksum {
        return Err(PageError::Torn);
    }
    Snapshot::decode(&bytes).map_err(PageError::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> (Page, Snapshot) {
        let snapshot = Snapshot {
            cpus: 4,
            socket: "here".into(),
            ..Snapshot::default()
        };
        let mut page = Page::new().unwrap();
        page.publish(&snapshot).unwrap();
        (page, snapshot)
    }

    #[test]
    fn what_is_published_is_read() {
        let (mut page, first) = page();
        assert_eq!(read(page.file()).unwrap(), (std::process::id(), first));
        let next = Snapshot {
            cpus: 5,
            ..Snapshot::default()
        };
        page.publish(&next).unwrap();
        assert_eq!(read(page.file()).unwrap().1, next);
    }

    /// What a hostile or broken writer may leave, and what a reader says.
    #[test]
    fn pages_that_are_not_whole_are_refused() {
        type Breaks = fn(&File);
        let cases: [(&str, Breaks); 9] = [
            ("no statistics page", |f| f.set_len(0).unwrap()),
            ("no statistics page", |f| {
                f.set_len(HEADER as u64 - 1).unwrap()
            }),
            ("no statistics page", |f| {
                f.write_all_at(b"CMWQ", 0).unwrap()
            }),
            ("layout 99", |f| {
                f.write_all_at(&99_u32.to_le_bytes(), 8).unwrap()
            }),
            ("cut short", |f| f.set_len(HEADER as u64 + 3).unwrap()),
            ("cut short", |f| {
                f.write_all_at(&u64::MAX.to_le_bytes(), 24).unwrap()
            }),
            ("cut short", |f| {
                f.set_len(u64::from(u32::MAX)).unwrap();
                f.write_all_at(&(MAX_SNAPSHOT as u64 + 1).to_le_bytes(), 24)
                    .unwrap();
            }),
            ("cut short", |f| f.write_all_at(&[3], 40).unwrap()),
            ("no whole one", |f| {
                f.write_all_at(&[0xee], HEADER as u64).unwrap()
            }),
        ];
        for (says, breaks) in cases {
            let (page, _) = page();
            breaks(page.file());
            let error = read(page.file()).unwrap_err().to_string();
            assert!(error.contains(says), "{error}, not {says}");
        }
    }

    #[test]
    fn a_page_that_lies_with_a_right_checksum_is_damaged() {
        let (page, _) = page();
        let lie = vec![0xff; 40];
        let header = Header {
            len: 40,
            checksum: checksum(&lie),
            offset: HEADER as u64,
            ..Header::default()
        };
        page.file.write_all_at(&header.encode(), 0).unwrap();
        page.file.write_all_at(&lie, HEADER as u64).unwrap();
        assert!(matches!(read(page.file()), Err(PageError::Malformed(_))));
    }

    /// The writer was kept off its CPU, or has died, before it wrote the header.
    #[test]
    fn what_was_shown_last_is_there_until_the_next_is_whole() {
        let of = |length: usize| Snapshot {
            socket: "x".repeat(length),
            ..Snapshot::default()
        };
        let (mut page, _) = page();
        for length in [100, 10, 500, 20, 20, 400, 1, 900] {
            let last = read(page.file()).unwrap().1;
            let next = of(length).encode();
            let place = page.header.elsewhere(next.len() as u64);
            page.file.write_all_at(&next, place).unwrap();
            assert_eq!(read(page.file()).unwrap().1, last);
            page.publish(&of(length)).unwrap();
            assert_eq!(read(page.file()).unwrap().1, of(length));
        }
        assert!(page.file().metadata().unwrap().len() < 3 * 900);
    }

    #[test]
    fn a_reader_beside_a_writer_sees_whole_pages() {
        let (mut page, _) = page();
        let reader = page.file().try_clone().unwrap();
        let of = |n: u32| Snapshot {
            cpus: n,
            socket: n.to_string().repeat(200),
            ..Snapshot::default()
        };
        page.publish(&of(0)).unwrap();
        std::thread::scope(|scope| {
            let writes = scope.spawn(|| (0..2000).for_each(|n| page.publish(&of(n)).unwrap()));
            let mut seen = 0;
            while !writes.is_finished() || seen == 0 {
                if let Ok((_, found)) = read(&reader) {
                    assert_eq!(found, of(found.cpus));
                    seen += 1;
                }
            }
        });
    }
}
