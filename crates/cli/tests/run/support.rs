//! Running the command, with a guard against hanging for ever.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Far more than any test needs: this only turns a hang into a failure.
const HANG: Duration = Duration::from_secs(300);

/// What a process left behind.
pub(crate) struct Ran {
    pub(crate) out: Vec<u8>,
    pub(crate) err: String,
    /// None: killed by a signal.
    pub(crate) code: Option<i32>,
    /// That killed it.
    pub(crate) signal: Option<i32>,
}

impl Ran {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.out.clone()).expect("output is text")
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.text().lines().map(String::from).collect()
    }

    pub(crate) fn sorted_lines(&self) -> Vec<String> {
        let mut lines = self.lines();
        lines.sort();
        lines
    }

    /// The JSON summary, the last line of standard error.
    pub(crate) fn summary(&self) -> serde_json::Value {
        let line = self
            .err
            .lines()
            .last()
            .expect("a summary on standard error");
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }
}

/// `cmwq run` with these arguments.
pub(crate) fn command<S: AsRef<OsStr>>(args: &[S]) -> Command {
    let mut command = heeding(env!("CARGO_BIN_EXE_cmwq"));
    command.arg("run").args(args);
    command
}

/// A command that heeds the signals of a terminal: whoever runs the tests in the background may
/// ignore them, and that is inherited.
pub(crate) fn heeding(program: &str) -> Command {
    let mut command = Command::new(program);
    let heed = || {
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT] {
            // SAFETY: SIG_DFL is no code of ours.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: only calls of signal(2), which are safe between fork and exec.
    unsafe { command.pre_exec(heed) };
    command
}

/// Runs `cmwq run` with these arguments on `input`.
pub(crate) fn run<S: AsRef<OsStr>>(args: &[S], input: impl Into<Vec<u8>>) -> Ran {
    feed(&mut command(args), input)
}

/// What standard output has, of a `cmwq run` that succeeds.
pub(crate) fn lines(args: &[&str], input: impl AsRef<[u8]>) -> Vec<String> {
    let ran = run(args, input.as_ref());
    assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.err);
    ran.lines()
}

/// Runs any command on `input`.
pub(crate) fn feed(command: &mut Command, input: impl Into<Vec<u8>>) -> Ran {
    let mut child = start(command);
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.into();
    // A command that ends early breaks this pipe, which is its right.
    let feeding = thread::spawn(move || drop(stdin.write_all(&input)));
    let ran = finish(child);
    feeding.join().expect("the feeder does not panic");
    ran
}

/// Runs a shell script in which `$0` is the command.
pub(crate) fn shell(script: &str) -> Ran {
    feed(
        heeding("sh").args(["-c", script, env!("CARGO_BIN_EXE_cmwq")]),
        "",
    )
}

/// Whether the tests may do what only root may; says what is left out otherwise.
pub(crate) fn is_root(left_out: &str) -> bool {
    // SAFETY: geteuid takes nothing.
    let is_root = unsafe { libc::geteuid() } == 0;
    if !is_root {
        eprintln!("left out: {left_out}: only root can");
    }
    is_root
}

/// The letter that /proc has for the state of a process; X if there is none.
pub(crate) fn state(pid: u32) -> char {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after_name = stat.rsplit(") ").next().unwrap_or_default();
    after_name.chars().next().unwrap_or('X')
}

/// Waits until `is_so`, which has these words.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < HANG, "never: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// The number in a file that a job writes, once it is there.
pub(crate) fn number_in(path: &Path) -> u32 {
    let read = || {
        std::fs::read_to_string(path)
            .ok()?
            .strip_suffix('\n')?
            .parse()
            .ok()
    };
    wait_until("a number in a file", || read().is_some());
    read().expect("a number")
}

/// Starts a command with pipes as its standard streams.
pub(crate) fn start(command: &mut Command) -> Child {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().expect("the command starts")
}

/// Writes all of a process's standard input, which is less than a pipe holds.
pub(crate) fn give(child: &mut Child, input: &str) {
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(input.as_bytes()).expect("it is read");
}

/// Waits for the end of a process, whose standard input this closes.
pub(crate) fn finish(child: Child) -> Ran {
    let pid = child.id();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(child.wait_with_output()));
    let Ok(output) = receiver.recv_timeout(HANG) else {
        signal(pid, libc::SIGKILL);
        panic!("the command hangs");
    };
    let Output {
        status,
        stdout,
        stderr,
    } = output.expect("its output can be read");
    Ran {
        out: stdout,
        err: String::from_utf8_lossy(&stderr).into_owned(),
        code: status.code(),
        signal: status.signal(),
    }
}

/// Sends a signal to one process.
pub(crate) fn signal(pid: u32, number: i32) {
    // SAFETY: kill takes no pointer; the process is a child of ours that is not reaped yet.
    let result = unsafe { libc::kill(pid as i32, number) };
    assert_eq!(result, 0, "kill: {}", std::io::Error::last_os_error());
}

/// Waits until `path` exists.
pub(crate) fn wait_for(path: &Path) {
    wait_until(&format!("{} appears", path.display()), || path.exists());
}

/// A shell loop that waits until the file `name` exists, or its folder is gone: a job that outlives
/// its test ends with that. Some minutes at most: a test that is killed leaves both alone.
pub(crate) fn until(name: &str) -> String {
    let folder = Path::new(name).parent().unwrap().display();
    format!(
        "n=0; until [ -e '{name}' ] || [ ! -d '{folder}' ] || [ $n -gt 30000 ]; \
         do n=$((n+1)); sleep 0.01; done"
    )
}

/// A folder of its own for each test, removed at the end.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn name(&self, name: &str) -> String {
        self.path(name).to_str().expect("UTF-8").to_owned()
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        std::fs::write(self.path(name), content).expect("a file is written");
        self.name(name)
    }
}

/// The numbers 1 to `last`, a line each.
pub(crate) fn numbers(last: u32) -> String {
    (1..=last).map(|number| format!("{number}\n")).collect()
}
