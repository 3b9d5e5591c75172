//! No line of prose beyond column 100: comments, and the documents but for tables, code and
//! addresses, which cannot be broken.

use super::Violation;
use super::lexer::{Kind, tokens};
use super::tree::Tree;

/// The last column of prose.
const LAST: usize = 100;

/// Checks every document and every comment.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let documents = tree.with_extension("md");
    let documents = documents.flat_map(|(path, text)| of_file(path, long_lines(text, 1)));
    let sources = tree.with_extension("rs");
    let sources = sources.flat_map(|(path, text)| of_file(path, long_comments(text)));
    documents.chain(sources).collect()
}

fn of_file(path: &str, lines: Vec<usize>) -> impl Iterator<Item = Violation> + '_ {
    let what = format!("a line of prose beyond column {LAST}: break it");
    lines
        .into_iter()
        .map(move |line| Violation::new(path, line, what.clone()))
}

/// The numbers of the lines that are too long; the first line of `text` has the number `first`.
fn long_lines(text: &str, first: usize) -> Vec<usize> {
    let mut fenced = false;
    let mut found = Vec::new();
    for (at, line) in (first..).zip(text.lines()) {
        let words = prose(line);
        if words.starts_with("```") {
            fenced = !fenced;
        }
        let kept = fenced || words.starts_with('|') || words.contains("://");
        if !kept && words.contains(' ') && line.chars().count() > LAST {
            found.push(at);
        }
    }
    found
}

/// The same for the comments of a Rust file. Lines of code are blank here, and a comment keeps
/// its column.
fn long_comments(source: &str) -> Vec<usize> {
    let lines: Vec<&str> = source.lines().collect();
    let mut shown = vec![String::new(); lines.len()];
    for comment in tokens(source).iter().filter(|t| t.kind == Kind::Comment) {
        let start = source[..comment.offset].rfind('\n').map_or(0, |at| at + 1);
        let indent = source[start..comment.offset].chars().count();
        for (at, text) in (comment.line - 1..).zip(comment.text.lines()) {
            let indent = if at + 1 == comment.line { indent } else { 0 };
            shown[at] = " ".repeat(indent) + text;
        }
    }
    long_lines(&shown.join("\n"), 1)
}

/// A line without the marks of a comment, a list or a quotation.
fn prose(line: &str) -> &str {
    let marks = |c: char| c.is_whitespace() || "/!*->".contains(c);
    line.trim_start_matches(marks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let found = check(&Tree::of(&[(path, text)]));
        found.iter().map(|v| v.line).collect()
    }

    fn long() -> String {
        "words and ".repeat(11)
    }

    #[test]
    fn long_prose_is_found_in_documents() {
        let long = long();
        let text = format!("short\n{long}\n* {long}\n> {long}\n");
        assert_eq!(lines("a.md", &text), [2, 3, 4]);
        assert!(lines("a.md", &"é".repeat(99)).is_empty());
    }

    #[test]
    fn what_cannot_be_broken_passes() {
        let long = long();
        let word = "x".repeat(120);
        let text = format!(
            "| {long} |\n```text\n{long}\n```\n* {word}\n{long} https://example.org/{word}\n"
        );
        assert!(lines("a.md", &text).is_empty());
        assert!(lines("a.txt", &long).is_empty(), "no document");
    }

    #[test]
    fn long_prose_is_found_in_comments_and_nowhere_else() {
        let long = long();
        let code = format!("let a = \"{long}\";\n/// {long}\nlet b = 1; // {long}\n");
        assert_eq!(lines("a.rs", &code), [2, 3]);
        let kept = format!("//! ```text\n//! {long}\n//! ```\n/* | {long} |\n * {long} */\n");
        assert_eq!(lines("a.rs", &kept), [5]);
    }
}
