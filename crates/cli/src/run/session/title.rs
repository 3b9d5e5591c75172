//! What a job is called: in messages, and in front of its output.

use super::Session;
use crate::run::hole::Arguments;
use crate::run::status::{CANNOT_RUN, NOT_FOUND};
use crate::run::template::{Given, Template};

/// Characters of a name in messages.
const LONGEST_NAME: usize = 80;

/// Bytes of a job's lines that are kept for messages while it runs.
const KEPT: usize = 1024;

/// What messages call a job.
pub(super) struct Title {
    /// From 0.
    pub(super) sequence: u64,
    name: String,
    /// Behind that, where it does not show the job's lines.
    lines: Option<String>,
    /// From 1.
    pub(super) slot: usize,
    /// The beginning of the job's lines, for people.
    pub(super) arguments: Vec<u8>,
    /// Before each line of its output.
    pub(super) tag: Option<Vec<u8>>,
}

impl Session {
    /// If it reads a block, its line is only the number of that block.
    pub(super) fn title(&self, given: Given<'_>) -> Title {
        let name = self.template.name(given);
        let mut arguments = Template::arguments(given.lines);
        arguments.truncate(KEPT);
        arguments.shrink_to_fit();
        let is_said = arguments.is_empty() || name == arguments || given.block.is_some();
        let is_bare = self.template.has_bare_name() && !is_said;
        Title {
            sequence: given.sequence,
            name: shown(&name),
            lines: is_bare.then(|| shown(&arguments)),
            slot: given.slot,
            arguments,
            tag: self.tag_of(given),
        }
    }

    /// What each line of the job's output begins with.
    fn tag_of(&self, given: Given<'_>) -> Option<Vec<u8>> {
        let Some(text) = &self.tagstring else {
            let columns = || self.template.columns(given.lines).join(&b' ');
            return self.tag.then(columns);
        };
        let job = Arguments {
            columns: &self.template.columns(given.lines),
            sequence: given.sequence + 1,
            slot: given.slot,
        };
        Some(text.filled(&job))
    }

    /// Whose fault it is: of the job, unless all have the program that cannot be run.
    pub(super) fn blames(&self, title: &Title, code: u8, why: &str) -> String {
        let is_program = matches!(code, CANNOT_RUN | NOT_FOUND);
        match is_program && self.template.has_one_program() {
            true => format!("{}: {why}", title.name),
            false => title.says(why),
        }
    }
}

impl Title {
    pub(super) fn says(&self, what: &str) -> String {
        let lines = self.lines.as_ref().map(|lines| format!(" ({lines})"));
        let lines = lines.unwrap_or_default();
        format!("job {}: {}{lines}: {what}", self.sequence + 1, self.name)
    }
}

/// On one line of a terminal, with nothing in it that would change more than that.
pub(super) fn shown(arguments: &[u8]) -> String {
    let visible = |char: char| if char.is_control() { ' ' } else { char };
    let text = String::from_utf8_lossy(arguments);
    short(text.chars().map(visible).collect())
}

/// Cuts what would fill the terminal.
fn short(mut text: String) -> String {
    if let Some((at, _)) = text.char_indices().nth(LONGEST_NAME) {
        text.truncate(at);
        text.push_str("...");
    }
    text
}
