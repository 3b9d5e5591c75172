//! Where a value stands for another shell, which reads what it is in once more. Where that is not
//! plain, it is unknown.

use super::super::lookahead::without_layer;
use super::super::spot::Foreign;
use super::{Foreigner, Frame, Scan};

impl Scan<'_> {
    /// Where the value, whose hole is so long, stands in a script for another shell, if it is not
    /// all of that.
    pub(super) fn foreign(&self, length: usize) -> Option<Foreign> {
        let known = |foreigner: Foreigner, quote: u8| {
            let Some(from) = foreigner.from else {
                return Some(Foreign::Unknown);
            };
            let is_all = from == self.at && self.text.get(self.at + length) == Some(&quote);
            let before = &self.text[from..self.at];
            let there = match quote {
                b'"' => self.there(&without_layer(before)),
                _ => self.there(before),
            };
            (!is_all || !foreigner.may_be_all).then_some(there)
        };
        match self.innermost() {
            Frame::Single(Some(foreigner)) => known(*foreigner, b'\''),
            Frame::Double(Some(foreigner)) => known(*foreigner, b'"'),
            Frame::Commands(commands) if commands.foreign().is_some() => Some(Foreign::Unknown),
            _ if self.frames.iter().any(Frame::is_foreign) => Some(Foreign::Unknown),
            _ => None,
        }
    }

    /// Where a value stands behind this text for the shell that reads it.
    fn there(&self, text: &[u8]) -> Foreign {
        let mut scan = Scan::new(text, self.holes);
        scan.run();
        let nested = |frame: &Frame| frame.is_here_document() || frame.is_backquotes();
        let is_nested = scan
            .frames
            .iter()
            .any(|frame| nested(frame) || frame.is_foreign());
        let count = |two: &[u8; 2]| text.windows(2).filter(|window| window == two).count();
        let is_expression = count(b"((") > count(b"))");
        let is_escaped = text.last() == Some(&b'\\') || text.last() == Some(&b'$');
        match scan.innermost() {
            _ if is_nested || is_expression || is_escaped => Foreign::Unknown,
            Frame::Commands(commands) if commands.foreign().is_some() => Foreign::Unknown,
            Frame::Commands(_) => Foreign::Word,
            Frame::Single(_) => Foreign::Single,
            Frame::Double(_) => Foreign::Double,
            _ => Foreign::Unknown,
        }
    }
}
