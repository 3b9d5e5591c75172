//! From COMMAND and a line to the words of a job. Bytes throughout: nothing here needs UTF-8.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

const PLACEHOLDER: &[u8] = b"{}";

/// How the words of a job are made of a line.
pub(super) enum Template {
    /// No COMMAND: the line is a command for the shell.
    Shell,
    /// Words of COMMAND, at least one with a placeholder.
    Replace(Vec<OsString>),
    /// Words of COMMAND, to which the line is appended.
    Append(Vec<OsString>),
}

impl Template {
    pub(super) fn new(command: &[OsString]) -> Self {
        if command.is_empty() {
            Self::Shell
        } else if command.iter().any(|word| find(word.as_bytes()).is_some()) {
            Self::Replace(command.to_vec())
        } else {
            Self::Append(command.to_vec())
        }
    }

    /// Whether `line` is a job at all: a shell has nothing to do for an empty line, but a COMMAND
    /// takes it as an empty argument.
    pub(super) fn accepts(&self, line: &[u8]) -> bool {
        !matches!(self, Self::Shell) || !line.is_empty()
    }

    /// The words of the job; never empty.
    pub(super) fn words(&self, line: Vec<u8>) -> Vec<OsString> {
        match self {
            Self::Shell => ["/bin/sh", "-c"]
                .into_iter()
                .map(OsString::from)
                .chain([OsString::from_vec(line)])
                .collect(),
            Self::Replace(words) => words.iter().map(|word| replace(word, &line)).collect(),
            Self::Append(words) => words
                .iter()
                .cloned()
                .chain([OsString::from_vec(line)])
                .collect(),
        }
    }

    /// What messages call a job: its program, or the shell's whole line.
    pub(super) fn name<'a>(&self, words: &'a [OsString]) -> &'a OsStr {
        match self {
            Self::Shell => &words[2],
            Self::Replace(_) | Self::Append(_) => &words[0],
        }
    }
}

fn find(word: &[u8]) -> Option<usize> {
    word.windows(PLACEHOLDER.len())
        .position(|window| window == PLACEHOLDER)
}

fn replace(word: &OsStr, line: &[u8]) -> OsString {
    let mut rest = word.as_bytes();
    let mut made = Vec::with_capacity(rest.len() + line.len());
    // The line itself is not searched: a file may be called "{}".
    while let Some(at) = find(rest) {
        made.extend_from_slice(&rest[..at]);
        made.extend_from_slice(line);
        rest = &rest[at + PLACEHOLDER.len()..];
    }
    made.extend_from_slice(rest);
    OsString::from_vec(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(command: &[&str], line: &[u8]) -> Vec<Vec<u8>> {
        let command: Vec<OsString> = command.iter().map(OsString::from).collect();
        let words = Template::new(&command).words(line.to_vec());
        words.into_iter().map(OsString::into_vec).collect()
    }

    #[test]
    fn line_is_appended_where_there_is_no_placeholder() {
        assert_eq!(
            words(&["echo", "{", "}"], b"a b"),
            [&b"echo"[..], b"{", b"}", b"a b"]
        );
        assert_eq!(words(&["echo"], b""), [&b"echo"[..], b""]);
    }

    #[test]
    fn placeholder_is_replaced_everywhere() {
        assert_eq!(
            words(&["{}", "x{}y{}", "z"], b"\xff"),
            [&b"\xff"[..], b"x\xffy\xff", b"z"]
        );
        assert_eq!(
            words(&["a", "{}}", "{{}"], b"{}"),
            [&b"a"[..], b"{}}", b"{{}"]
        );
    }

    #[test]
    fn without_command_the_line_goes_to_the_shell() {
        assert_eq!(words(&[], b"echo {}"), [&b"/bin/sh"[..], b"-c", b"echo {}"]);
    }

    #[test]
    fn empty_lines_are_jobs_only_for_a_command() {
        assert!(!Template::new(&[]).accepts(b""));
        assert!(Template::new(&[OsString::from("echo")]).accepts(b""));
    }
}
