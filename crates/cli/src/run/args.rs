//! The command line of `cmwq run`.

use super::blocks::{self, Cuts};
use super::columns::Separator;
use super::habits::{Habits, MOST_ACTIVE};
use super::halt::Halt;
use super::memory::MinFree;
use super::template::Trim;
use clap::ValueEnum;
use clap::builder::RangedU64ValueParser;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

const AFTER_HELP: &str = "\
Examples:
  cmwq run gzip ::: *.log                          a job for each of these names
  find . -name '*.flac' -print0 | cmwq run -0 flac --test
  cmwq run 'sort {} >{.}.sorted' ::: *.txt         a script for the shell
  cmwq run -k -n 8 sha256sum <names >sums          8 lines to a job, output in order
  cmwq run -a todo.txt --joblog todo.log --resume  a list of commands, to be continued
More are in the man page: cmwq man run | man -l -

Exit status, as xargs:
  0    every job succeeded, or there was none
  1    another error: bad usage, unreadable input, output or joblog that cannot be written
  123  at least one job failed in a way that none of the following tells, also where --halt stopped
       the run then: the message has the status of the job
  124  a job that exited with status 255 stopped the run
  125  a job that was killed by a signal stopped the run
  126  COMMAND cannot be run: no further job was started, except with --halt never
  127  COMMAND is not found: likewise
  128+N  in a shell: signal N (SIGHUP, SIGINT, SIGQUIT, SIGTERM) ended the run

How many jobs run at a time is not an option: the next one starts when a CPU would idle.
The output of a job is held and written as a whole when the job ends, unless --line-buffer or
--ungroup is given.";

/// Run a job for each line of standard input, as many at a time as keep the CPUs busy
#[derive(clap::Args, Clone)]
#[command(
    args_override_self = true,
    infer_long_args = true,
    override_usage = "cmwq run [OPTIONS] [--] [COMMAND [ARG]...] [::: VALUE...] [:::: FILE...]",
    after_long_help = AFTER_HELP
)]
pub(crate) struct RunArgs {
    /// Read the lines from FILE; - is standard input
    ///
    /// Jobs then get the standard input of cmwq, unless that is a terminal, instead of /dev/null.
    /// Given more than once, or with :::, it is a source as behind ::::.
    #[arg(short, long, value_name = "FILE", help_heading = INPUT)]
    pub(super) arg_file: Vec<PathBuf>,

    /// Lines end with a NUL byte, not a newline (find -print0)
    #[arg(short = '0', long, help_heading = INPUT)]
    pub(super) null: bool,

