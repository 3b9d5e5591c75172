//! What a real kernel answered, asked again here.
//!
//! `CMWQ_ORACLE` names a folder of scenarios; without it our own copy is replayed, and the table of
//! differences must say neither too little nor too much.

mod common;

use cmwq_oracle::{Real, Scenario, Table, Virtual, replay};
use std::path::PathBuf;
use std::{env, fs};

#[test]
fn the_kernels_answers_are_ours() {
    let folder = env::var_os("CMWQ_ORACLE").map(PathBuf::from);
    let own = folder.is_none();
    let folder = folder.unwrap_or_else(|| common::data().to_path_buf());
    let scenarios = Scenario::load_folder(&folder).unwrap_or_else(|e| panic!("{e}"));
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/differences.md");
    let document = fs::read_to_string(path).expect("the document is there");
    let table = Table::parse(&document).unwrap_or_else(|e| panic!("{e}"));

    let replay = replay(&scenarios, &[&Virtual, &Real::new(&table)], &table);
    println!("{replay}");
    for (backend, ran) in replay.ran() {
        println!("{backend}: {ran} of {} scenarios", scenarios.len());
    }
    println!("not yet:\n{}", replay.awaited().join("\n"));
    let mut wrong: Vec<String> = replay.failures().iter().map(ToString::to_string).collect();
    if own {
        wrong.extend(replay.stale(&scenarios, &table));
    }
    assert!(wrong.is_empty(), "{replay}\n{}", wrong.join("\n"));
}
