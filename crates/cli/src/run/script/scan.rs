//! A way through a script that knows in what each hole stands. It reads as much of the shell's
//! grammar as that takes: quotes, substitutions, comments, here-documents, and `case`, whose
//! patterns end with a `)` that closes nothing.

use super::super::hole::{Holes, Part};
use super::commands::Commands;
use super::document::HereDocument;
use super::lookahead::{has_index, is_arithmetic, name};
use super::spot::{Inside, Spot, through_backquotes};

/// What a part of a script is in.
#[derive(Clone, Debug)]
pub(super) enum Frame {
    Commands(Commands),
    Single,
    DollarSingle,
    Double,
    /// `${...}`. `quoted`: between quotes. `arithmetic`: an index or an offset.
    Expansion {
        quoted: bool,
        arithmetic: bool,
        /// A `'` of which nobody knows what the shell takes it for.
        is_unclear: bool,
    },
    /// Between `((` and `))`, and so many further brackets.
    Arithmetic(usize),
    Comment,
    HereDocument(HereDocument),
}

/// On the way through a script.
pub(super) struct Scan<'a> {
    text: &'a [u8],
    at: usize,
    /// The innermost last; never empty.
    frames: Vec<Frame>,
    plain: Vec<u8>,
    parts: Vec<(Part, Spot)>,
    /// How many frames there were at least since each hole.
    least: usize,
    holes: &'a Holes,
}

const NESTED_BACKQUOTES: &str = "in backquotes in backquotes; $(...) can be nested";
const UNCLEAR_QUOTE: &str = "behind a quote in \"${...}\"";
const NO_END: &str = "in a quote or a bracket that does not end";

impl<'a> Scan<'a> {
    /// The parts of a script, and where each stands; and where something behind them would stand.
    pub(super) fn parts(text: &'a [u8], holes: &'a Holes) -> (Vec<(Part, Spot)>, Spot) {
        let mut scan = Self {
            text,
            at: 0,
            frames: vec![Frame::Commands(Commands::new(None))],
            plain: Vec::new(),
            parts: Vec::new(),
            least: usize::MAX,
            holes,
        };
        while scan.at < text.len() {
            scan.step();
        }
        scan.flush();
        let left_open = scan.frames.iter().skip(1).any(Frame::has_end);
        if left_open && scan.least > 1 {
            let mut holes = scan.parts.iter_mut().rev();
            let last = holes.find(|(part, _)| matches!(part, Part::Hole(_)));
            if let Some((_, spot)) = last {
                spot.inside = Inside::Nowhere(NO_END);
            }
        }
        let end = scan.spot(false);
        (scan.parts, end)
    }

    fn step(&mut self) {
        if self.take_hole() {
            return;
        }
        let byte = self.text[self.at];
        if self.is_in_backquotes() && self.backquoted(byte) {
            return;
        }
        match self.innermost() {
            Frame::Commands(_) => self.command(byte),
            Frame::Single => self.until(byte, b'\''),
            Frame::DollarSingle if byte == b'\\' => self.take(2),
            Frame::DollarSingle => self.until(byte, b'\''),
            Frame::Double if byte == b'"' => self.until(byte, b'"'),
            Frame::Double => self.expanded(byte, true),
            Frame::Expansion { quoted, .. } => {
                let quoted = *quoted;
                self.expansion(byte, quoted);
            }
            Frame::Arithmetic(depth) => {
                let depth = *depth;
                self.arithmetic(byte, depth);
            }
            // The newline is the command's.
            Frame::Comment if byte == b'\n' => self.close(),
            Frame::Comment => self.take(1),
            Frame::HereDocument(_) => self.line(byte),
        }
    }

