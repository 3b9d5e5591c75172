//! A light scanner for Rust text: enough to tell code from comments, strings and lifetimes.
//!
//! A parser would drop the comments, and the comments are what half of the rules are about.

/// What a token is, as far as the rules need to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A word: identifier or keyword, `r#` included.
    Ident,
    /// A numeric literal with its suffix.
    Number,
    /// A string, byte string, raw string, character or byte literal.
    Quoted,
    /// `'a`, without a closing quote.
    Lifetime,
    /// A line, block or doc comment.
    Comment,
    /// One character of punctuation.
    Punct,
}

/// A piece of the text, where it starts and on which line (from 1).
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    pub(super) offset: usize,
    pub(super) line: usize,
}

impl Token<'_> {
    /// The line on which the token's last character stands.
    pub(super) fn last_line(&self) -> usize {
        self.line + self.text.matches('\n').count()
    }

    /// Whether this is the code word or punctuation `text` (never a literal or comment).
    pub(super) fn is(&self, text: &str) -> bool {
        matches!(self.kind, Kind::Ident | Kind::Punct) && self.text == text
    }
}

/// Splits `src` into tokens; white space is dropped. Unfinished literals run to the end of the
/// text.
pub(super) fn tokens(src: &str) -> Vec<Token<'_>> {
    let mut out: Vec<Token> = Vec::new();
    let (mut pos, mut line) = (0, 1);
    while let Some(c) = src[pos..].chars().next() {
        if c.is_whitespace() {
            line += usize::from(c == '\n');
            pos += c.len_utf8();
            continue;
        }
        let after_dot = out.last().is_some_and(|t| t.is("."));
        let (kind, len) = measure(&src[pos..], c, after_dot);
        let text = &src[pos..pos + len];
        out.push(Token {
            kind,
            text,
            offset: pos,
            line,
        });
        line += text.matches('\n').count();
        pos += len;
    }
    out
}

/// Kind and length in bytes of the token at the start of `rest`, whose first character is `c`.
fn measure(rest: &str, c: char, after_dot: bool) -> (Kind, usize) {
    if rest.starts_with("//") {
        return (Kind::Comment, rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (Kind::Comment, block_comment(rest));
    }
    if let Some(len) = raw_string(rest).or_else(|| quoted(rest)) {
        return (Kind::Quoted, len);
    }
    match c {
        '\'' => (Kind::Lifetime, 1 + word(&rest[1..])),
        '0'..='9' => (Kind::Number, number(rest, after_dot)),
        _ if is_word(c) && rest.starts_with("r#") => (Kind::Ident, 2 + word(&rest[2..])),
        _ if is_word(c) => (Kind::Ident, word(rest)),
        _ => (Kind::Punct, c.len_utf8()),
    }
}

/// Block comments nest in Rust.
fn block_comment(rest: &str) -> usize {
    let (mut depth, mut pos) = (0, 0);
    while pos < rest.len() {
        let step = match rest.as_bytes()[pos..] {
            [b'/', b'*', ..] => {
                depth += 1;
                2
            }
            [b'*', b'/', ..] => {
                depth -= 1;
                2
            }
            _ => 1,
        };
        pos += step;
        if depth == 0 {
            break;
        }
    }
    pos
}

/// `r"…"`, `r#"…"#` and their byte and C forms; `r#name` is none of them.
fn raw_string(rest: &str) -> Option<usize> {
    let prefix = ["br", "cr", "r"]
        .into_iter()
        .find(|p| rest.starts_with(p))?;
    let body = rest[prefix.len()..].trim_start_matches('#');
    let hashes = rest.len() - prefix.len() - body.len();
    let body = body.strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let start = rest.len() - body.len();
    let close = body.find(&end).map(|at| start + at + end.len());
    Some(close.unwrap_or(rest.len()))
}

/// A string or character literal, with an optional `b` or `c` before it. `'a` is a lifetime
/// unless a quote follows its first character.
fn quoted(rest: &str) -> Option<usize> {
    let prefix = usize::from(rest.starts_with(['b', 'c']));
    let body = &rest[prefix..];
    let quote = body.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let mut inner = body[1..].chars();
    let lifetime = quote == '\'' && inner.next() != Some('\\') && inner.next() != Some('\'');
    (!lifetime).then(|| prefix + 1 + closing(&body[1..], quote))
}

/// Length up to and with the closing `quote`, stepping over escapes.
fn closing(body: &str, quote: char) -> usize {
    let mut chars = body.char_indices();
    while let Some((at, c)) = chars.next() {
        if c == '\\' {
            chars.next();
        } else if c == quote {
            return at + 1;
        }
    }
    body.len()
}

/// A number takes its fraction along, but not a range (`0..9`) nor a tuple path (`x.0.1`).
fn number(rest: &str, after_dot: bool) -> usize {
    let whole = word(rest);
    let tail = rest[whole..].strip_prefix('.').unwrap_or("");
    if !after_dot && tail.starts_with(|c: char| c.is_ascii_digit()) {
        return whole + 1 + word(tail);
    }
    whole
}

fn word(rest: &str) -> usize {
    rest.find(|c| !is_word(c)).unwrap_or(rest.len())
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(src: &str) -> Vec<(Kind, &str)> {
        tokens(src).iter().map(|t| (t.kind, t.text)).collect()
    }

    #[test]
    fn characters_and_lifetimes_differ() {
        let src = r"fn f<'a>(x: &'a u8) { let c = ['a', '\'', '{', b'}', 'é']; }";
        let of = |kind| -> Vec<&str> {
            let all = kinds(src);
            all.iter().filter(|t| t.0 == kind).map(|t| t.1).collect()
        };
        assert_eq!(of(Kind::Lifetime), ["'a", "'a"]);
        assert_eq!(of(Kind::Quoted), ["'a'", r"'\''", "'{'", "b'}'", "'é'"]);
    }

    #[test]
    fn strings_hide_what_they_hold() {
        let src = r####"["unsafe { \" // no", r#"a " unsafe"#, br"\", c"x"] /* a /* b */ c */ r#fn // t"####;
        let got = kinds(src);
        let quoted: Vec<&str> = got
            .iter()
            .filter(|t| t.0 == Kind::Quoted)
            .map(|t| t.1)
            .collect();
        assert_eq!(
            quoted,
            [
                r#""unsafe { \" // no""#,
                r##"r#"a " unsafe"#"##,
                r#"br"\""#,
                r#"c"x""#
            ]
        );
        let tail = &got[got.len() - 3..];
        assert_eq!(
            tail,
            [
                (Kind::Comment, "/* a /* b */ c */"),
                (Kind::Ident, "r#fn"),
                (Kind::Comment, "// t")
            ]
        );
    }

    #[test]
    fn numbers_ranges_and_tuples() {
        let got: Vec<&str> = tokens("1.5 0..9 x.0.1 0xff_u8")
            .iter()
            .filter(|t| t.kind == Kind::Number)
            .map(|t| t.text)
            .collect();
        assert_eq!(got, ["1.5", "0", "9", "0", "1", "0xff_u8"]);
    }

    #[test]
    fn lines_count_through_literals_and_comments() {
        let got = tokens("a /*\n*/ \"\n\" b\nc");
        let at = |text| got.iter().find(|t| t.text == text).unwrap().line;
        assert_eq!((at("a"), at("b"), at("c")), (1, 3, 4));
        assert_eq!(got[1].last_line(), 2);
    }
}
