//! From COMMAND and the lines of a job to its words. Bytes throughout: nothing here needs UTF-8.

use super::columns::{Cut, JOINT, LONGEST};
use super::hole::{Arguments, Form, Hole, Holes, Part};
use super::script::{self, Script};
use super::shell;
use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// How the words of a job are made of its lines.
pub(super) struct Template {
    how: How,
    cut: Cut,
    /// Lines of a job are its columns.
    is_of_many: bool,
    /// A job is told nothing of its line.
    is_of_none: bool,
    /// What stands for the line is a file with the job's standard input.
    has_block_file: bool,
    trim: Trim,
    /// Lines with nothing but blanks are no jobs.
    skips_blank: bool,
}

/// How COMMAND is read.
#[derive(Clone, Debug, Default)]
pub(super) struct Style {
    /// A shell runs it, as in GNU parallel.
    pub(super) gnu: bool,
    /// `-q`: a value is never a command.
    pub(super) quoted: bool,
    /// Where it runs, from here.
    pub(super) folder: PathBuf,
    /// A word that has `{}` in it is repeated for each line of a job.
    pub(super) repeats: bool,
}

/// `--trim`: on which sides of a column blanks are taken off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Trim {
    left: bool,
    right: bool,
}

impl Trim {
    pub(super) const BOTH: Self = Self {
        left: true,
        right: true,
    };

    /// The error is one of usage.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let is_known = ["n", "l", "r", "lr", "rl"].contains(&text);
        let trim = Self {
            left: text.contains('l'),
            right: text.contains('r'),
        };
        is_known
            .then_some(trim)
            .ok_or_else(|| "l (left), r (right), lr (both) or n (neither)".to_owned())
    }

    fn of(self, column: &[u8]) -> &[u8] {
        let column = if self.left {
            column.trim_ascii_start()
        } else {
            column
        };
        if self.right {
            column.trim_ascii_end()
        } else {
            column
        }
    }
}

/// The name of a block for jobs: their standard input may be another file wherever it stands.
fn name_of_block(block: Option<&File>) -> Vec<u8> {
    match block {
        Some(file) => format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()).into(),
        // It is only shown.
        None => b"/dev/stdin".to_vec(),
    }
}

enum How {
    /// No COMMAND: the line is a command for this shell, or for bash.
    Line(&'static str),
    /// COMMAND is one word with shell syntax, for this shell.
    Script(Script, &'static str),
    Words(Words),
}

/// COMMAND that is run without a shell.
struct Words {
    words: Vec<Vec<Part>>,
    /// Nothing in them stands for a line, so the lines are the last words.
    append: bool,
    /// A word with `{}` in it is repeated for each line.
    repeats: bool,
    /// The first one is a function that the caller's shell exports.
    is_function: bool,
}

/// What is run for a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Made {
    /// Never empty.
    pub(super) words: Vec<OsString>,
    /// Of a script: what its variables are.
    pub(super) variables: Vec<OsString>,
}

/// What a job is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Given<'a> {
    pub(super) lines: &'a [Vec<u8>],
    /// From 0.
    pub(super) sequence: u64,
    /// From 1.
    pub(super) slot: usize,
    /// What the job reads, if it is a block.
    pub(super) block: Option<&'a File>,
}

impl Template {
    /// The error is one of usage.
    pub(super) fn new(command: &[OsString], holes: &Holes, style: &Style) -> Result<Self, String> {
        let is_of_many = holes.max_args != 1;
        if command.is_empty() && is_of_many {
            return Err("--max-args needs a COMMAND: without one a line is a command".into());
        }
        let how = if command.is_empty() {
            How::Line(shell::shell(style.gnu))
        } else if script::is_script(command)
            || (!style.quoted && script::is_command(command, holes))
            || (style.gnu && is_builtin(command))
        {
            let shell = shell::shell_for(command[0].as_bytes(), shell::shell(style.gnu));
            let script = Script::new(&command[0], holes, style.repeats && is_of_many)?;
            let script = match style.quoted {
                true => script,
                false => script.with_code(style.gnu, &style.folder),
            };
            How::Script(script, shell)
        } else {
            How::Words(Words::new(command, holes, style.repeats && is_of_many)?)
        };
        Ok(Self {
            how,
            cut: holes.cut.clone(),
            is_of_many,
            is_of_none: holes.max_args == 0,
            has_block_file: false,
            trim: Trim::default(),
            skips_blank: false,
        })
    }

    /// `{}` is the name of a file with the job's standard input.
    pub(super) fn with_block_files(self) -> Self {
        Self {
            has_block_file: true,
            ..self
        }
    }

    pub(super) fn trimmed(self, trim: Trim) -> Self {
        Self { trim, ..self }
    }

