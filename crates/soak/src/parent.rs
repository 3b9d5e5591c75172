//! Starts a process for each seed, two at a time, and looks after them.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::plan::Plan;
use crate::protocol::{BEAT, LEAVES, PATIENCE};
use crate::states;

/// What is to be soaked, and for how long.
#[derive(Clone, Debug)]
pub struct Options {
    /// No process begins later.
    pub time: Duration,
    /// That of the first process; the others follow.
    pub seed: u64,
    /// Only this one.
    pub one: bool,
    /// Processes have this room and no other.
    pub room: Option<String>,
    /// Ends after so many failures.
    pub failures: u64,
}

/// Processes at a time.
const AT_ONCE: usize = 2;
/// Lines of a process's words that are shown.
const MOST_LINES: usize = 400;

/// Runs them; the number of processes and of failures.
pub fn run(options: &Options) -> (u64, u64) {
    let (began, next) = (Instant::now(), AtomicU64::new(options.seed));
    let (ran, failed) = (AtomicU64::new(0), AtomicU64::new(0));
    let at_once = if options.one { 1 } else { AT_ONCE };
    std::thread::scope(|threads| {
        for _ in 0..at_once {
            threads.spawn(|| {
                while began.elapsed() < options.time && failed.load(SeqCst) < options.failures {
                    let seed = next.fetch_add(1, SeqCst);
                    ran.fetch_add(1, SeqCst);
                    if let Err(what) = one(seed, options) {
                        failed.fetch_add(1, SeqCst);
                        tell(seed, options, &what);
                    }
                    if options.one {
                        break;
                    }
                }
            });
        }
    });
    (ran.into_inner(), failed.into_inner())
}

fn tell(seed: u64, options: &Options, what: &str) {
    let plan = Plan::of(seed, options.room.as_deref());
    let room = options
        .room
        .as_ref()
        .map_or(String::new(), |room| format!(" --room {room}"));
    println!("\nFAILED: seed {seed}: {plan}\n{what}\nagain: cargo xtask soak --one {seed}{room}");
}

/// What a process has said, and when it last did something new.
struct Heard {
    beat: u64,
    changed: Instant,
    text: Vec<String>,
    leaves: bool,
}

fn one(seed: u64, options: &Options) -> Result<(), String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(own);
    command.args(["--child", &seed.to_string()]);
    command.args(options.room.iter().flat_map(|room| ["--room", room]));
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.process_group(0).spawn();
    watch(
        child.map_err(|error| format!("cannot start: {error}"))?,
        PATIENCE,
    )
}

fn watch(mut child: Child, patience: Duration) -> Result<(), String> {
    let heard = Arc::new(Mutex::new(Heard {
        beat: 0,
        changed: Instant::now(),
        text: Vec::new(),
        leaves: false,
    }));
    let out = listen(child.stdout.take().expect("a pipe"), &heard);
    let err = listen(child.stderr.take().expect("a pipe"), &heard);
    let pid = child.id() as i32;
    let (status, hangs) = wait(&mut child, &heard, patience);
    // What it has forked, if anything: children that hang are left to us.
    let left = match status.success() {
        true => String::new(),
        false => show(&states::group(pid)),
    };
    // SAFETY: the group of our child, which has no other members of ours.
    unsafe { libc::kill(-pid, libc::SIGKILL) };
    let _ = (out.join(), err.join());
    let heard = heard.lock().expect("nobody panics with it");
    let text = heard.text.join("\n");
    match (hangs, status.code(), heard.leaves) {
        (Some(states), ..) => Err(format!("hangs\n{text}\n{states}")),
        (None, Some(0), true) => Ok(()),
        (None, Some(0), false) => Err(format!("ended early\n{text}")),
        (None, Some(code), _) => Err(format!("ended with {code}\n{text}{left}")),
        (None, None, _) => Err(format!("killed by signal {:?}\n{text}", status.signal())),
    }
}

/// The states and stacks of these.
fn show(processes: &[i32]) -> String {
    let shown = processes
        .iter()
        .map(|&pid| format!("\n{}{}", states::of(pid), states::stacks(pid)));
    shown.collect()
}

fn listen(
    pipe: impl Read + Send + 'static,
    heard: &Arc<Mutex<Heard>>,
) -> std::thread::JoinHandle<()> {
    let heard = heard.clone();
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            let mut heard = heard.lock().expect("nobody panics with it");
            heard.hear(line);
        }
    })
}

impl Heard {
    fn hear(&mut self, line: String) {
        if let Some(beat) = line.strip_prefix(BEAT).and_then(|beat| beat.parse().ok()) {
            if self.beat != beat {
                (self.beat, self.changed) = (beat, Instant::now());
            }
            return;
        }
        self.leaves |= line == LEAVES;
        self.changed = Instant::now();
        if self.text.len() < MOST_LINES {
            self.text.push(line);
        }
    }
}

/// Waits for its end; if it hangs, kills it and gives what is known of it.
fn wait(
    child: &mut Child,
    heard: &Mutex<Heard>,
    patience: Duration,
) -> (ExitStatus, Option<String>) {
    let pid = child.id() as i32;
    let mut hangs = None;
    loop {
        if let Some(status) = child.try_wait().expect("it is our child") {
            return (status, hangs);
        }
        std::thread::sleep(Duration::from_millis(10));
        let changed = heard.lock().expect("nobody panics with it").changed;
        if changed.elapsed() > patience && hangs.is_none() {
            hangs = Some(inspect(pid));
            // SAFETY: our child, which is not reaped.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
    }
}

/// All that can be known of a process that hangs, and of its children.
fn inspect(pid: i32) -> String {
    let group = states::group(pid);
    let states: String = group.iter().map(|pid| states::of(*pid)).collect();
    // Asks it to say what it knows.
    // SAFETY: our child, which is not reaped.
    unsafe { libc::kill(pid, libc::SIGUSR1) };
    std::thread::sleep(Duration::from_secs(3));
    format!("{states}{}", states::stacks(pid))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(script: &str) -> Result<(), String> {
        let mut command = Command::new("sh");
        command.args(["-c", script]).process_group(0);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        watch(command.spawn().unwrap(), Duration::from_secs(3))
    }

    #[test]
    fn who_comes_to_its_end_is_right() {
        assert_eq!(watched("echo beat 1; echo leaves"), Ok(()));
    }

    #[test]
    fn who_does_not_is_told_of_with_what_it_said() {
        let told = |script| watched(script).unwrap_err();
        assert_eq!(
            told("echo FAILED: why >&2; exit 1"),
            "ended with 1\nFAILED: why"
        );
        assert_eq!(told("echo leaves; exit 7"), "ended with 7\nleaves");
        assert_eq!(told("exit 0"), "ended early\n");
        assert_eq!(told("kill -ABRT $$"), "killed by signal Some(6)\n");
    }

    #[test]
    fn who_does_nothing_more_hangs_however_often_it_says_so() {
        let why = watched("while :; do echo beat 5; sleep 0.2; done").unwrap_err();
        assert!(why.starts_with("hangs\n") && why.contains("sh"), "{why}");
        let goes_on = "for n in 1 2 3 4 5; do echo beat $n; sleep 1; done; echo leaves";
        assert_eq!(watched(goes_on), Ok(()));
    }

    #[test]
    fn what_it_leaves_behind_is_ended() {
        let began = Instant::now();
        assert_eq!(watched("sleep 1000 & echo leaves"), Ok(()));
        assert!(began.elapsed() < Duration::from_secs(900));
    }
}
