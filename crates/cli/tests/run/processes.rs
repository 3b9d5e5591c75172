//! Where there is no room for many processes.

use crate::support::{Folder, Ran, feed, heeding, is_root, numbers, run};

/// Of nobody else, so that nobody else's processes count, those of another run of these tests
/// included.
fn user() -> String {
    (100_000 + std::process::id()).to_string()
}

/// Runs `cmwq run` as somebody who may have so many processes and threads.
fn with_processes(most: u32, args: &[&str], input: String) -> Ran {
    let folder = Folder::new();
    let copy = folder.path("cmwq");
    std::fs::copy(env!("CARGO_BIN_EXE_cmwq"), &copy).unwrap();
    let opened = format!("{}\n{}\n", folder.name("."), folder.name("cmwq"));
    assert_eq!(run(&["chmod", "755"], opened).code, Some(0));
    let (mut command, user) = (heeding("setpriv"), user());
    command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]);
    command.args(["--inh-caps=-all", "--bounding-set=-all", "prlimit"]);
    command.arg(format!("--nproc={most}"));
    let command = command.arg(copy).arg("run").args(args);
    feed(command.current_dir("/"), input)
}

#[test]
fn jobs_find_room_for_their_own_children() {
    if !is_root("become somebody else") {
        return;
    }
    let job = "sleep 0.02; true | /bin/true; :";
    for most in [24, 60] {
        let args = ["--summary", "json", "--halt", "never", "sh", "-c", job];
        let ran = with_processes(most, &args, numbers(60));
        assert_eq!(ran.code, Some(0), "{most}: {}", ran.err);
        assert_eq!(ran.summary()["jobs"], 60);
    }
}
