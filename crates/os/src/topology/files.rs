//! The files of a tree like `/sys/devices/system`, and what was wrong with them.

use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use cmwq_policy::CpuMask;

/// More than the list of every second CPU of 8192 takes. What is longer is no file of sysfs.
const LONGEST: u64 = 1 << 16;

/// Of a malformed file's text, as much as a warning tells.
const SHOWN: usize = 40;

/// Reads files; keeps what it could not make use of.
pub(super) struct Files {
    root: PathBuf,
    pub(super) warnings: Vec<String>,
}

impl Files {
    pub(super) fn of(root: PathBuf) -> Files {
        let warnings = Vec::new();
        Files { root, warnings }
    }

    /// What `parse` makes of the file. A missing file is silently nothing: most are missing
    /// somewhere.
    pub(super) fn parsed<T>(
        &mut self,
        path: &str,
        what: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let text = self.text(path)?;
        let value = parse(&text);
        if value.is_none() {
            let file = self.root.join(path);
            let shown: String = text.chars().take(SHOWN).collect();
            self.warn(format!("{} is not {what}: {shown:?}", file.display()));
        }
        value
    }

    pub(super) fn cpulist(&mut self, path: &str) -> Option<CpuMask> {
        self.parsed(path, "a list of CPUs", super::parse_cpulist)
    }

    /// Of what has a CPU at least: a core, a cache.
    pub(super) fn cpus(&mut self, path: &str) -> Option<CpuMask> {
        let some = |text: &str| super::parse_cpulist(text).filter(|cpus| !cpus.is_empty());
        self.parsed(path, "a list of at least one CPU", some)
    }

    /// The numbers of the directory's entries called `prefix` and a number, ascending.
    pub(super) fn numbered(&self, directory: &str, prefix: &str) -> Vec<u32> {
        let Ok(entries) = fs::read_dir(self.root.join(directory)) else {
            return Vec::new();
        };
        let number =
            |name: &std::ffi::OsStr| name.to_str()?.strip_prefix(prefix)?.parse::<u32>().ok();
        let names = entries.flatten().map(|entry| entry.file_name());
        let mut found: Vec<u32> = names.filter_map(|name| number(&name)).collect();
        found.sort_unstable();
        // `cpu1` and `cpu01`.
        found.dedup();
        found
    }

    pub(super) fn warn(&mut self, warning: String) {
        self.warnings.push(warning);
    }

    fn text(&mut self, path: &str) -> Option<String> {
        let file = self.root.join(path);
        let text = read_bounded(&file)?;
        if text.len() as u64 > LONGEST {
            self.warn(format!("{} is too long", file.display()));
            return None;
        }
        // Lists of CPUs end with a NUL where they are binary attributes (seen with 5.15-rc1).
        let text = String::from_utf8_lossy(&text);
        Some(text.trim_end_matches('\0').trim().to_owned())
    }
}

/// At most one byte more than the longest. Does not wait for who writes to a pipe of that name.
fn read_bounded(file: &Path) -> Option<Vec<u8>> {
    // miri knows no such flag, and its files are no pipes.
    let flags = if cfg!(miri) { 0 } else { libc::O_NONBLOCK };
    let file = OpenOptions::new().read(true).custom_flags(flags).open(file);
    let mut text = Vec::new();
    file.ok()?.take(LONGEST + 1).read_to_end(&mut text).ok()?;
    Some(text)
}
