//! A way through a script that knows in what each hole stands. It reads as much of the shell's
//! grammar as that takes: quotes, substitutions, comments, here-documents, and `case`, whose
//! patterns end with a `)` that closes nothing.

mod others;

use super::super::hole::{Holes, Part};
use super::commands::Commands;
use super::document::HereDocument;
use super::frame::{Foreigner, Frame};
use super::lookahead::{has_offset, is_arithmetic, name};
use super::spot::{Inside, Spot};
use std::collections::VecDeque;

/// On the way through a script.
pub(super) struct Scan<'a> {
    text: &'a [u8],
    at: usize,
    /// The innermost last; never empty.
    frames: Vec<Frame>,
    /// Here-documents whose lines are still to come.
    documents: VecDeque<HereDocument>,
    plain: Vec<u8>,
    /// What goes into the next value.
    glued: &'static [u8],
    parts: Vec<(Part, Spot)>,
    holes: &'a Holes,
    /// What stands in `[...]` may be any text.
    has_maps: bool,
    /// Where the last here-document has ended, and the last comment.
    behind_document: Option<usize>,
    behind_comment: Option<usize>,
}

/// A script in parts.
pub(super) struct Scanned {
    /// The parts, and where each stands.
    pub(super) parts: Vec<(Part, Spot)>,
    /// Where something behind them would stand.
    pub(super) end: Spot,
    /// Whether a here-document comes last, or a comment and its newline.
    pub(super) ends_with_document: bool,
    pub(super) ends_with_comment: bool,
}

impl<'a> Scan<'a> {
    fn new(text: &'a [u8], holes: &'a Holes) -> Self {
        Self {
            text,
            at: 0,
            frames: vec![Frame::Commands(Commands::new(None))],
            documents: VecDeque::new(),
            plain: Vec::new(),
            glued: b"",
            parts: Vec::new(),
            holes,
            has_maps: ["declare -A", "local -A", "typeset -A"].iter().any(|mark| {
                text.windows(mark.len())
                    .any(|window| window == mark.as_bytes())
            }),
            behind_document: None,
            behind_comment: None,
        }
    }

    fn run(&mut self) {
        while self.at < self.text.len() {
            self.step();
        }
        self.flush();
    }

    pub(super) fn whole(text: &'a [u8], holes: &'a Holes) -> Scanned {
        let mut scan = Self::new(text, holes);
        scan.run();
        let is_last = |at: &usize| text[*at..].trim_ascii().is_empty();
        Scanned {
            end: scan.spot(false),
            parts: scan.parts,
            ends_with_document: scan.behind_document.is_some_and(|at| is_last(&at)),
            ends_with_comment: scan.behind_comment.is_some_and(|at| is_last(&at)),
        }
    }

    fn step(&mut self) {
        if self.take_hole() {
            return;
        }
        let byte = self.text[self.at];
        if self.is_in_backquotes() && self.backquoted(byte) {
            return;
        }
        match *self.innermost() {
            Frame::Commands(_) => self.command(byte),
            Frame::Single(_) => self.until(byte, b'\''),
            Frame::DollarSingle if byte == b'\\' => self.take(2),
            Frame::DollarSingle => self.until(byte, b'\''),
            Frame::Double(_) if byte == b'"' => self.until(byte, b'"'),
            Frame::Double(_) => self.expanded(byte, true),
            Frame::Expansion { quoted, .. } => self.expansion(byte, quoted),
            Frame::Arithmetic(depth) => self.arithmetic(byte, depth),
            // The newline is the command's.
            Frame::Comment if byte == b'\n' => {
                self.close();
                self.behind_comment = Some(self.at);
            }
            Frame::Comment => self.take(1),
            Frame::HereDocument(_) => self.line(byte),
        }
    }

