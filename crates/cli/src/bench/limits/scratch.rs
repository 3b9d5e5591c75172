//! The scratch file: it never has a name, so that nothing is left whatever ends the process.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::super::parent::Failure;

/// Bytes of an item's block.
pub(super) const BLOCK: usize = 64 * 1024;
pub(super) const MIB: usize = 1024 * 1024;

/// Makes a scratch file of `mib` MiB in `dir`, all of it written: a full disk shows now, and no run
/// pays for pages that the one before it has made.
pub(super) fn make(dir: &Path, mib: u32) -> Result<File, Failure> {
    let file = tempfile::tempfile_in(dir)
        .map_err(|e| Failure::Usage(format!("no scratch file in {}: {e}", dir.display())))?;
    fill(&file, blocks(mib)).map_err(|e| {
        let place = dir.display();
        Failure::Run(format!("scratch file of {mib} MiB in {place}: {e}"))
    })?;
    Ok(file)
}

/// Blocks of a file of `mib` MiB.
pub(super) fn blocks(mib: u32) -> u64 {
    u64::from(mib) * (MIB / BLOCK) as u64
}

fn fill(file: &File, blocks: u64) -> io::Result<()> {
    (0..blocks).try_for_each(|block| file.write_all_at(&[0; BLOCK], block * BLOCK as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_its_size_and_no_name() {
        let dir = tempfile::tempdir().unwrap();
        let file = make(dir.path(), 2).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 2 * MIB as u64);
        assert_eq!(dir.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn a_full_disk_shows_before_the_run() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let error = fill(&full, 1).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn a_directory_that_is_not_there_is_named() {
        let missing = tempfile::tempdir().unwrap().path().join("missing");
        let Err(Failure::Usage(message)) = make(&missing, 1) else {
            panic!("no usage error");
        };
        assert!(message.contains("missing"), "{message}");
    }
}
