//! C programs that use the library as installed programs do.

mod common;

use common::{CC, CXX, Program, STRICT, has, run, scratch, skip};
use std::process::Command;

const EVERY: &str = "tests/c/every.c";
/// All that is run under whatever looks for errors.
const SOURCES: [&str; 4] = [EVERY, "tests/c/jobs.c", "tests/c/hostile.c", FOLLOWS];
/// What follows what, for ThreadSanitizer.
const FOLLOWS: &str = "tests/c/follows.c";

fn cxx() -> bool {
    let there = has(CXX, &["--version"]);
    if !there {
        skip("there is no C++ compiler");
    }
    there
}

#[test]
fn every_function_does_what_the_header_says_in_c() {
    for source in SOURCES {
        let program = Program::new(CC, &[source]).args(&["-std=c11"]);
        program.args(&STRICT).run().passed();
    }
}

#[test]
fn every_function_does_what_the_header_says_in_cxx() {
    if !cxx() {
        return;
    }
    for source in SOURCES {
        let program = Program::new(CXX, &[]).args(&["-xc++", &path(source), "-std=c++17"]);
        program.args(&STRICT).run().passed();
    }
}

/// Sources are named from the crate's folder, but for those behind an option.
fn path(source: &str) -> String {
    common::here().join(source).to_string_lossy().into_owned()
}

#[test]
fn every_function_is_called_by_that_program() {
    let object = Program::new(CC, &[EVERY]).args(&["-c"]).alone().build();
    let names = Command::new("nm")
        .arg("-u")
        .arg(object)
        .output()
        .expect("there is nm");
    let names = common::text(&names.stdout);
    let called: Vec<&str> = names.split_whitespace().collect();
    let map = std::fs::read_to_string(common::here().join("cmwq.map")).expect("it is there");
    let exported = map.lines().filter_map(|line| line.trim().strip_suffix(';'));
    let exported: Vec<&str> = exported.filter(|name| name.starts_with("cmwq_")).collect();
    assert!(exported.len() > 60, "{exported:?}");
    let missing: Vec<_> = exported
        .iter()
        .filter(|name| !called.contains(name))
        .collect();
    assert!(missing.is_empty(), "never called: {missing:?}");
}

#[test]
fn it_works_as_an_archive() {
    Program::new(CC, &[EVERY]).archive().run().passed();
}

#[test]
fn it_works_in_a_static_program() {
    let program = Program::new(CC, &[EVERY]).args(&["-static"]);
    program.archive().run().passed();
}

#[test]
fn it_works_where_misuse_is_checked() {
    // Checks end what the others are about.
    for source in SOURCES.iter().filter(|source| !source.contains("hostile")) {
        let program = Program::new(CC, &[source]).build();
        run(Command::new(program).env("CMWQ_CHECKED", "1")).passed();
    }
}

fn sanitizes(sanitizer: &str) -> bool {
    let empty = scratch().join("empty.c");
    std::fs::write(&empty, "int main(void) { return 0; }\n").expect("it can be written");
    let out = scratch().join(format!("empty-{}", sanitizer.len()));
    let (out, source) = (out.to_string_lossy(), empty.to_string_lossy());
    let option = format!("-fsanitize={sanitizer}");
    has(CC, &[&option, &source, "-o", &out]) && has(&out, &[])
}

#[test]
fn sanitizers_find_nothing() {
    for sanitizer in ["address,undefined", "thread"] {
        if !sanitizes(sanitizer) {
            skip(&format!("the compiler has no -fsanitize={sanitizer}"));
            continue;
        }
        for source in SOURCES {
            sanitized(source, sanitizer);
        }
    }
}

fn sanitized(source: &str, sanitizer: &str) {
    // Sanitizers do not follow a fork of many threads.
    run(sanitizing(source, sanitizer).arg("no-fork")).passed();
}

