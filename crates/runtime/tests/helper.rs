//! The process that canaries live in, and what it may not do to its parent.

mod common;

use std::fs;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cmwq::{CanaryForm, CanaryReason};
use common::alone::{self, Watched, alone, is_child};
use common::{eventually, fork, queue, seccomp, threads, watchdog};

/// Queues items until it is known where canaries live.
fn use_it() -> (CanaryForm, CanaryReason) {
    let queue = queue("used");
    for _ in 0..1_000 {
        let sleep = |_| queue.spawn(|| std::thread::sleep(Duration::from_millis(2)));
        let items: Vec<_> = (0..cmwq::stats().cpus + 4).map(sleep).collect();
        items.into_iter().for_each(|item| item.join().unwrap());
        let stats = cmwq::stats();
        if let (Some(form), Some(reason)) = (stats.canary_form, stats.canary_reason) {
            return (form, reason);
        }
    }
    panic!("never decided: {:?}", cmwq::stats());
}

fn name_of(pid: i32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim().to_owned()
}

/// A field of the file `status`; empty if the process has gone.
fn field(pid: i32, key: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    line.unwrap_or_default().trim().to_owned()
}

/// The helpers of a process that have not ended.
fn helpers_of(pid: i32) -> Vec<i32> {
    let files = threads::of(pid).into_iter().map(|thread| {
        fs::read_to_string(format!("/proc/{pid}/task/{}/children", thread.tid)).unwrap_or_default()
    });
    let all: Vec<String> = files.collect();
    let pids = all.iter().flat_map(|text| text.split_whitespace());
    let pids = pids.filter_map(|word| word.parse().ok());
    pids.filter(|&pid| name_of(pid) == "cmwq/canary" && is_alive(pid))
        .collect()
}

fn is_alive(pid: i32) -> bool {
    !matches!(field(pid, "State:").get(..1), None | Some("Z" | "X"))
}

/// The one helper of this process, settled in.
fn own_helper() -> i32 {
    let pid = std::process::id() as i32;
    let mut found = 0;
    eventually("there is a helper, with a thread for each CPU", || {
        let [helper] = helpers_of(pid)[..] else {
            return false;
        };
        found = helper;
        threads::of(helper).len() > cmwq::stats().cpus
    });
    found
}

const IS_HERE: bool = cfg!(target_arch = "x86_64");

#[test]
fn by_default_canaries_live_in_a_process_of_their_own() {
    if !IS_HERE {
        return;
    }
    alone("by_default_canaries_live_in_a_process_of_their_own", || {
        // More than a helper may have.
        let heap = vec![1_u8; 64 << 20];
        let (form, reason) = use_it();
        assert_eq!((form, reason), (CanaryForm::Process, CanaryReason::Default));
        let helper = own_helper();
        let resident: u64 = field(helper, "VmRSS:")
            .trim_end_matches(" kB")
            .parse()
            .unwrap();
        assert!(resident < 16 << 10, "{resident} KiB");
        let open = fs::read_dir(format!("/proc/{helper}/fd")).unwrap().count();
        assert_eq!(open, 0, "descriptors");
        let cwd = fs::read_link(format!("/proc/{helper}/cwd")).unwrap();
        assert_eq!(cwd.to_str(), Some("/"));
        // SAFETY: both ask for numbers only.
        let (group, session) = unsafe { (libc::getpgid(helper), libc::getsid(helper)) };
        // SAFETY: as above.
        assert_eq!((group, session), (helper, unsafe { libc::getsid(0) }));
        // SIGKILL and SIGSTOP cannot be blocked.
        let blocked = u64::from_str_radix(&field(helper, "SigBlk:"), 16).unwrap();
        assert_eq!(
            !blocked,
            1 << (libc::SIGKILL - 1) | 1 << (libc::SIGSTOP - 1)
        );
        drop(heap);
        eventually("and they report", || {
            use_it();
            cmwq::stats().canary_reports > 0
        });
    });
}

#[test]
fn no_wait_sees_it_and_no_signal_to_the_group_ends_it() {
    if !IS_HERE {
        return;
    }
    alone("no_wait_sees_it_and_no_signal_to_the_group_ends_it", || {
        use_it();
        let helper = own_helper();
        let any = || {
            // SAFETY: asks for nothing to be written.
            let pid = unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) };
            (pid, std::io::Error::last_os_error().raw_os_error())
        };
        assert_eq!(any(), (-1, Some(libc::ECHILD)));
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGTSTP] {
            // SAFETY: a signal to a process of this user.
            unsafe { libc::kill(helper, signal) };
        }
        use_it();
        assert_eq!(own_helper(), helper);
        assert!(field(helper, "State:").starts_with(['S', 'R']));
    });
}

