//! Misuse, forks, loading and unloading, other C libraries; examples; what is installed.

mod common;

use common::{CC, CXX, Ended, Program, STRICT, has, here, library, run, scratch, skip, text};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Runs the program that misuses the library in this way.
fn misuse(what: &str, checked: &str) -> Ended {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| {
        let program = Program::new(CC, &["tests/c/misuse.c"]);
        program.args(&["-rdynamic", "-Wno-use-after-free"]).build()
    });
    run(Command::new(program).arg(what).env("CMWQ_CHECKED", checked))
}

#[test]
fn misuse_is_named_and_ends_the_process() {
    let cases: [(&str, &[&str]); 15] = [
        ("null-item", &["cmwq_queue_work", "item is NULL"]),
        ("null-queue", &["cmwq_queue_work", "queue is NULL"]),
        ("zero", &["cmwq_queue_work", "never initialised"]),
        ("no-queue", &["cmwq_queue_work", "there is no queue"]),
        ("garbage", &["cmwq_queue_work", "is in no memory"]),
        (
            "destroyed-twice",
            &["cmwq_queue_destroy", "queue \"tested\" was destroyed"],
        ),
        (
            "stack-gone",
            &[
                "function works",
                "overwritten or freed while it was pending",
            ],
        ),
        ("destroyed-queue", &["queue \"tested\" was destroyed"]),
        (
            "destroyed-pending",
            &["function works", "destroyed while it is pending"],
        ),
        (
            "destroyed-running",
            &["function stays", "destroyed while it runs"],
        ),
        (
            "initialised-pending",
            &["function works", "initialised while it is pending"],
        ),
        (
            "overwritten",
            &[
                "function works",
                "overwritten or freed while it was pending",
            ],
        ),
        (
            "freed",
            &[
                "function works",
                "overwritten or freed while it was pending",
            ],
        ),
        (
            "reused",
            &[
                "function works",
                "overwritten or freed while it was pending",
            ],
        ),
        (
            "unmapped",
            &[
                "function works",
                "overwritten or freed while it was pending",
            ],
        ),
    ];
    for (what, words) in cases {
        misuse(what, "1").aborted(words);
    }
    misuse("none", "1").passed();
    misuse("copied", "1").passed();
}

#[test]
fn cheap_checks_are_always_made() {
    for what in ["null-item", "null-queue", "zero", "destroyed-queue"] {
        let ended = misuse(what, "");
        ended.passed();
        assert!(
            ended.said().contains("cmwq: cmwq_queue_work: the "),
            "{what}: {}",
            ended.said()
        );
    }
}

fn leaves(what: &str, checked: &str) -> Ended {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| Program::new(CC, &["tests/c/leaves.c"]).build());
    run(Command::new(program).arg(what).env("CMWQ_CHECKED", checked))
}

#[test]
fn an_item_may_jump_fork_free_itself_and_destroy_its_queue() {
    for checked in ["", "1"] {
        for what in [
            "setjmp",
            "child-returns",
            "child-works",
            "destroys",
            "frees",
        ] {
            leaves(what, checked).passed();
        }
        for what in ["hammer", "small-stack"] {
            leaves(what, checked).passed();
        }
        assert_eq!(leaves("exit", checked).output.status.code(), Some(3));
    }
}

#[test]
fn an_item_that_ends_its_thread_ends_the_process() {
    for checked in ["", "1"] {
        for what in ["pthread_exit", "pthread_cancel"] {
            // The C library says it.
            leaves(what, checked).aborted(&["FATAL"]);
        }
    }
}

#[test]
fn a_misaligned_item_is_refused() {
    let ended = leaves("misaligned", "");
    ended.passed();
    assert!(ended.said().contains("not aligned"), "{}", ended.said());
    leaves("misaligned", "1").aborted(&["not aligned"]);
}

#[test]
fn checks_notice_a_call_in_a_signal_handler() {
    leaves("handler", "1").aborted(&["signal handler"]);
}

