//! `cmwq trace`: a recording of a live process, for Perfetto.
//!
//! Items, their waits in queues and their waits in the library come from the process itself, event
//! by event (`cmwq_stats::trace`). On which CPU a thread is and in which call it sleeps is looked
//! at from outside in the meantime: `sample`. `items` tells what became of each item, `places` and
//! `tracks` put both together, `chrome` writes them.

mod chrome;
mod events;
mod items;
mod places;
mod sample;
mod tracks;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use cmwq_stats::control::Request;
use cmwq_stats::trace::{LONGEST, Recording};

use super::target::{Process, Seen, Target};
use events::Events;
use sample::{Sample, Sampler};

const READING: &str = "\
The file is in the Chrome trace format: open it at ui.perfetto.dev, or ask trace_processor. It has
these tracks:
  CPUs             what each CPU executes; a second lane: a thread that has to share the CPU
  PROCESS          each thread with its items, and what these wait for
  queue NAME       each item from being queued to its end

Begin and end of items and of waits in calls of cmwq are exact. Where a thread is in between, and
which system call it sleeps in, is looked at about once per millisecond: category \"sampled\".

Exit status:
  0  recorded, if only in part: then standard error says so
  1  not recorded
  2  bad usage";

/// Record what a running process does, for Perfetto: CPUs, workers, items and what they wait for
#[derive(clap::Args)]
#[command(after_long_help = READING)]
pub(crate) struct TraceArgs {
    #[command(flatten)]
    target: Target,
    /// For how long, at most 600 seconds
    #[arg(short, long, value_name = "SECONDS", default_value = "5", value_parser = seconds)]
    seconds: Duration,
    /// Where to write it; - is standard output
    #[arg(short, long, value_name = "FILE", default_value = "trace.json")]
    output: PathBuf,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "no number".to_owned())?;
    match (0.001..=LONGEST.as_secs_f64()).contains(&seconds) {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err("not in 0.001 to 600".into()),
    }
}

/// Gives the exit status of the process.
pub(crate) fn trace(args: &TraceArgs) -> ExitCode {
    crate::complaint::finish("cmwq trace: ", record(args))
}

/// What was recorded.
struct Recorded {
    seen: Seen,
    events: Events,
    samples: Vec<Sample>,
    /// Of threads.
    names: HashMap<i32, String>,
}

fn record(args: &TraceArgs) -> io::Result<()> {
    let process = args.target.find()?;
    // What is wrong is said before the time has passed.
    let seen = process.look(&Request::Look)?;
    let mut file = create(&args.output)?;
    let recorded = listen(&process, seen, args.seconds)?;
    tracks::write(&recorded, &mut file)?;
    file.flush()?;
    say(&recorded, args);
    Ok(())
}

fn create(path: &Path) -> io::Result<Box<dyn Write>> {
    if path == Path::new("-") {
        crate::out::is_open()?;
        return Ok(Box::new(BufWriter::new(io::stdout())));
    }
    let file = File::create(path);
    let file = file.map_err(|error| io::Error::other(format!("{}: {error}", path.display())))?;
    Ok(Box::new(BufWriter::new(file)))
}

fn listen(process: &Process, seen: Seen, time: Duration) -> io::Result<Recorded> {
    let mut recording =
        Recording::start(process.pid(), process.socket(), time).map_err(io::Error::other)?;
    let sampler = Sampler::start(seen.pid)?;
    let mut events = Events::default();
    // A process that says it goes on for ever does not keep us.
    let until = Instant::now() + time + Duration::from_secs(10);
    while !events.is_whole() {
        let chunk = match recording.next_chunk() {
            Ok(chunk) => chunk,
            Err(error) => {
                events.broke_off(&error);
                break;
            }
        };
        events.add(chunk);
        if events.is_full() || Instant::now() > until {
            break;
        }
    }
    let (samples, names) = sampler.end();
    Ok(Recorded {
        seen,
        events,
        samples,
        names,
    })
}

/// What whoever waits for it may want to know.
fn say(recorded: &Recorded, args: &TraceArgs) {
    let events = &recorded.events;
    let where_to = args.output.display();
    eprintln!("{} items executed: {where_to}", events.nr_ran());
    for fault in events.faults() {
        eprintln!("cmwq trace: {fault}");
    }
}
