//! Those who run jobs.

use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::Row;
use super::looks::Looks;
use super::sets::{Set, Work};

/// Nobody who takes longer is of interest.
const LIMIT: Duration = Duration::from_secs(45);
/// How exactly the end is known.
const EVERY: Duration = Duration::from_millis(10);

/// `xargs -P`, the numbers from which the best is taken.
const WIDTHS: [u32; 7] = [2, 4, 8, 16, 32, 64, 128];
/// `parallel -j`; it is slower by so much that fewer of them tell the same.
const PARALLEL: [u32; 2] = [8, 32];

/// A program with its options.
pub(super) struct Runner {
    pub(super) name: String,
    words: Vec<String>,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Cmwq,
    Xargs,
    Parallel,
}

/// All that are on this machine.
pub(super) fn runners(cmwq: &Path) -> Vec<Runner> {
    let runner = |name: String, kind, words: &[&str]| Runner {
        name,
        kind,
        words: words.iter().map(|&word| word.to_owned()).collect(),
    };
    let program = cmwq.display().to_string();
    let ours = [program.as_str(), "run", "--progress=never", "-a"];
    let mut all = vec![runner("cmwq run".to_owned(), Kind::Cmwq, &ours)];
    for width in WIDTHS {
        let name = format!("xargs -P{width}");
        let words = ["xargs", &format!("-P{width}"), "-a"];
        all.push(runner(name, Kind::Xargs, &words));
    }
    if has_parallel() {
        let quiet = "--will-cite";
        for width in PARALLEL {
            let width = format!("-j{width}");
            let words = ["parallel", quiet, &width, "-a"];
            all.push(runner(format!("parallel {width}"), Kind::Parallel, &words));
        }
        let words = ["parallel", quiet, "-j64", "--load", "100%", "-a"];
        all.push(runner(
            "parallel --load 100%".to_owned(),
            Kind::Parallel,
            &words,
        ));
    }
    all
}

fn has_parallel() -> bool {
    let mut parallel = Command::new("parallel");
    let output = parallel.arg("--version").output();
    output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("GNU"))
}

impl Runner {
    fn command(&self, set: &Set, work: &Work) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).arg(&work.list);
        command.current_dir(&work.folder);
        match self.kind {
            Kind::Parallel if set.max_args > 1 => {
                command.args(["-n", &set.max_args.to_string()]);
            }
            Kind::Parallel => {}
            Kind::Cmwq | Kind::Xargs => {
                command.args(["-n", &set.max_args.to_string()]);
            }
        }
        match self.kind {
            // It joins its words and gives them to a shell.
            Kind::Parallel => command.args(work.command.iter().map(|word| quoted(word))),
            Kind::Cmwq | Kind::Xargs => command.args(&work.command),
        };
        command
    }

    /// Runs the set once; in round 0 it is looked at.
    pub(super) fn run(&self, set: &Set, work: &Work, round: u32) -> Result<Row, String> {
        work.reset().map_err(|e| format!("{}: {e}", set.name))?;
        let wrong = |e: std::io::Error| format!("{}: {e}", self.name);
        let mut command = self.command(set, work);
        let quiet = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let begun = Instant::now();
        let mut child = quiet.spawn().map_err(wrong)?;
        let mut looks = (round == 0).then(Looks::default);
        let status = wait(&mut child, looks.as_mut()).map_err(wrong)?;
        let elapsed_s = begun.elapsed().as_secs_f64();
        match status {
            Some(status) if !status.success() => {
                return Err(format!("{} with {}: {status}", self.name, set.name));
            }
            Some(_) => {}
            None => {
                // Its jobs end by themselves.
                child.kill().and_then(|()| child.wait()).map_err(wrong)?;
            }
        }
        Ok(Row {
            set: set.name.to_owned(),
            runner: self.name.clone(),
            round,
            jobs: work.lines.div_ceil(set.max_args),
            elapsed_s,
            peak: looks.map(|looks| looks.peak),
            given_up: status.is_none(),
            hogs: 0,
            paired: false,
        })
    }
}

/// For a shell, if it needs to be.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    match word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Waits for its end, looking at it meanwhile. None: it takes too long.
fn wait(child: &mut Child, mut looks: Option<&mut Looks>) -> io::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    while begun.elapsed() < LIMIT {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if let Some(looks) = &mut looks {
            looks.take(child.id());
        }
        std::thread::sleep(EVERY);
    }
    Ok(None)
}
