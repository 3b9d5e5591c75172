//! A job that goes on until it is told to end, in a process of its own.

use std::cell::Cell;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;

use cmwq::Job;
use cmwq_os::sched;

use super::super::parent::print;
use super::super::spec::name;
use super::args::{Helpers, JobArgs, Load};

/// Longer than any measurement.
const UNITS: usize = 1 << 60;

/// The process, as its parent has it. It dies with the value.
pub(super) struct Background {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Background {
    /// Starts a job and returns when it has a helper.
    pub(super) fn start(load: Load, helpers: Helpers) -> Result<Self, String> {
        let words = [
            "job",
            "--role",
            "background",
            "--loads",
            &name(load),
            "--helpers",
            &name(helpers),
        ];
        let mut child = Command::new(std::env::current_exe().map_err(|e| e.to_string())?)
            .arg("bench")
            .args(words)
            .args(["--child", &std::process::id().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("cannot start the job: {e}"))?;
        let said = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut background = Background { child, said };
        // Its first helper, so that none is made while the foreground is measured.
        background.line()?;
        Ok(background)
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    fn line(&mut self) -> Result<u32, String> {
        let mut line = String::new();
        self.said
            .read_line(&mut line)
            .map_err(|e| format!("the job: {e}"))?;
        line.trim()
            .parse()
            .map_err(|_| format!("the job ended with {line:?}"))
    }

    /// Ends it: the helpers that it has had.
    pub(super) fn end(mut self) -> Result<u32, String> {
        drop(self.child.stdin.take());
        self.line()
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // Fails only where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Helpers that have come, and whom to tell.
static CAME: AtomicU32 = AtomicU32::new(0);

thread_local! {
    static KNOWN: Cell<bool> = const { Cell::new(false) };
}

/// The process itself: goes on until its input ends.
pub(super) fn child(args: &JobArgs) {
    let (load, helpers) = (args.load(), args.helpers);
    KNOWN.set(true);
    thread::spawn(|| {
        // Until the parent closes it.
        let _ = std::io::stdin().read(&mut [0]);
        print(&format!("{}\n", CAME.load(SeqCst)));
        std::process::exit(0);
    });
    let job = Job::new(0..UNITS).adaptive_chunks();
    let job = job.nice(if helpers == Helpers::Nice0 { 0 } else { 19 });
    let result = job.for_each(|units| {
        if !KNOWN.replace(true) {
            greet(helpers);
        }
        load.work(units);
    });
    unreachable!("{result:?}");
}

/// In a helper's first step.
fn greet(helpers: Helpers) {
    if helpers == Helpers::SchedIdle
        && let Err(error) = sched::set_idle_policy_self()
    {
        eprintln!("cmwq bench job: no SCHED_IDLE: {error}");
    }
    if CAME.fetch_add(1, SeqCst) == 0 {
        print("1\n");
    }
}
