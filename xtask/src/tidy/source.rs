//! One Rust file as the rules see it: code tokens with their brackets matched, comments beside
//! them.

use super::lexer::{Kind, Token, tokens};
use std::collections::BTreeSet;

/// A Rust file, scanned.
pub(super) struct Source<'a> {
    pub(super) path: &'a str,
    pub(super) text: &'a str,
    /// Every token that is not a comment.
    pub(super) code: Vec<Token<'a>>,
    comments: Vec<Token<'a>>,
    code_lines: BTreeSet<usize>,
    /// The innermost open bracket around each code token.
    around: Vec<Option<usize>>,
    /// For a bracket, its other end.
    partner: Vec<Option<usize>>,
}

impl<'a> Source<'a> {
    pub(super) fn new(path: &'a str, text: &'a str) -> Self {
        let (comments, code): (Vec<_>, Vec<_>) = tokens(text)
            .into_iter()
            .partition(|t| t.kind == Kind::Comment);
        let (around, partner) = brackets(&code);
        let code_lines = code.iter().flat_map(|t| t.line..=t.last_line()).collect();
        Source {
            path,
            text,
            code,
            comments,
            code_lines,
            around,
            partner,
        }
    }

    /// Whether code token `i` exists and is the word or punctuation `text`.
    pub(super) fn is(&self, i: usize, text: &str) -> bool {
        self.code.get(i).is_some_and(|t| t.is(text))
    }

    /// Whether the code tokens from `i` on are exactly `words`.
    pub(super) fn spells(&self, i: usize, words: &[&str]) -> bool {
        (i..).zip(words).all(|(i, word)| self.is(i, word))
    }

    /// Whether `words` stand anywhere in the code.
    pub(super) fn has(&self, words: &[&str]) -> bool {
        (0..self.code.len()).any(|i| self.spells(i, words))
    }

    /// The innermost open bracket around code token `i`.
    pub(super) fn around(&self, i: usize) -> Option<usize> {
        self.around[i]
    }

    /// The other end of the bracket at `i`; an unmatched one is its own.
    pub(super) fn partner(&self, i: usize) -> usize {
        self.partner[i].unwrap_or(i)
    }

    /// The line on which the statement, item, match arm or field around code token `i` starts,
    /// its attributes included.
    pub(super) fn statement_line(&self, i: usize) -> usize {
        let mut first = i;
        let mut outer = self.around[i];
        let mut at = i;
        while at > 0 {
            at -= 1;
            match self.code[at].text {
                ";" | "{" | "}" => break,
                // Between arms or fields a comma ends; between arguments it does not.
                "," if outer.is_none_or(|o| self.is(o, "{")) => break,
                ")" | "]" => at = self.partner(at),
                "(" | "[" => outer = self.around[at],
                _ => {}
            }
            first = at;
        }
        self.code[first].line
    }

    /// The comments in the statement of code token `i` that start before `end` (an offset in the
    /// text), and the block of comment lines directly above that statement.
    pub(super) fn comments_for(&self, i: usize, end: usize) -> Vec<&'a str> {
        let mut first = self.statement_line(i);
        while first > 1 && self.is_comment_line(first - 1) {
            first -= 1;
        }
        self.comments
            .iter()
            .filter(|c| c.last_line() >= first && c.offset < end)
            .map(|c| c.text)
            .collect()
    }

    /// Where the line of code token `i` ends, as an offset in the text.
    pub(super) fn line_end(&self, i: usize) -> usize {
        let from = self.code[i].offset;
        self.text[from..]
            .find('\n')
            .map_or(self.text.len(), |n| from + n)
    }

    fn is_comment_line(&self, line: usize) -> bool {
        let covers = |c: &Token| (c.line..=c.last_line()).contains(&line);
        !self.code_lines.contains(&line) && self.comments.iter().any(covers)
    }

    /// The code tokens that every build compiles: what `#[cfg(test)]` guards is left out.
    pub(super) fn shipped(&self) -> Vec<usize> {
        let mut out = Vec::new();
        let mut i = 0;
        while i < self.code.len() {
            if self.is_test_guard(i) {
                i = self.item_end(i) + 1;
            } else {
                out.push(i);
                i += 1;
            }
        }
        out
    }

    /// The names of the modules that stand in files of their own and are compiled for tests only.
    fn test_modules(&self) -> Vec<&'a str> {
        (0..self.code.len())
            .filter(|&i| self.is_test_guard(i))
            .map(|i| self.item_end(i))
            .filter(|&end| end >= 2 && self.is(end, ";") && self.is(end - 2, "mod"))
            .map(|end| self.code[end - 1].text)
            .collect()
    }

    /// The files (without `.rs`) of the modules that this one declares for tests only.
    pub(super) fn test_files(&self) -> Vec<String> {
        let stem = self.path.trim_end_matches(".rs");
        let folder = match stem.rsplit_once('/') {
            Some((folder, "lib" | "mod" | "main")) => folder,
            _ => stem,
        };
        let modules = self.test_modules();
        modules
            .iter()
            .map(|name| format!("{folder}/{name}"))
            .collect()
    }

    /// `#[cfg(test)]` or `#[cfg(all(test, not(…)))]`, but not `#[cfg(not(test))]`.
    fn is_test_guard(&self, i: usize) -> bool {
        if !self.spells(i, &["#", "[", "cfg", "("]) {
            return false;
        }
        let mut words = i..self.partner(i + 1);
        words.clone().all(|at| !self.is(at, "any"))
            && words.any(|at| self.is(at, "test") && !self.is(at - 2, "not"))
    }

    /// The last token of the item whose attributes start at `i`: its `;` or closing brace, or the
    /// comma after a field or arm. When in doubt it ends early, so that rules see more, not less.
    fn item_end(&self, mut i: usize) -> usize {
        let mut generics = 0_u32;
        while i + 1 < self.code.len() {
            match self.code[i].text {
                ";" => return i,
                "," if generics == 0 => return i,
                "{" => return self.partner(i),
                "}" => return i - 1,
                "(" | "[" => i = self.partner(i),
                "<" => generics += 1,
                ">" => generics = generics.saturating_sub(1),
                _ => {}
            }
            i += 1;
        }
        i
    }
}