    /// Backquotes are divided before what is in them is read: true if that was all.
    fn backquoted(&mut self, byte: u8) -> bool {
        let is_verbatim = match self.innermost() {
            Frame::Single | Frame::Comment => true,
            Frame::HereDocument(document) => !document.expands,
            _ => false,
        };
        let next = self.text.get(self.at + 1);
        if byte == b'\\' && next == Some(&b'`') {
            for frame in &mut self.frames {
                if let Frame::Commands(commands) = frame {
                    commands.nests_backquotes();
                }
            }
        }
        match byte {
            b'`' => {
                while !self.innermost().is_backquotes() {
                    self.close();
                }
                self.until(byte, b'`');
            }
            b'\\' if is_verbatim && matches!(next, Some(b'\\' | b'`' | b'$')) => self.take(2),
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
        self.at += length;
        let redirects = matches!(self.text.get(self.at), Some(b'<' | b'>'));
        let spot = self.spot(redirects);
        self.parts.push((Part::Hole(hole), spot));
        self.least = self.frames.len();
        if let Frame::Commands(commands) = self.innermost_mut() {
            commands.joins();
        }
        true
    }

    fn spot(&self, redirects: bool) -> Spot {
        let inside = match self.innermost() {
            _ if self.frames.iter().any(Frame::has_nested_backquotes) => {
                Inside::Nowhere(NESTED_BACKQUOTES)
            }
            Frame::Commands(_) => Inside::Word { redirects },
            Frame::Single => Inside::Single,
            Frame::DollarSingle => Inside::DollarSingle,
            Frame::Double => Inside::Double,
            Frame::Expansion {
                is_unclear: true, ..
            } => Inside::Nowhere(UNCLEAR_QUOTE),
            Frame::Expansion {
                arithmetic: true, ..
            }
            | Frame::Arithmetic(_) => Inside::Arithmetic,
            Frame::Expansion { quoted: true, .. } => Inside::Expansion,
            Frame::Expansion { .. } => Inside::Word { redirects: false },
            Frame::Comment => Inside::Comment,
            Frame::HereDocument(document) => Inside::HereDocument {
                end: document.end.clone(),
                expands: document.expands,
            },
        };
        let (_, around) = self.frames.split_last().expect("it is never empty");
        Spot {
            inside,
            backquotes: self.nr_backquotes(),
            is_in_line: around.iter().any(Frame::is_here_document),
            is_nested: !around.is_empty(),
        }
    }

    /// Where a command, its words or what is between them stand.
    fn command(&mut self, byte: u8) {
        let next = self.text.get(self.at + 1).copied();
        let commands = self.commands();
        match byte {
            b'#' if commands.is_between_words() => self.push(0, Frame::Comment),
            // Nothing: the line goes on.
            b'\\' if next == Some(b'\n') => self.take(2),
            b'\\' => {
                commands.joins();
                self.take(2);
            }
            b'\'' => self.open(1, Frame::Single),
            b'"' => self.open(1, Frame::Double),
            b'`' | b'$' => self.substitution(byte, false),
            b'(' => self.bracket(),
            b')' => {
                if !commands.ends_at_bracket() {
                    commands.separated();
                    return self.take(1);
                }
                self.until(byte, byte);
                if let Frame::Commands(commands) = self.innermost_mut() {
                    commands.bracket_ended();
                }
            }
            b'<' if next == Some(b'<') => self.here_document(),
            b'\n' => {
                commands.separated();
                self.take(1);
                self.next_document();
            }
            b';' | b'|' | b'&' => {
                commands.separated();
                self.take(1);
            }
            b'<' | b'>' | b' ' | b'\t' | b'\r' => {
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
            true => self.open(2, Frame::Arithmetic(0)),
            false => {
                self.commands().separated();
                self.push(1, Frame::Commands(Commands::new(Some(b')'))));
            }
        }
    }

    /// What may begin anywhere but between `'`.
    fn expanded(&mut self, byte: u8, quoted: bool) {
        match byte {
            b'\\' => self.take(2),
            b'`' | b'$' => self.substitution(byte, quoted),
            _ => self.take(1),
        }
    }

    fn expansion(&mut self, byte: u8, quoted: bool) {
        match byte {
            b'}' => self.until(byte, b'}'),
            b'"' => self.open(1, Frame::Double),
            b'\'' if !quoted => self.open(1, Frame::Single),
            b'\'' => {
                if let Frame::Expansion { is_unclear, .. } = self.innermost_mut() {
                    *is_unclear = true;
                }
                self.take(1);
            }
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
        let bracket = || Frame::Commands(Commands::new(Some(b')')));
        match behind {
            _ if byte == b'`' => self.open(1, Frame::Commands(Commands::new(Some(b'`')))),
            // A value behind it is none of its own.
            _ if self.holes.at(behind, Some(b'$')).is_some() => {
                self.open_word();
                let dollar = through_backquotes(br"\$".to_vec(), self.nr_backquotes());
                self.plain.extend(dollar);
                self.at += 1;
            }
            [b'(', b'(', inside @ ..] if is_arithmetic(inside) => {
                self.open(3, Frame::Arithmetic(0));
            }
            [b'(', ..] => self.open(2, bracket()),
            [b'{', inside @ ..] => {
                let frame = Frame::Expansion {
                    quoted,
                    arithmetic: has_index(inside),
                    is_unclear: false,
                };
                self.open(2, frame);
            }
            [b'\'', ..] if !quoted => self.open(2, Frame::DollarSingle),
            [b'"', ..] if !quoted => self.open(2, Frame::Double),
            _ => self.variable(),
        }
    }

    /// `$name`, of which a value behind it is no part.
    fn variable(&mut self) {
        self.open_word();
        let behind = &self.text[self.at + 1..];
        let is_hole = |at: usize| {
            let before = at.checked_sub(1).map(|before| behind[before]);
            self.holes.at(&behind[at..], before).is_some()
        };
        let all = name(behind);
        let length = (1..=all).find(|&at| is_hole(at)).unwrap_or(all);
        let is_special = behind.first().is_some_and(|byte| b"$#?!@*-".contains(byte));
        if length > 0 && is_hole(length) {
            self.plain.extend([b"${", &behind[..length], b"}"].concat());
            self.at += 1 + length;
        } else {
            self.take(1 + length + usize::from(is_special));
        }
    }

    /// `<<`, and what is to end the lines, or `<<<`.
    fn here_document(&mut self) {
        self.commands().word_ends();
        self.take(2);
        if self.text.get(self.at) == Some(&b'<') {
            return self.take(1);
        }
        let (document, length) = HereDocument::read(&self.text[self.at..]);
        self.take(length);
        self.commands().reads(document);
    }

    /// A line has ended, behind which the next here-document begins, if there is one.
    fn next_document(&mut self) {
        if let Some(document) = self.commands().next_document() {
            self.flush();
            self.frames.push(Frame::HereDocument(document));
        }
    }

    /// In a here-document.
    fn line(&mut self, byte: u8) {
        let Frame::HereDocument(document) = self.innermost().clone() else {
            return;
        };
        let rest = &self.text[self.at..];
        let line = rest.split(|&byte| byte == b'\n').next().unwrap_or(rest);
        if self.text[self.at - 1] == b'\n' && document.ends_with(line) {
            self.take(line.len() + 1);
            self.close();
            return self.next_document();
        }
        match document.expands {
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
        self.least = self.least.min(self.frames.len());
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

    fn nr_backquotes(&self) -> usize {
        let frames = self.frames.iter();
        frames.filter(|frame| frame.is_backquotes()).count()
    }
}

impl Frame {
    fn is_backquotes(&self) -> bool {
        matches!(self, Frame::Commands(commands) if commands.is_backquotes())
    }

    fn has_nested_backquotes(&self) -> bool {
        matches!(self, Frame::Commands(commands) if commands.has_nested_backquotes())
    }

    fn is_here_document(&self) -> bool {
        matches!(self, Frame::HereDocument(_))
    }

    /// Whether something is to end it.
    fn has_end(&self) -> bool {
        match self {
            Frame::Commands(commands) => commands.has_end(),
            Frame::Comment | Frame::HereDocument(_) => false,
            _ => true,
        }
    }
}
