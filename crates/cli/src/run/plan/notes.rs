//! What is to be said of a plan before anything runs: what was hardly meant as it is read.

use super::Plan;
use crate::run::sources::Source;
use crate::run::{doubts, script, shell, syntax};
use std::io::{self, IsTerminal};

impl Plan {
    /// What is to be said before anything runs.
    pub(in crate::run) fn notes(&self) -> impl Iterator<Item = String> {
        let strangers = doubts::of_names(&self.command, &self.holes);
        let waits = self.reads_a_terminal().then(|| {
            "lines are read from the terminal, up to Ctrl-D; values may stand behind ::: instead"
                .to_owned()
        });
        self.note_on_syntax()
            .into_iter()
            .chain(strangers)
            .chain(doubts::of_columns(&self.command, &self.holes))
            .chain(self.note_on_values())
            .chain(waits)
    }

    /// A word that a shell would have read otherwise. Nobody who quotes words means a shell.
    fn note_on_syntax(&self) -> Option<String> {
        let what_to_do = "for a shell, quote COMMAND as a whole, or use --gnu";
        let is_read = self.style.gnu || script::is_script(&self.command);
        let first = self.command.first();
        let first = first.filter(|_| !is_read && !self.is_quoted)?;
        if shell::is_of_shell(first) {
            let first = first.display();
            return Some(format!("\"{first}\" is no program: {what_to_do}"));
        }
        let word = syntax::meant_for_shell(&self.command, &self.holes)?;
        let word = word.display();
        Some(format!(
            "\"{word}\" is given to COMMAND as an argument; {what_to_do}"
        ))
    }

    /// Whether somebody has to type the lines, and sees what we say.
    fn reads_a_terminal(&self) -> bool {
        let is_ours = self.sources.len() == 0 && self.file.is_none();
        is_ours && io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// A list that was hardly meant as one value. Whoever speaks of other delimiters knows.
    fn note_on_values(&self) -> Option<String> {
        let has_lines = |(_, source): &(_, Source)| match source {
            Source::Words(words) => words.iter().any(|word| word.contains(&b'\n')),
            Source::File(_) => false,
        };
        let is_list = self.delimiter == b'\n' && !self.is_delimited;
        (is_list && self.sources.0.iter().any(has_lines)).then(|| {
            "a value behind ::: has newlines in it, and is one value: a list of lines goes to \
             standard input, or is divided with -d '\\n'"
                .to_owned()
        })
    }
}