type Links = Vec<Option<usize>>;

/// For each token the bracket it stands in, and for each bracket its other end.
fn brackets(code: &[Token]) -> (Links, Links) {
    let mut around = vec![None; code.len()];
    let mut partner = vec![None; code.len()];
    let mut open = Vec::new();
    for (i, token) in code.iter().enumerate() {
        if ["}", ")", "]"].iter().any(|b| token.is(b))
            && let Some(start) = open.pop()
        {
            partner[i] = Some(start);
            partner[start] = Some(i);
        }
        around[i] = open.last().copied();
        if ["{", "(", "["].iter().any(|b| token.is(b)) {
            open.push(i);
        }
    }
    (around, partner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line_of(src: &str, word: &str) -> usize {
        let source = Source::new("x.rs", src);
        let at = source.code.iter().position(|t| t.text == word).unwrap();
        source.statement_line(at)
    }

    #[test]
    fn a_statement_starts_after_the_one_before() {
        assert_eq!(line_of("a();\nlet x =\n  b(c,\n  [HERE]);", "HERE"), 2);
        assert_eq!(line_of("match x {\n  A => 1,\n  B => HERE,\n}", "HERE"), 3);
        assert_eq!(line_of("fn f() {}\n#[inline]\nfn HERE() {}", "HERE"), 2);
    }

    #[test]
    fn comments_belong_to_the_statement_below_them() {
        let src = "// far\n\n// near\n#[a]\n// inside\nlet x = HERE; // after\n";
        let source = Source::new("x.rs", src);
        let at = source.code.iter().position(|t| t.text == "HERE").unwrap();
        let before = source.code[at].offset;
        assert_eq!(source.comments_for(at, before), ["// near", "// inside"]);
        let all = source.comments_for(at, source.line_end(at));
        assert_eq!(all, ["// near", "// inside", "// after"]);
    }

    #[test]
    fn what_tests_alone_compile_is_not_shipped() {
        let src = "fn a() {}\n#[cfg(test)]\nmod tests { fn b() {} }\n#[cfg(test)] mod far;\n\
                   #[cfg(not(test))] fn c() {}";
        let source = Source::new("x.rs", src);
        let shipped = source.shipped();
        let words: Vec<&str> = shipped.iter().map(|&i| source.code[i].text).collect();
        assert!(words.contains(&"a") && words.contains(&"c"));
        assert!(!words.contains(&"b") && !words.contains(&"far"));
        assert_eq!(source.test_modules(), ["far"]);
    }

    #[test]
    fn a_test_only_field_hides_nothing_after_it() {
        let source = Source::new(
            "x.rs",
            "struct A { #[cfg(test)] b: B<u8, u8>, c: C } fn d() {}",
        );
        let words: Vec<&str> = source
            .shipped()
            .iter()
            .map(|&i| source.code[i].text)
            .collect();
        assert!(words.contains(&"c") && words.contains(&"d") && !words.contains(&"b"));
    }
}
