//! What idle CPUs take from other caches, as Linux does it.

use cmwq_sim::scenario::{Scenario, Use};

/// How often threads have gone from one cache to the other, of a machine with two of two CPUs each.
fn moves(duration: &str, balance: &str, threads: &str) -> u64 {
    let text = format!(
        "[machine]\ntopology = \"l3:2 core:2 pu:1\"\nduration = \"{duration}\"\n\
         [machine.placement]\nlike = \"linux\"\n\
         [machine.placement.balance]\nidle_period = \"1s\"\n{balance}\n{threads}"
    );
    let scenario = Scenario::parse("caches.toml", &text, &Use::default());
    let sweep = scenario
        .unwrap_or_else(|mistake| panic!("{mistake}"))
        .run()
        .unwrap();
    sweep.cells[0].cpu.migrations.node
}

/// Two threads share CPU 0 and may not leave it; a third one is alone on CPU 1. The other cache
/// idles, but not when that one comes.
const BOUND: &str = r#"
[[thread]]
name = "bound"
count = 2
cpus = "0"
does = ["burn 1s"]

[[thread]]
name = "early"
count = 2
cpus = "2-3"
pin = true
does = ["burn 2ms"]

[[thread]]
name = "free"
start = "1ms"
does = ["burn 1s"]
"#;

#[test]
fn what_is_bound_makes_what_is_not_go_after_some_attempts() {
    let balance = "cache_period = \"5ms\"";
    assert_eq!(moves("24ms", balance, BOUND), 0);
    assert_eq!(moves("26ms", balance, BOUND), 1);
    // And then it stays.
    assert_eq!(moves("900ms", balance, BOUND), 1);
    assert_eq!(moves("900ms", "", BOUND), 0);
}

/// A cache that is full, with one who waits, and one in which CPUs idle 100 us now and then.
const WAITS: &str = r#"
[[thread]]
name = "bound"
count = 2
cpus = "0-1"
pin = true
does = ["burn 1s"]

[[thread]]
name = "sleepy"
count = 2
cpus = "2-3"
pin = true
does = [{ repeat = "forever", does = ["burn 1900us", "sleep 100us"] }]

[[thread]]
name = "waits"
start = "100us"
does = ["burn 1s"]
"#;

#[test]
fn a_cpu_that_gets_idle_takes_who_waits_elsewhere_if_it_has_the_time() {
    assert!(moves("100ms", "newidle_cost = \"50us\"", WAITS) > 0);
    assert_eq!(moves("100ms", "newidle_cost = \"200us\"", WAITS), 0);
    assert_eq!(moves("100ms", "", WAITS), 0);
}

#[test]
fn but_not_who_ran_a_moment_ago() {
    let hot = |hot: &str| format!("newidle_cost = \"50us\"\nhot = \"{hot}\"");
    assert!(moves("100ms", &hot("500us"), WAITS) > 0);
    assert_eq!(moves("100ms", &hot("100ms"), WAITS), 0);
}

#[test]
fn the_busier_a_cache_the_fewer_of_its_cpus_are_looked_at() {
    // Each CPU of the only cache but one is busy, its sibling too. Who wakes up finds it, or waits.
    let run = |by_load: bool| {
        let text = format!(
            "[machine]\ntopology = \"l3:1 core:3 pu:2\"\nduration = \"20ms\"\n\
             placement = {{ like = \"linux\", scan_by_load = {by_load}, wakeup_preemption = false, \
             balance = {{ idle_period = \"1s\" }} }}\n\
             [[thread]]\nname = \"sleeper\"\ndoes = [{{ repeat = 5, does = [\"sleep 3ms\", \"burn 10us\"] }}]\n\
             [[thread]]\nname = \"hog\"\ncount = 5\nstart = \"1ms\"\ncpus = \"0-4\"\npin = true\ndoes = [\"burn 1s\"]\n"
        );
        let scenario = Scenario::parse("caches.toml", &text, &Use::default());
        let sweep = scenario
            .unwrap_or_else(|mistake| panic!("{mistake}"))
            .run()
            .unwrap();
        sweep.cells[0].cpu.migrations.llc
    };
    assert!(run(false) > 0);
    assert_eq!(run(true), 0);
}
