//! From COMMAND and the lines of a job to its words. Bytes throughout: nothing here needs UTF-8.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

const PLACEHOLDER: &[u8] = b"{}";

/// How the words of a job are made of its lines.
pub(super) enum Template {
    /// No COMMAND: the line is a command for the shell.
    Shell,
    /// Words of COMMAND, at least one with a placeholder, which stands for the one line.
    Replace(Vec<OsString>),
    /// Words of COMMAND, of which those that are a placeholder become the lines.
    Insert(Vec<OsString>),
    /// Words of COMMAND, to which the lines are appended.
    Append(Vec<OsString>),
}

impl Template {
    /// For up to `max_args` lines a job. The error is one of usage.
    pub(super) fn new(command: &[OsString], max_args: usize) -> Result<Self, String> {
        let holds = |word: &OsString| find(word.as_bytes()).is_some();
        if command.is_empty() && max_args > 1 {
            return Err("--max-args needs a COMMAND: without one a line is a command".into());
        }
        if command.is_empty() {
            return Ok(Self::Shell);
        }
        let words = command.to_vec();
        if max_args > 1 {
            return Self::of_many(words);
        }
        Ok(if words.iter().any(holds) {
            Self::Replace(words)
        } else {
            Self::Append(words)
        })
    }

    fn of_many(words: Vec<OsString>) -> Result<Self, String> {
        let part = |word: &&OsString| !is_placeholder(word) && find(word.as_bytes()).is_some();
        if let Some(word) = words.iter().find(part) {
            return Err(format!(
                "with --max-args above 1, {{}} must be a word of its own; it is part of \"{}\"",
                word.display()
            ));
        }
        Ok(if words.iter().any(|word| is_placeholder(word)) {
            Self::Insert(words)
        } else {
            Self::Append(words)
        })
    }

    /// Whether `line` is a job at all: a shell has nothing to do for an empty line, but a COMMAND
    /// takes it as an empty argument.
    pub(super) fn accepts(&self, line: &[u8]) -> bool {
        !matches!(self, Self::Shell) || !line.is_empty()
    }

    /// The words of the job; never empty. `lines` has one line for `Shell` and `Replace`.
    pub(super) fn words(&self, lines: &[Vec<u8>]) -> Vec<OsString> {
        let lines = lines.iter().map(|line| OsStr::from_bytes(line));
        match self {
            Self::Shell => ["/bin/sh", "-c"]
                .into_iter()
                .map(OsString::from)
                .chain(lines.map(OsString::from))
                .collect(),
            Self::Replace(words) => {
                let line = lines.clone().next().unwrap_or_default();
                words.iter().map(|word| replace(word, line)).collect()
            }
            Self::Insert(words) => {
                let mut made = Vec::with_capacity(words.len() + lines.len());
                for word in words {
                    if is_placeholder(word) {
                        made.extend(lines.clone().map(OsString::from));
                    } else {
                        made.push(word.clone());
                    }
                }
                made
            }
            Self::Append(words) => words
                .iter()
                .cloned()
                .chain(lines.map(OsString::from))
                .collect(),
        }
    }

    /// How many times the words of a job have each of its lines.
    pub(super) fn copies(&self) -> usize {
        match self {
            Self::Insert(words) => words.iter().filter(|word| is_placeholder(word)).count(),
            Self::Shell | Self::Replace(_) | Self::Append(_) => 1,
        }
    }

    /// The words that every job has.
    pub(super) fn fixed(&self) -> &[OsString] {
        match self {
            Self::Shell => &[],
            Self::Replace(words) | Self::Insert(words) | Self::Append(words) => words,
        }
    }

    /// What messages call a job: its program, or the shell's whole line.
    pub(super) fn name<'a>(&self, words: &'a [OsString]) -> &'a OsStr {
        match self {
            Self::Shell => &words[2],
            Self::Replace(_) | Self::Insert(_) | Self::Append(_) => &words[0],
        }
    }

    /// The command as somebody would type it: for the shell, the line as it is.
    pub(super) fn typed(&self, lines: &[Vec<u8>]) -> Vec<u8> {
        match self {
            Self::Shell => lines.concat(),
            _ => super::quote::line(&self.words(lines)),
        }
    }
}

fn is_placeholder(word: &OsStr) -> bool {
    word.as_bytes() == PLACEHOLDER
}

fn find(word: &[u8]) -> Option<usize> {
    word.windows(PLACEHOLDER.len())
        .position(|window| window == PLACEHOLDER)
}

fn replace(word: &OsStr, line: &OsStr) -> OsString {
    let mut rest = word.as_bytes();
    let mut made = Vec::with_capacity(rest.len() + line.len());
    // The line itself is not searched: a file may be called "{}".
    while let Some(at) = find(rest) {
        made.extend_from_slice(&rest[..at]);
        made.extend_from_slice(line.as_bytes());
        rest = &rest[at + PLACEHOLDER.len()..];
    }
    made.extend_from_slice(rest);
    OsString::from_vec(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(command: &[&str], max_args: usize) -> Result<Template, String> {
        let command: Vec<OsString> = command.iter().map(OsString::from).collect();
        Template::new(&command, max_args)
    }

    fn words(command: &[&str], line: &[u8]) -> Vec<Vec<u8>> {
        let words = template(command, 1).unwrap().words(&[line.to_vec()]);
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
        assert!(!template(&[], 1).unwrap().accepts(b""));
        assert!(template(&["echo"], 1).unwrap().accepts(b""));
    }

    #[test]
    fn many_lines_are_words_each() {
        let lines = [b"a".to_vec(), b"{}".to_vec()];
        let template = |command| template(command, 2).unwrap();
        assert_eq!(template(&["x", "y"]).words(&lines), ["x", "y", "a", "{}"]);
        let inserted = template(&["x", "{}", "y", "{}"]);
        assert_eq!(inserted.words(&lines), ["x", "a", "{}", "y", "a", "{}"]);
        assert_eq!(inserted.copies(), 2);
    }

    #[test]
    fn usage_errors_say_what_is_wrong() {
        let part = template(&["cp", "{}", "{}.old"], 2).err().unwrap();
        assert!(
            part.contains("{}.old") && part.contains("of its own"),
            "{part}"
        );
        assert!(template(&[], 2).err().unwrap().contains("COMMAND"));
    }
}