#[test]
fn a_forked_child_has_one_of_its_own() {
    if !IS_HERE {
        return;
    }
    alone("a_forked_child_has_one_of_its_own", || {
        use_it();
        let parents = own_helper();
        fork::in_child(|| {
            assert_eq!(helpers_of(std::process::id() as i32), []);
            use_it();
            assert_ne!(own_helper(), parents);
        });
        assert_eq!(own_helper(), parents);
    });
}

#[test]
fn one_that_is_killed_is_made_anew_but_not_for_ever() {
    if !IS_HERE {
        return;
    }
    alone("one_that_is_killed_is_made_anew_but_not_for_ever", || {
        use_it();
        let mut seen = vec![];
        eventually("they are threads", || {
            let helpers = helpers_of(std::process::id() as i32);
            if let [helper] = helpers[..] {
                seen.push(helper);
                // SAFETY: a signal to a child that nobody reaps before this.
                unsafe { libc::kill(helper, libc::SIGKILL) };
            }
            use_it() == (CanaryForm::Threads, CanaryReason::Ended)
        });
        seen.dedup();
        assert!(seen.len() >= 3, "{seen:?}");
        eventually("that report", || {
            use_it();
            threads::count("cmwq/c") == cmwq::stats().cpus
        });
    });
}

#[test]
fn it_follows_its_parent_into_another_session() {
    if !IS_HERE {
        return;
    }
    alone("it_follows_its_parent_into_another_session", || {
        // One that leads no process group, as setsid demands.
        fork::in_child(|| {
            use_it();
            let before = own_helper();
            // SAFETY: changes the session of this process.
            let session = unsafe { libc::setsid() };
            assert_eq!(session, std::process::id() as i32);
            eventually("another helper, there", || {
                use_it();
                let [helper] = helpers_of(session)[..] else {
                    return false;
                };
                // SAFETY: asks for a number.
                helper != before && unsafe { libc::getsid(helper) } == session
            });
        });
    });
}

#[test]
fn where_no_process_may_be_forked_they_are_threads() {
    alone("where_no_process_may_be_forked_they_are_threads", || {
        // Threads are made by clone3.
        seccomp::deny(&[libc::SYS_clone], libc::EPERM);
        let (form, reason) = use_it();
        assert_eq!(form, CanaryForm::Threads);
        assert!(
            !IS_HERE || reason == CanaryReason::Denied(libc::EPERM),
            "{reason:?}"
        );
        eventually("one for each CPU", || {
            use_it();
            threads::count("cmwq/c") == cmwq::stats().cpus
        });
    });
}

/// How long the kernel lets the thread run in one go, 0: the calling one; 0 before Linux 6.12.
fn slice_of(tid: i32) -> u64 {
    // `struct sched_attr` in its first version: the slice is its fourth word.
    let mut attr = [0_u64; 6];
    let (at, size) = (attr.as_mut_ptr(), size_of_val(&attr));
    // SAFETY: the kernel writes as many bytes as it is told that there are.
    let got = unsafe { libc::syscall(libc::SYS_sched_getattr, tid, at, size, 0) };
    assert_eq!(got, 0, "{}", std::io::Error::last_os_error());
    attr[3]
}

/// Beside a runnable thread with a short slice all others on its CPU, of any process, run as short.
fn canaries_have_a_usual_slice(pid: i32, name: &str) {
    let canaries = threads::of(pid).into_iter();
    let canaries: Vec<_> = canaries
        .filter(|thread| thread.name.starts_with(name))
        .collect();
    assert!(canaries.len() >= cmwq::stats().cpus, "{}", canaries.len());
    for thread in canaries {
        assert_eq!(slice_of(thread.tid), slice_of(0), "{}", thread.name);
    }
}

#[test]
fn canaries_in_a_process_leave_others_their_time_slices() {
    if IS_HERE {
        alone(
            "canaries_in_a_process_leave_others_their_time_slices",
            || {
                use_it();
                canaries_have_a_usual_slice(own_helper(), "cmwq/canary");
            },
        );
    }
}

#[test]
fn canaries_that_are_threads_leave_others_their_time_slices() {
    alone(
        "canaries_that_are_threads_leave_others_their_time_slices",
        || {
            let builder = cmwq::Builder::new().canaries(CanaryForm::Threads);
            builder.install().unwrap();
            eventually("one for each CPU", || {
                use_it();
                threads::count("cmwq/c") == cmwq::stats().cpus
            });
            canaries_have_a_usual_slice(std::process::id() as i32, "cmwq/c");
        },
    );
}

