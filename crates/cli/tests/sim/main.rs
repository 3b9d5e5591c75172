//! `cmwq sim`, on the real command.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

fn cmwq(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cmwq"));
    command.arg("sim").args(args).stdin(Stdio::null());
    command.output().expect("the command starts")
}

/// A file of `crates/sim/scenarios`.
fn scenario(name: &str) -> String {
    format!("{}/../sim/scenarios/{name}", env!("CARGO_MANIFEST_DIR"))
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a folder can be made"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name)
            .to_str()
            .expect("the path is text")
            .to_owned()
    }

    fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.path(name), text).expect("the file can be written");
        self.text(name)
    }
}

/// It fails with this exit status, and says this on standard error and nothing on standard output.
fn fails(output: &Output, code: i32, words: &[&str]) {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{errors}");
    assert!(output.stdout.is_empty());
    assert!(!errors.contains("panicked"), "{errors}");
    for word in words {
        assert!(errors.contains(word), "`{word}` is not in: {errors}");
    }
}

const SMALL: &str = "[machine]\ntopology = \"T2\"\n[[thread]]\nname = \"t\"\n\
                     does = [{ repeat = 500, does = [\"burn 1ms\", \"sleep 1ms\", \"count n\"] }]\n";

#[test]
fn text_and_json_tell_the_same() {
    let text = cmwq(&[&scenario("timelines.toml")]);
    assert_eq!(text.status.code(), Some(0));
    let text = String::from_utf8(text.stdout).expect("output is text");
    let row = text
        .lines()
        .find(|line| line.starts_with("max_active 2"))
        .expect("a row");
    assert!(row.contains("35.0 ms"), "{row}");
    let json = cmwq(&["--json", &scenario("timelines.toml")]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("output is JSON");
    assert_eq!(json["axes"], serde_json::json!(["limit"]));
    let cell = &json["cells"][1];
    assert_eq!(cell["cell"]["limit"], "max_active 2");
    assert_eq!(cell["spans"]["w2"]["max_ns"], 35_000_000);
    let keys: Vec<&String> = cell.as_object().expect("an object").keys().collect();
    let expected = [
        "cell",
        "counters",
        "cpu",
        "devices",
        "ended",
        "locks",
        "measured_ns",
        "pools",
        "queues",
        "seed",
        "signals",
        "spans",
        "spawn_failures",
        "stuck",
        "troubles",
        "virtual_ns",
    ];
    assert_eq!(keys, expected);
}

#[test]
fn the_same_seed_gives_the_same_files() {
    let folder = Folder::new();
    let run = |number: &str, seed: &str| {
        let (trace, plot) = (
            folder.text(&format!("{number}.json")),
            folder.text(&format!("{number}.svg")),
        );
        let args = [
            "--set",
            "queue.requests.scope=cache",
            "--set",
            "queue.requests.nice=0",
            "--seed",
            seed,
        ];
        let file = scenario("server.toml");
        let output = cmwq(&[&args[..], &["--trace", &trace, "--plot", &plot, &file]].concat());
        assert_eq!(
            output.status.code(),
            Some(0),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        (
            output.stdout,
            fs::read(trace).expect("a trace"),
            fs::read_to_string(plot).expect("a plot"),
        )
    };
    let (first, again, other) = (run("1", "7"), run("2", "7"), run("3", "8"));
    assert!(first == again, "two processes with one seed differ");
    assert!(first.1 != other.1, "the seed changes nothing");
    let events: serde_json::Value = serde_json::from_slice(&first.1).expect("the trace is JSON");
    let events = events.as_array().expect("a list of events");
    let phases = |phase: &str| events.iter().filter(|event| event["ph"] == phase).count();
    assert!(phases("X") > 1000 && phases("s") > 1000 && phases("s") == phases("f"));
    assert!(first.2.starts_with("<svg") && first.2.ends_with("</svg>\n"));
    assert!(first.2.matches("CPU ").count() >= 8 && first.2.len() < 5_000_000);
}

#[test]
fn mistakes_point_to_the_line_and_exit_with_2() {
    let folder = Folder::new();
    let file = folder.write("a.toml", &SMALL.replace("burn 1ms", "brun 1ms"));
    fails(
        &cmwq(&[&file]),
        2,
        &["a.toml:5:34: ", "no act `brun`", "^^^^"],
    );
    let file = folder.write("b.toml", SMALL);
    fails(
        &cmwq(&[&file, "--set", "thread.u.count=2"]),
        2,
        &["thread.u.count=2", "no thread `u`"],
    );
    fails(&cmwq(&[&file, "--seed", "x"]), 2, &["x"]);
    fails(&cmwq(&[]), 2, &["SCENARIO"]);
    let trace = folder.text("t.json");
    let sweep = scenario("timelines.toml");
    fails(
        &cmwq(&[&sweep, "--trace", &trace]),
        2,
        &["4", "--set", "limit"],
    );
    assert!(!folder.path("t.json").exists());
}

#[test]
fn what_cannot_be_read_or_run_exits_with_1() {
    let folder = Folder::new();
    fails(
        &cmwq(&[&folder.text("none.toml")]),
        1,
        &["none.toml", "No such file"],
    );
    fails(
        &cmwq(&[folder.0.path().to_str().expect("text")]),
        1,
        &["directory"],
    );
    fails(&cmwq(&["/dev/zero"]), 1, &["more than 16 MiB"]);
    fs::write(folder.path("bytes.toml"), b"a = \"\xff\"").expect("the file can be written");
    fails(
        &cmwq(&[&folder.text("bytes.toml")]),
        1,
        &["no UTF-8 text, at byte 5"],
    );
    let file = folder.write(
        "endless.toml",
        &SMALL
            .replace("burn 1ms", "count m")
            .replace("sleep 1ms", "count k")
            .replace("500", "5000000"),
    );
    fails(
        &cmwq(&[&file]),
        1,
        &["thread `t`", "without letting time pass"],
    );
}

#[test]
fn what_cannot_be_written_exits_with_1_and_leaves_nothing() {
    let folder = Folder::new();
    let file = folder.write("a.toml", SMALL);
    fails(
        &cmwq(&[&file, "--plot", &folder.text("no/b.svg")]),
        1,
        &["no/b.svg", "No such file"],
    );
    fails(
        &cmwq(&[&file, "--trace", "/dev/full"]),
        1,
        &["/dev/full", "No space left"],
    );
    // A limit of 8 KiB, as a full disk: SIGXFSZ is ignored, so that writing fails.
    let script = "trap '' XFSZ; ulimit -f 16; exec \"$0\" sim \"$1\" --trace \"$2\"";
    let trace = folder.text("t.json");
    let args = ["-c", script, env!("CARGO_BIN_EXE_cmwq"), &file, &trace];
    let output = Command::new("sh")
        .args(args)
        .output()
        .expect("the shell starts");
    fails(&output, 1, &["t.json", "File too large"]);
    assert!(
        !folder.path("t.json").exists(),
        "a part of the trace is left"
    );
    let mut command = Command::new("sh");
    command.args([
        "-c",
        "exec \"$0\" sim \"$1\" >&-",
        env!("CARGO_BIN_EXE_cmwq"),
        &file,
    ]);
    fails(
        &command.output().expect("the shell starts"),
        1,
        &["standard output is closed"],
    );
}

#[test]
fn this_machine_is_a_topology() {
    let folder = Folder::new();
    let file = folder.write("a.toml", &SMALL.replace("\"T2\"", "\"this\""));
    let json = cmwq(&[&file, "--json"]);
    assert_eq!(
        json.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&json.stderr)
    );
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("output is JSON");
    let online = fs::read_to_string("/sys/devices/system/cpu/online").expect("sysfs");
    let cpus = cmwq_os::topology::parse_cpulist(online.trim())
        .expect("a list of CPUs")
        .count();
    assert_eq!(json["cells"][0]["cpu"]["cpus"], cpus);
}
