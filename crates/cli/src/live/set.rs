//! `cmwq set`: changes of a queue from outside, as the kernel's files in sysfs make them.

use crate::out;
use std::io;
use std::process::ExitCode;

use cmwq_stats::control::{Request, ask};

use super::target::{self, Target};
use super::text;

const SETTINGS: &str = "\
Settings:
  max_active=N          items that may hold a slot, from 1 on; above 2048 it is 2048
  min_active=N          of them, what each NUMA node is granted at least
  nice=N                nice value of the workers, -20 to 19
  affinity_scope=SCOPE  default, cpu, smt, cache, cache_shard, numa or system
  affinity_strict=0|1   whether workers stay in the pod of whoever queued
  cpumask=LIST          CPUs of the workers, such as 0-3,6, or all

All of them are changed, or none. The program must have built the queue with sysfs().

Exit status:
  0  changed, or shown
  1  refused; the message has the kernel's error
  2  bad usage";

/// Change a queue of a running process, or show what it is set to
#[derive(clap::Args)]
#[command(after_long_help = SETTINGS)]
pub(crate) struct SetArgs {
    #[command(flatten)]
    target: Target,
    /// The name of the queue, or id:N if several have it
    queue: String,
    /// What to change; without any, what the queue is set to is shown
    #[arg(value_name = "NAME=VALUE", value_parser = setting)]
    settings: Vec<(String, String)>,
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("a setting is written NAME=VALUE")?;
    // One line carries all of them, with blanks between.
    match text.contains(|c: char| c.is_whitespace() || c.is_control()) {
        true => Err("a setting has no blanks".into()),
        false => Ok((name.into(), value.into())),
    }
}

/// Gives the exit status of the process.
pub(crate) fn set(args: &SetArgs) -> ExitCode {
    crate::complaint::finish("cmwq set: ", change(args))
}

fn change(args: &SetArgs) -> io::Result<()> {
    let process = args.target.find()?;
    let seen = process.look(&Request::Look)?;
    let queue = target::queue(&seen.snapshot.queues, &args.queue)?;
    if args.settings.is_empty() {
        return out::write(&format!("{}\n", text::settings(queue)));
    }
    let request = Request::Set {
        queue: queue.id,
        settings: args.settings.clone(),
    };
    ask(process.pid(), process.socket(), &request).map_err(io::Error::other)
}