#[test]
fn a_program_may_choose() {
    for (name, form) in [("threads", CanaryForm::Threads), ("off", CanaryForm::Off)] {
        const NAME: &str = "a_program_may_choose";
        if !is_child(NAME) {
            let output = alone::command(NAME).env("FORM", name).output().unwrap();
            assert!(output.status.success(), "{}", alone::describe(&output));
        } else if std::env::var("FORM").is_ok_and(|chosen| chosen == name) {
            let _watch = watchdog();
            cmwq::Builder::new().canaries(form).install().unwrap();
            assert_eq!(use_it(), (form, CanaryReason::Chosen));
            assert_eq!(helpers_of(std::process::id() as i32), []);
        }
    }
}

/// What the children below do after they have used cmwq.
fn used_and_ready(heap: usize) {
    if std::env::var_os("WITHOUT").is_none() {
        use_it();
        if IS_HERE {
            own_helper();
        }
    }
    // Not zero, so that the memory is there.
    let heap = vec![1_u8; heap];
    println!("ready");
    let mut word = String::new();
    let _ = std::io::stdin().read_line(&mut word);
    drop(heap);
}

#[test]
fn it_ends_with_its_parent_however_that_ends() {
    const NAME: &str = "it_ends_with_its_parent_however_that_ends";
    if is_child(NAME) {
        used_and_ready(0);
        if std::env::var_os("EXEC").is_some() {
            use std::os::unix::process::CommandExt;
            panic!("{}", Command::new("cat").exec());
        }
        return;
    }
    let _watch = watchdog();
    for how in ["exit", "kill", "exec"] {
        let mut command = alone::command(NAME);
        if how == "exec" {
            command.env("EXEC", "1");
        }
        command.stdin(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = Watched(command.spawn().unwrap());
        child.wait_for("ready");
        let helpers = helpers_of(child.pid());
        assert_eq!(helpers.len(), usize::from(IS_HERE), "{how}");
        match how {
            "kill" => child.0.kill().unwrap(),
            _ => writeln!(child.0.stdin.as_mut().unwrap()).unwrap(),
        }
        eventually(how, || !helpers.iter().any(|&pid| is_alive(pid)));
        if how == "exec" {
            // Its threads end before it has another name.
            eventually("exec", || name_of(child.pid()) == "cat");
        }
    }
}

/// Loops that want every CPU all the time. They end with the value, and by themselves.
struct Hogs(Vec<Child>);

impl Hogs {
    fn start() -> Self {
        let cpus = std::thread::available_parallelism().unwrap().get();
        let hog = |_| {
            let mut command = Command::new("sh");
            command.args(["-c", "ulimit -t 100; while :; do :; done"]);
            command.spawn().unwrap()
        };
        Hogs((0..2 * cpus).map(hog).collect())
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            let _ = hog.kill();
            let _ = hog.wait();
        }
    }
}

/// How long it takes until a killed child's output is closed, and it is reaped.
fn time_to_die(name: &str, without: bool, kill: bool) -> Duration {
    let mut command = alone::command(name);
    if without {
        command.env("WITHOUT", "1");
    }
    command.stdin(Stdio::piped()).stderr(Stdio::inherit());
    let mut child = Watched(command.spawn().unwrap());
    child.wait_for("ready");
    let before = Instant::now();
    match kill {
        true => child.0.kill().unwrap(),
        false => drop(child.0.stdin.take()),
    }
    let mut rest = Vec::new();
    let stdout = child.0.stdout.as_mut().unwrap();
    stdout.read_to_end(&mut rest).unwrap();
    child.0.wait().unwrap();
    before.elapsed()
}

/// A SCHED_IDLE thread of the process would have to tear down the heap.
#[test]
fn beside_hogs_a_process_with_a_heap_ends_as_one_without_an_engine() {
    const NAME: &str = "beside_hogs_a_process_with_a_heap_ends_as_one_without_an_engine";
    if is_child(NAME) {
        return used_and_ready(256 << 20);
    }
    if !IS_HERE {
        return;
    }
    let _watch = watchdog();
    let _hogs = Hogs::start();
    for kill in [true, false] {
        let rounds = (0..2).map(|_| {
            (
                time_to_die(NAME, false, kill),
                time_to_die(NAME, true, kill),
            )
        });
        let (with, without): (Vec<_>, Vec<_>) = rounds.unzip();
        let (with, without) = (with.iter().min().unwrap(), without.iter().max().unwrap());
        // With threads it takes until the hogs end, here a minute; the rest is the machine's noise.
        let allowed = 10 * *without + Duration::from_secs(5);
        assert!(
            *with < allowed,
            "{with:?} with an engine, {without:?} without, kill: {kill}"
        );
    }
}
