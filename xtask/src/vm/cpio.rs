//! The archive that Linux unpacks into its first file system: the `newc` format of cpio (kernel
//! `Documentation/driver-api/early-userspace/buffer-format.rst`).

const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const DEVICE: u32 = 0o020_600;

/// `/dev/console`, whatever the console is (kernel `Documentation/admin-guide/devices.txt`).
const CONSOLE: (u32, u32) = (5, 1);

/// The places where the program mounts what it reads.
const FOLDERS: [&str; 4] = ["dev", "proc", "sys", "tmp"];

/// An archive with this program as `/init`.
pub(super) fn with_init(program: &[u8]) -> Vec<u8> {
    let mut archive = Vec::with_capacity(program.len() + 4096);
    for folder in FOLDERS {
        entry(&mut archive, folder, DIRECTORY, (0, 0), &[]);
    }
    // The kernel opens it for the program before the program can mount /dev.
    entry(&mut archive, "dev/console", DEVICE, CONSOLE, &[]);
    entry(&mut archive, "init", PROGRAM, (0, 0), program);
    entry(&mut archive, "TRAILER!!!", 0, (0, 0), &[]);
    archive
}

/// A header of a magic number and thirteen numbers of eight hexadecimal digits, the name, the
/// contents; name and contents end at a multiple of four.
fn entry(archive: &mut Vec<u8>, name: &str, mode: u32, device: (u32, u32), contents: &[u8]) {
    let (size, name_size) = (contents.len() as u32, name.len() as u32 + 1);
    let (major, minor) = device;
    // Any number that no other entry has.
    let inode = archive.len() as u32;
    let (nobody, links, time, check) = (0, 1, 0, 0);
    let fields = [
        inode, mode, nobody, nobody, links, time, size, 0, 0, major, minor, name_size, check,
    ];
    archive.extend(b"070701");
    for field in fields {
        archive.extend(format!("{field:08X}").bytes());
    }
    archive.extend(name.bytes().chain([0]));
    pad(archive);
    archive.extend(contents);
    pad(archive);
}

fn pad(archive: &mut Vec<u8>) {
    archive.resize(archive.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names and contents, read back.
    fn entries(archive: &[u8]) -> Vec<(String, Vec<u8>)> {
        let (mut at, mut entries) = (0, Vec::new());
        while at < archive.len() {
            let header = std::str::from_utf8(&archive[at..at + 110]).unwrap();
            assert_eq!(&header[..6], "070701");
            let field =
                |n: usize| usize::from_str_radix(&header[6 + 8 * n..14 + 8 * n], 16).unwrap();
            let (size, name_size) = (field(6), field(11));
            let name = &archive[at + 110..at + 110 + name_size - 1];
            let contents = (at + 110 + name_size).next_multiple_of(4);
            let name = String::from_utf8(name.to_vec()).unwrap();
            entries.push((name, archive[contents..contents + size].to_vec()));
            at = (contents + size).next_multiple_of(4);
        }
        entries
    }

    #[test]
    fn what_goes_in_comes_out() {
        for size in 0..5 {
            let program = vec![7; size];
            let all = entries(&with_init(&program));
            assert_eq!(all[5], ("init".to_owned(), program));
            assert_eq!(all[4].0, "dev/console");
            assert_eq!(all.last().unwrap().0, "TRAILER!!!");
        }
    }
}