#[test]
fn a_child_process_has_queues_of_its_own() {
    let program = Program::new(CC, &["tests/c/fork.c"]).build();
    run(&mut Command::new(&program)).passed();
    run(Command::new(&program).env("CMWQ_CHECKED", "1")).passed();
}

#[test]
fn the_library_can_be_loaded_and_closed() {
    let program = Program::new(CC, &["tests/c/dlopen.c"])
        .args(&["-ldl"])
        .alone()
        .build();
    run(Command::new(program).arg(library().join("libcmwq.so.0"))).passed();
}

/// A plugin with the archive in it is closed while its threads live. It stays, because they have
/// destructors in it.
#[test]
fn a_plugin_that_has_the_library_in_it_stays() {
    let plugin = Program::new(CC, &["tests/c/plugin.c"]).args(&["-shared", "-fPIC"]);
    let plugin = plugin.args(&["-DPLUGIN", "-Wl,--exclude-libs,ALL"]);
    let plugin = plugin.archive().build();
    let host = Program::new(CC, &["tests/c/plugin.c"]).args(&["-ldl"]);
    run(Command::new(host.alone().build()).arg(plugin)).passed();
}

/// Two copies of the shared library beside a program that has the archive in it and shows its
/// symbols: each has queues and threads of its own.
#[test]
fn copies_of_the_library_do_not_meet() {
    let copies = ["one.so", "two.so"].map(|name| {
        let copy = scratch().join(name);
        std::fs::copy(library().join("libcmwq.so.0"), &copy).expect("it can be copied");
        copy
    });
    let program = Program::new(CC, &["tests/c/copies.c"]).args(&["-rdynamic"]);
    let program = program.archive().build();
    for checked in ["", "1"] {
        let mut command = Command::new(&program);
        run(command.args(&copies).env("CMWQ_CHECKED", checked)).passed();
    }
}

#[test]
fn a_program_asks_for_the_version_it_was_linked_with() {
    let program = Program::new(CC, &["tests/c/fork.c"]).build();
    let symbols = Command::new("nm").arg("-D").arg(program).output();
    let symbols = text(&symbols.expect("there is nm").stdout);
    let ours: Vec<&str> = symbols
        .lines()
        .filter(|line| line.contains("cmwq_"))
        .collect();
    assert!(!ours.is_empty());
    for symbol in ours {
        assert!(symbol.ends_with("@CMWQ_0.1"), "{symbol}");
    }
}

#[test]
fn nothing_unwinds_through_the_library() {
    if !has(CXX, &["--version"]) {
        return skip("there is no C++ compiler");
    }
    let program = Program::new(CXX, &["tests/c/throws.cc"]).build();
    let throws = |what: &str| run(Command::new(&program).arg(what));
    for what in ["submit", "item", "each-cpu", "async", "hook"] {
        throws(what).aborted(&["foreign exception"]);
    }
    for what in ["job", "undo", "progress", "cancelled"] {
        throws(what).aborted(&["foreign exception"]);
    }
    throws("blocking").passed();
}

#[test]
fn it_works_with_musl() {
    const TARGET: &str = "x86_64-unknown-linux-musl";
    if !has("musl-gcc", &["--version"]) {
        return skip("there is no musl-gcc");
    }
    let folder = scratch().join("musl");
    let mut make = common::make();
    let made = make.arg("lib").arg(&folder);
    let made = made.args(["--profile", "dev", "--target", TARGET]);
    let made = made.output().expect("the script can be run");
    if !made.status.success() {
        let said = text(&made.stderr);
        assert!(said.contains("can't find crate for"), "{said}");
        return skip(&format!("the toolchain has no {TARGET}"));
    }
    for source in ["every", "jobs", "hostile", "fork"] {
        let source = format!("tests/c/{source}.c");
        let archives = ["libcmwq.a", "libcmwq_unwind.a"].map(|name| folder.join(name));
        let archives = archives
            .each_ref()
            .map(|path| path.to_str().expect("it is text"));
        let program = Program::new("musl-gcc", &[&source]).alone();
        let program = program.args(&["-static"]).args(&archives);
        program.args(&["-lpthread"]).run().passed();
    }
}

