//! Pages that say anything: `top`, `dump`, `explain` and the list end soon, in bounded memory, with
//! a picture or with a message that says what is wrong.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::FileExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cmwq_stats::{BUCKETS, Decision, Lately, Page, Pool, Queue, Snapshot, WaitReason, Worker};

/// Address space of a command, in KiB. A page has 64 MiB at most.
const MEMORY: &str = "3000000";
/// A command that needs longer hangs. Generous: machines are busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// A process that has nothing but a page.
struct Hostile {
    page: Page,
    process: Child,
}

impl Hostile {
    fn new(snapshot: &Snapshot) -> Hostile {
        let mut sleep = Command::new("sleep");
        Hostile::run(snapshot, sleep.arg("600"))
    }

    /// One that listens at the socket that its page names, as [`listens`] does.
    fn listening(snapshot: &Snapshot) -> Hostile {
        let mut listens = Command::new(std::env::current_exe().unwrap());
        listens.args(["--exact", "listens", "--nocapture", "--quiet"]);
        listens.env(SOCKET, &snapshot.socket);
        listens.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut hostile = Hostile::run(snapshot, &mut listens);
        hostile.hears("it listens");
        hostile
    }

    fn run(snapshot: &Snapshot, command: &mut Command) -> Hostile {
        let mut page = Page::new().unwrap();
        page.publish(snapshot).unwrap();
        let handed_on = rustix::io::dup(page.file()).unwrap();
        let process = command.spawn().unwrap();
        drop(handed_on);
        // The header says that the page is the process's own.
        let pid = process.id().to_le_bytes();
        page.file().write_all_at(&pid, 12).unwrap();
        Hostile { page, process }
    }

    fn pid(&self) -> String {
        self.process.id().to_string()
    }

    /// Waits until the one that listens says this.
    fn hears(&mut self, what: &str) {
        let mut said = String::new();
        let out = self.process.stdout.as_mut().unwrap();
        while !said.ends_with(&format!("{what}\n")) {
            let mut byte = [0];
            out.read_exact(&mut byte).unwrap();
            said.push(byte[0].into());
        }
    }

