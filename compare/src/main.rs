//! Five programs, each written with four libraries. Prints for each how many lines it takes, how
//! long it took (median of five, in turns), and what it cannot do. `docs/compare.md` has a run.

mod batch;
mod crawler;
mod files;
mod periodic;
mod server;

use std::time::{Duration, Instant};

/// One version of a program.
pub struct Version {
    pub library: &'static str,
    pub source: &'static str,
    pub cannot: &'static str,
    /// Does it once. What it returns is measured by itself, if it is not the time of the call.
    pub run: fn() -> Option<Duration>,
}

/// All that is not a comment.
fn lines(source: &str) -> usize {
    let code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
    source.lines().filter(code).count()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn measure(program: &str, versions: &[Version]) {
    println!("\n| {program} | lines | time | cannot |\n| --- | --- | --- | --- |");
    let mut times = vec![Vec::new(); versions.len()];
    for _ in 0..5 {
        for (version, times) in versions.iter().zip(&mut times) {
            let from = Instant::now();
            let own = (version.run)();
            times.push(own.unwrap_or_else(|| from.elapsed()));
        }
    }
    for (version, times) in versions.iter().zip(times) {
        let Version {
            library,
            source,
            cannot,
            ..
        } = version;
        let time = median(times).as_secs_f64() * 1e3;
        println!(
            "| {library} | {} | {time:.1} ms | {cannot} |",
            lines(source)
        );
    }
}

fn main() {
    measure("parallel map over files", &files::versions());
    measure("bounded crawler", &crawler::versions());
    measure("server with blocking calls", &server::versions());
    measure("periodic work with cancel", &periodic::versions());
    measure("a request beside a batch", &batch::versions());
}