    /// `skips_blank`: lines with nothing but blanks are no jobs.
    pub(super) fn without_blank(self, skips_blank: bool) -> Self {
        Self {
            skips_blank,
            ..self
        }
    }

    /// Whether `line` is a job at all: a shell has nothing to do for an empty line, but a COMMAND
    /// takes it as an empty argument.
    pub(super) fn accepts(&self, line: &[u8]) -> bool {
        let is_blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == JOINT;
        match self.how {
            _ if self.skips_blank => !line.iter().all(is_blank),
            How::Line(_) => !line.is_empty(),
            How::Script(ref script, _) if script.has_code() => !line.is_empty(),
            How::Script(..) | How::Words(_) => true,
        }
    }

    /// What is run for the job. There is one line, unless there may be many.
    pub(super) fn made(&self, given: Given<'_>) -> Made {
        let words = |words| Made {
            words,
            variables: Vec::new(),
        };
        self.filled(given, |job| match &self.how {
            How::Line(shell) => {
                let line = job.columns.join(&b' ');
                let shell = shell::shell_for(&line, shell);
                words(of_shell(shell, OsString::from_vec(line)))
            }
            How::Script(script, shell) => {
                let (text, variables) = script.filled(job);
                let has_backslash = || variables.iter().any(|value| has_backslash(value));
                let shell = match script.has_code() {
                    true => shell::shell_for(text.as_bytes(), shell),
                    false if shell::echoes(text.as_bytes()) && has_backslash() => {
                        shell::bash_or(shell)
                    }
                    false => shell,
                };
                let words = of_shell(shell, text);
                Made { words, variables }
            }
            How::Words(command) => words(command.filled(job)),
        })
    }

    /// Calls `make` with what the job is.
    fn filled<R>(&self, given: Given<'_>, make: impl FnOnce(&Arguments<'_>) -> R) -> R {
        let block = self.has_block_file.then(|| name_of_block(given.block));
        let columns = match self.is_of_none {
            true if block.is_some() => block.iter().map(Vec::as_slice).collect(),
            true => Vec::new(),
            false => self.columns(given.lines),
        };
        make(&Arguments {
            columns: &columns,
            sequence: given.sequence + 1,
            slot: given.slot,
        })
    }

    pub(super) fn columns<'a>(&self, lines: &'a [Vec<u8>]) -> Vec<&'a [u8]> {
        let mut columns = match (self.is_of_many, lines) {
            (false, [line]) => self.cut.columns(line),
            _ => lines.iter().map(|line| &line[..]).collect(),
        };
        let trim = |column: &mut &'a [u8]| *column = self.trim.of(column);
        columns.iter_mut().for_each(trim);
        columns
    }

    /// How many times the words of a job have each of its lines.
    pub(super) fn copies(&self) -> usize {
        match &self.how {
            How::Words(command) if self.is_of_many && !command.append => {
                let all = command.words.iter().flatten();
                all.filter(|part| part.is_of_all()).count()
            }
            How::Script(script, _) if self.is_of_many => script.copies(),
            _ => 1,
        }
    }

    /// Bytes that each line of a job adds beside its own.
    pub(super) fn around(&self) -> usize {
        match &self.how {
            How::Line(_) => 0,
            How::Script(script, _) => script.around(),
            How::Words(command) => command.around(),
        }
    }

    /// Bytes of each word that every job has.
    pub(super) fn fixed(&self) -> Vec<usize> {
        match &self.how {
            How::Line(_) => Vec::new(),
            How::Script(script, _) => vec![script.fixed()],
            How::Words(command) => command.words.iter().map(|word| length(word)).collect(),
        }
    }

    /// Bytes that all lines of a job may have, if they become one word.
    pub(super) fn most_in_word(&self) -> Option<usize> {
        let How::Script(script, _) = &self.how else {
            return None;
        };
        Some(LONGEST.saturating_sub(script.fixed()))
    }

    /// What messages call a job: its program, or the shell's whole line.
    pub(super) fn name(&self, given: Given<'_>) -> Vec<u8> {
        self.filled(given, |job| match &self.how {
            How::Line(_) => job.columns.join(&b' '),
            How::Script(script, _) => script.typed(job),
            How::Words(command) => command.program(job),
        })
    }

    /// Whether that says nothing of the job's lines.
    pub(super) fn has_bare_name(&self) -> bool {
        matches!(self.how, How::Words(_))
    }

    /// Whether all jobs run the same program.
    pub(super) fn has_one_program(&self) -> bool {
        let is_text = |part: &Part| matches!(part, Part::Text(_));
        match &self.how {
            How::Words(command) => command.words[0].iter().all(is_text),
            How::Line(_) | How::Script(..) => false,
        }
    }

    /// The command as somebody would type it: for the shell, the line as it is.
    pub(super) fn typed(&self, given: Given<'_>) -> Vec<u8> {
        match &self.how {
            How::Line(_) | How::Script(..) => self.name(given),
            How::Words(_) => super::quote::line(&self.made(given).words),
        }
    }

    /// The arguments of a job for people.
    pub(super) fn arguments(lines: &[Vec<u8>]) -> Vec<u8> {
        let joined = lines.join(&b' ');
        let visible = |byte| if byte == JOINT { b' ' } else { byte };
        joined.into_iter().map(visible).collect()
    }
}

