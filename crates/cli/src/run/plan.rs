//! What is to be run, and on which lines: COMMAND and where its arguments come from.

use super::args::{RunArgs, SummaryFormat, When};
use super::columns::{Cut, LONGEST};
use super::doubts::{self, Doubts};
use super::habits;
use super::hole::Holes;
use super::input::{Input, Interruptible, Lines};
use super::records::Records;
use super::results::is_table;
use super::script;
use super::sources::{Rows, Source, Sources};
use super::template::Template;
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

/// Where the lines come from.
pub(super) struct Plan {
    sources: Sources,
    /// The one file with lines, if there are no sources; `None`: standard input.
    file: Option<PathBuf>,
    /// What messages call the input.
    name: String,
    delimiter: u8,
    /// `--csv`: what is between columns.
    csv: Option<u8>,
    shuffled: bool,
    /// `--header`: the first line of each file names its columns.
    has_header: bool,
    command: Vec<OsString>,
    /// What stands for a line in COMMAND.
    holes: Holes,
}

/// The files of the sources, each once.
pub(super) enum Opened {
    One(File),
    /// The one file, of CSV.
    Records(File, Records),
    Sources(Vec<Option<File>>),
}

impl Plan {
    /// The error is one of usage.
    pub(super) fn new(args: &RunArgs) -> io::Result<Self> {
        let mut command = args.command.clone();
        let mut sources = Sources::split_off(&mut command, args.link);
        if args.gnu && args.habits.quote == 0 && command.len() > 1 {
            command = vec![command.join(OsStr::new(" "))];
        }
        let mut file = args.arg_file.clone();
        let csv = csv_separator(args).map_err(|error| usage(&error))?;
        let cut = match (&args.colsep, sources.len()) {
            _ if csv.is_some() => Cut::Record,
            (Some(separator), _) => Cut::At(separator.clone()),
            (None, 0) => Cut::Whole,
            (None, sources) => Cut::Joints(sources),
        };
        if let Some(word) = command.iter().find(|word| script::is_perl(word)) {
            let text = format!(
                "there is no {{= =}}, as in \"{}\": write one quoted script for the shell, such as \
                 'f={{}}; echo \"${{f%.txt}}\"'",
                word.display()
            );
            return Err(usage(&text));
        }
        if args.arg_file.is_some() && sources.len() > 0 {
            return Err(usage("lines are either of --arg-file or of ::: and ::::"));
        }
        if sources.len() > 1 && (args.colsep.is_some() || args.max_args > 1) {
            return Err(usage("several sources go without --colsep and --max-args"));
        }
        // One file is read as there is room for jobs, however its name was given.
        if let [(_, Source::File(path))] = &sources.0[..] {
            file = Some(path.clone()).filter(|path| path != Path::new("-"));
            sources = Sources::default();
        }
        if csv.is_some() && sources.len() > 0 {
            return Err(usage("--csv reads one file, or standard input"));
        }
        let name = match (&file, sources.len()) {
            (Some(path), _) => path.display().to_string(),
            (None, 0) => "standard input".to_owned(),
            (None, _) => "arguments".to_owned(),
        };
        let has_header = args.header.is_some();
        if has_header && args.max_args > 1 {
            return Err(usage("--header goes without --max-args"));
        }
        let holes = Holes {
            line: args.replace.clone().map(String::into_bytes),
            cut,
            max_args: args.max_args,
            names: Vec::new(),
            plus: args.plus,
        };
        Ok(Plan {
            sources,
            file,
            name,
            delimiter: args.delimiter.unwrap_or(if args.null { 0 } else { b'\n' }),
            csv,
            shuffled: args.shuf,
            has_header,
            command,
            holes,
        })
    }

    /// What is run for the lines. The error is one of usage.
    pub(super) fn template(&self) -> io::Result<Template> {
        Template::new(&self.command, &self.holes).map_err(io::Error::other)
    }

