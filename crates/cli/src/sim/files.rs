//! The files that `cmwq sim` reads and writes.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

/// More than any scenario has; a device that never ends is no scenario.
const LARGEST: u64 = 16 << 20;

/// Reads a scenario's text.
pub(super) fn read(path: &Path) -> Result<String, String> {
    let told = |error: io::Error| format!("{}: {error}", path.display());
    let file = File::open(path).map_err(told)?;
    let mut bytes = Vec::new();
    file.take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(told)?;
    if bytes.len() as u64 > LARGEST {
        let mib = LARGEST >> 20;
        return Err(format!(
            "{}: more than {mib} MiB: that is no scenario",
            path.display()
        ));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("{}: no UTF-8 text, at byte {at}", path.display())
    })
}

/// Writes a file; one that cannot be written whole is removed.
pub(super) fn write(
    path: &Path,
    contents: impl Fn(&mut dyn Write) -> io::Result<()>,
) -> Result<(), String> {
    let told = |error: io::Error| format!("{}: {error}", path.display());
    let file = File::create(path).map_err(told)?;
    let is_file = file.metadata().is_ok_and(|data| data.is_file());
    let mut out = BufWriter::new(file);
    let written = contents(&mut out).and_then(|()| out.flush());
    written.map_err(|error| {
        // What is left of a device or a pipe is nobody's to remove. That the rest of a file could
        // not be removed either says less than why it is incomplete.
        if is_file {
            let _ = fs::remove_file(path);
        }
        told(error)
    })
}
