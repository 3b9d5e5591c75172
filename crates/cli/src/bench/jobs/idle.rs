//! A billion simple steps on a machine with nothing else to do.

use std::hint::black_box;

use clap::ValueEnum;
use cmwq::Job;

use super::super::clock::now;
use super::super::process;
use super::super::process::cpus;
use super::super::row::{quotient, seconds};
use super::super::spec::name;
use super::args::{By, JobArgs};
use super::load::multiply;
use super::row::{Idle, Row};

/// Elements of the slice that is gone through ...
const ELEMENTS: usize = 1_000_000;
/// ... and steps for each.
const STEPS: u64 = 1_000;
/// This part of them is gone through before.
const WARM: usize = 20;
/// Elements of a chunk for `par_chunks`: about 250 us, as a step of a job.
#[cfg(feature = "peers")]
const CHUNK: usize = 250;

pub(super) fn measure(args: &JobArgs, show: &mut dyn FnMut(Row)) -> Result<(), String> {
    for run in 1..=args.runs {
        let mut plain = 0.0;
        for &by in By::value_variants() {
            let row = one(by)?;
            if by == By::Loop {
                plain = row.elapsed_s;
            }
            let threads = if matches!(by, By::Loop | By::JobOfOne) {
                1
            } else {
                row.cpus
            };
            let of_perfect = quotient(plain / threads as f64, row.elapsed_s);
            show(Row::Idle(Idle {
                run,
                of_perfect,
                ..row
            }));
        }
    }
    Ok(())
}

fn one(by: By) -> Result<Idle, String> {
    let words = ["job", "--role", "idle", "--by", &name(by)];
    let child = process::start(&words).map_err(|e| format!("no process: {e}"))?;
    process::row(child, &name(by))
}

/// The process itself.
pub(super) fn child(args: &JobArgs) -> Result<Idle, String> {
    let elements: Vec<u64> = (0..ELEMENTS as u64).collect();
    // Threads are made and the machine is read at the first use, of ours and of rayon's.
    go_through(args.by, &elements[..ELEMENTS / WARM])?;
    let start = now();
    go_through(args.by, &elements)?;
    let elapsed_s = seconds(now() - start);
    Ok(Idle {
        by: args.by,
        run: 0,
        cpus: cpus(),
        elapsed_s,
        of_perfect: 0.0,
    })
}

fn go_through(by: By, elements: &[u64]) -> Result<(), String> {
    let job = || Job::new(0..elements.len());
    let job = match by {
        By::Loop => {
            chunk(elements);
            return Ok(());
        }
        By::JobOfOne => job().max_threads(1),
        By::Job => job(),
        By::JobAdaptive => job().adaptive_chunks(),
        #[cfg(feature = "peers")]
        By::Rayon => return rayon(elements),
    };
    let done = job.for_each(|range| chunk(&elements[range]));
    done.map(drop).map_err(|e| e.to_string())
}

/// What all of them do. The same code for all, wherever it would be inlined.
#[inline(never)]
fn chunk(elements: &[u64]) {
    elements
        .iter()
        .for_each(|&element| multiply(black_box(element), STEPS));
}

#[cfg(feature = "peers")]
fn rayon(elements: &[u64]) -> Result<(), String> {
    use rayon::prelude::*;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(cpus());
    // The second time there is one.
    let _there = pool.build_global();
    elements.par_chunks(CHUNK).for_each(chunk);
    Ok(())
}
