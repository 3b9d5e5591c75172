//! All of the user space of a virtual machine that `cargo xtask vm-test` boots: checks where items of
//! each affinity scope run on its CPUs.
//!
//! The arguments are the machine's name and, for each scope, its pods: `nodes cache=0-3/4-7 ...`.
//! Each check is a line that begins with `ok` or `FAILED`; the last line counts them. It can be started
//! on any machine by hand; as the first process it prepares the machine and turns it off at the end.

mod boot;
mod checks;
mod expected;
mod topology;

use std::process::ExitCode;

use checks::Checks;
use expected::Expected;

fn main() -> ExitCode {
    let is_init = boot::is_init();
    if is_init {
        boot::mount_all();
    }
    let all_well = match Expected::parse(std::env::args().skip(1)) {
        Ok(expected) => run(&expected),
        Err(message) => {
            eprintln!("vm_guest: {message}");
            false
        }
    };
    if is_init {
        boot::power_off();
    }
    ExitCode::from(u8::from(!all_well))
}

/// Whether all checks went well.
fn run(expected: &Expected) -> bool {
    // The firmware leaves the console in the middle of a line.
    println!("\ncmwq in {}", expected.name);
    let mut checks = Checks::default();
    topology::check(expected, &mut checks);
    checks.end()
}