fn sanitizing(source: &str, sanitizer: &str) -> Command {
    let option = format!("-fsanitize={sanitizer}");
    let program = Program::new(CC, &[source]).args(&[&option]).build();
    // docs/c.md names this file.
    let suppressions = common::here().join("tsan.supp");
    let suppressions = format!("suppressions={}", suppressions.display());
    let mut command = Command::new(program);
    command.env("TSAN_OPTIONS", suppressions);
    command
}

#[test]
fn a_race_between_items_is_found() {
    if !sanitizes("thread") {
        return skip("the compiler has no -fsanitize=thread");
    }
    let ended = run(sanitizing(FOLLOWS, "thread").arg("race"));
    let said = ended.said();
    assert!(said.contains("data race"), "{said}");
    assert!(said.contains("count_together"), "{said}");
}

#[test]
fn valgrind_finds_nothing() {
    if !has("valgrind", &["--version"]) {
        return skip("there is no valgrind");
    }
    for source in SOURCES {
        let program = Program::new(CC, &[source]).build();
        let mut valgrind = Command::new("valgrind");
        let options = ["-q", "--error-exitcode=9", "--fair-sched=yes"];
        run(valgrind.args(options).arg(program)).passed();
    }
}

const KERNEL: &str = "tests/c/kernel.c";
const SHIMS: &str = "tests/c/shims.c";

fn kernel(args: &[&str]) -> Program {
    let program = Program::new(CC, &[KERNEL]).kernel();
    program.args(&["-std=gnu11", "-Wall", "-Werror"]).args(args)
}

#[test]
fn kernel_code_behaves_as_in_the_kernel() {
    let program = kernel(&[]).build();
    run(&mut Command::new(&program)).passed();
    run(Command::new(&program).env("CMWQ_CHECKED", "1")).passed();
}

#[test]
fn misuse_in_a_loop_does_not_fill_standard_error() {
    let program = Program::new(CC, &["tests/c/floods.c"]).args(&STRICT);
    let ended = program.run();
    ended.passed();
    let said = ended.said();
    let told = |call: &str| said.lines().filter(|line| line.contains(call)).count();
    // As many again if the loop takes longer than the five seconds.
    assert!((10..=40).contains(&told("cmwq_queue_work")), "{said}");
    assert!(said.contains("more of this is not shown for 5 s"), "{said}");
    assert_eq!(told("cmwq_work_flush"), 1, "{said}");
}

const ODD: &str = "tests/c/odd.c";

/// Without the small headers, so that the program may use those of libc.
fn odd(args: &[&str]) -> Program {
    let folder = path("include/cmwq");
    let program = Program::new(CC, &[ODD]).args(&["-I", &folder]);
    program
        .args(&["-std=gnu11", "-Wall", "-Wextra", "-Werror"])
        .args(args)
}

#[test]
fn odd_uses_of_the_kernels_names_do_what_the_kernel_does() {
    odd(&[]).run().passed();
    if !sanitizes("address,undefined") {
        return skip("the compiler has no address sanitizer");
    }
    // It does not follow a fork of many threads: a lock of its allocator may stay held.
    let program = odd(&["-fsanitize=address,undefined"]).build();
    run(Command::new(program).arg("no-fork")).passed();
}

#[test]
fn the_small_headers_hold_against_models() {
    let program = Program::new(CC, &[SHIMS]).kernel();
    let program = program.args(&["-std=gnu11", "-Wall", "-Werror"]).build();
    run(&mut Command::new(&program)).passed();
    run(Command::new(&program).env("CMWQ_CHECKED", "1")).passed();
}

#[test]
fn kernel_code_is_clean_for_sanitizers() {
    if !sanitizes("address,undefined") {
        return skip("the compiler has no address sanitizer");
    }
    kernel(&["-fsanitize=address,undefined"]).run().passed();
    let shims = Program::new(CC, &[SHIMS]).kernel();
    shims
        .args(&["-std=gnu11", "-fsanitize=address,undefined"])
        .run()
        .passed();
}
