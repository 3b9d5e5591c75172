//! The man pages, the completions, and the help that leads to them.

use std::process::{Command, Output};

fn cmwq(args: &[&str]) -> Output {
    let ran = Command::new(env!("CARGO_BIN_EXE_cmwq")).args(args).output();
    ran.expect("the command starts")
}

fn text(args: &[&str]) -> String {
    let ran = cmwq(args);
    assert!(ran.status.success(), "{args:?}");
    String::from_utf8(ran.stdout).expect("text")
}

#[test]
fn help_leads_to_the_pages() {
    let help = text(&["--help"]);
    for command in [
        "run",
        "doctor",
        "bench",
        "top",
        "dump",
        "explain",
        "trace",
        "set",
        "sim",
        "man",
        "completions",
    ] {
        assert!(help.contains(&format!("  {command} ")), "{command}: {help}");
    }
    let run = text(&["run", "--help"]);
    assert!(
        run.contains("cmwq man run") && run.contains("Examples:"),
        "{run}"
    );
}

#[test]
fn the_page_of_run_is_whole() {
    let page = text(&["man", "run"]);
    let title = concat!("\"cmwq ", env!("CARGO_PKG_VERSION"), "\"");
    let first = page.lines().find(|line| line.starts_with(".TH"));
    let first = first.expect("a title");
    assert!(
        first.contains("CMWQ-RUN 1") && first.contains(title),
        "{first}"
    );
    assert!(
        first.split_whitespace().any(|word| word.starts_with("20")),
        "a date: {first}"
    );
    for section in [
        "NAME",
        "SYNOPSIS",
        "DESCRIPTION",
        "OPTIONS",
        "\"EXIT STATUS\"",
        "ENVIRONMENT",
        "FILES",
        "SIGNALS",
        "EXAMPLES",
        "\"SEE ALSO\"",
    ] {
        let plain = section.trim_matches('"');
        let is_it = |line: &str| line == format!(".SH {plain}") || line == format!(".SH {section}");
        assert_eq!(
            page.lines().filter(|line| is_it(line)).count(),
            1,
            "{section}"
        );
    }
}

#[test]
fn pages_are_what_a_formatter_reads_without_complaint() {
    if Command::new("groff").arg("--version").output().is_err() {
        return println!("skipped: no groff");
    }
    let folder = tempfile::tempdir().unwrap();
    for command in [
        "",
        "run",
        "doctor",
        "bench",
        "top",
        "dump",
        "set",
        "sim",
        "man",
        "completions",
    ] {
        let words: Vec<&str> = ["man", command]
            .into_iter()
            .filter(|word| !word.is_empty())
            .collect();
        let file = folder.path().join("page.1");
        std::fs::write(&file, text(&words)).unwrap();
        let groff = Command::new("groff")
            .args(["-t", "-man", "-Tascii", "-ww"])
            .arg(&file)
            .output();
        let groff = groff.unwrap();
        assert_eq!(String::from_utf8_lossy(&groff.stderr), "", "{command}");
    }
}

#[test]
fn a_page_of_nothing_is_an_error() {
    assert!(!cmwq(&["man", "nothing"]).status.success());
}

#[test]
fn pages_are_found_by_their_names_and_have_no_empty_sections() {
    for name in ["run", "top", "dump", "set", "man", "doctor", "explain"] {
        let page = text(&["man", &format!("cmwq-{name}")]);
        assert_eq!(page, text(&["man", name]));
        assert!(!page.contains(".SH EXTRA"), "{name}");
        assert!(page.contains(r"cmwq\-top"), "{name}");
    }
    assert!(text(&["man", "top"]).contains(".SH NOTES"));
    assert!(!text(&["man", "man"]).contains(".SH NOTES"));
}

#[test]
fn a_debian_package_has_command_pages_and_completions() {
    let has_tool = Command::new("dpkg-deb").arg("--version").output().is_ok();
    if !has_tool {
        eprintln!("left out: there is no dpkg-deb");
        return;
    }
    let folder = std::env::temp_dir().join(format!("cmwq-deb-{}", std::process::id()));
    let make = concat!(env!("CARGO_MANIFEST_DIR"), "/make");
    let mut made = Command::new(make);
    made.arg("deb").arg(&folder);
    let made = made
        .args(["--command", env!("CARGO_BIN_EXE_cmwq")])
        .output();
    let made = made.expect("a shell runs it");
    assert!(made.status.success(), "{made:?}");
    let package = String::from_utf8(made.stdout).expect("a path");
    let tree = folder.join("tree");
    let unpacked = Command::new("dpkg-deb")
        .args(["-x", package.trim()])
        .arg(&tree)
        .status();
    assert!(unpacked.is_ok_and(|status| status.success()), "{package}");
    let usr = tree.join("usr");
    let version = Command::new(usr.join("bin/cmwq")).arg("--version").output();
    let version = String::from_utf8(version.expect("it runs").stdout).expect("text");
    assert_eq!(version.trim(), concat!("cmwq ", env!("CARGO_PKG_VERSION")));
    for file in [
        "share/man/man1/cmwq.1.gz",
        "share/man/man1/cmwq-run.1.gz",
        "share/bash-completion/completions/cmwq",
        "share/zsh/site-functions/_cmwq",
        "share/doc/cmwq/copyright",
    ] {
        let size = std::fs::metadata(usr.join(file)).map_or(0, |file| file.len());
        assert!(size > 100, "{file}");
    }
    std::fs::remove_dir_all(folder).expect("it goes away");
}