#[test]
fn the_interface_changes_only_with_a_version() {
    let version: Vec<&str> = env!("CARGO_PKG_VERSION").split('.').collect();
    let path = here().join(format!("abi/{}.{}.txt", version[0], version[1]));
    let known = std::fs::read_to_string(&path)
        .unwrap_or_else(|_| panic!("a new version begins with a list: {}", path.display()));
    let layout = Program::new(CC, &["tests/c/layout.c"]).kernel().run();
    layout.passed();
    let library = library().join("libcmwq.so.0");
    let symbols = Command::new("nm")
        .args(["-D", "--defined-only"])
        .arg(&library)
        .output();
    let symbols = text(&symbols.expect("there is nm").stdout);
    let mut now: Vec<String> = text(&layout.output.stdout)
        .lines()
        .map(Into::into)
        .collect();
    let exported = symbols
        .lines()
        .filter_map(|line| line.split_whitespace().nth(2));
    now.extend(
        exported
            .filter(|name| name.contains("@@"))
            .map(|name| format!("symbol {name}")),
    );
    let now = now.join("\n") + "\n";
    assert!(
        now == known,
        "the interface is not what {} says. A change needs a new minor version with a list of its \
         own; a new function goes into a new node of cmwq.map, and into the list.\n{now}",
        path.display()
    );
    let other = exported_otherwise(&symbols);
    assert!(other.is_empty(), "also exported: {other:?}");
}

/// Exported names that are not the interface's.
fn exported_otherwise(symbols: &str) -> Vec<&str> {
    let names = symbols
        .lines()
        .filter_map(|line| line.split_whitespace().nth(2));
    names
        .filter(|name| !name.starts_with("cmwq_") && !name.starts_with("CMWQ_"))
        .collect()
}

#[test]
fn the_header_declares_what_is_exported() {
    let header = std::fs::read_to_string(here().join("include/cmwq.h")).expect("it is there");
    let map = std::fs::read_to_string(here().join("cmwq.map")).expect("it is there");
    for name in map.lines().filter_map(|line| line.trim().strip_suffix(';')) {
        let declared = !name.starts_with("cmwq_") || header.contains(&format!("{name}("));
        assert!(declared, "{name} is exported and not declared");
    }
}

#[test]
fn headers_give_no_warning() {
    for header in ["cmwq.h", "linux/workqueue.h"] {
        let source = scratch().join("header.c");
        let text = format!("#include <{header}>\nint main(void) {{ return 0; }}\n");
        std::fs::write(&source, &text).expect("it can be written");
        let source = source.to_string_lossy().into_owned();
        let mut compilers = vec![(CC, "-xc", "-std=c11")];
        if has(CXX, &["--version"]) {
            compilers.push((CXX, "-xc++", "-std=c++17"));
        }
        for (compiler, language, standard) in compilers {
            let program = Program::new(compiler, &[]).args(&STRICT);
            let own = here().join("include/cmwq").to_string_lossy().into_owned();
            program
                .args(&[standard, "-I", &own, language, &source])
                .build();
        }
    }
}

#[test]
fn each_small_header_stands_alone() {
    let folder = here().join("include/cmwq/shims");
    let mut headers = Vec::new();
    collect(&folder, &folder, &mut headers);
    assert!(headers.len() > 100, "{headers:?}");
    let source = scratch().join("alone.c");
    for header in headers {
        let text = format!("#include <{header}>\n#include <linux/workqueue.h>\n");
        std::fs::write(&source, text).expect("it can be written");
        let source = source.to_string_lossy().into_owned();
        let program = Program::new(CC, &[]).kernel().alone();
        program
            .args(&["-std=gnu11", "-Wall", "-Werror", "-fsyntax-only", &source])
            .build();
    }
}