    /// What a command says of it.
    fn seen_by(&self, args: &[&str]) -> Output {
        let pid = self.pid();
        let (verb, rest) = args.split_first().unwrap();
        let limited = format!("ulimit -v {MEMORY} && exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &limited, env!("CARGO_BIN_EXE_cmwq"), verb]);
        command.arg(&pid).args(rest).stdin(Stdio::null());
        let out = tempfile::tempfile().unwrap();
        let err = tempfile::tempfile().unwrap();
        command.stdout(out.try_clone().unwrap());
        command.stderr(err.try_clone().unwrap());
        let mut child = command.spawn().unwrap();
        let until = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > until {
                child.kill().unwrap();
                panic!("{args:?} hangs");
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let all = |file: &std::fs::File| {
            let mut bytes = vec![0; file.metadata().unwrap().len() as usize];
            file.read_exact_at(&mut bytes, 0).unwrap();
            bytes
        };
        Output {
            status,
            stdout: all(&out),
            stderr: all(&err),
        }
    }

    /// Each command gives a picture, and of a bounded size.
    fn is_shown(&self) -> String {
        let mut shown = String::new();
        for args in [
            &["top", "--once"][..],
            &["dump"],
            &["dump", "--all"],
            &["explain", "id:7"],
        ] {
            let output = self.seen_by(args);
            let says = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{args:?}: {says}");
            let text = String::from_utf8(output.stdout).expect("text");
            let commands = text.chars().filter(|c| c.is_control() && *c != '\n');
            assert_eq!(commands.count(), 0, "{args:?}");
            shown += &text;
        }
        let json = self.seen_by(&["top", "--once", "--json"]);
        let says = String::from_utf8_lossy(&json.stderr);
        assert!(json.status.success(), "{says}");
        assert!(json.stdout.ends_with(b"}\n"), "it is whole");
        shown
    }

    /// `top` shows what the page has, `set` changes nothing; what that says.
    fn does_not_answer(&self) -> String {
        let output = self.seen_by(&["top", "--once"]);
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{shown}");
        assert!(shown.contains("the process does not answer"), "{shown}");
        let output = self.seen_by(&["set", "id:7", "max_active=1"]);
        let says = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{says}");
        assert!(says.contains("does not answer"), "{says}");
        says
    }

    /// Each command says this, and nothing else.
    fn is_refused(&self, why: &str) {
        for args in [&["top", "--once"][..], &["dump"], &["top", "--json"]] {
            let output = self.seen_by(args);
            let says = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{args:?}: {says}");
            assert!(says.contains(why), "{args:?}: {says}");
            assert!(output.stdout.is_empty());
        }
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Where [`listens`] listens, if it is run for that.
const SOCKET: &str = "CMWQ_TEST_LISTENS_AT";

/// No test: a process that is asked, says what, and answers when it is told to.
#[test]
fn listens() {
    let Ok(name) = std::env::var(SOCKET) else {
        return;
    };
    let address = SocketAddr::from_abstract_name(name).unwrap();
    let listener = UnixListener::bind_addr(&address).unwrap();
    println!("it listens");
    for peer in listener.incoming() {
        let mut asked = String::new();
        BufReader::new(peer.as_ref().unwrap())
            .read_line(&mut asked)
            .unwrap();
        print!("asked {asked}");
        let mut answer = String::new();
        std::io::stdin().read_line(&mut answer).unwrap();
        let _ = peer.unwrap().write_all(answer.as_bytes());
    }
}

/// Nothing that a terminal should get.
const EVIL: &str = "\x1b[2J\r\n\t\u{9b}31m\u{202e}\u{200b}宽e\u{301}\0";

fn queue(id: u64) -> Queue {
    Queue {
        id,
        name: "q".into(),
        pools: vec![0],
        ..Queue::default()
    }
}

/// Eight bytes of text at most, so that a page has room for as many as possible.
fn worker(queue: u64) -> Worker {
    Worker {
        tid: -1,
        queue,
        item: "f".into(),
        ..Worker::default()
    }
}

#[test]
fn numbers_at_their_ends() {
    let max = u64::MAX;
    let worst = Queue {
        id: 7,
        max_active: u32::MAX,
        min_active: u32::MAX,
        nice: i32::MIN,
        active: max,
        executing: max,
        inactive: max,
        started: max,
        completed: max,
        cpu_intensive: max,
        waited: vec![max; BUCKETS],
        ran: vec![max; BUCKETS],
        waited_ns: max,
        ran_ns: max,
        pools: vec![0, u32::MAX, u32::MAX],
        waits: vec![
            WaitReason {
                items: max,
                why: EVIL.into()
            };
            5
        ],
        ..queue(7)
    };
    let pool = |id| Pool {
        id,
        workers: 0,
        idle: u32::MAX,
        running: u32::MAX,
        queued: max,
        busy: vec![Worker {
            since: max,
            tid: i32::MIN,
            ..worker(7)
        }],
        decisions: vec![Decision {
            ago: max,
            times: max,
            running: u32::MAX,
            spare: u32::MAX,
            ..Decision::default()
        }],
        ..Pool::default()
    };
    let lately = |pool| Lately {
        item: EVIL.into(),
        pool,
        items: max,
        cpu_ns: max,
        most_ns: max,
        ..Lately::default()
    };
    for (at, lately_ns) in [(max, 0), (0, max)] {
        let hostile = Hostile::new(&Snapshot {
            at,
            cpus: u32::MAX,
            allowed: 0,
            quota_milli_cpus: max,
            spawn_failures: max,
            queues: vec![worst.clone(), queue(7), worst.clone()],
            pools: vec![pool(0), pool(u32::MAX), pool(0)],
            lately_ns,
            lately: vec![lately(0), lately(u32::MAX)],
            ..Snapshot::default()
        });
        // Two queues have that number.
        let output = hostile.seen_by(&["explain", "id:7"]);
        let says = String::from_utf8_lossy(&output.stderr);
        assert!(says.contains("several queues"), "{says}");
        for args in [
            &["top", "--once"][..],
            &["dump"],
            &["top", "--once", "--json"],
        ] {
            assert!(hostile.seen_by(args).status.success(), "{args:?}");
        }
    }
}

/// Each queue would look at each worker.
#[test]
fn as_many_queues_and_workers_as_a_page_can_have() {
    let busy = |from: u64| (0..200_000).map(|n| worker(from + n)).collect();
    let hostile = Hostile::new(&Snapshot {
        queues: (0..130_000).map(queue).collect(),
        pools: (0..2)
            .map(|id| Pool {
                id,
                busy: busy(u64::from(id) * 1000),
                ..Pool::default()
            })
            .collect(),
        ..Snapshot::default()
    });
    let shown = hostile.is_shown();
    assert!(shown.contains("more, which --json has"));
}

#[test]
fn names_without_an_end() {
    let name = EVIL.repeat(4000 / EVIL.len());
    let long = |id| Queue {
        name: name.clone(),
        kind: name.clone(),
        cpumask: name.clone(),
        affinity_scope: name.clone(),
        ..queue(id)
    };
    let place = format!("sleeps in futex({}", "(".repeat(4000));
    let worst = Worker {
        item: name.clone(),
        desc: name.clone(),
        awaits: name.clone(),
        place,
        ..worker(7)
    };
    let hostile = Hostile::new(&Snapshot {
        spawn_failures: 1,
        spawn_error: name.clone(),
        queues: (0..500).map(long).collect(),
        pools: vec![Pool {
            kind: name.clone(),
            cpus: name.clone(),
            busy: vec![worst; 1000],
            ..Pool::default()
        }],
        ..Snapshot::default()
    });
    hostile.is_shown();
}

#[test]
fn lists_without_an_end() {
    let reason = WaitReason {
        items: 1,
        why: "w".into(),
    };
    let long = Queue {
        waits: vec![reason; 300_000],
        pools: (0..1_000_000).collect(),
        waited: vec![1; 500_000],
        ..queue(7)
    };
    let decision = Decision {
        cause: "c".into(),
        ..Decision::default()
    };
    let pools = (0..100_000).map(|id| Pool {
        id,
        ..Pool::default()
    });
    let hostile = Hostile::new(&Snapshot {
        queues: vec![long],
        pools: pools
            .chain([Pool {
                decisions: vec![decision; 300_000],
                ..Pool::default()
            }])
            .collect(),
        lately: vec![Lately::default(); 100_000],
        ..Snapshot::default()
    });
    hostile.is_shown();
}

/// Frames of a stack, and workers that differ in one of them.
#[test]
fn stacks_without_an_end() {
    let deep = |n: usize| Worker {
        place: format!("sleeps{}\n{n}", "\n f".repeat(1300)),
        ..worker(7)
    };
    let hostile = Hostile::new(&Snapshot {
        queues: vec![queue(7)],
        pools: vec![Pool {
            busy: (0..5000).map(deep).collect(),
            ..Pool::default()
        }],
        ..Snapshot::default()
    });
    let shown = hostile.is_shown();
    assert!(shown.len() < 100 << 20, "{}", shown.len());
}

#[test]
fn a_header_that_points_anywhere() {
    let cases: [(u64, u64); 7] = [
        (24, u64::MAX),
        (24, 64 << 20),
        (24, (64 << 20) + 1),
        (40, 0),
        (40, 63),
        (40, u64::MAX),
        (40, u64::MAX - 63),
    ];
    for (field, value) in cases {
        let hostile = Hostile::new(&Snapshot::default());
        let file = hostile.page.file();
        file.write_all_at(&value.to_le_bytes(), field).unwrap();
        hostile.is_refused("the page is cut short or says a wrong length");
    }
    // As large as files get, and with nothing in it.
    let hostile = Hostile::new(&Snapshot::default());
    hostile.page.file().set_len(1 << 40).unwrap();
    for (field, value) in [(24, 64 << 20), (40, 1 << 39)] {
        let value: u64 = value;
        let file = hostile.page.file();
        file.write_all_at(&value.to_le_bytes(), field).unwrap();
    }
    hostile.is_refused("the page is no whole one");
}

/// The snapshot is another one whenever somebody has read the header.
#[test]
fn a_page_that_changes_while_it_is_read() {
    let hostile = Hostile::new(&Snapshot {
        queues: (0..20_000).map(queue).collect(),
        ..Snapshot::default()
    });
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut turn = 0_u64;
            while !ends.load(Ordering::SeqCst) {
                turn += 1;
                // The counter and the checksum, each time others.
                let file = hostile.page.file();
                file.write_all_at(&turn.to_le_bytes(), 16).unwrap();
                file.write_all_at(&turn.to_le_bytes(), 32).unwrap();
                std::thread::yield_now();
            }
        });
        hostile.is_refused("the page is no whole one");
        ends.store(true, Ordering::SeqCst);
    });
}

