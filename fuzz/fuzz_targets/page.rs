//! A page that says anything. The reader ends, and takes no more memory than pages may have.
//!
//! The first byte chooses how much of the header is right: nothing, all but the length, or all, so
//! that the fuzzer need not find a checksum.
#![no_main]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::LazyLock;

use cmwq_stats::{Page, Snapshot, read};
use libfuzzer_sys::fuzz_target;
use rustix::fs::{MemfdFlags, memfd_create};

const HEADER: usize = 64;

static FILE: LazyLock<File> =
    LazyLock::new(|| memfd_create("fuzzed", MemfdFlags::CLOEXEC).unwrap().into());

/// A header as it is written before these bytes.
fn header(bytes: &[u8]) -> Vec<u8> {
    let checksum = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut header = vec![0; HEADER];
    let mut page = Page::new().unwrap();
    page.publish(&Snapshot::default()).unwrap();
    page.file().read_exact_at(&mut header, 0).unwrap();
    header[24..32].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
    header[32..40].copy_from_slice(&checksum.to_le_bytes());
    header
}

fuzz_target!(|data: &[u8]| {
    let Some((&how, bytes)) = data.split_first() else {
        return;
    };
    let mut page = match how % 3 {
        0 => Vec::new(),
        1 => header(bytes)[..24].to_vec(),
        _ => header(bytes),
    };
    let whole = page.len() == HEADER;
    page.extend_from_slice(bytes);
    if !whole && page.starts_with(b"cmwqpage") && page.len() > HEADER {
        let right = header(&page[HEADER..]);
        page[32..40].copy_from_slice(&right[32..40]);
    }
    FILE.set_len(0).unwrap();
    FILE.write_all_at(&page, 0).unwrap();
    if let Ok((_, snapshot)) = read(&FILE) {
        // What is shown of it, and that it is what was read.
        for queue in &snapshot.queues {
            let _ = (queue.waited(50), queue.ran(99), queue.waiting());
        }
        assert_eq!(Snapshot::decode(&snapshot.encode()).as_ref(), Ok(&snapshot));
    }
    if let Ok(snapshot) = Snapshot::decode(bytes) {
        assert_eq!(snapshot.encode(), bytes);
    }
});
