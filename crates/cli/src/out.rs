//! Standard output of commands that print one text. Errors say that they are about it.

use serde::Serialize;
use std::io::{self, Write};

/// Prints it.
pub(crate) fn write(text: &str) -> io::Result<()> {
    is_open()?;
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(named)
}

/// The same error, which says what it is about.
pub(crate) fn named(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("standard output: {error}"))
}

/// Fails if the command was started without a standard output: Rust's runtime has opened
/// `/dev/null` in place of it.
pub(crate) fn is_open() -> io::Result<()> {
    match crate::startup::stdout_was_closed() {
        true => Err(io::Error::other("standard output is closed")),
        false => Ok(()),
    }
}

/// As people read it, with a newline behind it.
pub(crate) fn json(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("numbers and strings are JSON");
    text.push('\n');
    text
}
