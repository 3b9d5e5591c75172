//! What parts of a script stand in.

use super::commands::Commands;
use super::document::HereDocument;

/// A word, or a part of one, that another shell reads as a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Foreigner {
    /// Where it begins; `None`: it goes on from another part of the word.
    pub(super) from: Option<usize>,
    /// It may be all of the script.
    pub(super) may_be_all: bool,
}

/// What a part of a script is in.
#[derive(Clone, Debug)]
pub(super) enum Frame {
    Commands(Commands),
    /// Of a script for another shell: what is known of it.
    Single(Option<Foreigner>),
    DollarSingle,
    Double(Option<Foreigner>),
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

    pub(super) fn is_here_document(&self) -> bool {
        matches!(self, Frame::HereDocument(_))
    }

    /// Whether another shell reads it.
    pub(super) fn is_foreign(&self) -> bool {
        matches!(self, Frame::Single(Some(_)) | Frame::Double(Some(_)))
    }

    pub(super) fn is_backquotes(&self) -> bool {
        matches!(self, Frame::Commands(commands) if commands.is_backquotes())
    }
}