    /// What stands for a line.
    pub(super) fn holes(&self) -> &Holes {
        &self.holes
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// What is to be said before anything runs.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        let strangers = doubts::of_names(&self.command, &self.holes);
        let waits = self.reads_a_terminal().then(|| {
            "lines are read from the terminal, up to Ctrl-D; values may stand behind ::: instead"
                .to_owned()
        });
        note(&self.command)
            .into_iter()
            .chain(strangers)
            .chain(waits)
    }

    /// Whether somebody has to type the lines, and sees what we say.
    fn reads_a_terminal(&self) -> bool {
        let is_ours = self.sources.len() == 0 && self.file.is_none();
        is_ours && io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// What is to be said of the lines.
    pub(super) fn doubts(&self) -> Doubts {
        Doubts::new(self.holes.cut.clone(), self.delimiter)
    }

    /// Opens what there is to read, so that nothing has begun if that fails, and reads what the
    /// columns are called.
    pub(super) fn open(&mut self) -> io::Result<Opened> {
        let mut opened = self.open_all()?;
        if self.has_header {
            self.holes.names = self.names(&mut opened)?;
        }
        Ok(opened)
    }

    fn names(&mut self, opened: &mut Opened) -> io::Result<Vec<Vec<u8>>> {
        let delimiter = self.delimiter;
        let sources = match opened {
            Opened::One(file) => {
                let line = first_line(file, delimiter).map_err(named(&self.name))?;
                return Ok(self.columns(&line));
            }
            Opened::Records(file, records) => {
                let record = records.next(file).map_err(named(&self.name))?;
                return Ok(self.columns(&record.unwrap_or_default()));
            }
            Opened::Sources(files) => self.sources.0.iter_mut().zip(files),
        };
        let first = |((_, source), file): (&mut (_, Source), &mut Option<File>)| match source {
            Source::Words(words) if words.is_empty() => Ok(Vec::new()),
            Source::Words(words) => Ok(words.remove(0)),
            Source::File(path) => {
                let file = file.as_mut().expect("it was opened");
                first_line(file, delimiter).map_err(named(&path.display()))
            }
        };
        let firsts: Vec<Vec<u8>> = sources.map(first).collect::<io::Result<_>>()?;
        match &firsts[..] {
            [line] => Ok(self.columns(line)),
            _ => Ok(firsts),
        }
    }

    fn columns(&self, line: &[u8]) -> Vec<Vec<u8>> {
        let columns = self.holes.cut.columns(line).into_iter();
        columns.map(<[u8]>::to_vec).collect()
    }

    fn open_all(&self) -> io::Result<Opened> {
        if self.sources.len() == 0 {
            let file = open(self.file.as_deref())?;
            return Ok(match self.csv {
                Some(separator) => Opened::Records(file, Records::new(separator)),
                None => Opened::One(file),
            });
        }
        let sources = self.sources.0.iter().map(|(_, source)| match source {
            Source::Words(_) => Ok(None),
            Source::File(path) => open(Some(path)).map(Some),
        });
        sources.collect::<io::Result<_>>().map(Opened::Sources)
    }

    /// The lines, until `stop` becomes readable.
    pub(super) fn input<'a>(&self, opened: Opened, stop: BorrowedFd<'a>) -> io::Result<Input<'a>> {
        let lines = |file| Lines::new(file, self.delimiter, stop);
        let input = match opened {
            Opened::One(file) => Input::Lines(lines(file)),
            Opened::Records(source, records) => {
                Input::Records(records, Interruptible { source, stop })
            }
            Opened::Sources(files) => {
                let mut values = Vec::new();
                for ((with, source), file) in self.sources.0.iter().zip(files) {
                    let all = match (source, file) {
                        (Source::Words(words), _) => words.clone(),
                        (Source::File(path), file) => {
                            let file = file.expect("it was opened");
                            all(lines(file)).map_err(named(&path.display()))?
                        }
                    };
                    values.push((*with, all));
                }
                Input::All(Box::new(Rows::new(values)))
            }
        };
        match self.shuffled {
            true => shuffled(input),
            false => Ok(input),
        }
    }
}

