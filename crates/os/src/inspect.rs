//! What another thread of this process has used, and where it is: for whoever watches over it.
//!
//! Other than [`crate::observe`], which is read again and again, these are for questions that are
//! asked rarely: is this item CPU-intensive, where does that worker hang? Threads are named by
//! their id in this process; of another process's threads nothing is said.

use std::fs;

use cmwq_policy::Nanos;
use cmwq_policy::time::SECOND;

use crate::observe::{Blocked, TaskFiles, TaskState, is_own_proc};

/// The two low bits of a clock id that say "time on a CPU", exact; the kernel's `CPUCLOCK_SCHED`.
const CPUCLOCK_SCHED: i32 = 2;
/// The bit that says "of a thread, not of a process"; the kernel's `CPUCLOCK_PERTHREAD_MASK`.
const CPUCLOCK_PERTHREAD: i32 = 4;
/// The kernel's `PID_MAX_LIMIT`: no id is larger.
const PID_MAX: i32 = 1 << 22;

/// CPU time the thread has used since it started, up to this moment also if it runs. `None`: no
/// thread of this process has this id.
pub fn thread_cpu(tid: i32) -> Option<Nanos> {
    cpu_clock(tid, CPUCLOCK_PERTHREAD)
}

/// CPU time that all threads of a process have used since it started, those that have ended
/// included. `None`: there is no such process, or the system does not tell.
pub fn process_cpu(pid: i32) -> Option<Nanos> {
    cpu_clock(pid, 0)
}

fn cpu_clock(id: i32, whose: i32) -> Option<Nanos> {
    // An id of 0 would be the caller's clock, a larger one than there can be some other clock.
    let valid = (1..=PID_MAX).contains(&id);
    let clock = valid.then_some((!id << 3) | whose | CPUCLOCK_SCHED)?;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // By number: what `pthread_getcpuclockid` makes of a handle, which we do not have.
    // SAFETY: `time` is valid for the write; an unknown clock is refused.
    let status = unsafe { libc::clock_gettime(clock, &mut time) };
    (status == 0).then(|| time.tv_sec as u64 * SECOND + time.tv_nsec as u64)
}

/// How often the thread gave up its CPU to wait for something, since it started. Yielding and being
/// preempted do not count. `None`: the thread is gone, or /proc is not readable.
pub fn voluntary_switches(tid: i32) -> Option<u64> {
    parse_voluntary_switches(&read(tid, "status")?)
}

/// The number in the text of a `status` file. Nothing else there begins like its line: in the
/// thread's name, which comes first, a newline is written as `\n`.
fn parse_voluntary_switches(status: &[u8]) -> Option<u64> {
    let value = status
        .split(|&byte| byte == b'\n')
        .find_map(|line| line.strip_prefix(b"voluntary_ctxt_switches:"))?;
    std::str::from_utf8(value).ok()?.trim().parse().ok()
}

/// The thread's stack in the kernel, the innermost function first, one to a line, as
/// `futex_do_wait+0x38/0x70`. `None`: it is not in the kernel, is gone, or we may not know (it
/// takes `CAP_SYS_ADMIN`). Of a thread that runs, the frames may be nonsense.
pub fn kernel_stack(tid: i32) -> Option<String> {
    let text = String::from_utf8(read(tid, "stack")?).ok()?;
    let frames: Vec<&str> = text.lines().map(frame).collect();
    (!frames.is_empty()).then(|| frames.join("\n"))
}

/// A line of a `stack` file without its address, which the kernel writes as 0.
fn frame(line: &str) -> &str {
    line.split_once("] ").map_or(line, |(_, frame)| frame)
}

/// The kernel function that the thread waits in. `None`: it does not wait, or the kernel keeps its
/// names to itself.
fn wchan(tid: i32) -> Option<String> {
    let name = String::from_utf8(read(tid, "wchan")?).ok()?;
    let name = name.trim_end();
    (!name.is_empty() && name != "0").then(|| name.to_owned())
}

fn read(tid: i32, file: &str) -> Option<Vec<u8>> {
    // Of another PID namespace's /proc it would be some other thread.
    is_own_proc().then(|| fs::read(format!("/proc/self/task/{tid}/{file}")).ok())?
}

