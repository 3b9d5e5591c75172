//! A job while each CPU is kept busy by a foreign thread at nice 0.

use cmwq::Job;

use super::super::clock::now;
use super::super::hogs::Hogs;
use super::super::process;
use super::super::process::cpus;
use super::super::row::{quotient, seconds};
use super::super::spec::name;
use super::args::{Helpers, JobArgs, Load};
use super::row::{Row, Tail};

const SETTINGS: [Helpers; 4] = [
    Helpers::None,
    Helpers::Nice19,
    Helpers::Nice19Unlifted,
    Helpers::Nice0,
];

/// `CAP_SYS_NICE`.
const CAPABILITY: u32 = 23;
/// `_LINUX_CAPABILITY_VERSION_3`.
const VERSION: u32 = 0x2008_0522;

pub(super) fn measure(args: &JobArgs, show: &mut dyn FnMut(Row)) -> Result<(), String> {
    let units = Load::Multiply.units_per_second() * args.seconds as usize;
    let hogs = Hogs::start(cpus())?;
    for run in 1..=args.runs {
        let mut alone = 0.0;
        for helpers in SETTINGS {
            let row: Tail = one(units, helpers)?;
            if helpers == Helpers::None {
                alone = row.elapsed_s;
            }
            let ratio = quotient(row.elapsed_s, alone);
            show(Row::Tail(Tail { run, ratio, ..row }));
        }
    }
    drop(hogs);
    Ok(())
}

fn one(units: usize, helpers: Helpers) -> Result<Tail, String> {
    let words = [
        "job",
        "--role",
        "tail",
        "--helpers",
        &name(helpers),
        "--units",
        &units.to_string(),
    ];
    let child = process::start(&words).map_err(|e| format!("no process for a job: {e}"))?;
    process::row(child, "tail")
}

/// The process itself.
pub(super) fn child(args: &JobArgs) -> Result<Tail, String> {
    let helpers = args.helpers;
    if helpers == Helpers::Nice19Unlifted {
        drop_sys_nice()?;
    }
    let job = Job::new(0..args.units).nice(if helpers == Helpers::Nice0 { 0 } else { 19 });
    let job = job.max_threads(if helpers == Helpers::None { 1 } else { 0 });
    let start = now();
    let stats = job.for_each(|units| Load::Multiply.work(units));
    let elapsed = now() - start;
    let stats = stats.map_err(|e| e.to_string())?;
    Ok(Tail {
        helpers,
        run: 0,
        elapsed_s: seconds(elapsed),
        ratio: 0.0,
        job_helpers: stats.helpers,
        helped: quotient(stats.helped as f64, args.units.max(1) as f64),
        claims: stats.claims,
        lifted: stats.lifted,
    })
}

/// From now on this process, which has one thread, may not lift a nice level.
fn drop_sys_nice() -> Result<(), String> {
    let header = [VERSION, 0];
    // Effective, permitted and inheritable ones, twice 32 bits each.
    let mut sets = [0u32; 6];
    // SAFETY: the kernel reads the header and writes the sets of this version.
    let got = unsafe { libc::syscall(libc::SYS_capget, header.as_ptr(), sets.as_mut_ptr()) };
    sets[..3]
        .iter_mut()
        .for_each(|set| *set &= !(1 << CAPABILITY));
    // SAFETY: the kernel reads both.
    let set = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), sets.as_ptr()) };
    match got == 0 && set == 0 {
        true => Ok(()),
        false => Err(format!(
            "cannot drop CAP_SYS_NICE: {}",
            std::io::Error::last_os_error()
        )),
    }
}