/// The arguments in our own words, and what to say of them. The error is one of usage.
pub(super) fn settle(args: &RunArgs, cpus: usize) -> Result<(RunArgs, Option<String>), String> {
    if let Some(text) = args.habits.refused() {
        return Err(text.to_owned());
    }
    if let Some(path) = args.results.as_deref().filter(|path| is_table(path)) {
        let path = path.display();
        return Err(format!(
            "--results {path}: a folder gets the results, --joblog is a table"
        ));
    }
    let mut args = args.clone();
    if args.summary_file.is_some() && args.summary == SummaryFormat::None {
        args.summary = SummaryFormat::Json;
    }
    // That is standard input, and no job's.
    args.arg_file = args.arg_file.filter(|path| path != Path::new("-"));
    // Its lines come in order, as far as they are written.
    args.line_buffer &= !args.keep_order;
    if args.habits.bar > 0 {
        args.progress = When::Always;
    }
    let Some(text) = &args.jobs else {
        return Ok((args, None));
    };
    let Some(most) = habits::most_jobs(text, cpus)? else {
        return Ok((args, None));
    };
    args.max_active = most;
    // Where a script says so, nobody reads it.
    if !io::stderr().is_terminal() {
        return Ok((args, None));
    }
    let note = format!(
        "-j {text} is taken as --max-active {most}, an upper limit: without it as many run as keep \
         the CPUs busy"
    );
    Ok((args, Some(note)))
}

/// What is between columns, with `--csv`. The error is one of usage.
fn csv_separator(args: &RunArgs) -> Result<Option<u8>, String> {
    match &args.colsep {
        _ if !args.csv => Ok(None),
        None => Ok(Some(b',')),
        Some(separator) => {
            let wrong = || "with --csv, --colsep is one byte".to_owned();
            separator.as_byte().map(Some).ok_or_else(wrong)
        }
    }
}

fn note(command: &[OsString]) -> Option<String> {
    let word = script::operator(command)?;
    Some(format!(
        "\"{word}\" is given to COMMAND as an argument; for a shell, quote COMMAND as a whole, or \
         use --gnu"
    ))
}

/// Reads a line and not a byte more: what follows is read by somebody else.
fn first_line(file: &mut File, delimiter: u8) -> io::Result<Vec<u8>> {
    let (mut line, mut byte) = (Vec::new(), [0]);
    while line.len() < LONGEST && file.read(&mut byte)? > 0 && byte[0] != delimiter {
        line.push(byte[0]);
    }
    Ok(line)
}

fn named(name: &dyn Display) -> impl Fn(io::Error) -> io::Error {
    move |error| io::Error::other(format!("{name}: {error}"))
}

fn usage(text: &str) -> io::Error {
    io::Error::other(text)
}

/// `None` and "-": standard input.
fn open(path: Option<&Path>) -> io::Result<File> {
    match path.filter(|path| *path != Path::new("-")) {
        Some(path) => File::open(path)
            .map_err(|error| io::Error::other(format!("{}: {error}", path.display()))),
        None if crate::startup::stdin_was_closed() => {
            Err(io::Error::other("standard input is closed"))
        }
        None => Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?)),
    }
}

fn all(mut lines: Lines<'_>) -> io::Result<Vec<Vec<u8>>> {
    std::iter::from_fn(|| lines.next().transpose()).collect()
}

/// All lines, in an order that nobody knows.
fn shuffled(mut input: Input<'_>) -> io::Result<Input<'_>> {
    let mut lines: Vec<_> =
        std::iter::from_fn(|| input.next().transpose()).collect::<io::Result<_>>()?;
    for left in (1..lines.len()).rev() {
        lines.swap(left, random_below(left as u64 + 1)? as usize);
    }
    Ok(Input::All(Box::new(lines.into_iter())))
}

/// Below `end`, each number as likely as any other one, as far as 2^64 is large.
fn random_below(end: u64) -> io::Result<u64> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(u64::from_ne_bytes(bytes) % end)
}
