//! `cargo xtask bench`: every figure of the benchmark pages, measured and written by one command.
//!
//! Measures with the shipped command (`cmwq bench`, `cmwq run`), built with the pools it is
//! compared with, as an unprivileged user. Keeps what the command printed as JSON lines; the
//! tables are made from those files alone.

mod aims;
mod figures;
mod front;
mod items;
mod limits;
mod machine;
mod markdown;
mod measure;
mod rows;
mod scale;
mod tables;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use machine::Bench;
pub(crate) use machine::{build, project_root};
pub(crate) use measure::ninety;

const USAGE: &str = "usage: cargo xtask bench [--quick] [--only PART | --tables] [--out DIR]
  --quick   60 items, one run of each, into target/bench-report unless --out says otherwise
  --only    measure one part, the name of a file of JSON lines (mix-600, items, jobs ...)
  --tables  do not measure: make the tables again from the JSON lines that are there
  --out     where benchmarks.md, bench/tables.md and bench/*.jsonl go; default docs";

/// The pages whose tables are made here, in `docs` and in the folder of `--out`.
const PAGES: [&str; 2] = ["benchmarks.md", "bench/tables.md"];

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    quick: bool,
    tables_only: bool,
    /// The name of a file of JSON lines, which alone is measured and written again.
    only: Option<String>,
    out: PathBuf,
}

impl Options {
    fn parse(args: &[String], root: &Path) -> Result<Options, String> {
        let mut options = Options {
            quick: false,
            tables_only: false,
            only: None,
            out: PathBuf::new(),
        };
        let mut out = None;
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--quick" => options.quick = true,
                "--tables" => options.tables_only = true,
                "--only" => options.only = Some(args.next().ok_or("--only needs a part")?.into()),
                "--out" => out = Some(args.next().ok_or("--out needs a directory")?.into()),
                other => return Err(format!("unknown argument {other:?}\n{USAGE}")),
            }
        }
        // One run is no median: it does not replace the published figures.
        let default = if options.quick {
            "target/bench-report"
        } else {
            "docs"
        };
        options.out = out.unwrap_or_else(|| root.join(default));
        Ok(options)
    }

    /// What is measured.
    fn plan(&self) -> Result<Vec<measure::Run>, String> {
        let mut plan = measure::plan(self.item_counts(), self.rounds(), machine::cpus());
        let Some(only) = &self.only else {
            return Ok(plan);
        };
        plan.retain(|run| run.is_of(only));
        match plan.is_empty() {
            true => Err(format!("--only {only}: no such part")),
            false => Ok(plan),
        }
    }

    fn rounds(&self) -> usize {
        if self.quick { 1 } else { 5 }
    }

    fn item_counts(&self) -> &'static [usize] {
        if self.quick { &[60] } else { &[600, 60] }
    }
}

/// Runs `cargo xtask bench` with the arguments after `bench`. Status 2 for bad arguments, 1 when a
/// measurement failed; what could be measured is written all the same.
pub fn run(args: &[String]) -> ExitCode {
    let root = machine::project_root();
    let options = match Options::parse(args, &root) {
        Ok(options) => options,
        Err(message) => return fail(&message, 2),
    };
    match bench(&options, &root) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(failed) => fail(&format!("{failed} measurements failed"), 1),
        Err(message) => fail(&message, 1),
    }
}

fn fail(message: &str, status: u8) -> ExitCode {
    eprintln!("xtask bench: {message}");
    ExitCode::from(status)
}

/// Measures, unless only the tables are wanted, and makes the tables. Returns how many
/// measurements failed.
fn bench(options: &Options, root: &Path) -> Result<usize, String> {
    let raw = options.out.join("bench");
    let mut failed = 0;
    if !options.tables_only {
        let plan = options.plan()?;
        let bench = Bench::prepare(root)?;
        std::fs::create_dir_all(&raw).map_err(|e| format!("{}: {e}", raw.display()))?;
        failed = measure::all(&bench, &plan, &raw)?;
    }
    let figures = figures::Figures::load(&raw)?;
    for page in PAGES {
        let template = root.join("docs").join(page);
        let filled = tables::fill(&read(&template)?, &figures)
            .map_err(|e| format!("{}: {e}", template.display()))?;
        let file = options.out.join(page);
        std::fs::write(&file, filled).map_err(|e| format!("{}: {e}", file.display()))?;
        eprintln!("xtask bench: wrote {}", file.display());
    }
    Ok(failed)
}

fn read(file: &Path) -> Result<String, String> {
    std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Options, String> {
        let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
        Options::parse(&args, Path::new("root"))
    }

    #[test]
    fn a_quick_run_does_not_replace_the_published_figures() {
        assert_eq!(parse(&[]).unwrap().out, Path::new("root/docs"));
        assert_eq!(
            parse(&["--quick"]).unwrap().out,
            Path::new("root/target/bench-report")
        );
        assert_eq!(
            parse(&["--quick", "--out", "x"]).unwrap().out,
            Path::new("x")
        );
    }

    #[test]
    fn one_part_can_be_measured_alone() {
        let plan = |args: &[&str]| parse(args).unwrap().plan();
        assert_eq!(plan(&["--only", "items"]).unwrap().len(), 1);
        assert!(plan(&[]).unwrap().len() > 100);
        let error = plan(&["--only", "itens"]).err().unwrap();
        assert!(error.contains("itens"), "{error}");
    }

    #[test]
    fn bad_arguments_are_named() {
        assert!(parse(&["--quik"]).unwrap_err().contains("--quik"));
        assert!(parse(&["--only"]).unwrap_err().contains("--only"));
        assert!(parse(&["--out"]).unwrap_err().contains("--out"));
    }
}
