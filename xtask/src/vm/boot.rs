//! QEMU: where it comes from, one boot, and an end of it in any case.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use super::machine::Machine;
use super::output;
use super::said::{Console, Said};

const QEMU: &str = "qemu-system-x86_64";
const PACKAGE: &str = "qemu-system-x86";

/// The kind that all kernels boot on (some panic with `max`), without what cannot be emulated, of which
/// QEMU would warn for each CPU.
const CPU: &str = "Haswell-v4,l3-cache=on,-pcid,-x2apic,-tsc-deadline,-invpcid,-spec-ctrl";

/// The program in it ends before, whatever happens. This is for a kernel that hangs.
const LIMIT: Duration = Duration::from_secs(300);

/// Makes sure that the emulator is there: installs it if it is missing and we may.
pub(super) fn get_qemu() -> Result<(), String> {
    match is_there() {
        true => Ok(()),
        false => install().map_err(|why| format!("{QEMU} is missing, install {PACKAGE}: {why}")),
    }
}

fn is_there() -> bool {
    let version = Command::new(QEMU).arg("--version").output();
    version.is_ok_and(|output| output.status.success())
}

fn install() -> Result<(), String> {
    if output(Command::new("id").arg("-u"))?.trim() != "0" {
        return Err("only root may".to_owned());
    }
    eprintln!("xtask vm-test: installing {PACKAGE}");
    let apt = |args: &[&str]| {
        let mut command = Command::new("apt-get");
        output(
            command
                .arg("--quiet")
                .args(args)
                .env("DEBIAN_FRONTEND", "noninteractive"),
        )
    };
    apt(&["update"])?;
    apt(&["install", "--yes", "--no-install-recommends", PACKAGE])?;
    Ok(())
}

/// Boots a machine, shows what the program in it says, and counts it.
pub(super) fn boot(kernel: &Path, initrd: &Path, machine: &Machine) -> Result<Said, String> {
    let begin = Instant::now();
    println!("\nmachine {}:", machine.name);
    let mut command = command(kernel, initrd, machine);
    let mut vm = Vm::start(&mut command)?;
    let (console, lines) = vm.console(begin + LIMIT);
    let said = console.end().map_err(|error| {
        let shown = lines.join("\n");
        format!("machine {}: {error}; its console:\n{shown}", machine.name)
    })?;
    println!(
        "machine {}: {:.1} s",
        machine.name,
        begin.elapsed().as_secs_f64()
    );
    Ok(said)
}

fn command(kernel: &Path, initrd: &Path, machine: &Machine) -> Command {
    // A panic reboots at once, which ends QEMU.
    let words = format!("console=ttyS0 panic=-1 quiet {}", machine.words());
    let mut command = Command::new(QEMU);
    command
        .args(["-nodefaults", "-no-user-config", "-no-reboot"])
        .args(["-display", "none", "-serial", "stdio", "-monitor", "none"])
        .args(["-accel", "tcg", "-cpu", CPU])
        .args(machine.args())
        .arg("-kernel")
        .arg(kernel)
        .arg("-initrd")
        .arg(initrd)
        .args(["-append", &words]);
    command
}

/// A running QEMU, which ends with this.
struct Vm {
    process: Child,
    lines: Receiver<String>,
}

impl Vm {
    fn start(command: &mut Command) -> Result<Vm, String> {
        let piped = command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = piped.spawn().map_err(|error| format!("{QEMU}: {error}"))?;
        let output = process.stdout.take().expect("it is piped");
        Ok(Vm {
            process,
            lines: lines_of(output),
        })
    }

    /// Follows the console until QEMU has ended, or is ended.
    fn console(&mut self, until: Instant) -> (Console, Vec<String>) {
        let (mut console, mut lines) = (Console::default(), Vec::new());
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => {
                    if console.line(&line) {
                        println!("  {line}");
                    }
                    lines.push(line);
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    lines.push(format!("(ended after {} s)", LIMIT.as_secs()));
                    break;
                }
            }
        }
        (console, lines)
    }
}

impl Drop for Vm {
    fn drop(&mut self) {
        // It fails if QEMU has ended by itself, which is what we want.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The lines, as they come, in a thread: reading from a pipe knows no time limit.
fn lines_of(output: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let lines = BufReader::new(output).split(b'\n').map_while(Result::ok);
        let texts = lines.map(|line| String::from_utf8_lossy(&line).trim_end().to_owned());
        texts
            .map_while(|text| sender.send(text).ok())
            .for_each(drop);
    });
    receiver
}