impl Words {
    /// The error is one of usage.
    fn new(command: &[OsString], holes: &Holes, repeats: bool) -> Result<Self, String> {
        let part = |word: &&OsString| {
            let parts = holes.parts(word.as_bytes());
            !is_list(&parts) && parts.iter().any(Part::is_of_all)
        };
        let is_joined = holes.max_args > 1 && !repeats;
        if let Some(word) = command.iter().find(part).filter(|_| is_joined) {
            return Err(format!(
                "with -n and -m, {{}} must be a word of its own; it is part of \"{}\": -N and -X \
                 repeat the word for each line",
                word.display()
            ));
        }
        let words = command.iter().map(|word| holes.parts(word.as_bytes()));
        let words: Vec<Vec<Part>> = words.collect();
        let is_hole = |part: &Part| matches!(part, Part::Hole(_));
        let append = holes.max_args > 0 && !words.iter().flatten().any(is_hole);
        let is_function = shell::is_function(&command[0]);
        Ok(Self {
            words,
            append,
            repeats,
            is_function,
        })
    }

    /// Whether it becomes a word for each line.
    fn is_repeated(&self, word: &[Part]) -> bool {
        self.repeats && !is_list(word) && word.iter().any(Part::is_of_all)
    }

    /// Bytes that each line of a job adds beside its own.
    fn around(&self) -> usize {
        let repeated = self.words.iter().filter(|word| self.is_repeated(word));
        repeated.map(|word| length(word)).sum()
    }

    /// The name of what is run.
    fn program(&self, job: &Arguments<'_>) -> Vec<u8> {
        let mut made = Vec::new();
        put(&self.words[0], job, &mut made);
        made.into_iter().next().unwrap_or_default().into_vec()
    }

    /// The words of a job.
    fn filled(&self, job: &Arguments<'_>) -> Vec<OsString> {
        let mut made = match self.is_function {
            true => of_shell("bash", "\"$0\" \"$@\"".into()),
            false => Vec::new(),
        };
        for word in &self.words {
            match self.is_repeated(word) {
                true => {
                    let same = |value: &[u8]| Ok::<_, Infallible>(value.to_vec());
                    let Ok(each) = job.each(word, same);
                    made.extend(each.into_iter().map(OsString::from_vec));
                }
                false => put(word, job, &mut made),
            }
        }
        if self.append {
            put(&[Part::Hole(Hole::All(Form::Whole))], job, &mut made);
        }
        made
    }
}

/// Whether only a shell can run it: a program may have such a name, and does something else.
fn is_builtin(command: &[OsString]) -> bool {
    matches!(command, [word] if shell::is_builtin(word))
}

/// The words that make a shell execute `text`, also if that looks like an option.
fn of_shell(shell: &str, mut text: OsString) -> Vec<OsString> {
    if text.as_bytes().starts_with(b"-") {
        text = [OsStr::new(" "), &text].join(OsStr::new(""));
    }
    vec![shell.into(), "-c".into(), text]
}

fn has_backslash(value: &OsStr) -> bool {
    value.as_bytes().contains(&b'\\')
}

/// Whether it becomes a word for each column.
fn is_list(word: &[Part]) -> bool {
    matches!(word, [Part::Hole(Hole::All(_))])
}

fn length(word: &[Part]) -> usize {
    word.iter().map(Part::length).sum()
}

