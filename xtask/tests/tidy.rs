//! The repository keeps its own rules, and the check can fail.

use std::path::{Path, PathBuf};
use std::{fs, io, process};

fn violations(root: &Path) -> Vec<String> {
    let found = xtask::tidy::check(root).expect("the repository can be read");
    found.iter().map(ToString::to_string).collect()
}

#[test]
fn the_tree_is_tidy() {
    let found = violations(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    assert!(
        found.is_empty(),
        "{} violations:\n{}",
        found.len(),
        found.join("\n")
    );
}

/// A folder of files that goes away with the value.
struct Folder(PathBuf);

impl Folder {
    fn with(files: &[(&str, &[u8])]) -> io::Result<Folder> {
        let root = std::env::temp_dir().join(format!("cmwq-tidy-{}", process::id()));
        let folder = Folder(root);
        for (path, bytes) in files {
            let path = folder.0.join(path);
            fs::create_dir_all(path.parent().expect("below the root"))?;
            fs::write(path, bytes)?;
        }
        Ok(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Left-overs in a temporary folder fail no test.
        fs::remove_dir_all(&self.0).ok();
    }
}

#[test]
fn each_rule_is_applied_to_the_files_on_disk() {
    let long = "fn main() {}\n".repeat(1001);
    let folder = Folder::with(&[
        ("crates/none/Cargo.toml", b"[dependencies]\nlog = \"0.4\"\n"),
        (
            "crates/policy/src/lib.rs",
            b"#![no_std]\nfn f() -> f32 { 0 }\n",
        ),
        (
            "crates/os/src/lib.rs",
            b"//! # Floors\n//! 1. `a`\n//! 2. `b`\nfn f() {\n    unsafe { g() }\n    a.load(Relaxed);\n}\n",
        ),
        ("crates/os/src/a.rs", b"use crate::b;\n"),
        ("crates/os/src/b.rs", b"use crate::a;\n"),
        ("xtask/src/long.rs", long.as_bytes()),
        ("docs/a.md", b"[gone](gone.md) [image](image.bin)\n"),
        ("notes.md", format!("short\n{}\n", "word ".repeat(21)).as_bytes()),
        ("docs/image.bin", b"\xff\xfe"),
        ("target/debug/a.rs", b"fn f() { unsafe { g() } }\n"),
    ])
    .expect("a temporary folder can be written");
    let found = violations(&folder.0);
    let places: Vec<&str> = found
        .iter()
        .map(|v| v.split(": ").next().unwrap())
        .collect();
    let expected = [
        "crates/none/Cargo.toml:1",
        "crates/none/Cargo.toml:2",
        "crates/os/src/a.rs:1",
        "crates/os/src/a.rs:1",
        "crates/os/src/lib.rs:5",
        "crates/os/src/lib.rs:6",
        "crates/policy/src/lib.rs:1",
        "crates/policy/src/lib.rs:2",
        "docs/a.md:1",
        "notes.md:2",
        "xtask/src/long.rs:1001",
    ];
    assert_eq!(places, expected, "{found:#?}");
}

#[test]
fn a_missing_repository_is_an_error() {
    let gone = std::env::temp_dir().join("cmwq-tidy-no-such-folder");
    assert!(xtask::tidy::check(&gone).is_err());
}