/// Whether the thread goes on without another one of its process: it runs, sleeps for a time, or
/// waits for a file, a child or a peer. False: it sleeps in a futex until somebody wakes it, or
/// `/proc` does not tell.
pub fn goes_on_alone(tid: i32) -> bool {
    let files = TaskFiles::new(tid);
    match (files.state(), files.blocked()) {
        (TaskState::Unknown, _) => false,
        (TaskState::Runnable | TaskState::Dead, _) => true,
        (_, Blocked::Unknown) => false,
        (_, blocked) => blocked.futex_address().is_none(),
    }
}

/// What the thread is doing, in words for a report: whether it sleeps, in which system call with
/// which arguments, and below that its stack in the kernel, or the function it waits in, as far as
/// we may know. Never empty. The readings are some microseconds apart: a thread that moves may show
/// parts of two moments.
pub fn where_is(tid: i32) -> String {
    let files = TaskFiles::new(tid);
    match files.state() {
        TaskState::Runnable => "runs, or waits for a CPU".to_owned(),
        TaskState::Dead if thread_cpu(tid).is_none() => "has ended".to_owned(),
        TaskState::Dead | TaskState::Unknown => "unknown: /proc does not tell".to_owned(),
        TaskState::Sleeping => waits("sleeps", files.blocked(), tid),
        TaskState::DiskSleep => waits("sleeps uninterruptibly", files.blocked(), tid),
        TaskState::Stopped => waits("is stopped", files.blocked(), tid),
    }
}

fn waits(how: &str, blocked: Blocked, tid: i32) -> String {
    let call = match blocked {
        Blocked::In { nr, args } => format!(" in {}", call(nr, &args)),
        Blocked::Outside => " in no system call".to_owned(),
        Blocked::Running | Blocked::Unknown => String::new(),
    };
    let frames = kernel_stack(tid).or_else(|| wchan(tid)).unwrap_or_default();
    let frames: String = frames.lines().map(|line| format!("\n  {line}")).collect();
    format!("{how}{call}{frames}")
}

/// A system call as one would write it. How many arguments it has is not known here, so all six
/// registers are shown.
fn call(nr: i64, args: &[u64; 6]) -> String {
    let known = NAMES.iter().find(|(known, _)| *known == nr);
    let name = known.map_or_else(|| format!("system call {nr}"), |(_, name)| (*name).into());
    let args: Vec<String> = args.iter().map(|arg| format!("{arg:#x}")).collect();
    format!("{name}({})", args.join(", "))
}