/// Adds what the word becomes. Values are not searched: a file may be called "{}".
fn put(word: &[Part], job: &Arguments<'_>, made: &mut Vec<OsString>) {
    if let [Part::Hole(hole)] = word {
        let values = job.values(*hole).into_iter();
        made.extend(values.map(OsString::from_vec));
        return;
    }
    let bytes = word.iter().flat_map(|part| match part {
        Part::Text(text) => text.clone(),
        Part::Hole(hole) => job.values(*hole).join(&b' '),
    });
    made.push(OsString::from_vec(bytes.collect()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(command: &[&str], max_args: usize, cut: Cut) -> Result<Template, String> {
        let command: Vec<OsString> = command.iter().map(OsString::from).collect();
        let holes = Holes {
            max_args,
            ..Holes::of(cut)
        };
        Template::new(&command, &holes, &Style::default())
    }

    fn given(lines: &[Vec<u8>]) -> Given<'_> {
        Given {
            lines,
            sequence: 4,
            slot: 2,
            block: None,
        }
    }

    fn words(command: &[&str], line: &[u8]) -> Vec<Vec<u8>> {
        of_cut(command, line, Cut::Whole)
    }

    fn of_cut(command: &[&str], line: &[u8], cut: Cut) -> Vec<Vec<u8>> {
        let lines = [line.to_vec()];
        let words = template(command, 1, cut).unwrap().made(given(&lines)).words;
        words.into_iter().map(OsString::into_vec).collect()
    }

    #[test]
    fn line_is_appended_where_there_is_no_placeholder() {
        assert_eq!(
            words(&["echo", "{", "}"], b"a b"),
            [&b"echo"[..], b"{", b"}", b"a b"]
        );
        assert_eq!(words(&["echo"], b""), [&b"echo"[..], b""]);
        assert_eq!(words(&["echo", "{#}"], b"x"), [&b"echo"[..], b"5"]);
    }

    #[test]
    fn placeholder_is_replaced_everywhere() {
        assert_eq!(
            words(&["{}", "x{}y{}", "z"], b"\xff"),
            [&b"\xff"[..], b"x\xffy\xff", b"z"]
        );
        assert_eq!(
            words(&["a", "{}}", "{{}"], b"{}"),
            [&b"a"[..], b"{}}", b"{{}"]
        );
        assert_eq!(
            words(&["mv", "{}", "{.}-{%}.{//}"], b"d/a.b"),
            [&b"mv"[..], b"d/a.b", b"d/a-2.d"]
        );
    }

    #[test]
    fn columns_are_words_where_they_stand_alone() {
        let two = || Cut::Joints(2);
        assert_eq!(
            of_cut(&["echo"], b"a b\0c", two()),
            [&b"echo"[..], b"a b", b"c"]
        );
        assert_eq!(
            of_cut(&["{2}", "{}", "x{}"], b"a\0c", two()),
            [&b"c"[..], b"a", b"c", b"xa c"]
        );
        assert_eq!(
            of_cut(&["{3}", "{2}", "[{3}]"], b"a\0b", Cut::Joints(3)),
            [&b"b"[..], b"[]"]
        );
        assert_eq!(
            of_cut(&[], b"a\0c", two()),
            [&b"/bin/sh"[..], b"-c", b"a c"]
        );
    }

    #[test]
    fn without_command_the_line_goes_to_the_shell() {
        assert_eq!(words(&[], b"echo {}"), [&b"/bin/sh"[..], b"-c", b"echo {}"]);
    }

    #[test]
    fn a_command_with_shell_syntax_goes_to_the_shell() {
        let script = template(&["sort {} >{}.out"], 1, Cut::Whole).unwrap();
        let lines = [b"it's".to_vec()];
        let made = script.made(given(&lines));
        let text = "sort \"${CMWQ_V1}\" >\"${CMWQ_V2}\".out";
        assert_eq!(made.words[1..], ["-c", text]);
        assert_eq!(made.variables, ["it's"; 2]);
        let typed = br"sort 'it'\''s' >'it'\''s'.out";
        assert_eq!(script.typed(given(&lines)), typed);
    }

    #[test]
    fn empty_lines_are_jobs_only_for_a_command() {
        assert!(!template(&[], 1, Cut::Whole).unwrap().accepts(b""));
        assert!(template(&["echo"], 1, Cut::Whole).unwrap().accepts(b""));
    }

    #[test]
    fn lines_of_a_job_are_its_columns() {
        let lines = [b"a".to_vec(), b"b".to_vec()];
        let of = |command: &[&str]| {
            let words = template(command, 2, Cut::Whole)
                .unwrap()
                .made(given(&lines))
                .words;
            words
                .into_iter()
                .map(|word| word.into_string().unwrap())
                .collect::<Vec<_>>()
        };
        assert_eq!(of(&["echo", "x"]), ["echo", "x", "a", "b"]);
        assert_eq!(of(&["{}", "-", "{}"]), ["a", "b", "-", "a", "b"]);
        assert_eq!(of(&["cp", "{1}", "{2}.{1}"]), ["cp", "a", "b.a"]);
        let none = template(&["echo", "x{}"], 0, Cut::Whole).unwrap();
        assert_eq!(none.made(given(&lines[..1])).words, ["echo", "x"]);
        let one = template(&["cp", "{}", "{}.old"], 2, Cut::Whole);
        assert!(one.err().unwrap().contains("{}.old"));
        assert!(template(&[], 2, Cut::Whole).is_err());
        assert_eq!(
            template(&["{}", "-", "{}"], 2, Cut::Whole)
                .unwrap()
                .copies(),
            2
        );
    }
}
