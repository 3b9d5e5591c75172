//! The command line of `cmwq run`.

use clap::builder::RangedU64ValueParser;
use std::ffi::OsString;
use std::path::PathBuf;

const EXIT_STATUS: &str = "\
Exit status, as xargs:
  0    every job succeeded, or there was none
  1    another error: bad usage, unreadable input, output that cannot be written
  123  at least one job exited with status 1 to 254
  124  a job exited with status 255: no further job was started
  125  a job was killed by a signal: no further job was started
  126  COMMAND cannot be run: no further job was started
  127  COMMAND is not found: no further job was started
  128+N  signal N (SIGHUP, SIGINT, SIGTERM) ended the run; the jobs were sent it too

How many jobs run at a time is not an option: the next one starts when a CPU would idle.
The output of a job is held and written as a whole when the job ends.";

/// Run a job for each line of standard input, as many at a time as keep the CPUs busy
#[derive(clap::Args)]
#[command(
    override_usage = "cmwq run [OPTIONS] [--] [COMMAND [ARG]...]",
    after_long_help = EXIT_STATUS
)]
pub(crate) struct RunArgs {
    /// Read the lines from FILE
    ///
    /// Jobs then get the standard input of cmwq instead of /dev/null.
    #[arg(short, long, value_name = "FILE")]
    pub(super) arg_file: Option<PathBuf>,

    /// Lines end with a NUL byte, not a newline (find -print0)
    #[arg(short = '0', long)]
    pub(super) null: bool,

    /// Write the jobs' output in the order of their lines
    ///
    /// Without this, each job's output is written as soon as the job ends.
    #[arg(short, long)]
    pub(super) keep_order: bool,

    /// Never run more than N jobs at a time (1 to 2048)
    ///
    /// Fewer run while they keep the CPUs busy.
    #[arg(long, value_name = "N", default_value = "1024",
          value_parser = RangedU64ValueParser::<usize>::new().range(1..=2048))]
    pub(super) max_active: usize,

    /// Write a summary to standard error at the end
    ///
    /// It has the number of jobs that ended and that failed, the elapsed seconds, the most jobs
    /// at a time and the mean number of runnable ones.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = SummaryFormat::None)]
    pub(super) summary: SummaryFormat,

    /// What to run for each line; {} in it stands for the line
    ///
    /// Where there is no {} in COMMAND, the line is appended as its last argument. Without COMMAND
    /// each line is itself a command, run by sh -c; empty lines are skipped then.
    #[arg(value_name = "COMMAND", trailing_var_arg = true)]
    pub(super) command: Vec<OsString>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(super) enum SummaryFormat {
    /// One JSON object on one line
    Json,
    /// One line for people
    Text,
    /// No summary
    None,
}