fn collect(root: &Path, folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("it is a folder") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            collect(root, &path, found);
        } else {
            let name = path.strip_prefix(root).expect("it is below");
            found.push(name.to_string_lossy().into_owned());
        }
    }
}

#[test]
fn the_examples_do_what_they_say() {
    let checksum = Program::new(CC, &["examples/checksum.c"])
        .args(&["-std=c11"])
        .args(&STRICT);
    let checksum = checksum.build();
    let ended = run(Command::new(&checksum)
        .arg(here().join("cmwq.map"))
        .arg("/nowhere"));
    assert_eq!(ended.output.status.code(), Some(1), "{}", ended.said());
    let lines = text(&ended.output.stdout);
    assert!(
        lines.lines().count() == 1 && lines.trim().ends_with("cmwq.map"),
        "{lines}"
    );
    Program::new(CC, &["examples/frees_itself.c"])
        .args(&STRICT)
        .run()
        .passed();
    let own = here().join("include/cmwq").to_string_lossy().into_owned();
    let document = Program::new(CC, &["examples/kernel_document.c"]).args(&["-I", &own]);
    document.run().passed();
    if has(CXX, &["--version"]) {
        let raii = Program::new(CXX, &["examples/raii.cc"])
            .args(&["-std=c++17"])
            .args(&STRICT);
        raii.run().passed();
    }
}

/// One command installs everything under a prefix; a program is built by what was installed.
#[test]
fn what_is_installed_can_be_built_with() {
    let prefix = scratch().join("prefix");
    std::fs::remove_dir_all(&prefix).ok();
    let mut install = common::make();
    let installed = install.arg("install").arg("--prefix").arg(&prefix);
    let installed = installed
        .args(["--profile", "dev"])
        .output()
        .expect("it can be run");
    assert!(installed.status.success(), "{}", text(&installed.stderr));
    for file in [
        "lib/libcmwq.a",
        "lib/libcmwq.so.0",
        "include/cmwq/linux/workqueue.h",
    ] {
        assert!(prefix.join(file).exists(), "{file}");
    }
    for page in ["man3/cmwq.3", "man3/cmwq_queue_work.3", "man7/cmwq-linux.7"] {
        assert!(prefix.join("share/man").join(page).exists(), "{page}");
    }
    if !has("pkg-config", &["--version"]) {
        return skip("there is no pkg-config");
    }
    let mut ask = Command::new("pkg-config");
    ask.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
    let flags = ask
        .args(["--cflags", "--libs", "cmwq"])
        .output()
        .expect("it can be run");
    let flags = text(&flags.stdout);
    let flags: Vec<&str> = flags.split_whitespace().collect();
    let out = scratch().join("installed");
    let mut cc = Command::new(CC);
    cc.arg(here().join("examples/frees_itself.c"))
        .args(flags)
        .arg("-o")
        .arg(&out);
    let built = cc.output().expect("there is a compiler");
    assert!(built.status.success(), "{}", text(&built.stderr));
    let ended = Command::new(out)
        .env("LD_LIBRARY_PATH", prefix.join("lib"))
        .status();
    assert!(ended.expect("it can be run").success());
}

#[test]
fn a_debian_package_can_be_made() {
    if !has("dpkg-deb", &["--version"]) {
        return skip("there is no dpkg-deb");
    }
    let folder = scratch().join("deb");
    let mut deb = common::make();
    let made = deb
        .arg("deb")
        .arg(&folder)
        .args(["--profile", "dev"])
        .output();
    let made = made.expect("it can be run");
    assert!(made.status.success(), "{}", text(&made.stderr));
    let package = text(&made.stdout).trim().to_owned();
    let listed = Command::new("dpkg-deb")
        .arg("-c")
        .arg(&package)
        .output()
        .expect("it can be run");
    let listed = text(&listed.stdout);
    for file in [
        "libcmwq.so.0",
        "include/cmwq.h",
        "man3/cmwq.3.gz",
        "pkgconfig/cmwq.pc",
    ] {
        assert!(listed.contains(file), "{file} is missing:\n{listed}");
    }
}
