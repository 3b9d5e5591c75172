//! Starting a process as if the user had started it: nothing of what cmwq does to itself shows.

use super::leftovers;
use super::scheduling::Scheduling;
use super::script::VARIABLE;
use super::status::{CANNOT_RUN, NOT_FOUND, OTHER_ERROR};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Seek};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// What tells a job its number and that of its slot; the second name is GNU parallel's.
const TOLD: [([&str; 2], usize); 2] = [
    (["CMWQ_SEQ", "PARALLEL_SEQ"], 0),
    (["CMWQ_SLOT", "PARALLEL_JOBSLOT"], 1),
];

/// What a job is told of itself.
struct Told {
    /// As `TOLD` counts them.
    numbers: [u64; 2],
    /// By which its processes are known again.
    mark: String,
}

impl Told {
    /// The job's environment, as far as it is not ours.
    fn variables(&self) -> impl Iterator<Item = (&'static str, String)> {
        let numbers = TOLD.iter().flat_map(|(names, at)| {
            let value = self.numbers[*at].to_string();
            names.map(|name| (name, value.clone()))
        });
        numbers.chain([(leftovers::MARK, self.mark.clone())])
    }
}

/// What a job runs.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) words: &'a [OsString],
    /// Of a script, what its values are.
    pub(super) variables: &'a [OsString],
    /// Its standard input, if it has one of its own: read from the beginning.
    pub(super) input: Option<&'a File>,
}

/// What jobs inherit.
pub(super) struct Launcher {
    signal_mask: u64,
    /// CPUs; `None` if the system would not say.
    affinity: Option<cmwq_os::CpuMask>,
    own: Own,
    /// Where they run, if not where we do.
    folder: Option<PathBuf>,
    /// What posix_spawn cannot do.
    before_exec: BeforeExec,
    /// A program that there is not is a job's failure, as it is in a shell.
    forgives: bool,
}

/// What jobs share with us.
#[derive(Clone, Copy, Default)]
pub(super) struct Own {
    /// Our standard input, not /dev/null.
    pub(super) stdin: bool,
    /// Our standard output and standard error, not pipes.
    pub(super) output: bool,
}

impl Launcher {
    /// Must be made on the command's thread, whose signal mask and scheduling policy are still
    /// those that we were started with. `nice`: the jobs', else ours.
    pub(super) fn new(
        own: Own,
        nice: Option<i32>,
        folder: Option<PathBuf>,
        forgives: bool,
    ) -> Self {
        Self {
            signal_mask: cmwq_os::thread::sigmask(),
            affinity: cmwq_os::sched::affinity(0).ok(),
            own,
            folder,
            forgives,
            before_exec: BeforeExec {
                ignore_sigpipe: crate::startup::sigpipe_was_ignored(),
                nice,
                scheduling: super::scheduling::other_than_usual(),
            },
        }
    }

    /// Starts a process in a process group of its own.
    /// `sequence`, `slot`: what the job is told of itself.
    pub(super) fn start(&self, call: Call<'_>, sequence: u64, slot: usize) -> io::Result<Child> {
        let told = Told {
            numbers: [sequence, slot as u64],
            mark: leftovers::mark(sequence),
        };
        let mut command = self.command(call, &told)?;
        let _mask = MaskedAs::new(self.signal_mask);
        // A worker that was just woken on one CPU may still be confined to it.
        if let Some(cpus) = &self.affinity {
            let _ = cmwq_os::sched::set_affinity_self(cpus);
        }
        match command.spawn() {
            Err(error) if error.raw_os_error() == Some(libc::ENOEXEC) => {
                self.start_script(call, &told)
            }
            Err(error) if self.forgives && matches!(failure(&error).0, NOT_FOUND | CANNOT_RUN) => {
                self.start_failing(call, &told, failure(&error))
            }
            result => result,
        }
    }

    /// Instead of a program that cannot be started, one that says so and fails with that status.
    fn start_failing(
        &self,
        call: Call<'_>,
        told: &Told,
        (status, why): (u8, String),
    ) -> io::Result<Child> {
        let says = "printf '%s: %s\\n' \"$1\" \"$2\" >&2; exit \"$3\"";
        let words = ["/bin/sh", "-c", says, "sh"].map(OsString::from);
        // Of a script that is too long, no more than the shell's name.
        let rest = [call.words[0].clone(), why.into(), status.to_string().into()];
        let words = &[&words[..], &rest].concat();
        let (variables, input) = (&[][..], call.input);
        let call = Call {
            words,
            variables,
            input,
        };
        let mut command = self.command(call, told)?;
        // The folder of the jobs may be what there is not.
        command.current_dir("/").spawn()
    }

