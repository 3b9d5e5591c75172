//! What a real kernel answered, asked again through the kernel's names in C.
//!
//! `CMWQ_ORACLE` names a folder of scenarios, as for the tests of `cmwq-oracle`. The table of
//! differences is the same. `face.rs` has the calls.

#[path = "../common/mod.rs"]
mod common;
mod face;

use cmwq_oracle::{Outcome, Real, Scenario, Table, replay};
use std::path::PathBuf;

/// The table, but for the row about flags that the builder in Rust cannot be given: C can.
fn document() -> String {
    let path = common::here().join("../../docs/differences.md");
    let document = std::fs::read_to_string(path).expect("the document is there");
    let rows = document
        .lines()
        .filter(|line| !line.starts_with("| `group:alloc`"));
    rows.collect::<Vec<_>>().join("\n")
}

fn c(table: &Table) -> Real {
    face::load();
    Real::with(table, "c", face::make, face::has, face::said_before)
}

#[test]
fn the_kernels_answers_are_those_of_its_names_in_c() {
    let folder = std::env::var_os("CMWQ_ORACLE").map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| common::here().join("../oracle/data"));
    let scenarios = Scenario::load_folder(&folder).unwrap_or_else(|error| panic!("{error}"));
    let table = Table::parse(&document()).unwrap_or_else(|error| panic!("{error}"));
    let c = c(&table);
    let replay = replay(&scenarios, &[&c], &table);
    println!("{replay}");
    let (mut ran, mut refused, mut failed) = (0, Vec::new(), Vec::new());
    for scenario in &scenarios {
        match replay.outcome(&scenario.id) {
            Some(Outcome::Failed(why)) => {
                match why.iter().all(|why| why.contains("nothing runs it")) {
                    true => refused.extend(why.iter().cloned()),
                    false => failed.extend(why.iter().cloned()),
                }
            }
            Some(Outcome::NotApplicable) => {}
            _ => ran += 1,
        }
    }
    println!("{ran} ran; refused:\n{}", refused.join("\n"));
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(ran > 0, "nothing ran");
}
