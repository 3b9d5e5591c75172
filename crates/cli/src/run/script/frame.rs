//! What parts of a script stand in.

use super::commands::Commands;
use super::document::HereDocument;

/// What a part of a script is in.
#[derive(Clone, Debug)]
pub(super) enum Frame {
    Commands(Commands),
    /// Of a script for another shell: where that begins.
    Single(Option<usize>),
    DollarSingle,
    Double(Option<usize>),
    /// `${...}`. `quoted`: between quotes. `arithmetic`: an index or an offset.
    Expansion {
        quoted: bool,
        arithmetic: bool,
    },
    /// Between `((` and `))`, and so many further brackets.
    Arithmetic(usize),
    Comment,
    HereDocument(HereDocument),
}

impl Frame {
    pub(super) fn commands(end: u8) -> Self {
        Frame::Commands(Commands::new(Some(end)))
    }

    pub(super) fn is_backquotes(&self) -> bool {
        matches!(self, Frame::Commands(commands) if commands.is_backquotes())
    }
}