/// It is cut short and made whole again all the time: there is a picture, or a word about it.
#[test]
fn a_page_that_shrinks_while_it_is_read() {
    let hostile = Hostile::new(&Snapshot {
        queues: (0..20_000).map(queue).collect(),
        ..Snapshot::default()
    });
    let whole = hostile.page.file().metadata().unwrap().len();
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ends.load(Ordering::SeqCst) {
                for length in [70, whole, 0, whole] {
                    hostile.page.file().set_len(length).unwrap();
                }
            }
        });
        for _ in 0..20 {
            let output = hostile.seen_by(&["top", "--once"]);
            let says = String::from_utf8_lossy(&output.stderr);
            let known = ["cut short", "no whole one", "no statistics page", "damaged"];
            let is_known = known.iter().any(|known| says.contains(known));
            assert!(output.status.success() || is_known, "{says}");
        }
        ends.store(true, Ordering::SeqCst);
    });
}

/// A page may name any socket, and who asks may be allowed what its process is not.
#[test]
fn a_socket_that_is_none_or_another_ones() {
    let name = format!("cmwq-hostile/{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let others = UnixListener::bind_addr(&address).unwrap();
    for socket in ["", "\0", "nobody", &"x".repeat(4000), &name] {
        let hostile = Hostile::new(&Snapshot {
            socket: socket.into(),
            queues: vec![queue(7)],
            ..Snapshot::default()
        });
        let says = hostile.does_not_answer();
        let is_anothers = says.contains("another process's");
        assert_eq!(is_anothers, socket == name, "{says}");
    }
    // It has been asked nothing: who connected has sent no line.
    others.set_nonblocking(true).unwrap();
    for peer in others.incoming().map_while(Result::ok) {
        let mut line = String::new();
        BufReader::new(peer).read_line(&mut line).unwrap();
        assert_eq!(line, "");
    }
}

#[test]
fn a_process_that_listens_and_does_not_answer() {
    let hostile = Hostile::listening(&Snapshot {
        socket: format!("cmwq-silent/{}", std::process::id()),
        queues: vec![queue(7)],
        ..Snapshot::default()
    });
    let says = hostile.does_not_answer();
    assert!(says.contains("3 seconds have passed"), "{says}");
}

/// A resized terminal, a stopped `top`: the process has answered all the same.
#[test]
fn a_look_that_is_interrupted_goes_on() {
    let mut hostile = Hostile::listening(&Snapshot {
        socket: format!("cmwq-slow/{}", std::process::id()),
        queues: vec![queue(7)],
        ..Snapshot::default()
    });
    let mut command = Command::new(env!("CARGO_BIN_EXE_cmwq"));
    command.args(["top", &hostile.pid(), "--once"]);
    let top = command.stdout(Stdio::piped()).spawn().unwrap();
    hostile.hears("asked look");
    let stat = format!("/proc/{}/stat", top.id());
    let is = |state| std::fs::read_to_string(&stat).unwrap().contains(state);
    let until = Instant::now() + PATIENCE;
    // It reads, is stopped there, and goes on.
    for (signal, becomes) in [("", ") S "), ("STOP", ") T "), ("CONT", ") S ")] {
        if !signal.is_empty() {
            let mut kill = Command::new("kill");
            let sent = kill.args(["-s", signal, &top.id().to_string()]).status();
            assert!(sent.unwrap().success());
        }
        while !is(becomes) {
            assert!(Instant::now() < until, "{signal}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let answers = hostile.process.stdin.as_mut().unwrap();
    answers.write_all(b"ok\n").unwrap();
    let output = top.wait_with_output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(!shown.contains("does not answer"), "{shown}");
}

/// It does not make the list of all processes end, either.
#[test]
fn a_hostile_process_among_others() {
    let hostile = Hostile::new(&Snapshot {
        queues: (0..100_000).map(queue).collect(),
        ..Snapshot::default()
    });
    let damaged = Hostile::new(&Snapshot::default());
    damaged.page.file().set_len(70).unwrap();
    let list = Command::new(env!("CARGO_BIN_EXE_cmwq")).arg("top").output();
    let list = String::from_utf8(list.unwrap().stdout).unwrap();
    for (process, says) in [(&hostile, " 100000 "), (&damaged, "cut short")] {
        let line = list.lines().find(|line| line.starts_with(&process.pid()));
        assert!(line.is_some_and(|line| line.contains(says)), "{list}");
    }
}
