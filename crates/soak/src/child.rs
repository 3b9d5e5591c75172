//! One process: what a plan says, checked.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::books;
use crate::ends;
use crate::hostile::{blind, hook, masks, threads};
use crate::plan::{End, Plan};
use crate::protocol::{BEAT, LEAVES, PATIENCE};
use crate::rooms::{self, knobs};
use crate::world;

/// What a process ends with in which something was wrong.
const WRONG: i32 = 1;
/// More memory than a run of a few seconds takes, in KiB.
const MOST_MEMORY: u64 = 3 << 20;

/// Plays it. Ends the process, or returns from main with everything done.
pub fn run(plan: Plan) {
    end_with_parent();
    let plan: &'static Plan = Box::leak(Box::new(plan));
    std::panic::set_hook(Box::new(|info| {
        // Those that are on purpose say nothing.
        let payload = info.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        if let Some(text) = text.filter(|text| !is_on_purpose(text)) {
            books::say(&format!("panic: {text} at {:?}", info.location()));
        }
    }));
    blind::prepare(plan);
    masks::note();
    if plan.no_threads {
        threads::become_bound();
    }
    watch();
    if let Some(most) = plan.thread_limit {
        let installed = cmwq::Builder::new().thread_limit(most).install();
        installed.expect("nothing is used yet");
    }
    if plan.no_threads {
        threads::first_use_without();
    }
    ends::at_exit(plan);
    world::make(plan);
    hook::set(plan);
    let before = descriptors();
    let over = play(plan);
    if plan.no_threads {
        threads::deny_at_times(plan);
    }
    std::thread::sleep(Duration::from_millis(plan.millis));
    if matches!(plan.end, End::ExitsInTheMiddle | End::ReturnsInTheMiddle) {
        return leave(plan);
    }
    books::stop();
    let _ = over.recv();
    knobs::rest();
    settle(plan);
    check_resources(before);
    check_idle();
    leave(plan);
}

/// A process that hangs is not left behind where somebody ends the one that looks after it.
fn end_with_parent() {
    // SAFETY: takes no pointer.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}

fn is_on_purpose(text: &str) -> bool {
    let ours = ["on purpose", "a guard", "a body", "a scoped item panicked"];
    ours.contains(&text)
}

/// Ends the process, which is done. Main returns where that is the way to end.
fn leave(plan: &Plan) {
    if books::has_failed() {
        // SAFETY: nothing of this process is needed.
        unsafe { libc::_exit(WRONG) };
    }
    println!("{LEAVES}");
    ends::end(plan);
}

/// Says what is done, each second; and all that is known, if asked by a signal.
fn watch() {
    // SAFETY: an empty set is a valid one; changes the mask of this thread, which all others
    // inherit.
    let set = unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGUSR1);
        libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
        set
    };
    let watch = move || {
        loop {
            let second = libc::timespec {
                tv_sec: 1,
                tv_nsec: 0,
            };
            // SAFETY: the kernel reads both, which live.
            let signal = unsafe { libc::sigtimedwait(&set, std::ptr::null_mut(), &second) };
            if signal == libc::SIGUSR1 {
                tell();
            }
            let line = format!("{BEAT}{}\n", books::progress());
            // SAFETY: the buffer lives. Without the lock of standard output, which another thread
            // may keep.
            unsafe { libc::write(1, line.as_ptr().cast(), line.len()) };
        }
    };
    let made = std::thread::Builder::new()
        .name("soak/watch".into())
        .spawn(watch);
    drop(made.expect("the first thread"));
}

fn tell() {
    rooms::notes().iter().for_each(|note| books::say(note));
    books::unbalanced()
        .iter()
        .for_each(|ticket| books::say(ticket));
    // Last: it may wait for who hangs.
    books::say(&format!("{:?}", cmwq::stats()));
    for queue in world::all() {
        books::say(&format!("{}: {:?}", queue.name(), queue.counts()));
    }
}

/// Has the rooms play; heard of when they have ended.
fn play(plan: &'static Plan) -> mpsc::Receiver<()> {
    let (ended, over) = mpsc::channel();
    let body = move || {
        rooms::play(plan);
        let _ = ended.send(());
    };
    drop(
        std::thread::Builder::new()
            .name("soak/rooms".into())
            .spawn(body)
            .expect("a thread"),
    );
    over
}

/// Waits until everything that was begun has ended, and the books are balanced.
fn settle(plan: &Plan) {
    if books::has_failed() {
        return;
    }
    for queue in world::all() {
        if let Err(error) = queue.flush() {
            books::fail(&format!("flush of {} at the end: {error}", queue.name()));
        }
        books::step();
    }
    // Handles that are kept for the end of the process.
    let kept = if plan.late {
        rooms::spawns::kept()
    } else {
        rooms::spawns::end_all()
    };
    let began = Instant::now();
    // What was spawned by what was dropped last may still run, and spawn more.
    while !is_over(kept) {
        if began.elapsed() > Duration::from_secs(60) {
            let tickets = books::unbalanced().join("\n");
            books::fail(&format!("not balanced at the end:\n{tickets}"));
            // Some thread keeps what is missing: whoever looks after us takes this for a hang, and
            // looks at all of them.
            return std::thread::sleep(2 * PATIENCE);
        }
        std::thread::sleep(Duration::from_millis(2));
        world::all().for_each(|queue| drop(queue.flush()));
    }
}

/// No item is there that could make others, and all books but so many are balanced.
fn is_over(kept: usize) -> bool {
    cmwq::stats().in_flight == 0 && books::prune() <= kept
}

/// `None` where it cannot be seen.
fn descriptors() -> Option<usize> {
    Some(std::fs::read_dir("/proc/self/fd").ok()?.count())
}

/// A number of a process, in `/proc/self/status`.
fn status(key: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Nobody has anything to do: there is a moment in which nobody does anything.
fn check_idle() {
    let window = Duration::from_millis(20);
    let is_idle = || {
        let before = cpu_time();
        std::thread::sleep(window);
        cpu_time() - before < window / 2
    };
    if !books::has_failed() && !(0..100).any(|_| is_idle()) {
        books::fail("busy at the end, with nothing to do");
    }
}

/// What all threads of this process have run.
fn cpu_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes to the structure, which lives.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn check_resources(descriptors_before: Option<usize>) {
    let threads = status("Threads:").unwrap_or(0);
    let memory = status("VmHWM:").unwrap_or(0);
    if memory > MOST_MEMORY {
        books::fail(&format!("{memory} KiB of memory at the highest"));
    }
    let found = descriptors_before.zip(descriptors());
    // Workers keep one or two each.
    let more = found.is_some_and(|(before, now)| now > before + 2 * threads as usize + 64);
    if more {
        books::fail(&format!(
            "descriptors before and after: {found:?}, {threads} threads"
        ));
    }
}