    /// Backquotes are divided, and lose a layer of backslashes, before what is in them is read:
    /// true if that was all.
    fn backquoted(&mut self, byte: u8) -> bool {
        let next = self.text.get(self.at + 1);
        match byte {
            b'`' => {
                while !self.innermost().is_backquotes() {
                    self.close();
                }
                self.until(byte, b'`');
            }
            // Between quotes it is one of their own.
            b'\\' if next == Some(&b'"') && self.are_backquotes_quoted() => {
                match self.innermost() {
                    Frame::Double(_) => {
                        self.take(1);
                        self.until(b'"', b'"');
                    }
                    Frame::Commands(commands) => {
                        let foreign = commands.foreign();
                        let foreigner = foreign.map(|may_be_all| Foreigner {
                            from: None,
                            may_be_all,
                        });
                        self.open(2, Frame::Double(foreigner));
                    }
                    _ => self.open(2, Frame::Double(None)),
                }
            }
            b'\\' if matches!(next, Some(b'\\' | b'`' | b'$')) => {
                self.open_word();
                self.take(2);
            }
            _ => return false,
        }
        true
    }

    /// What stands for a value here, if anything does.
    fn take_hole(&mut self) -> bool {
        let before = self.at.checked_sub(1).map(|before| self.text[before]);
        let Some((hole, length)) = self.holes.at(&self.text[self.at..], before) else {
            return false;
        };
        self.flush();
        let is_behind_variable = self.is_behind_variable();
        let foreign = self.foreign(length);
        self.at += length;
        let redirects = self.is_before_redirection();
        let glued = std::mem::take(&mut self.glued);
        let spot = Spot {
            glued,
            is_behind_variable,
            foreign,
            ..self.spot(redirects)
        };
        self.parts.push((Part::Hole(hole), spot));
        self.open_word();
        true
    }

    fn is_behind_variable(&self) -> bool {
        let before = self.text[..self.at].iter().rev();
        let is_of_name = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
        let mut before = before.skip_while(is_of_name);
        before.next() == Some(&b'$')
    }

    /// Whether a `<` or `>` follows, perhaps behind what would make one number with a value here.
    fn is_before_redirection(&self) -> bool {
        let mut behind = &self.text[self.at..];
        loop {
            match behind {
                [b'<' | b'>', ..] => return true,
                [byte, rest @ ..] if byte.is_ascii_digit() => behind = rest,
                _ => match self.holes.at(behind, None) {
                    Some((_, length)) => behind = &behind[length..],
                    None => return false,
                },
            }
        }
    }

    fn spot(&self, redirects: bool) -> Spot {
        let word = Inside::Word { redirects };
        let inside = match self.innermost() {
            _ if self.is_in_arithmetic() => Inside::Arithmetic,
            Frame::Commands(_) => word,
            Frame::Single(_) => Inside::Single,
            Frame::DollarSingle => Inside::DollarSingle,
            Frame::Expansion { quoted: true, .. } if self.is_in_line() => Inside::Double,
            Frame::Expansion { quoted: true, .. } => Inside::Expansion,
            Frame::Expansion { .. } => word,
            Frame::Comment => Inside::Comment,
            Frame::HereDocument(document) if !document.expands => Inside::Verbatim,
            Frame::Double(_) | Frame::Arithmetic(_) | Frame::HereDocument(_) => Inside::Double,
        };
        Spot {
            inside,
            is_nested: self.frames.len() > 1,
            glued: b"",
            is_behind_variable: false,
            foreign: None,
        }
    }

