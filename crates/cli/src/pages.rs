//! The man page and the shells' completions, made of the definitions that parse the command line.

use clap::{Args, Command, CommandFactory};
use std::io::{self, Write};
use std::process::ExitCode;

/// Print a man page (roff): of cmwq, or of one of its commands
#[derive(Args)]
pub(crate) struct ManArgs {
    /// Of this command
    command: Option<String>,
}

/// Print completions for a shell
#[derive(Args)]
pub(crate) struct CompletionsArgs {
    /// Whose
    shell: clap_complete::Shell,
}

pub(crate) fn man(args: &ManArgs) -> ExitCode {
    let mut page = Vec::new();
    let rendered = named(args.command.as_deref())
        .and_then(|command| clap_mangen::Man::new(command).render(&mut page));
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
    let found = cmwq.find_subcommand(name).cloned();
    found.ok_or_else(|| io::Error::other(format!("cmwq has no command \"{name}\"")))
}

fn print(text: io::Result<Vec<u8>>) -> ExitCode {
    printed(text.and_then(|text| io::stdout().write_all(&text)))
}

/// The status after something was printed that was asked for, or was not.
pub(crate) fn printed(result: io::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            crate::complaint::of("cmwq: ", &error);
            ExitCode::FAILURE
        }
    }
}
