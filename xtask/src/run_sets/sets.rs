//! What a set of jobs is, and how its files are made.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Jobs of one kind.
pub(super) struct Set {
    pub(super) name: &'static str,
    /// In words, for the table.
    pub(super) about: &'static str,
    pub(super) kind: Kind,
    /// Lines to a job.
    pub(super) max_args: u32,
}

#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// Lines for `cmwq bench burn`: ms of CPU time and ms of sleep of the n-th of so many.
    Burn(u32, fn(u32) -> (u32, u32)),
    /// So many files, of which the n-th has so many KiB, and what is done to each.
    Files(u32, fn(u32) -> u32, &'static [&'static str]),
    /// So many times nothing.
    Empty(u32),
    /// Programs of the machine.
    Scripts(Scripts),
}

/// What is prepared and run for a set, each text by `sh -e` in the set's folder.
#[derive(Clone, Copy)]
pub(super) struct Scripts {
    /// Programs without which the set is left out.
    pub(super) needs: &'static [&'static str],
    /// Once.
    pub(super) make: &'static str,
    /// Before each run, untimed.
    pub(super) before: &'static str,
    pub(super) jobs: u32,
    /// The n-th line of the list.
    pub(super) line: fn(u32) -> String,
    pub(super) command: &'static [&'static str],
}

/// What a runner is given.
pub(super) struct Work {
    /// A line for each job.
    pub(super) list: PathBuf,
    pub(super) lines: u32,
    pub(super) command: Vec<String>,
    /// Where it runs.
    pub(super) folder: PathBuf,
    /// Run there before each run.
    before: &'static str,
    /// Files whose content is to be read from the disk again.
    cold: Vec<PathBuf>,
}

impl Set {
    pub(super) fn empty(jobs: u32) -> Set {
        Set {
            name: "empty",
            about: "3,000 times `true`",
            kind: Kind::Empty(jobs),
            max_args: 1,
        }
    }

    /// A program that this machine lacks.
    pub(super) fn lacks(&self) -> Option<&'static str> {
        let needs = match self.kind {
            Kind::Burn(..) | Kind::Empty(_) => &[],
            Kind::Files(_, _, command) => &command[..1],
            Kind::Scripts(scripts) => scripts.needs,
        };
        needs.iter().copied().find(|name| !is_there(name))
    }

    /// Makes the list and the files; `cmwq` computes and sleeps.
    pub(super) fn prepare(&self, folder: &Path, cmwq: &Path) -> io::Result<Work> {
        let own = folder.join(self.name);
        fs::create_dir(&own)?;
        let mut before = "";
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        let (lines, command, cold): (Vec<String>, Vec<String>, Vec<PathBuf>) = match self.kind {
            Kind::Burn(n, each) => {
                let line = |(cpu, sleep)| format!("{cpu}+{sleep}");
                let program = cmwq.display().to_string();
                let lines = (0..n).map(each).map(line).collect();
                (lines, words(&[&program, "bench", "burn"]), Vec::new())
            }
            Kind::Files(n, kib, command) => {
                let files = files(&own, n, kib)?;
                let lines = files.iter().map(|file| file.display().to_string());
                (lines.collect(), words(command), files)
            }
            Kind::Empty(n) => {
                let lines = (0..n).map(|n| n.to_string()).collect();
                (lines, words(&["true"]), Vec::new())
            }
            Kind::Scripts(scripts) => {
                shell(scripts.make, &own)?;
                before = scripts.before;
                let lines = (0..scripts.jobs).map(scripts.line).collect();
                (lines, words(scripts.command), Vec::new())
            }
        };
        let list = folder.join(format!("{}.list", self.name));
        fs::write(&list, lines.join("\n") + "\n")?;
        Ok(Work {
            list,
            lines: lines.len() as u32,
            command,
            folder: own,
            before,
            cold,
        })
    }
}

impl Work {
    /// Undoes what the last run did: removes what it made, and puts the content of the files out of
    /// the page cache, as far as it is written.
    pub(super) fn reset(&self) -> io::Result<()> {
        shell(self.before, &self.folder)?;
        for path in &self.cold {
            let file = File::open(path)?;
            file.sync_all()?;
            drop_cached(&file);
        }
        Ok(())
    }
}

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn shell(script: &str, folder: &Path) -> io::Result<()> {
    if script.is_empty() {
        return Ok(());
    }
    let mut shell = Command::new("sh");
    let shell = shell.args(["-ec", script]).current_dir(folder);
    match shell.stdin(Stdio::null()).status()? {
        status if status.success() => Ok(()),
        status => Err(io::Error::other(format!("cannot prepare it: {status}"))),
    }
}

/// A hint: where it is not heeded, the cache is warm for every runner.
fn drop_cached(file: &File) {
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
}

/// Files of text that shrinks to a third, about.
fn files(folder: &Path, n: u32, kib: fn(u32) -> u32) -> io::Result<Vec<PathBuf>> {
    let mut random = 1_u64;
    let mut text = Vec::new();
    while text.len() < 1 << 20 {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        text.extend(format!("{:x} line {} ", random >> 44, text.len() % 97).bytes());
    }
    let make = |n| {
        let path = folder.join(format!("{n}.txt"));
        let from = (n as usize * 4099) % (1 << 18);
        fs::write(&path, &text[from..from + (kib(n) as usize) * 1024])?;
        Ok(path)
    };
    (0..n).map(make).collect()
}