    /// Lines end with this byte (\n, \t, \0 and \xHH are what they are in C)
    #[arg(short, long, value_name = "BYTE", value_parser = delimiter, conflicts_with = "null",
          help_heading = INPUT)]
    pub(super) delimiter: Option<u8>,

    /// Cut lines into columns at SEP, for {1}, {2}, ...
    ///
    /// SEP is a string in which \t is a tab, \s any blank and [...] any of these, and +, * and ?
    /// behind one repeat it.
    #[arg(short = 'C', long, value_name = "SEP", value_parser = Separator::parse,
          conflicts_with_all = MANY_LINES, help_heading = INPUT)]
    pub(super) colsep: Option<Separator>,

    /// Read CSV: quoted columns, which may have commas and newlines in them
    ///
    /// Columns are separated by commas, or by the one byte of --colsep. Lines may end as on
    /// Windows. Empty lines are skipped.
    #[arg(long, help_heading = INPUT,
          conflicts_with_all = ["null", "delimiter"].into_iter().chain(MANY_LINES))]
    pub(super) csv: bool,

    /// The first line (or the first value of each source) names the columns, for {name}, {name.}
    ///
    /// WHAT is always ":", as GNU parallel has it.
    #[arg(long, value_name = "WHAT", value_parser = [":"], hide_possible_values = true,
          help_heading = INPUT)]
    pub(super) header: Option<String>,

    /// Take one of each source (:::, ::::) together, not each with each
    ///
    /// The shorter ones begin again. :::+ and ::::+ link a source to the one before, up to the end
    /// of the shorter one.
    #[arg(long, alias = "xapply", help_heading = INPUT)]
    pub(super) link: bool,

    /// Read all lines first, and run them in random order
    #[arg(long, help_heading = INPUT)]
    pub(super) shuf: bool,

    /// Give up to N lines to a job
    ///
    /// Fewer at the end of the input, and where an argument list can hold no more. With N above 1,
    /// {} must be a word of its own in COMMAND, and becomes the lines, each a word; {1}, {2}, ...
    /// are single ones. With 0, COMMAND runs once for each line and gets none.
    #[arg(short = 'n', long, alias = "maxargs", value_name = "N", help_heading = INPUT,
          value_parser = RangedU64ValueParser::<usize>::new().range(0..=1_000_000))]
    max_args: Option<usize>,

    /// As --max-args, but a word that has {} in it is repeated for each line.
    #[arg(short = 'N', long, value_name = "N", hide = true, conflicts_with = "max_args",
          value_parser = RangedU64ValueParser::<usize>::new().range(0..=1_000_000))]
    max_replace_args: Option<usize>,

    /// As -N; with --pipe, lines of a record.
    #[arg(short = 'L', short_alias = 'l', long, value_name = "N", hide = true,
          value_parser = RangedU64ValueParser::<usize>::new().range(1..=1_000_000))]
    max_lines: Option<usize>,

    /// Cut the input into blocks, each the standard input of a job
    ///
    /// A block is about 1 MiB of whole lines: --block, --recend and --recstart say otherwise. With
    /// --max-args it has N lines. In --tag, --joblog and --results a block is called by its number,
    /// from 1.
    #[arg(long, aliases = ["spreadstdin", "pipepart", "pipe-part"], help_heading = INPUT,
          conflicts_with_all = ["null", "delimiter", "colsep", "csv", "shuf"])]
    pub(super) pipe: bool,

    /// Bytes of a block (also 100k, 10M, 1G), at most: a longer record is a block of its own
    #[arg(long, alias = "block-size", value_name = "SIZE", value_parser = blocks::size,
          default_value = "1M",
          allow_hyphen_values = true, help_heading = INPUT)]
    pub(super) block: usize,

    /// Records of --pipe end with TEXT (\n, \t, \r, \0 as in C), not with a newline
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, help_heading = INPUT)]
    pub(super) recend: Option<String>,

    /// Records of --pipe begin with TEXT; without --recend they end with nothing of their own
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, help_heading = INPUT)]
    pub(super) recstart: Option<String>,

    /// Take blanks off the left (l), the right (r) or both sides (lr) of each value
    #[arg(long, value_name = "SIDES", value_parser = Trim::parse, help_heading = INPUT)]
    pub(super) trim: Option<Trim>,

    /// Print the commands that would run, in order and quoted for a shell; run nothing
    #[arg(long, aliases = ["dryrun", "dr"], help_heading = INPUT)]
    pub(super) dry_run: bool,

    /// WORD, instead of {}, stands for the line in COMMAND
    #[arg(short = 'I', long, value_name = "WORD", help_heading = INPUT,
          value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(super) replace: Option<String>,

    /// Never run more than N jobs at a time (1 to 2048)
    ///
    /// Fewer run while they keep the CPUs busy. --jobs sets the same limit in other words.
    #[arg(long, value_name = "N", default_value = "1024", help_heading = JOBS,
          value_parser = RangedU64ValueParser::<usize>::new().range(1..=MOST_ACTIVE as u64))]
    pub(super) max_active: usize,

    /// Never run more than this at a time, as xargs and GNU parallel have it
    ///
    /// N, 0 for no limit, a number that depends on the CPUs (+N, -N or N%), or a file with one of
    /// these. It stands in place of --max-active, and is an upper limit too.
    #[arg(short, short_alias = 'P', long, aliases = ["max-procs", "maxprocs"], value_name = "N",
          allow_hyphen_values = true, conflicts_with = "max_active", help_heading = JOBS)]
    pub(super) jobs: Option<String>,

    /// Wait for SECS seconds between the starts of any two jobs (also 0.5, 2m, 1h)
    #[arg(long, value_name = "SECS", value_parser = seconds, help_heading = JOBS)]
    pub(super) delay: Option<Duration>,

    /// Run the jobs in DIR, where relative paths in COMMAND begin then
    #[arg(long, visible_alias = "wd", value_name = "DIR", help_heading = JOBS)]
    pub(super) workdir: Option<PathBuf>,

    /// Run the jobs at nice value N (-20 to 19)
    ///
    /// Where that is below our own and not allowed, a warning says so once and the jobs get ours.
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = JOBS,
          value_parser = clap::value_parser!(i32).range(-20..=19))]
    pub(super) nice: Option<i32>,

    /// End a job that runs for longer than SECS seconds (also 0.5, 2m, 1h, 1d)
    ///
    /// Its process group gets SIGTERM, and SIGKILL if its first process has not ended 5 seconds
    /// later. Then what is left of its tree is ended. The job counts as failed.
    #[arg(long, value_name = "SECS", value_parser = seconds, help_heading = JOBS)]
    pub(super) timeout: Option<Duration>,

    /// Run a job that failed up to N more times
    ///
    /// Only its last attempt counts, and only the output of that is written. A message says which
    /// attempts timed out; --progress=full also names those that failed otherwise. A job that exits
    /// with status 255 asks to stop and is not tried again, except with --halt never or ,fail=N.
    /// GNU parallel counts the first attempt too, and with --gnu so does this.
    #[arg(long, value_name = "N", help_heading = JOBS)]
    pub(super) retries: Option<u32>,

    /// Wait for SECS seconds before a job that failed is run again (also 0.5, 2m, 1h)
    #[arg(long, value_name = "SECS", value_parser = seconds, requires = "retries",
          help_heading = JOBS)]
    pub(super) retry_delay: Option<Duration>,

    /// When jobs that end stop the run: never, soon, now, or soon,fail=3 and the like
    ///
    /// "never": nothing that a job does stops the run, nor a program that is not there. "soon":
    /// after the first job that has failed for good nothing more starts, and the running jobs are
    /// awaited. "now": the running jobs are ended. Behind one of these, ",fail=N" is the Nth
    /// failure, ",success=N" the Nth success and ",done=N" the Nth end. With N% all lines are read
    /// first, and N is a part of all jobs. The exit status after a failure is 123, not that of the
    /// job, which the message has; after a status 255 it is 124, after a signal 125, and after
    /// enough successes 0.
    /// Without this option, as xargs: a job that exits with status 255 or is killed by a signal
    /// stops the run, other failures do not.
    #[arg(long, aliases = ["halt-on-error", "haltonerror"], value_name = "WHEN", value_parser = Halt::parse,
          allow_hyphen_values = true, help_heading = JOBS)]
    pub(super) halt: Option<Halt>,

    /// Write the jobs' output in the order of their lines
    ///
    /// Without this, each job's output is written as soon as the job ends.
    #[arg(short, long, alias = "keeporder", help_heading = OUTPUT)]
    pub(super) keep_order: bool,

    /// Write the jobs' output line by line, as it comes
    ///
    /// With --keep-order it has no effect.
    #[arg(long, aliases = ["lb", "linebuffer", "line-buffered", "linebuffered"], conflicts_with = "ungroup", help_heading = OUTPUT)]
    pub(super) line_buffer: bool,

    /// Jobs write to our standard output and standard error themselves
    ///
    /// Output of jobs that run at the same time may be mixed anywhere, also with --keep-order.
    #[arg(short_alias = 'u', long, help_heading = OUTPUT)]
    pub(super) ungroup: bool,

    /// Write each job's output to files below DIR, and nothing to our own streams
    ///
    /// DIR/1/LINE/ gets stdout, stderr, seq (the number of the job) and exitval (its exit status).
    /// In LINE, / becomes \_, \ becomes \\ and a tab \t. "\" stands for an empty LINE, and "\." and
    /// "\.." for . and .. there. A LINE of more than 255 bytes is cut and ends with \# and the
    /// number. With several columns it is DIR/1/FIRST/2/SECOND/, and so on; with --header their
    /// names stand for the numbers. If DIR has {}, {#} or the like in it, it is itself the file of
    /// the standard output, beside DIR.err, DIR.seq and DIR.exitval.
    #[arg(long, aliases = ["result", "res"], value_name = "DIR",
          conflicts_with_all = ["line_buffer", "ungroup"], help_heading = OUTPUT)]
    pub(super) results: Option<PathBuf>,

    /// Begin each line of output with the arguments of its job and a tab
    #[arg(long, alias = "ctag", conflicts_with = "ungroup", help_heading = OUTPUT)]
    pub(super) tag: bool,

    /// Begin each line of output with TEXT, in which {} and the like stand for the line, and a tab
    #[arg(long, value_name = "TEXT", conflicts_with = "ungroup", help_heading = OUTPUT)]
    pub(super) tagstring: Option<String>,

    /// Print each command to standard error as its job begins
    #[arg(short = 't', short_alias = 'v', long, help_heading = OUTPUT)]
    pub(super) verbose: bool,

    /// Say nothing but errors that end the run and the summary
    #[arg(long, help_heading = OUTPUT)]
    pub(super) quiet: bool,

    /// Show jobs done, rate, running, blocked, failed and the time left on standard error
    ///
    /// Blocked jobs run, but want no CPU: they wait for a disk, the network, a lock or other
    /// processes. Without WHEN, progress is always shown. In the background nothing is shown.
    #[arg(long, value_name = "WHEN", value_enum, num_args = 0..=1, require_equals = true,
          default_value_t = When::Auto, default_missing_value = "always", help_heading = OUTPUT)]
    pub(super) progress: When,

    /// Start no job that would leave less than SIZE of memory free (K, M, G, T), or PERCENT of all
    ///
    /// What a job takes is guessed from those that have ended, or that run. One job always runs. 0
    /// keeps nothing free.
    #[arg(long, alias = "memfree", value_name = "SIZE|PERCENT%", default_value = "5%", help_heading = JOBS)]
    pub(super) min_free_memory: MinFree,

    /// Write a summary to standard error at the end
    ///
    /// It has the number of jobs that ended and that failed, of lines that were skipped and of
    /// retries, the elapsed seconds, the most jobs at a time and the mean number of runnable ones,
    /// which compute or wait for a CPU. The first jobs that failed are named.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = SummaryFormat::None,
          help_heading = OUTPUT)]
    pub(super) summary: SummaryFormat,

    /// Write the summary to FILE, not to standard error
    ///
    /// Without --summary it is JSON.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(super) summary_file: Option<PathBuf>,

    /// Write a line to FILE for each job that has ended and whose output is written
    ///
    /// Tab-separated, with a header; - is standard output. A FILE that has jobs in it already needs
    /// --resume; with --gnu it is begun anew.
    #[arg(long, alias = "jl", value_name = "FILE", help_heading = LOG)]
    pub(super) joblog: Option<PathBuf>,

    /// Leave out the lines that have succeeded according to the joblog, and continue it
    ///
    /// Lines that failed are run again, and so are those that were never started. FILE is appended
    /// to: the last row of a line counts. Lines are compared, not COMMAND, nor what it made.
    #[arg(long, alias = "resume-failed", requires = "joblog", help_heading = LOG)]
    pub(super) resume: bool,

    /// Also {..} and {...}, without two and three extensions, {/..}, {+/}, the folder, and {+.}
    #[arg(long, help_heading = INPUT)]
    pub(super) plus: bool,

    /// Join the words of COMMAND to a script for the shell, as GNU parallel does
    ///
    /// Without this, COMMAND is a script only if it is one word. It also means that --retries
    /// counts the first attempt, that no end of a job stops the run unless --halt says so, that
    /// --colsep takes blanks off, that values behind ::: are divided at newlines, and that a joblog
    /// is begun anew unless it is resumed.
    #[arg(long, help_heading = INPUT)]
    pub(super) gnu: bool,

    #[command(flatten)]
    pub(super) habits: Habits,

    /// What to run for each line; {} in it stands for the line
    ///
    /// Without {} or a column in COMMAND the line becomes its last argument. COMMAND as one word
    /// with blanks or shell syntax is a script for sh, or for bash if only bash reads it. Without
    /// COMMAND each line is itself a command for sh, and empty lines are skipped. So it is with
    /// {} as COMMAND, and in a script that begins with {} as a word.
    ///
    /// COMMAND takes a line that begins with - for an option. With most programs options end at --,
    /// so write "rm -- {}".
    ///
    /// {.} is the line without its extension, {/} without its folder, {//} the folder, and {/.}
    /// without both. {#} is the number of the job and {%} that of its slot. {1}, {2.} and so on are
    /// columns.
    ///
    /// Behind ::: are values, and behind :::: files with lines, instead of standard input. Several
    /// of these are combined, each value with each: {} is all of them, {1} and {2} single ones.
    #[arg(value_name = "COMMAND", trailing_var_arg = true)]
    pub(super) command: Vec<OsString>,
}

