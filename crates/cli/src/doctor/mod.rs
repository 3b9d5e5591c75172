//! `cmwq doctor`: what this system gives and allows.

mod report;
mod text;

use crate::out;
use report::Report;
use std::process::ExitCode;

const EXIT_STATUS: &str = "\
Exit status:
  0  cmwq works here, perhaps with less than it could use (then the reason is told)
  1  nothing here can tell cmwq that a CPU is idle: neither canaries nor the tick
  2  bad usage";

/// Tell which CPUs, signals and limits cmwq finds here, and what is denied and why
#[derive(clap::Args)]
#[command(after_long_help = EXIT_STATUS)]
pub(crate) struct DoctorArgs {
    /// Write one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// Writes the report; gives the exit status of the process.
pub(crate) fn command(args: &DoctorArgs) -> ExitCode {
    let report = Report::of_this_system();
    let written = if args.json {
        out::json(&report)
    } else {
        text::of(&report)
    };
    if let Err(error) = out::write(&written) {
        crate::complaint::of("cmwq doctor: ", &error);
        return ExitCode::FAILURE;
    }
    if report.usable {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
