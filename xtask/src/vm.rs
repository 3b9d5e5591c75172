//! `cargo xtask vm-test`: where items run, on machines that nobody here has.
//!
//! Real kernels with several nodes and caches, in QEMU: a program that is all of the user space
//! there (`crates/runtime/rigs/vm_guest`) compares what it finds with what the machine was made
//! of, and queues items. Everything is emulated, so it needs no privilege and no CPU feature;
//! `docs/contributing/testing.md` tells what it shows.

mod boot;
mod cpio;
mod guest;
mod kernel;
mod machine;
mod said;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use machine::{MACHINES, Machine};
use said::Said;

const USAGE: &str = "usage: cargo xtask vm-test [MACHINE...]";

/// Boots the machines that are named, or all. Status 2 for bad arguments, 1 if a check failed or a
/// machine could not be started or did not end.
pub fn run(args: &[String]) -> ExitCode {
    let machines = match machines(args) {
        Ok(machines) => machines,
        Err(message) => return fail(&message, 2),
    };
    match boot_all(&machines) {
        Ok(said) => report(&said),
        Err(message) => fail(&message, 1),
    }
}

fn machines(args: &[String]) -> Result<Vec<&'static Machine>, String> {
    let named = |name: &String| {
        let found = MACHINES.iter().find(|machine| machine.name == name);
        found.ok_or_else(|| unknown(name))
    };
    match args {
        [] => Ok(MACHINES.iter().collect()),
        names => names.iter().map(named).collect(),
    }
}

fn unknown(name: &str) -> String {
    let names: Vec<_> = MACHINES.iter().map(|machine| machine.name).collect();
    let known = names.join(", ");
    format!("unknown machine {name:?}, there are {known}\n{USAGE}")
}

fn boot_all(machines: &[&Machine]) -> Result<Vec<Said>, String> {
    let folder = folder()?;
    boot::get_qemu()?;
    let kernel = kernel::get(&folder)?;
    let initrd = initrd(&folder)?;
    let boot = |machine: &Machine| match boot::boot(&kernel, &initrd, machine) {
        Ok(said) => said,
        Err(message) => {
            eprintln!("xtask vm-test: {message}");
            Said {
                passed: 0,
                failed: 1,
            }
        }
    };
    let verdict = |machine: &&Machine| best_of(BOOTS, || boot(machine));
    Ok(machines.iter().map(verdict).collect())
}

/// How often a machine is booted, until all of its checks pass in one boot. Some ask where an
/// emulated kernel puts threads, which depends on how the CPUs below are shared just then: of a
/// hundred checks one may fail now and then. What is broken fails in each boot.
const BOOTS: usize = 3;

/// The first boot in which all is well, or else the best one.
fn best_of(boots: usize, mut boot: impl FnMut() -> Said) -> Said {
    let mut best = boot();
    for _ in 1..boots {
        if best.failed == 0 {
            break;
        }
        println!("\n{} failed: once more", best.failed);
        let said = boot();
        if said.failed < best.failed {
            best = said;
        }
    }
    best
}

/// The first file system of the machines, with the program in it.
fn initrd(folder: &Path) -> Result<PathBuf, String> {
    let (program, initrd) = (guest::build(folder)?, folder.join("initrd"));
    let program = std::fs::read(&program).map_err(at(&program))?;
    std::fs::write(&initrd, cpio::with_init(&program)).map_err(at(&initrd))?;
    Ok(initrd)
}

/// Where kernel, guest and initial file system are kept.
fn folder() -> Result<PathBuf, String> {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let folder = root().join(target).join("vm");
    std::fs::create_dir_all(&folder).map_err(at(&folder))?;
    Ok(folder)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The sum in the form of libtest, so that what adds up test results counts it as well.
fn report(said: &[Said]) -> ExitCode {
    let passed: usize = said.iter().map(|said| said.passed).sum();
    let failed: usize = said.iter().map(|said| said.failed).sum();
    let verdict = if failed == 0 { "ok" } else { "FAILED" };
    println!("\ntest result: {verdict}. {passed} passed; {failed} failed");
    ExitCode::from(u8::from(failed > 0))
}

fn fail(message: &str, status: u8) -> ExitCode {
    eprintln!("xtask vm-test: {message}");
    ExitCode::from(status)
}

/// Turns an error with a file into a message that names it.
fn at<E: std::fmt::Display>(path: &Path) -> impl Fn(E) -> String {
    let path = path.display().to_string();
    move |error| format!("{path}: {error}")
}

/// What a command that has to succeed writes to its standard output.
fn output(command: &mut Command) -> Result<String, String> {
    let output = command.stderr(std::process::Stdio::inherit()).output();
    let output = output.map_err(|error| format!("{command:?}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{command:?}: {}", output.status)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_boot_without_a_failure_is_enough() {
        let mut failures = [2, 0, 7].into_iter();
        let mut boot = || Said {
            passed: 5,
            failed: failures.next().unwrap(),
        };
        assert_eq!(best_of(3, &mut boot).failed, 0);
        assert_eq!(best_of(1, boot).failed, 7, "there were two");
        let mut failures = [3, 1, 2].into_iter();
        let boot = || Said {
            passed: 5,
            failed: failures.next().unwrap(),
        };
        assert_eq!(best_of(3, boot).failed, 1, "what is broken stays so");
    }

    #[test]
    fn all_machines_or_those_that_are_named() {
        assert_eq!(machines(&[]).unwrap().len(), MACHINES.len());
        let one = machines(&[MACHINES[1].name.to_owned()]).unwrap();
        assert_eq!(one[0].name, MACHINES[1].name);
        let message = machines(&["none".to_owned()]).unwrap_err();
        assert!(message.contains("\"none\"") && message.contains(MACHINES[0].name));
    }
}
