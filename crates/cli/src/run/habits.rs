//! What people are used to write for GNU parallel and xargs: taken where it means the same here,
//! refused with a sentence where it does not.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Jobs at a time, at most.
pub(super) const MOST_ACTIVE: usize = 2048;

/// Options that `--help` leaves out.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Habits {
    /// Always so, or of no effect.
    #[arg(
        short = 'i', long = "no-notice", hide = true, action = clap::ArgAction::Count,
        aliases = [
            "nonotice", "will-cite", "group", "no-swap", "noswap", "color", "colour", 
            "silent", "compress", "unsafe", "plain", "use-cpus-instead-of-cores", "exit",
            "controlmaster", "color-failed", "colour-failed", "cf", "nn", "i",
        ]
    )]
    always: u8,

    /// Lines with nothing but blanks are no jobs.
    #[arg(short = 'r', long = "no-run-if-empty", alias = "norunifempty", hide = true,
          action = clap::ArgAction::Count)]
    pub(super) no_blank: u8,

    /// The input ends before a line that is this one.
    #[arg(short = 'E', long, value_name = "LINE", hide = true, conflicts_with_all = ["pipe", "csv"])]
    pub(super) eof: Option<String>,

    /// Instead of `:::`.
    #[arg(
        long,
        alias = "argsep",
        value_name = "WORD",
        default_value = ":::",
        hide = true,
        hide_default_value = true
    )]
    pub(super) arg_sep: String,

    /// Instead of `::::`.
    #[arg(
        long,
        alias = "argfilesep",
        value_name = "WORD",
        default_value = "::::",
        hide = true,
        hide_default_value = true
    )]
    pub(super) arg_file_sep: String,

    /// Of --pipe: what records begin and end with is left out.
    #[arg(long, aliases = ["remove-rec-sep", "removerecsep"], hide = true, requires = "pipe")]
    pub(super) rrs: bool,

    /// The whole environment is there for jobs.
    #[arg(long, value_name = "NAME", hide = true)]
    env: Vec<String>,

    /// The words of COMMAND stay words, as they do without --gnu, and values stay values.
    #[arg(short, long, hide = true, action = clap::ArgAction::Count)]
    pub(super) quote: u8,

    /// As --progress.
    #[arg(long, aliases = ["eta"], hide = true, action = clap::ArgAction::Count)]
    pub(super) bar: u8,

    #[arg(short = 'p', long, hide = true)]
    interactive: bool,

    /// As -m, but a word that has {} in it is repeated for each line.
    #[arg(short = 'X', hide = true)]
    pub(super) context_replace: bool,

    /// All lines are spread over as many jobs as keep the CPUs busy.
    #[arg(short = 'm', hide = true)]
    spread: bool,

    /// As many lines to a job as an argument list can hold.
    #[arg(long, hide = true)]
    pub(super) xargs: bool,

    /// Instead of `$TMPDIR`, for the jobs as well.
    #[arg(long, alias = "tempdir", value_name = "DIR", hide = true)]
    pub(super) tmpdir: Option<PathBuf>,

    /// Of --pipe: `{}` is a file with the block.
    #[arg(long, alias = "fifo", hide = true, requires = "pipe")]
    pub(super) cat: bool,

    #[arg(long, aliases = ["roundrobin", "round"], hide = true)]
    round_robin: bool,

    #[arg(long, hide = true)]
    tee: bool,

    #[arg(long, hide = true)]
    regexp: bool,

    #[arg(long, value_name = "SEQUENCE", hide = true)]
    termseq: Option<String>,

    #[arg(long, value_name = "TEXT", hide = true)]
    rpl: Option<String>,

    #[arg(long, hide = true)]
    files: bool,

    /// Nothing is asked for.
    #[arg(long, hide = true)]
    pub(super) citation: bool,

    /// `:` is this machine.
    #[arg(short = 'S', long, value_name = "HOST", aliases = ["slf", "sshloginfile"], hide = true)]
    sshlogin: Option<String>,

    #[arg(long, aliases = ["sem"], hide = true)]
    semaphore: bool,

    /// Always so: a job starts only where a CPU would idle.
    #[arg(long, value_name = "LOAD", hide = true)]
    load: Option<String>,
}