    /// Where a command, its words or what is between them stand.
    fn command(&mut self, byte: u8) {
        let next = self.text.get(self.at + 1).copied();
        let is_before_hole = self.is_before_hole();
        let behind = self.at + 1;
        let commands = self.commands();
        let is_in_word = commands.is_in_word();
        let foreign = commands.foreign().map(|may_be_all| Foreigner {
            from: (!is_in_word).then_some(behind),
            may_be_all,
        });
        match byte {
            b'#' if !is_in_word => self.push(0, Frame::Comment),
            // Nothing: the line goes on.
            b'\\' if next == Some(b'\n') => self.take(2),
            // A value is quoted anyway.
            b'\\' if is_before_hole => self.at += 1,
            b'\\' => {
                commands.joins();
                self.take(2);
            }
            b'\'' => self.open(1, Frame::Single(foreign)),
            b'"' => self.open(1, Frame::Double(foreign)),
            b'`' | b'$' => self.substitution(byte, false),
            b'(' => self.bracket(),
            b')' if commands.ends_at_bracket() => {
                self.until(byte, byte);
                if let Frame::Commands(commands) = self.innermost_mut() {
                    commands.bracket_ended();
                }
            }
            b'<' if next == Some(b'<') => self.here_document(),
            b'\n' | b';' | b'|' | b'&' | b')' => {
                commands.separated();
                self.take(1);
                if byte == b'\n' {
                    self.next_document();
                }
            }
            b'<' | b'>' => {
                commands.redirects();
                self.take(1);
            }
            b' ' | b'\t' => {
                commands.word_ends();
                self.take(1);
            }
            _ => {
                commands.continues(byte);
                self.take(1);
            }
        }
    }

    /// A `(` between words or in one.
    fn bracket(&mut self) {
        let is_arithmetic = self.text[self.at..].starts_with(b"((")
            && self.commands().may_be_arithmetic()
            && is_arithmetic(&self.text[self.at + 2..]);
        match is_arithmetic {
            true => self.push(2, Frame::Arithmetic(0)),
            false => {
                self.commands().separated();
                self.push(1, Frame::commands(b')'));
            }
        }
    }

