//! Instructions of a program, counted by valgrind's callgrind.

use std::process::{Command, ExitCode};

/// Runs `measure` as the command of this name, which takes no arguments.
pub(crate) fn command(
    name: &str,
    args: &[String],
    measure: impl FnOnce() -> Result<(), String>,
) -> ExitCode {
    let done = match args {
        [] => measure(),
        _ => Err(format!("not an argument: `{}`", args[0])),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask {name}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs `program` with `args` and counts the instructions of all its threads.
pub(crate) fn instructions(program: &str, args: &[&str]) -> Result<u64, String> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    let printed = output(valgrind.arg(program).args(args))?;
    let count = printed
        .lines()
        .find_map(|line| line.split("Collected : ").nth(1));
    let count = count.and_then(|count| count.trim().parse().ok());
    count.ok_or_else(|| format!("callgrind printed no count:\n{printed}"))
}

/// What a command printed, on either stream.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|error| format!("{name}: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let printed = text(&output.stdout) + &text(&output.stderr);
    match output.status.success() {
        true => Ok(printed),
        false => Err(format!("{name}: {}\n{printed}", output.status)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_says_who_failed() {
        let error = output(Command::new("false").arg("x")).unwrap_err();
        assert!(error.starts_with("false: exit status: 1"), "{error}");
    }
}
