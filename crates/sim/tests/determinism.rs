//! The same seed gives the same trace on any machine: the traces of some scenarios, byte by byte,
//! as a number that was written down on another one.

use std::rc::Rc;

use cmwq_sim::scenario::{Observation, Scenario, Use};

/// The trace for Perfetto and the report, of the only cell of a scenario file.
fn trace(name: &str, set: &[&str], seed: u64) -> Vec<u8> {
    let path = format!("{}/scenarios/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let used = Use {
        set: set.iter().map(|&set| set.to_owned()).collect(),
        seed: Some(seed),
        ..Use::default()
    };
    let scenario =
        Scenario::parse(name, &text, &used).unwrap_or_else(|mistake| panic!("{mistake}"));
    assert_eq!(scenario.cells().len(), 1, "{name} has one cell");
    let observation = Rc::new(Observation::new());
    let report = scenario.cells()[0].run_observed(&observation).unwrap();
    let mut written = Vec::new();
    observation.write_chrome(&mut written).unwrap();
    written.extend(report.to_string().into_bytes());
    written
}

/// FNV-1a.
fn digest(bytes: &[u8]) -> u64 {
    let start = 0xCBF2_9CE4_8422_2325;
    bytes.iter().fold(start, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

/// Whoever changes what the simulator or the policy does changes these numbers: put the ones in
/// that the test reports, after a look at why.
#[track_caller]
fn assert_known(name: &str, set: &[&str], expected: u64) {
    let first = trace(name, set, 7);
    assert!(first == trace(name, set, 7), "{name}: two runs differ");
    assert!(first != trace(name, set, 8), "{name}: the seed counts");
    let found = digest(&first);
    assert_eq!(
        found, expected,
        "{name}: {found:#018X}, not {expected:#018X}"
    );
}

const SERVER: [&str; 2] = ["queue.requests.scope=cache", "queue.requests.nice=0"];

#[test]
fn a_server_with_exact_signals() {
    assert_known("server.toml", &SERVER, 0xEFB7_42B6_5154_A37C);
}

/// Canaries, the tick, reports that are late, lost and wrong.
#[test]
fn a_server_with_the_signals_of_user_space() {
    let user = "machine.signals={late=\"2ms\",lost=0.1,spurious=0.1}";
    assert_known(
        "server.toml",
        &[SERVER[0], SERVER[1], user],
        0x9A67_DF7B_45AB_8F4C,
    );
}

/// SMT, costs, devices, placement and balancing as Linux has them.
#[test]
fn twenty_four_cpus_in_four_caches() {
    let set = [
        "thread.fio.count=8",
        "variants.affinity=cache",
        "machine.duration=60ms",
        "machine.warmup=10ms",
    ];
    assert_known("dm-crypt.toml", &set, 0x4278_506C_5C58_4C6E);
}
