//! Where commands stand in a script: at which word, and in which `case`.

use super::foreign::Invocation;

/// Words behind which a command stands.
const OPENING: [&[u8]; 14] = [
    b"!", b"{", b"}", b"do", b"done", b"elif", b"else", b"esac", b"fi", b"if", b"then", b"time",
    b"until", b"while",
];

/// Commands, up to a bracket, a backquote or the end of the script.
#[derive(Clone, Debug)]
pub(super) struct Commands {
    end: Option<u8>,
    /// So many `case` have begun, whose `esac` is still to come.
    cases: usize,
    /// The word so far. One that was quoted or substituted in part is no keyword.
    word: Vec<u8>,
    is_in_word: bool,
    is_keyword: bool,
    /// The word is the name of a command, or a keyword.
    is_first: bool,
    /// The word before it was `for`.
    is_behind_for: bool,
    /// Behind the name that follows, a command stands.
    is_behind_function: bool,
    /// So many words behind `case`.
    behind_case: Option<usize>,
    invocation: Invocation,
    /// A word behind `<` or `>`, which is none of the command.
    is_target: bool,
}

impl Commands {
    pub(super) fn new(end: Option<u8>) -> Self {
        Self {
            end,
            cases: 0,
            word: Vec::new(),
            is_in_word: false,
            is_keyword: true,
            is_first: true,
            is_behind_for: false,
            is_behind_function: false,
            behind_case: None,
            invocation: Invocation::default(),
            is_target: false,
        }
    }

    pub(super) fn is_backquotes(&self) -> bool {
        self.end == Some(b'`')
    }

    /// Something that is no plain byte is a part of the word.
    pub(super) fn joins(&mut self) {
        self.is_in_word = true;
        self.is_keyword = false;
    }

    /// A plain byte of the word.
    pub(super) fn continues(&mut self, byte: u8) {
        self.is_in_word = true;
        self.word.push(byte);
    }

    pub(super) fn word_ends(&mut self) {
        if !self.is_in_word {
            return;
        }
        let word = std::mem::take(&mut self.word);
        let (is_keyword, is_first) = (self.is_keyword, self.is_keyword && self.is_first);
        let is = |keyword: &[u8]| is_first && word == keyword;
        // Behind `case x in` the first pattern stands, or `esac`.
        let behind_case = self.behind_case.map_or(0, |words| words + 1);
        let begins_patterns = behind_case == 2 && is_keyword && word == b"in";
        self.behind_case = (behind_case == 1).then_some(1);
        if is(b"case") {
            self.cases += 1;
            self.behind_case = Some(0);
        } else if is(b"esac") {
            self.cases = self.cases.saturating_sub(1);
        }
        let is_opening = OPENING.iter().any(|opening| is(opening));
        self.is_first = is_opening || begins_patterns || self.is_behind_function;
        // Behind `then` and the like a command begins, and behind `A=1` it still does.
        if is_opening || (self.invocation.is_new() && word.contains(&b'=')) {
            self.invocation = Invocation::default();
        } else if !std::mem::take(&mut self.is_target) {
            self.invocation.word(&word);
        }
        self.is_behind_for = is(b"for");
        self.is_behind_function = is(b"function");
        (self.is_in_word, self.is_keyword) = (false, true);
    }

    /// Another command begins, or a pattern.
    pub(super) fn separated(&mut self) {
        self.word_ends();
        self.is_first = true;
        (self.invocation, self.is_target) = (Invocation::default(), false);
    }

    /// `<` or `>`: behind it stands no word of the command.
    pub(super) fn redirects(&mut self) {
        // A descriptor is no word either.
        let is_descriptor = !self.word.is_empty() && self.word.iter().all(u8::is_ascii_digit);
        self.is_target = self.is_in_word && self.is_keyword && is_descriptor;
        self.word_ends();
        self.is_target = true;
    }

    /// Whether the word here is for another shell; and whether that may be all of a script.
    pub(super) fn foreign(&self) -> Option<bool> {
        self.invocation.reads_next().filter(|_| !self.is_target)
    }

    /// Whether the word has begun.
    pub(super) fn is_in_word(&self) -> bool {
        self.is_in_word
    }

    /// Whether a `)` ends them, and not a pattern.
    pub(super) fn ends_at_bracket(&mut self) -> bool {
        self.word_ends();
        self.end == Some(b')') && self.cases == 0
    }

    /// What stands between brackets has ended. Behind that of `f()` a command stands.
    pub(super) fn bracket_ended(&mut self) {
        self.is_first |= !self.is_in_word;
    }

    /// Whether `((` begins an expression here.
    pub(super) fn may_be_arithmetic(&mut self) -> bool {
        // `for((` has no blank.
        self.word_ends();
        self.is_first || self.is_behind_for
    }
}