/// An option that there is not: whether it is given, and what to do instead.
type Refused = (fn(&Habits) -> bool, &'static str);

const REFUSED: [Refused; 9] = [
    (
        |habits| habits.interactive,
        "there is no -p: --dry-run prints what would run",
    ),
    (
        |habits| habits.round_robin,
        "there is no --round-robin: with --pipe each block is a job of its own",
    ),
    (
        |habits| habits.tee,
        "there is no --tee: each job can read a file: cmwq run 'grep {} <FILE' ::: a b",
    ),
    (
        |habits| habits.regexp,
        "there is no --regexp: --recend and --recstart are strings",
    ),
    (
        |habits| habits.termseq.is_some(),
        "there is no --termseq: jobs get SIGTERM, and SIGKILL 5 seconds later",
    ),
    (
        |habits| habits.rpl.is_some(),
        "there is no --rpl: in a script, take values apart: cmwq run 'x={}; echo ${x##*.}'",
    ),
    (
        |habits| habits.sshlogin.as_ref().is_some_and(|host| host != ":"),
        "jobs run on this machine: COMMAND may be ssh, with the host as the line",
    ),
    (
        |habits| habits.semaphore,
        "there is no --semaphore: flock(1) runs one command at a time",
    ),
    (
        |habits| habits.files,
        "there is no --files: --results DIR writes the output of each job to files",
    ),
];

impl Habits {
    /// Whether all lines are spread over a few jobs.
    pub(super) fn spreads(&self) -> bool {
        self.context_replace || self.spread
    }

    /// Whether somebody has said something that only GNU parallel has.
    pub(super) fn are_any(&self) -> bool {
        let counts = [self.always, self.no_blank, self.quote, self.bar];
        counts.iter().any(|&count| count > 0) || !self.env.is_empty() || self.load.is_some()
    }

    /// What to do instead of an option that there is not.
    pub(super) fn refused(&self) -> Option<&'static str> {
        let given = REFUSED.iter().find(|(is_given, _)| is_given(self));
        given.map(|(_, text)| *text)
    }
}

/// `-j`: a number, one that depends on the CPUs, or a file with one of these. `None`: as many as
/// possible.
pub(super) fn most_jobs(text: &str, cpus: usize) -> Result<Option<usize>, String> {
    number_of_jobs(text, cpus).or_else(|wrong| {
        let within = beginning(Path::new(text)).ok_or(wrong)?;
        number_of_jobs(within.trim(), cpus)
            .map_err(|_| format!("-j {text}: there is no number of jobs in the file"))
    })
}

/// Of a file, as much as a number needs.
fn beginning(path: &Path) -> Option<String> {
    let is_file = path.metadata().is_ok_and(|found| found.is_file());
    let file = File::open(path).ok().filter(|_| is_file)?;
    let mut within = Vec::new();
    file.take(64).read_to_end(&mut within).ok()?;
    Some(String::from_utf8_lossy(&within).into_owned())
}

fn number_of_jobs(text: &str, cpus: usize) -> Result<Option<usize>, String> {
    let wrong = |_| {
        format!(
            "-j {text:?} is no number of jobs (N, +N, -N or N%, of the {cpus} CPUs), and no file \
             with one"
        )
    };
    let number = |text: &str| text.parse::<usize>().map_err(wrong);
    let most = if let Some(more) = text.strip_prefix('+') {
        cpus.saturating_add(number(more)?)
    } else if let Some(fewer) = text.strip_prefix('-') {
        cpus.saturating_sub(number(fewer)?).max(1)
    } else if let Some(percent) = text.strip_suffix('%') {
        (cpus.saturating_mul(number(percent)?) / 100).max(1)
    } else {
        number(text)?
    };
    Ok((most > 0).then_some(most.min(MOST_ACTIVE)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_a_number_or_depend_on_the_cpus() {
        let of = |text| most_jobs(text, 4).unwrap();
        assert_eq!(of("3"), Some(3));
        assert_eq!(of("0"), None);
        assert_eq!(of("+2"), Some(6));
        assert_eq!((of("-1"), of("-9")), (Some(3), Some(1)));
        assert_eq!((of("50%"), of("1%")), (Some(2), Some(1)));
        assert_eq!(of("100000"), Some(2048));
        for wrong in ["x", "", "+", "2x", "%", "1.5"] {
            assert!(
                most_jobs(wrong, 4).unwrap_err().contains("4 CPUs"),
                "{wrong}"
            );
        }
    }
}
