//! Prints a checksum of each file below a folder, in the order of their names, and how far it is:
//! `hasher [FOLDER]`. A slow file holds up no other; results wait for their turn.

use std::error::Error;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// All files below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => files(&entry.path(), found)?,
            false => found.push(entry.path()),
        }
    }
    Ok(())
}

/// FNV-1a, 64 bits.
fn hash(path: &Path, read: &AtomicU64) -> io::Result<u64> {
    let (mut file, mut buffer) = (fs::File::open(path)?, vec![0; 64 * 1024]);
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    loop {
        let bytes = match file.read(&mut buffer)? {
            0 => return Ok(hash),
            n => &buffer[..n],
        };
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
        // Relaxed: only people look at it, and not at anything else for it.
        read.fetch_add(bytes.len() as u64, Relaxed);
    }
}

fn hash_all(folder: &Path) -> Result<Vec<(PathBuf, u64)>, Box<dyn Error>> {
    let mut paths = Vec::new();
    files(folder, &mut paths)?;
    paths.sort();
    let (read, nr) = (Arc::new(AtomicU64::new(0)), paths.len());
    let bytes = read.clone();
    let hashes = cmwq::system().map(paths, move |path| (hash(&path, &read), path));
    let mut done = Vec::new();
    for (hash, path) in hashes {
        match hash {
            Ok(hash) => done.push((path, hash)),
            Err(error) => eprintln!("{}: {error}", path.display()),
        }
        // Relaxed: as above.
        let kilobytes = bytes.load(Relaxed) >> 10;
        eprint!("\r{}/{nr} files, {kilobytes} kB ", done.len());
    }
    Ok(done)
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    for (path, hash) in hash_all(&folder)? {
        println!("{hash:016x}  {}", path.display());
    }
    Ok(())
}

#[test]
fn it_works() {
    let hashes = hash_all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap();
    assert!(hashes.is_sorted() && hashes.len() > 20);
    let (path, hashed) = &hashes[0];
    assert_eq!(hash(path, &AtomicU64::new(0)).unwrap(), *hashed);
}
