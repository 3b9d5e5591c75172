//! What is to be run, and on which lines: COMMAND and where its arguments come from.

mod notes;

use super::args::RunArgs;
use super::blocks::{Blocks, Cuts};
use super::columns::{Cut, LONGEST};
use super::doubts::Doubts;
use super::feed::{Feed, Jobs};
use super::halt::Halt;
use super::hole::Holes;
use super::input::{Input, Interruptible, Lines};
use super::log::{Done, Resume};
use super::records::Records;
use super::script;
use super::sources::{Markers, Rows, Source, Sources};
use super::template::{Style, Template, Trim};
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read};
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
    /// Values behind `:::` are divided at it too.
    divides: bool,
    /// `--pipe`: where the input is cut into blocks.
    cuts: Option<Cuts>,
    /// `--cat`: `{}` is a file with the block.
    has_block_files: bool,
    trim: Option<Trim>,
    /// `-r`: lines with nothing but blanks are no jobs.
    skips_blank: bool,
    /// `-E`: each source ends before a line that is this one.
    last: Option<Vec<u8>>,
    /// All lines are spread over jobs for so many slots.
    spread_over: Option<u64>,
    /// `--csv`: what is between columns.
    csv: Option<u8>,
    shuffled: bool,
    /// `--header`: the first line of each file names its columns.
    has_header: bool,
    command: Vec<OsString>,
    style: Style,
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
    pub(super) fn new(args: &RunArgs) -> Result<Self, String> {
        let (command, sources) = split_command(args);
        let csv = csv_separator(args)?;
        let holes = holes(args, csv, sources.len());
        refuse(args, &command, sources.len())?;
        let (file, sources) = single_file(args, sources);
        if csv.is_some() && sources.len() > 0 {
            return Err("--csv reads one file, or standard input".into());
        }
        let cuts = cuts(args, &command, sources.len())?;
        let delimiter = args.delimiter.unwrap_or(if args.null { 0 } else { b'\n' });
        let divides = args.delimiter.is_some() || args.gnu;
        let has_header = args.header.is_some() && !args.pipe;
        if has_header && args.max_args() > 1 {
            return Err("--header goes without --max-args".into());
        }
        Ok(Plan {
            cuts,
            has_block_files: args.habits.cat,
            trim: args.trim,
            skips_blank: args.habits.no_blank > 0,
            last: args.habits.eof.clone().map(String::into_bytes),
            spread_over: args.habits.spreads().then(|| slots(args.max_active)),
            name: name(file.as_deref(), sources.len()),
            sources: match divides {
                true => sources.divided(delimiter),
                false => sources,
            },
            file,
            delimiter,
            divides,
            csv,
            shuffled: args.shuf,
            has_header,
            command,
            style: Style {
                gnu: has_shell(args),
                quoted: args.habits.quote > 0,
                folder: args.workdir.clone().unwrap_or_default(),
                repeats: args.repeats_words(),
            },
            holes,
        })
    }

    /// What is run for the lines. The error is one of usage.
    pub(super) fn template(&self) -> io::Result<Template> {
        let template =
            Template::new(&self.command, &self.holes, &self.style).map_err(io::Error::other)?;
        let template = template
            .trimmed(self.trim.unwrap_or_default())
            .without_blank(self.skips_blank);
        Ok(match self.has_block_files {
            true => template.with_block_files(),
            false => template,
        })
    }

    /// What stands for a line.
    pub(super) fn holes(&self) -> &Holes {
        &self.holes
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// How a joblog is continued, if it is.
    pub(super) fn resume(&self, args: &RunArgs) -> Resume {
        match self.holes.cut {
            _ if !args.resume && args.gnu => Resume::Anew,
            _ if !args.resume => Resume::No,
            Cut::Joints(2..) | Cut::Record => Resume::Rows,
            Cut::Joints(_) | Cut::Whole | Cut::At(_) => Resume::Lines,
        }
    }

    /// What is to be said of the lines.
    pub(super) fn doubts(&self) -> Doubts {
        Doubts::new(self.holes.cut.clone(), self.delimiter, self.trim.is_some())
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

    /// The jobs, without those that are done, until `stop` becomes readable.
    pub(super) fn jobs<'a>(
        &self,
        opened: Opened,
        template: &'a Template,
        done: Done,
        stop: BorrowedFd<'a>,
    ) -> io::Result<Jobs<'a>> {
        match (&self.cuts, opened) {
            (Some(cuts), Opened::One(file)) => {
                let input = Interruptible::new(file, stop);
                Ok(Jobs::blocks(Blocks::new(input, cuts.clone()), done))
            }
            (_, opened) => {
                let (mut input, mut max_args) = (self.input(opened, stop)?, self.holes.max_args);
                if let Some(slots) = self.spread_over {
                    let lines = all(&mut input)?;
                    let each = cmwq_admission::lines_per_job(lines.len() as u64, slots);
                    max_args = max_args.min(each as usize);
                    input = Input::All(Box::new(lines.into_iter()));
                }
                let feed = Feed::new(input, template, max_args, done);
                Ok(Jobs::lines(feed))
            }
        }
    }

    /// The values behind `:::`, in front of one that is the end.
    fn values(&self, words: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let is_last = |word: &&Vec<u8>| self.last.as_ref() == Some(*word);
        let values = words.iter().take_while(|word| !is_last(word));
        values.cloned().collect()
    }

    /// The lines, until `stop` becomes readable.
    fn input<'a>(&self, opened: Opened, stop: BorrowedFd<'a>) -> io::Result<Input<'a>> {
        let lines = |file| Lines::new(file, self.delimiter, stop).until(self.last.clone());
        let input = match opened {
            Opened::One(file) => Input::Lines(lines(file)),
            Opened::Records(source, records) => {
                Input::Records(records, Interruptible::new(source, stop))
            }
            Opened::Sources(files) => {
                let mut values = Vec::new();
                for ((with, source), file) in self.sources.0.iter().zip(files) {
                    let all = match (source, file) {
                        (Source::Words(words), _) => self.values(words),
                        (Source::File(path), file) => {
                            let file = file.expect("it was opened");
                            all(&mut Input::Lines(lines(file))).map_err(named(&path.display()))?
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

/// COMMAND, and the sources that are named behind it.
fn split_command(args: &RunArgs) -> (Vec<OsString>, Sources) {
    let mut command = args.command.clone();
    let markers = Markers {
        words: &args.habits.arg_sep,
        files: &args.habits.arg_file_sep,
        link: args.link,
    };
    let sources = Sources::split_off(&mut command, markers);
    let is_one = args.arg_file.len() + sources.len() <= 1;
    let sources = match is_one {
        true => sources,
        false => sources.behind(&args.arg_file, markers),
    };
    if has_shell(args) && command.len() > 1 {
        command = vec![command.join(OsStr::new(" "))];
    }
    (command, sources)
}

/// Whether the words of COMMAND are one text for a shell, as GNU parallel has it.
fn has_shell(args: &RunArgs) -> bool {
    args.gnu && args.habits.quote == 0
}

/// What stands for a line in COMMAND. `sources`: how many are named behind it.
fn holes(args: &RunArgs, csv: Option<u8>, sources: usize) -> Holes {
    let cut = match (&args.colsep, sources) {
        _ if csv.is_some() => Cut::Record,
        (Some(separator), _) => Cut::At(separator.clone()),
        (None, 0) => Cut::Whole,
        (None, sources) => Cut::Joints(sources),
    };
    Holes {
        line: args.replace.clone().map(String::into_bytes),
        cut,
        max_args: args.max_args(),
        names: Vec::new(),
        plus: args.plus,
    }
}

/// The one file with lines, if there is one, else the sources. One file is read as there is room
/// for jobs, however its name was given.
fn single_file(args: &RunArgs, sources: Sources) -> (Option<PathBuf>, Sources) {
    match &sources.0[..] {
        [(_, Source::File(path))] => {
            let file = Some(path.clone()).filter(|path| path != Path::new("-"));
            (file, Sources::default())
        }
        _ => {
            let mut files = args.arg_file.iter().filter(|path| *path != Path::new("-"));
            (files.next().cloned(), sources)
        }
    }
}

/// What messages call the input.
fn name(file: Option<&Path>, sources: usize) -> String {
    match (file, sources) {
        (Some(path), _) => path.display().to_string(),
        (None, 0) => "standard input".to_owned(),
        (None, _) => "arguments".to_owned(),
    }
}

/// What does not go together.
fn refuse(args: &RunArgs, command: &[OsString], sources: usize) -> Result<(), String> {
    if let Some(word) = command.iter().find(|word| script::is_perl(word)) {
        return Err(format!(
            "there is no {{= =}}, as in \"{}\": write one quoted script for the shell, such as \
             'f={{}}; echo \"${{f%.txt}}\"'",
            word.display()
        ));
    }
    if let Some(form) = command.iter().find_map(|word| script::padded(word)) {
        return Err(format!(
            "there is no {form}: write printf in one quoted script, such as 'printf %03d {{#}}'"
        ));
    }
    let mut words = command.iter().filter(|_| args.plus);
    if let Some(form) = words.find_map(|word| script::other_plus_form(word)) {
        return Err(format!(
            "there is no {form}: write one quoted script for the shell, such as \
             'f={{}}; echo \"${{f%.txt}}\"'"
        ));
    }
    if sources > 1 && (args.colsep.is_some() || args.max_args() > 1) {
        return Err("several sources go without --colsep and --max-args".into());
    }
    Ok(())
}

/// Where the input is cut into blocks, with `--pipe`. The error is one of usage.
fn cuts(args: &RunArgs, command: &[OsString], sources: usize) -> Result<Option<Cuts>, String> {
    let Some(cuts) = args.cuts() else {
        let is_of_pipe = args.recend.is_some() || args.recstart.is_some();
        return match is_of_pipe {
            true => Err("--recend and --recstart go with --pipe".to_owned()),
            false => Ok(None),
        };
    };
    if sources > 0 {
        return Err(
            "--pipe reads standard input or one file: values behind ::: go without it".into(),
        );
    }
    if command.is_empty() {
        return Err("--pipe needs a COMMAND, which reads the blocks".into());
    }
    refuse_cuts(&cuts)?;
    if args.halt.is_some_and(Halt::is_of_all) {
        return Err("--halt with a percentage goes without --pipe".into());
    }
    Ok(Some(cuts))
}

/// What makes no blocks, or no jobs of them.
fn refuse_cuts(cuts: &Cuts) -> Result<(), String> {
    if cuts.records == Some(0) {
        return Err("--pipe with -n 0 would give nothing to a job".into());
    }
    let is_counted = cuts.records.is_some() || cuts.lines > 1 || cuts.has_header;
    if is_counted && cuts.end.is_empty() && cuts.start.is_empty() {
        return Err("records that are counted need a --recend or --recstart".into());
    }
    Ok(())
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

/// Jobs that run at a time, if they compute.
fn slots(max_active: usize) -> u64 {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    cpus.min(max_active) as u64
}

fn all(input: &mut Input<'_>) -> io::Result<Vec<Vec<u8>>> {
    std::iter::from_fn(|| input.next().transpose()).collect()
}

/// All lines, in an order that nobody knows.
fn shuffled(mut input: Input<'_>) -> io::Result<Input<'_>> {
    let mut lines = all(&mut input)?;
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