impl RunArgs {
    /// Lines that a job gets at most; 0: it gets nothing of its line.
    pub(super) fn max_args(&self) -> usize {
        // A block is given otherwise.
        match self.lines_of_job().or(self.max_lines) {
            _ if self.pipe => 0,
            Some(lines) => lines,
            None if self.habits.spreads() || self.habits.xargs => MOST_LINES,
            None => 1,
        }
    }

    fn lines_of_job(&self) -> Option<usize> {
        self.max_args.or(self.max_replace_args)
    }

    /// Whether a word of COMMAND that has {} in it is repeated for each line of a job.
    pub(super) fn repeats_words(&self) -> bool {
        let counts = self.max_replace_args.or(self.max_lines);
        counts.is_some() || self.habits.context_replace
    }

    /// Where the input is cut into blocks, if it is.
    pub(super) fn cuts(&self) -> Option<Cuts> {
        let end = match (&self.recend, &self.recstart) {
            (Some(end), _) => blocks::text(end),
            (None, Some(_)) => Vec::new(),
            (None, None) => vec![b'\n'],
        };
        let start = self.recstart.as_deref().map_or(Vec::new(), blocks::text);
        self.pipe.then(|| Cuts {
            size: self.block,
            end,
            start,
            lines: self.max_lines.unwrap_or(1),
            records: self.lines_of_job(),
            has_header: self.header.is_some(),
            is_bare: self.habits.rrs,
        })
    }
}

