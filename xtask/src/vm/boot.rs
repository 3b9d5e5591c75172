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

/// The kind that all kernels boot on (some panic with `max`), without what cannot be emulated, of
/// which QEMU would warn for each CPU.
const CPU: &str = "Haswell-v4,l3-cache=on,-pcid,-x2apic,-tsc-deadline,-invpcid,-spec-ctrl";

/// The program in it ends before, whatever happens. This is for a kernel that hangs.
const LIMIT: Duration = Duration::from_secs(300);

/// Until the program begins. It takes ten seconds, thirty on busy CPUs.
const BOOT_LIMIT: Duration = Duration::from_secs(90);

/// QEMU 7.2 was seen to hang before the kernel said anything, once in about thirty boots.
const BOOTS: usize = 3;

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
    let (begin, name) = (Instant::now(), machine.name);
    println!("\nmachine {name}:");
    let console = come_up(&mut command(kernel, initrd, machine))?;
    println!("machine {name}: {:.1} s", begin.elapsed().as_secs_f64());
    console
        .end()
        .map_err(|error| format!("machine {name}: {error}"))
}

/// The console of the first boot in which the program begins, or of the last that we try.
fn come_up(command: &mut Command) -> Result<Console, String> {
    for _ in 1..BOOTS {
        let console = Vm::start(command)?.console();
        if console.has_begun() {
            return Ok(console);
        }
        println!("  the kernel did not come up: once more");
    }
    Ok(Vm::start(command)?.console())
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
    fn console(mut self) -> Console {
        let (begin, mut console) = (Instant::now(), Console::default());
        loop {
            let limit = if console.has_begun() {
                LIMIT
            } else {
                BOOT_LIMIT
            };
            let left = (begin + limit).saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) if console.line(&line) => println!("  {line}"),
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => return console,
                // What is left of the last line comes with the end.
                Err(RecvTimeoutError::Timeout) => self.end(),
            }
        }
    }

    fn end(&mut self) {
        // It fails if QEMU has ended by itself, which is what we want.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Vm {
    fn drop(&mut self) {
        self.end();
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