/// What items usually hang in. Calls that only some architectures have are left out; their numbers
/// are shown.
const NAMES: [(libc::c_long, &str); 24] = [
    (libc::SYS_accept4, "accept4"),
    (libc::SYS_clock_nanosleep, "clock_nanosleep"),
    (libc::SYS_connect, "connect"),
    (libc::SYS_epoll_pwait, "epoll_pwait"),
    (libc::SYS_fallocate, "fallocate"),
    (libc::SYS_fcntl, "fcntl"),
    (libc::SYS_fdatasync, "fdatasync"),
    (libc::SYS_flock, "flock"),
    (libc::SYS_fsync, "fsync"),
    (libc::SYS_futex, "futex"),
    (libc::SYS_io_uring_enter, "io_uring_enter"),
    (libc::SYS_ioctl, "ioctl"),
    (libc::SYS_nanosleep, "nanosleep"),
    (libc::SYS_openat, "openat"),
    (libc::SYS_ppoll, "ppoll"),
    (libc::SYS_pread64, "pread64"),
    (libc::SYS_pwrite64, "pwrite64"),
    (libc::SYS_read, "read"),
    (libc::SYS_recvfrom, "recvfrom"),
    (libc::SYS_recvmsg, "recvmsg"),
    (libc::SYS_sendto, "sendto"),
    (libc::SYS_wait4, "wait4"),
    (libc::SYS_waitid, "waitid"),
    (libc::SYS_write, "write"),
];

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::sync::atomic::AtomicU32;
    use std::sync::atomic::Ordering::SeqCst;
    use std::sync::mpsc;
    use std::thread::Scope;
    use std::time::Duration;

    use cmwq_policy::hog::{Sample, Sampled, Switches, THRESHOLD, Watch};
    use cmwq_policy::time::MILLISECOND;

    use super::*;
    use crate::{clock, futex, thread, usage};

    /// Looks again until it is so; the bound only ends a test that fails.
    fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
        for _ in 0..20_000 {
            if condition() {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("never happened: {what}");
    }

    /// Starts a thread that repeats `body` until the test is over, or fails; returns its id.
    fn start<'s>(scope: &'s Scope<'s, '_>, end: &'s End, body: impl Fn() + Send + 's) -> i32 {
        let (tell, told) = mpsc::channel();
        scope.spawn(move || {
            tell.send(thread::gettid()).unwrap();
            while end.0.load(SeqCst) == 0 {
                body();
            }
        });
        told.recv().unwrap()
    }

    /// The end of a test's threads.
    #[derive(Default)]
    struct End(AtomicU32);

    /// Ends them when dropped, also by a panic.
    struct Ends<'a>(&'a End);

    impl Drop for Ends<'_> {
        fn drop(&mut self) {
            self.0.0.store(1, SeqCst);
            futex::wake(&self.0.0, u32::MAX);
        }
    }

    impl End {
        fn wait(&self) {
            futex::wait(&self.0, 0, None);
        }
    }

    fn finished() -> i32 {
        std::thread::spawn(thread::gettid).join().unwrap()
    }

    /// Computes until the calling thread has had so much more CPU time.
    fn compute(cpu: Nanos) {
        let start = clock::thread_cpu();
        while clock::thread_cpu() - start < cpu {}
    }

    #[test]
    fn the_own_cpu_time_is_what_the_own_clock_says() {
        let mut readings = Vec::new();
        for _ in 0..100 {
            readings.push(clock::thread_cpu());
            readings.push(thread_cpu(thread::gettid()).unwrap());
        }
        assert!(readings.is_sorted(), "{readings:?}");
    }

    #[test]
    fn a_threads_cpu_time_moves_while_it_runs_and_stands_while_it_sleeps() {
        let end = End::default();
        std::thread::scope(|scope| {
            let _ends = Ends(&end);
            let spinner = start(scope, &end, std::hint::spin_loop);
            let sleeper = start(scope, &end, || end.wait());
            eventually("asleep", || where_is(sleeper).starts_with("sleeps in "));
            let mut stood = thread_cpu(sleeper);
            eventually("off its CPU", || {
                let before = std::mem::replace(&mut stood, thread_cpu(sleeper));
                stood == before
            });
            let began = thread_cpu(spinner).unwrap();
            eventually("20 ms of CPU time", || {
                thread_cpu(spinner).unwrap() - began >= 20 * MILLISECOND
            });
            assert_eq!(thread_cpu(sleeper), stood);
        });
    }

    #[test]
    fn of_threads_that_are_not_ours_nothing_is_said() {
        let gone = finished();
        eventually("gone", || thread_cpu(gone).is_none());
        eventually("gone for /proc", || voluntary_switches(gone).is_none());
        let parent = std::os::unix::process::parent_id() as i32;
        for tid in [gone, parent, 0, -1, PID_MAX + 1, i32::MIN, i32::MAX] {
            assert_eq!(thread_cpu(tid), None, "{tid}");
            assert_eq!(voluntary_switches(tid), None, "{tid}");
            assert_eq!(kernel_stack(tid), None, "{tid}");
            assert_eq!(where_is(tid), "has ended", "{tid}");
        }
    }

    #[test]
    fn sleeps_are_voluntary_switches() {
        let before = usage::thread().unwrap().voluntary_switches;
        // One that is preempted on its way to sleep, for longer than it wants to, never sleeps.
        eventually("five sleeps", || {
            std::thread::sleep(Duration::from_micros(200));
            usage::thread().unwrap().voluntary_switches >= before + 5
        });
        let between = voluntary_switches(thread::gettid()).unwrap();
        let after = usage::thread().unwrap().voluntary_switches;
        assert!(before + 5 <= between && between <= after);
    }

    /// What the watch says of a thread, asked as it wants to be asked.
    fn look(watch: &mut Watch, tid: i32) -> Sampled {
        let sample = |switches| Sample {
            item: 1,
            cpu: thread_cpu(tid).unwrap(),
            asleep: false,
            switches,
        };
        match watch.sampled(sample(Switches::NotRead), THRESHOLD, 0) {
            Sampled::AskSwitches => {
                let switches = voluntary_switches(tid);
                let switches = switches.map_or(Switches::Unknown, Switches::Count);
                watch.sampled(sample(switches), THRESHOLD, 0)
            }
            verdict => verdict,
        }
    }

    #[test]
    fn who_spins_is_found_to_be_a_hog_and_who_sleeps_in_between_is_not() {
        let end = End::default();
        std::thread::scope(|scope| {
            let _ends = Ends(&end);
            let spinner = start(scope, &end, std::hint::spin_loop);
            let sleepy = start(scope, &end, || {
                compute(MILLISECOND);
                std::thread::sleep(Duration::from_micros(100));
            });
            let (mut spins, mut sleeps) = (Watch::default(), Watch::default());
            let mut found = false;
            eventually("a hog, and 100 ms of CPU time for the other", || {
                assert_eq!(look(&mut sleeps, sleepy), Sampled::Fine);
                found |= matches!(look(&mut spins, spinner), Sampled::Hog(ran) if ran >= THRESHOLD);
                found && thread_cpu(sleepy).unwrap() >= 100 * MILLISECOND
            });
        });
    }

    #[test]
    fn where_threads_are() {
        let end = End::default();
        let (reader, writer) = std::io::pipe().unwrap();
        std::thread::scope(|scope| {
            let _ends = Ends(&end);
            let _closes = writer;
            let on_futex = start(scope, &end, || end.wait());
            let on_pipe = start(scope, &end, || {
                drop(std::io::Read::read(&mut &reader, &mut [0]));
            });
            let spins = start(scope, &end, std::hint::spin_loop);
            for (tid, want) in [
                (
                    on_futex,
                    format!("sleeps in futex({:#x}, ", end.0.as_ptr() as u64),
                ),
                (
                    on_pipe,
                    format!("sleeps in read({:#x}, ", reader.as_raw_fd()),
                ),
                (spins, "runs, or waits for a CPU".to_owned()),
            ] {
                eventually(&want, || where_is(tid).starts_with(&want));
            }
        });
    }

    #[test]
    fn who_may_read_stacks_sees_the_innermost_function_first() {
        let end = End::default();
        std::thread::scope(|scope| {
            let _ends = Ends(&end);
            let tid = start(scope, &end, || end.wait());
            eventually("asleep", || where_is(tid).starts_with("sleeps in futex("));
            let may = fs::read("/proc/thread-self/stack").is_ok_and(|text| !text.is_empty());
            let Some(stack) = kernel_stack(tid) else {
                assert!(!may);
                return;
            };
            assert!(may);
            let position = |what| stack.lines().position(|line| line.starts_with(what));
            assert!(position("futex_") < position("do_futex"), "{stack}");
            assert!(where_is(tid).contains(&format!("\n  {}", stack.lines().next().unwrap())));
        });
    }

    #[test]
    fn status_files() {
        let text = b"Name:\tvoluntary_ctxt\xff\nvoluntary_ctxt_switches:\t150\n\
                     nonvoluntary_ctxt_switches:\t545\n";
        assert_eq!(parse_voluntary_switches(text), Some(150));
        for bad in [
            &b""[..],
            b"nonvoluntary_ctxt_switches:\t545\n",
            b"voluntary_ctxt_switches:\n",
            b"voluntary_ctxt_switches:\t-1\n",
            b"voluntary_ctxt_switches:\t\xff\n",
        ] {
            assert_eq!(parse_voluntary_switches(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn frames_lose_their_address() {
        assert_eq!(
            frame("[<0>] futex_do_wait+0x38/0x70"),
            "futex_do_wait+0x38/0x70"
        );
        assert_eq!(frame("[<0>] f+0x1/0x2 [mod] g"), "f+0x1/0x2 [mod] g");
        assert_eq!(frame("plain"), "plain");
    }

    #[test]
    fn calls_have_names_or_numbers() {
        let read = libc::SYS_read;
        assert_eq!(
            call(read, &[3, 0x7f00, 1, 0, 0, 0]),
            "read(0x3, 0x7f00, 0x1, 0x0, 0x0, 0x0)"
        );
        assert!(call(9999, &[0; 6]).starts_with("system call 9999(0x0, "));
    }
}