    /// A script without `#!` is run by the shell. `posix_spawn`, which `Command` prefers because
    /// it does not copy our page tables, leaves that out; `execvp`, which it uses when there is
    /// something to do between fork and exec, does it.
    fn start_script(&self, call: Call<'_>, told: &Told) -> io::Result<Child> {
        let mut command = self.command(call, told)?;
        // SAFETY: the closure does nothing, so nothing that is unsafe after fork.
        unsafe { command.pre_exec(|| Ok(())) };
        command.spawn()
    }

    fn command(&self, call: Call<'_>, told: &Told) -> io::Result<Command> {
        let Call { words, input, .. } = call;
        let mut command = Command::new(&words[0]);
        let variables = call.variables.iter().enumerate();
        let variables = variables.map(|(at, value)| (format!("{VARIABLE}{}", at + 1), value));
        let output = || match self.own.output {
            true => Stdio::inherit(),
            false => Stdio::piped(),
        };
        command
            .args(&words[1..])
            .envs(told.variables())
            .envs(variables)
            .process_group(0)
            .stdin(self.stdin(input)?)
            .stdout(output())
            .stderr(output());
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        let before = self.before_exec;
        if before != BeforeExec::default() {
            // SAFETY: `apply` only makes system calls, which is allowed between fork and exec.
            unsafe { command.pre_exec(move || before.apply()) };
        }
        Ok(command)
    }
    fn stdin(&self, input: Option<&File>) -> io::Result<Stdio> {
        Ok(match input {
            Some(mut input) => {
                input.rewind()?;
                input.try_clone()?.into()
            }
            None if self.own.stdin => Stdio::inherit(),
            None => Stdio::null(),
        })
    }
}

/// What a new process does to itself. Where that is nothing, which is usual, `Command` can use
/// posix_spawn.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct BeforeExec {
    ignore_sigpipe: bool,
    nice: Option<i32>,
    scheduling: Option<Scheduling>,
}

impl BeforeExec {
    fn apply(self) -> io::Result<()> {
        if self.ignore_sigpipe {
            // SAFETY: SIG_IGN is no code that could run in a signal's context.
            unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
        }
        // A job that is not as nice as it should be is better than none; whether it is allowed
        // was found out before the first.
        if let Some(nice) = self.nice {
            let _ = cmwq_os::sched::set_nice_self(nice);
        }
        if let Some(scheduling) = self.scheduling {
            scheduling.apply();
        }
        Ok(())
    }
}

/// Gives the calling thread another signal mask while it lives. Workers block all signals, and a
/// process inherits the mask of the thread that starts it.
struct MaskedAs {
    before: u64,
}

impl MaskedAs {
    fn new(mask: u64) -> Self {
        let before = cmwq_os::thread::sigmask();
        cmwq_os::thread::set_sigmask(mask);
        Self { before }
    }
}

impl Drop for MaskedAs {
    fn drop(&mut self) {
        cmwq_os::thread::set_sigmask(self.before);
    }
}

/// Whether the system had no room for another process just now.
pub(super) fn is_shortage(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    matches!(
        code,
        Some(libc::EAGAIN | libc::EMFILE | libc::ENFILE | libc::ENOMEM)
    )
}

/// Our exit status for a job that could not be started, and the words of the message.
pub(super) fn failure(error: &io::Error) -> (u8, String) {
    match error.kind() {
        io::ErrorKind::NotFound => (NOT_FOUND, "command not found".into()),
        _ if is_shortage(error) => (OTHER_ERROR, format!("cannot start a process: {error}")),
        _ => (CANNOT_RUN, format!("cannot be run: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launcher() -> Launcher {
        Launcher {
            signal_mask: cmwq_os::thread::sigmask(),
            affinity: None,
            own: Own::default(),
            folder: None,
            forgives: false,
            before_exec: BeforeExec::default(),
        }
    }

    fn start(words: &[&str]) -> io::Result<Child> {
        let words: Vec<_> = words.iter().map(OsString::from).collect();
        let call = Call {
            words: &words,
            variables: &[],
            input: None,
        };
        launcher().start(call, 1, 1)
    }

    #[test]
    fn failures_have_the_statuses_of_xargs() {
        let missing = failure(&start(&["cmwq-no-such-command"]).unwrap_err());
        assert_eq!(missing, (NOT_FOUND, "command not found".into()));
        assert_eq!(failure(&start(&["/dev/null"]).unwrap_err()).0, CANNOT_RUN);
        assert_eq!(
            failure(&io::Error::from_raw_os_error(libc::EAGAIN)).0,
            OTHER_ERROR
        );
    }

    #[test]
    fn mask_of_the_thread_is_put_back() {
        let before = cmwq_os::thread::sigmask();
        let bit = 1 << (libc::SIGUSR1 - 1);
        {
            let _mask = MaskedAs::new(before ^ bit);
            assert_eq!(cmwq_os::thread::sigmask(), before ^ bit);
        }
        assert_eq!(cmwq_os::thread::sigmask(), before);
    }
}