/// More than an argument list can hold.
const MOST_LINES: usize = 1_000_000;

const INPUT: &str = "Input";
/// What gives several lines to a job, which are its columns then.
const MANY_LINES: [&str; 6] = [
    "max_args",
    "max_replace_args",
    "max_lines",
    "context_replace",
    "spread",
    "xargs",
];
const JOBS: &str = "Jobs";
const OUTPUT: &str = "Output";
const LOG: &str = "Joblog";

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum SummaryFormat {
    /// One JSON object on one line
    Json,
    /// One line for people
    Text,
    /// No summary
    None,
}

/// When to show progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum When {
    /// Where standard error is a terminal and standard output no pipe, without --quiet and
    /// --ungroup
    Auto,
    Always,
    /// Also the oldest running jobs with their age, CPU time and what they wait for, and each
    /// failure as it comes
    Full,
    Never,
}

/// One byte, which may be escaped as in C.
fn delimiter(text: &str) -> Result<u8, String> {
    let wrong = || format!("{text:?} is not one byte");
    match text.as_bytes() {
        [byte] => Ok(*byte),
        b"\\n" => Ok(b'\n'),
        b"\\t" => Ok(b'\t'),
        b"\\0" => Ok(0),
        b"\\\\" => Ok(b'\\'),
        [b'\\', b'x', ..] => u8::from_str_radix(&text[2..], 16).map_err(|_| wrong()),
        _ => Err(wrong()),
    }
}

