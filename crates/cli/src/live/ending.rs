//! Standard output, and the exit status.

use std::io::{self, Write};
use std::process::ExitCode;

/// Complains, if there is something to complain about.
pub(super) fn finish(prefix: &str, done: io::Result<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            crate::complaint::of(prefix, &error);
            ExitCode::FAILURE
        }
    }
}

pub(super) fn write(text: &str) -> io::Result<()> {
    if crate::startup::stdout_was_closed() {
        return Err(io::Error::other("standard output is closed"));
    }
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
