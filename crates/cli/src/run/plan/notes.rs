//! What is to be said of a plan before anything runs: what was hardly meant as it is read.

use super::Plan;
use crate::run::hole::Part;
use crate::run::sources::Source;
use crate::run::{doubts, script, shell, syntax};
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::os::unix::ffi::OsStrExt;

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
        let first = first.filter(|_| !is_read && !self.style.quoted)?;
        if self.is_script_with_words(first) {
            let first = beginning(first);
            return Some(format!(
                "\"{first}\" is no program, and no script as words follow it: write {{}} inside its \
                 quotes, or use --gnu"
            ));
        }
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

    /// Whether the first word of several was meant as a script: it has blanks or the like, and
    /// there is no such program.
    fn is_script_with_words(&self, first: &OsString) -> bool {
        let is_code = script::is_script(std::slice::from_ref(first));
        let text = first.to_str().filter(|_| is_code).unwrap_or("");
        // `(cd` is one word of many.
        let Some((name, _)) = text.split_once(|char: char| " \t\n;|&".contains(char)) else {
            return false;
        };
        let parts = self.holes.parts(first.as_bytes());
        let is_known = || shell::is_of_shell(name.as_ref()) || self.is_program(name);
        match parts.iter().any(|part| matches!(part, Part::Hole(_))) {
            // `/opt/my tools/{}` is not known before there is a line.
            true => is_known(),
            false => !self.is_program(text),
        }
    }

    fn is_program(&self, name: &str) -> bool {
        let folder = &self.style.folder;
        if name.contains('/') {
            return folder.join(name).is_file();
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|of| folder.join(of).join(name).is_file())
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
        let is_list = self.delimiter == b'\n' && !self.divides;
        (is_list && self.sources.0.iter().any(has_lines)).then(|| {
            "a value behind ::: has newlines in it, and is one value: a list of lines goes to \
             standard input, or is divided with -d '\\n'"
                .to_owned()
        })
    }
}

/// Its first line that has something in it.
fn beginning(script: &OsString) -> String {
    let text = script.to_string_lossy();
    let mut lines = text.trim().lines();
    let first = lines.next().unwrap_or("");
    match lines.next() {
        Some(_) => format!("{first} ..."),
        None => first.to_owned(),
    }
}
