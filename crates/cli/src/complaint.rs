//! What went wrong, said on standard error.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

/// The exit status of a command that has done this. Complains, if there is something to complain
/// about.
pub(crate) fn finish(prefix: &str, done: io::Result<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            of(prefix, &error);
            ExitCode::FAILURE
        }
    }
}

/// Says what went wrong. A reader that has gone (`| head`) knows, and is told nothing.
pub(crate) fn of(prefix: &str, error: &io::Error) {
    if error.kind() != io::ErrorKind::BrokenPipe {
        say(&format_args!("{prefix}{error}"));
    }
}

/// Says so.
pub(crate) fn say(text: &impl Display) {
    // A failure to complain cannot be told to anybody.
    let _ = writeln!(io::stderr(), "{text}");
}
