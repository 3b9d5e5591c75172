//! The man pages and the shells' completions, made of the definitions that parse the command line.

use clap::{Args, Command, CommandFactory};
use clap_mangen::Man;
use std::io::{self, Write};
use std::process::ExitCode;

/// When the text of the pages was last changed.
const DATE: &str = "2026-11-27";

/// What the definitions do not say of `cmwq run`.
const RUN_DESCRIPTION: &str = include_str!("description.roff");
const RUN_SECTIONS: &str = include_str!("sections.roff");

const SEE_ALSO: &str = "\
.SH SEE ALSO
.BR cmwq (1),
.BR cmwq\\-run (1),
.BR cmwq\\-top (1),
.BR cmwq\\-doctor (1)
";

/// Print a man page: of cmwq, or of one of its commands
///
/// To read it: cmwq man run | man -l -
#[derive(Args)]
pub(crate) struct ManArgs {
    /// Of this command
    command: Option<String>,
}

/// Print completions for a shell
///
/// For bash: cmwq completions bash >~/.local/share/bash-completion/completions/cmwq
#[derive(Args)]
pub(crate) struct CompletionsArgs {
    /// Whose
    shell: clap_complete::Shell,
}

pub(crate) fn man(args: &ManArgs) -> ExitCode {
    let mut page = Vec::new();
    let rendered = named(args.command.as_deref()).and_then(|command| render(command, &mut page));
    print(rendered.map(|()| page))
}

pub(crate) fn completions(args: &CompletionsArgs) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::Cli::command(), "cmwq", &mut script);
    print(Ok(script))
}

fn named(name: Option<&str>) -> io::Result<Command> {
    let mut cmwq = crate::Cli::command();
    // Fills in what commands take over from the one above, their full names for example.
    cmwq.build();
    let Some(name) = name else {
        return Ok(cmwq);
    };
    // Pages are called like this.
    let name = name.strip_prefix("cmwq-").unwrap_or(name);
    let found = cmwq.find_subcommand(name).cloned();
    found.ok_or_else(|| io::Error::other(format!("cmwq has no command \"{name}\"")))
}

fn render(command: Command, page: &mut Vec<u8>) -> io::Result<()> {
    let name = command.get_display_name().unwrap_or(command.get_name());
    let (title, is_run) = (name.to_uppercase(), command.get_name() == "run");
    let has_commands = command.has_subcommands();
    let has_notes = command
        .get_after_long_help()
        .or(command.get_after_help())
        .is_some();
    let man = Man::new(command)
        .title(title)
        .date(DATE)
        .source(concat!("cmwq ", env!("CARGO_PKG_VERSION")))
        .manual("User Commands");
    if is_run {
        // Its description has a table, which man(1) only then looks for.
        page.extend(b"'\\\" t\n");
    }
    man.render_title(page)?;
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    if is_run {
        return render_run(&man, page);
    }
    man.render_description_section(page)?;
    man.render_options_section(page)?;
    if has_commands {
        man.render_subcommands_section(page)?;
    }
    if has_notes {
        render_notes(&man, page)?;
    }
    page.extend(SEE_ALSO.bytes());
    Ok(())
}

/// What follows the synopsis of `cmwq run`: the definitions have only its options.
fn render_run(man: &Man, page: &mut Vec<u8>) -> io::Result<()> {
    page.extend(RUN_DESCRIPTION.bytes());
    man.render_options_section(page)?;
    page.extend(RUN_SECTIONS.bytes());
    Ok(())
}

/// What stands below the options in `--help`.
fn render_notes(man: &Man, page: &mut Vec<u8>) -> io::Result<()> {
    let mut extra = Vec::new();
    man.render_extra_section(&mut extra)?;
    let extra = String::from_utf8_lossy(&extra);
    page.extend(extra.replacen(".SH EXTRA", ".SH NOTES", 1).bytes());
    Ok(())
}

fn print(text: io::Result<Vec<u8>>) -> ExitCode {
    crate::complaint::finish(
        "cmwq: ",
        text.and_then(|text| io::stdout().write_all(&text)),
    )
}