    /// What may begin anywhere but between `'`.
    fn expanded(&mut self, byte: u8, quoted: bool) {
        match byte {
            b'\\' if self.is_before_hole() => self.glue(br"\"),
            b'\\' => self.take(2),
            b'`' | b'$' => self.substitution(byte, quoted),
            _ => self.take(1),
        }
    }

    fn expansion(&mut self, byte: u8, quoted: bool) {
        match byte {
            b'}' => self.until(byte, b'}'),
            b']' => {
                let is_offset = has_offset(&self.text[self.at + 1..]);
                if let Frame::Expansion { arithmetic, .. } = self.innermost_mut() {
                    *arithmetic = is_offset;
                }
                self.take(1);
            }
            b'"' => self.open(1, Frame::Double(None)),
            b'\'' if !quoted => self.open(1, Frame::Single(None)),
            _ => self.expanded(byte, quoted),
        }
    }

    fn arithmetic(&mut self, byte: u8, depth: usize) {
        let to = match byte {
            b'(' => depth + 1,
            b')' if depth > 0 => depth - 1,
            b')' => {
                self.take(1);
                return self.until(byte, byte);
            }
            _ => return self.expanded(byte, true),
        };
        *self.innermost_mut() = Frame::Arithmetic(to);
        self.take(1);
    }

    /// `$` or a backquote.
    fn substitution(&mut self, byte: u8, quoted: bool) {
        let behind = &self.text[self.at + 1..];
        match behind {
            _ if byte == b'`' => self.open(1, Frame::commands(b'`')),
            _ if self.is_before_hole() => self.glue(b"$"),
            [b'(', b'(', inside @ ..] if is_arithmetic(inside) => {
                self.open(3, Frame::Arithmetic(0));
            }
            [b'(', ..] => self.open(2, Frame::commands(b')')),
            [b'{', inside @ ..] => {
                let (special, named) = name(inside);
                let rest = &inside[special + named..];
                let is_index = rest.starts_with(b"[") && !self.has_maps;
                let arithmetic = is_index || has_offset(rest);
                self.open(2, Frame::Expansion { quoted, arithmetic });
            }
            [b'\'', ..] if !quoted => self.open(2, Frame::DollarSingle),
            [b'"', ..] if !quoted => self.open(2, Frame::Double(None)),
            _ => {
                self.open_word();
                let is_special = behind.first().is_some_and(|byte| b"$#".contains(byte));
                self.take(1 + usize::from(is_special));
            }
        }
    }

    /// Whether a value stands behind the byte.
    fn is_before_hole(&self) -> bool {
        let (byte, behind) = (self.text[self.at], &self.text[self.at + 1..]);
        self.holes.at(behind, Some(byte)).is_some()
    }

    /// The byte goes into the value behind it.
    fn glue(&mut self, byte: &'static [u8]) {
        self.glued = byte;
        self.at += 1;
    }

    /// `<<`, and what is to end the lines, or `<<<`.
    fn here_document(&mut self) {
        self.commands().redirects();
        self.take(2);
        if self.text.get(self.at) == Some(&b'<') {
            return self.take(1);
        }
        let (document, length) = HereDocument::read(&self.text[self.at..]);
        self.take(length);
        self.documents.push_back(document);
    }

    /// A line has ended, behind which the next here-document begins, if there is one.
    fn next_document(&mut self) {
        if let Some(document) = self.documents.pop_front() {
            self.push(0, Frame::HereDocument(document));
        }
    }

    /// In a here-document.
    fn line(&mut self, byte: u8) {
        let Frame::HereDocument(document) = self.innermost() else {
            return;
        };
        let expands = document.expands;
        let rest = &self.text[self.at..];
        let line = rest.split(|&byte| byte == b'\n').next().unwrap_or(rest);
        if self.text[self.at - 1] == b'\n' && document.ends_with(line) {
            self.take(line.len() + 1);
            self.close();
            self.behind_document = Some(self.at);
            return self.next_document();
        }
        match expands {
            true => self.expanded(byte, true),
            false => self.take(1),
        }
    }

    /// Takes it, and what it ends.
    fn until(&mut self, byte: u8, end: u8) {
        self.take(1);
        if byte == end {
            self.close();
        }
    }

    fn close(&mut self) {
        self.flush();
        self.frames.pop();
    }

    /// Begins a part of a word, if there are words here.
    fn open(&mut self, length: usize, frame: Frame) {
        self.open_word();
        self.push(length, frame);
    }

    fn push(&mut self, length: usize, frame: Frame) {
        self.take(length);
        self.flush();
        self.frames.push(frame);
    }

    fn open_word(&mut self) {
        if let Frame::Commands(commands) = self.innermost_mut() {
            commands.joins();
        }
    }

    fn take(&mut self, length: usize) {
        let end = self.text.len().min(self.at + length);
        self.plain.extend_from_slice(&self.text[self.at..end]);
        self.at = end;
    }

    fn flush(&mut self) {
        if !self.plain.is_empty() {
            let text = std::mem::take(&mut self.plain);
            let spot = self.spot(false);
            self.parts.push((Part::Text(text), spot));
        }
    }

    fn innermost(&self) -> &Frame {
        self.frames.last().expect("it is never empty")
    }

    fn innermost_mut(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("it is never empty")
    }

    /// Called where commands stand.
    fn commands(&mut self) -> &mut Commands {
        match self.innermost_mut() {
            Frame::Commands(commands) => commands,
            _ => unreachable!("commands stand here"),
        }
    }

    fn is_in_backquotes(&self) -> bool {
        self.frames.iter().any(Frame::is_backquotes)
    }

    /// Whether the innermost backquotes stand between `"`.
    fn are_backquotes_quoted(&self) -> bool {
        let at = self.frames.iter().rposition(Frame::is_backquotes);
        at.is_some_and(|at| matches!(self.frames[at - 1], Frame::Double(_)))
    }

    /// Whether what is here becomes a part of an expression.
    fn is_in_arithmetic(&self) -> bool {
        let inner = self.frames.iter().rev();
        let mut inner = inner.take_while(|frame| !matches!(frame, Frame::Commands(_)));
        inner.any(|frame| {
            let is_index = matches!(frame, Frame::Expansion { arithmetic, .. } if *arithmetic);
            is_index || matches!(frame, Frame::Arithmetic(_))
        })
    }

    /// Whether it is in a line of a here-document, between no quotes.
    fn is_in_line(&self) -> bool {
        let is_expansion = |frame: &&Frame| matches!(frame, Frame::Expansion { .. });
        let around = self.frames.iter().rev().find(|frame| !is_expansion(frame));
        matches!(around, Some(Frame::HereDocument(_)))
    }
}