/// A positive number of seconds, or of what stands behind it, at most some thirty years.
fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not a number of seconds above 0 (or 5m, 2h, 1d)");
    let units = [('s', 1.0), ('m', 60.0), ('h', 3600.0), ('d', 86400.0)];
    let unit = units.iter().find(|(unit, _)| text.ends_with(*unit));
    let digits = text.len() - usize::from(unit.is_some());
    let number: f64 = text[..digits].parse().map_err(|_| wrong())?;
    let number = number * unit.map_or(1.0, |(_, seconds)| *seconds);
    if !(number > 0.0 && number <= 1e9) {
        return Err(wrong());
    }
    // Less than a nanosecond would be none.
    Ok(Duration::from_secs_f64(number).max(Duration::from_nanos(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delimiter_is_one_byte() {
        for (text, byte) in [
            (",", b','),
            ("\\n", b'\n'),
            ("\\0", 0),
            ("\\x1f", 31),
            ("\\", b'\\'),
        ] {
            assert_eq!(delimiter(text), Ok(byte), "{text}");
        }
        for wrong in ["", "ab", "\\q", "\\xg", "\u{e4}"] {
            assert!(delimiter(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn seconds_are_positive_numbers() {
        assert_eq!(seconds("1.5"), Ok(Duration::from_millis(1500)));
        assert_eq!(seconds("1e-30"), Ok(Duration::from_nanos(1)));
        assert_eq!(seconds("1.5m"), Ok(Duration::from_secs(90)));
        let days = ["172800", "172800s", "48h", "2d"].map(seconds);
        assert!(days.iter().all(|time| *time == days[0]), "{days:?}");
        for wrong in ["0", "-1", "nan", "inf", "1e10", "", "s", "5x", "5 m"] {
            assert!(seconds(wrong).unwrap_err().contains(wrong), "{wrong}");
        }
    }
}
