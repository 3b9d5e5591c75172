//! `soak`: hostile programs at random, for some time; or one of them again.

use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use cmwq_soak::parent::{self, Options};
use cmwq_soak::plan::{Plan, Room};
use cmwq_soak::{books, child};

const USAGE: &str = "\
usage: soak [--minutes N] [--seed S] [--room NAME] | --one S [--room NAME]
  --minutes N  for so long, 5 unless said otherwise; parts of minutes may be said
  --seed S     that of the first process; of the clock unless said otherwise
  --room NAME  only this kind of program
  --failures N  ends after so many, 1 unless said otherwise
  --one S      the process of this seed, once";

struct Args {
    options: Options,
    child: bool,
}

fn parse(mut args: impl Iterator<Item = String>) -> Result<Args, String> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let mut parsed = Args {
        options: Options {
            time: Duration::from_secs(300),
            seed: now.map_or(0, |now| now.as_secs() * 1000),
            one: false,
            room: None,
            failures: 1,
        },
        child: false,
    };
    while let Some(arg) = args.next() {
        let value = args.next().ok_or(format!("{arg} needs a value"))?;
        let number = || {
            value
                .parse::<u64>()
                .map_err(|_| format!("{arg}: not a number: `{value}`"))
        };
        let options = &mut parsed.options;
        match arg.as_str() {
            "--minutes" => options.time = minutes(&value)?,
            "--seed" => options.seed = number()?,
            "--failures" => options.failures = number()?,
            "--one" => (options.seed, options.one) = (number()?, true),
            "--child" => (options.seed, parsed.child) = (number()?, true),
            "--room" if Room::named(&value).is_some() => options.room = Some(value),
            "--room" => return Err(format!("not a room: `{value}`: {}", names())),
            other => return Err(format!("not an option: `{other}`")),
        }
    }
    Ok(parsed)
}

fn names() -> String {
    let names: Vec<_> = Room::ALL.iter().map(|(_, name)| *name).collect();
    names.join(", ")
}

fn minutes(value: &str) -> Result<Duration, String> {
    let minutes: f64 = value
        .parse()
        .map_err(|_| format!("not a number: `{value}`"))?;
    Duration::try_from_secs_f64(minutes * 60.0).map_err(|error| error.to_string())
}

fn main() -> ExitCode {
    let Args { options, child } = match parse(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(error) => {
            eprintln!("soak: {error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    if child {
        child::run(Plan::of(options.seed, options.room.as_deref()));
        return ExitCode::from(u8::from(books::has_failed()));
    }
    println!("soak: the first seed is {}", options.seed);
    let (ran, failed) = parent::run(&options);
    println!("soak: {ran} processes, {failed} failed");
    ExitCode::from(u8::from(failed > 0))
}
