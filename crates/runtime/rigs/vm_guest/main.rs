//! All of the user space of a virtual machine that `cargo xtask vm-test` boots: checks where items
//! of each affinity scope run on its CPUs.
//!
//! The arguments are the machine's name and, for each scope, its pods: `nodes cache=0-3/4-7 ...`.
//! Each check is a line that begins with `ok` or `FAILED`; the last line counts them. It can be
//! started on any machine by hand; as the first process it prepares the machine and turns it off at
//! the end.

mod backlog;
mod boot;
mod burn;
mod checks;
mod expected;
mod hotplug;
mod masks;
mod placement;
mod ran;
mod topology;

use std::process::ExitCode;
use std::time::Duration;

use checks::Checks;
use expected::Expected;

/// Of all checks, for one that hangs. They take a minute at most, with two busy CPUs below the
/// machine's.
const LIMIT: Duration = Duration::from_secs(270);

fn main() -> ExitCode {
    let is_init = boot::is_init();
    if is_init {
        boot::mount_all();
        boot::power_off_after(LIMIT);
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
    if boot::is_init() {
        hotplug::check(expected, &mut checks);
    }
    masks::check(expected, &mut checks);
    placement::check(expected, &mut checks);
    backlog::check(expected, &mut checks);
    checks.end()
}
