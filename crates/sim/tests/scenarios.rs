//! Scenario files: the language, its mistakes, and the files of `scenarios/`.

use std::rc::Rc;

use cmwq_policy::time::MILLISECOND;
use cmwq_sim::scenario::{Mistake, Observation, Report, Scenario, Use};

const MS: u64 = MILLISECOND;

fn file(name: &str) -> String {
    let path = format!("{}/scenarios/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn parse(text: &str) -> Scenario {
    Scenario::parse("test.toml", text, &Use::default()).unwrap_or_else(|m| panic!("{m}"))
}

fn mistake(text: &str) -> Mistake {
    match Scenario::parse("test.toml", text, &Use::default()) {
        Ok(_) => panic!("nothing is wrong with it"),
        Err(mistake) => mistake,
    }
}

fn set(text: &str, set: &[&str]) -> Result<Scenario, Mistake> {
    let used = Use {
        set: set.iter().map(|set| (*set).to_owned()).collect(),
        ..Use::default()
    };
    Scenario::parse("test.toml", text, &used)
}

/// A machine of two CPUs, a managed queue `q`, and what else is said.
fn small(rest: &str) -> String {
    format!("[machine]\ntopology = \"T2\"\n[[queue]]\nname = \"q\"\n{rest}")
}

fn run(rest: &str) -> Report {
    let scenario = parse(&small(rest));
    scenario.cells()[0].run().unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn the_documents_timelines_are_exact() {
    let scenario = parse(&file("timelines.toml"));
    let result = scenario.run().unwrap();
    let ends = |report: &Report| ["w0", "w1", "w2"].map(|span| report.spans[span].max_ns);
    let got: Vec<_> = result
        .cells
        .iter()
        .map(|c| (c.cell["limit"].as_str(), ends(c)))
        .collect();
    let expected = [
        ("max_active 3", [20 * MS, 20 * MS, 25 * MS]),
        ("max_active 2", [20 * MS, 20 * MS, 35 * MS]),
        ("one thread", [20 * MS, 35 * MS, 50 * MS]),
        ("cpu intensive", [20 * MS, 20 * MS, 25 * MS]),
    ];
    assert_eq!(got, expected);
    assert!(
        result
            .cells
            .iter()
            .all(|cell| cell.spans.values().all(|span| span.count == 1))
    );
}

#[test]
fn every_file_here_runs() {
    let folder = format!("{}/scenarios", env!("CARGO_MANIFEST_DIR"));
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if !name.ends_with(".toml") {
            continue;
        }
        seen += 1;
        // Whatever it sweeps is read; one cell is run, for a short time.
        let whole = Scenario::parse(&name, &file(&name), &Use::default());
        whole.unwrap_or_else(|m| panic!("{m}"));
        let short = ["machine.warmup=0", "machine.duration=20ms"];
        let scenario = set(&file(&name), &short).unwrap_or_else(|m| panic!("{m}"));
        let report = scenario.cells()[0]
            .run()
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(report.stuck.is_empty(), "{name}: {:?}", report.stuck);
    }
    assert!(seen >= 2);
}

#[test]
fn the_same_seed_gives_the_same_trace_and_another_seed_another_one() {
    let text = file("server.toml");
    let trace = |seed| {
        let used = Use {
            set: ["queue.requests.scope=cache", "queue.requests.nice=0"]
                .map(str::to_owned)
                .to_vec(),
            seed: Some(seed),
            ..Use::default()
        };
        let scenario = Scenario::parse("server.toml", &text, &used).unwrap();
        let observation = Rc::new(Observation::new());
        let report = scenario.cells()[0].run_observed(&observation).unwrap();
        let mut trace = Vec::new();
        observation.write_chrome(&mut trace).unwrap();
        (report, trace, observation.svg())
    };
    let (first, again, other) = (trace(7), trace(7), trace(8));
    assert!(first == again, "two runs with one seed differ");
    assert!(first.1 != other.1, "the seed changes nothing");
    assert!(first.1.len() > 100_000);
}

#[test]
fn requests_go_round_and_keep_their_data() {
    // Two requests of 1 ms each go round between the thread and the queue for 100 ms.
    let report = run(r#"
        [machine.costs]
        refill = { llc = "1us" }
        [[semaphore]]
        name = "slots"
        initial = 2
        requests = true
        per = "thread"
        [[item]]
        name = "work"
        does = ["touch 1KiB", "burn 999us", "post slots"]
        [[thread]]
        name = "main"
        main = true
        cpus = "0"
        does = [{ repeat = 100, does = ["take slots", "mark begin trip", "touch 1KiB", "queue q work", "count trips", "mark end trip"] }]
    "#);
    assert_eq!(report.counters["trips"].total, 100);
    assert_eq!(report.ended, "main");
}

/// Line and column of the mistake, and words of its message.
fn check(text: &str, at: (usize, usize), words: &[&str]) {
    let mistake = mistake(text);
    let shown = mistake.to_string();
    assert_eq!(mistake.at, Some(at), "{shown}");
    for word in words {
        assert!(
            mistake.message.contains(word),
            "`{word}` is not in: {shown}"
        );
    }
}

/// The same of what a thread does; columns count from the first character of the act.
fn check_act(act: &str, column: usize, words: &[&str]) {
    let text = small(&format!(
        "[[item]]\nname = \"work\"\ndoes = []\n[[lock]]\nname = \"big\"\n[[thread]]\nname = \"t\"\ndoes = [\n\"{act}\"]\n"
    ));
    check(&text, (13, column + 1), words);
}

#[test]
fn mistakes_in_acts_point_to_the_word() {
    check_act("brun 1ms", 1, &["no act `brun`", "did you mean `burn`"]);
    check_act("burn", 5, &["a time is missing"]);
    check_act("burn 5", 6, &["`5` has no unit", "ns, us"]);
    check_act("burn 5min", 6, &["unit `min`"]);
    check_act("burn 2ms..1ms", 6, &["ends before it begins"]);
    check_act("burn 1ms 2ms", 10, &["one word too many"]);
    check_act("job q 10 10us", 10, &["comes `of`"]);
    check_act("job q 10 of 0us", 13, &["takes some time"]);
    check_act("job q 4000000000000 of 1000s", 24, &["584 years"]);
    check_act("job q 10 of 1us threads 0", 25, &["out of range"]);
    check_act("queue p work", 7, &["no queue `p`", "known: q"]);
    check_act(
        "queue q wrok",
        9,
        &["no item `wrok`", "did you mean `work`"],
    );
    check_act("queue q work on 2", 17, &["2 is out of range: 0 to 1"]);
    check_act("lock bgi", 6, &["did you mean `big`"]);
    check_act("take slots", 6, &["no semaphore `slots`", "there is none"]);
    check_act("submit disk 1KiB", 8, &["no device"]);
    check_act("touch 1KB", 7, &["unit `KB`", "KiB"]);
    check_act("mark now x", 6, &["neither `begin` nor `end`"]);
    check_act("repeat 5 burn 1ms", 1, &["as a table"]);
    check_act("burn $x", 0, &["no constant `x`"]);
    check_act("count n by 0", 12, &["`0`"]);
}

#[test]
fn mistakes_in_sections_name_the_key_and_what_is_near() {
    check("", (1, 1), &["[machine]"]);
    check("[machine]\n", (1, 1), &["the machine has no `topology`"]);
    check("[machine]\ntopology = \"T2\"\n", (1, 1), &["no [[thread]]"]);
    check(
        "[machine]\ntopology = \"T2\"\nslcie = \"1ms\"",
        (3, 1),
        &["no key `slcie`", "`slice`"],
    );
    check("[machine]\ntopology = \"pack:1 cor:2\"", (2, 20), &["`cor"]);
    check(
        "[machine]\ntopology = \"this\"",
        (2, 12),
        &["not known here"],
    );
    check(
        "[machine]\ntopology = \"T2\"\n[machine.costs]\nsmt = 1.2",
        (4, 7),
        &["more than the whole"],
    );
    check(
        "[machine]\ntopology = \"T2\"\n[machine.costs]\nsmt = 0",
        (4, 7),
        &["more than 0"],
    );
    check(
        "[machine]\ntopology = \"T2\"\nduration = \"0s\"",
        (3, 12),
        &["nothing happens"],
    );
    check(
        "[machine]\ntopology = \"T2\"\nseed = -1",
        (3, 8),
        &["out of range"],
    );
    check("[machine]\ntopology = 3 4", (2, 12), &["quoted"]);
    check(
        "[mahcine]\ntopology = \"T2\"",
        (1, 2),
        &["no section `mahcine`", "`machine`"],
    );
    check(
        &small("kind = \"unbuond\""),
        (5, 8),
        &["cannot be `unbuond`", "`unbound`"],
    );
    check(&small("max_active = 0"), (5, 14), &["0 is out of range: 1"]);
    check(
        &small("cpus = \"0-2\""),
        (5, 8),
        &["CPU 2 is not there", "0 to 1"],
    );
    check(&small("cpus = \"\""), (5, 8), &["no CPU"]);
    check(&small("nice = 20"), (5, 8), &["-20 to 19"]);
    check(&small("strict = 1"), (5, 10), &["true or false"]);
    check(
        &small("kind = \"ordered\"\nmax_active = 2"),
        (6, 14),
        &["one item at a time"],
    );
    check(
        &small("[[queue]]\nname = \"q\""),
        (6, 8),
        &["a queue `q` already"],
    );
    check(
        &small("[[thread]]\nname = \"a b\"\ndoes = []"),
        (6, 8),
        &["letters"],
    );
    check(
        &small("[[thread]]\nname = \"a\"\ncount = 0\ndoes = []"),
        (7, 9),
        &["0 is out of range"],
    );
    check(
        &small("[[thread]]\nname = \"a\""),
        (5, 1),
        &["thread `a` has no `does`"],
    );
    check(&small("[thread]\nname = \"a\""), (5, 1), &["[[thread]]"]);
    check(
        &small("[[item]]\nname = \"a\"\ndoes = [\"wait\"]"),
        (7, 10),
        &["wait for itself"],
    );
    check(
        &small("[[item]]\nname = \"a\"\ndoes = [{ repeat = \"forever\", does = [\"burn 1us\"] }]"),
        (7, 8),
        &["an item ends"],
    );
    let forever =
        "[[thread]]\nname = \"a\"\ndoes = [{ repeat = \"forever\", does = [\"burn 1us\"] }]";
    check(
        &small(forever),
        (1, 1),
        &["thread `a` goes on forever", "`duration`"],
    );
}

#[test]
fn mistakes_in_tables_sweeps_and_settings_are_told() {
    let thread = "[[thread]]\nname = \"t\"\ndoes = [";
    check(
        &small(&format!("{thread}{{ repeat = 2 }}]")),
        (7, 9),
        &["no `does`"],
    );
    check(
        &small(&format!("{thread}{{ does = [] }}]")),
        (7, 9),
        &["one of `repeat`"],
    );
    check(
        &small(&format!("{thread}{{ repeat = 2, does = [] }}]")),
        (7, 9),
        &["nothing to repeat"],
    );
    check(
        &small(&format!("{thread}{{ choose = 2, does = [] }}]")),
        (7, 20),
        &["more than the whole"],
    );
    check(
        &small(&format!("{thread}7]")),
        (7, 9),
        &["a string or a table"],
    );
    let whole = small(&format!("{thread}\"burn 1ms\"]\n"));
    check(
        &format!("{whole}[sweep]\nqueue.p.nice = [1]"),
        (9, 7),
        &["no queue `p`"],
    );
    check(
        &format!("{whole}[sweep]\nqueue.q.nice = []"),
        (9, 16),
        &["needs a value"],
    );
    check(
        &format!("{whole}[sweep]\nqueue.q.nice = 3"),
        (9, 16),
        &["a list of values"],
    );
    check(
        &format!("{whole}[sweep]\nqueue.q.nice = [1, 99]"),
        (9, 20),
        &["99 is out of range"],
    );
    check(
        &format!("{whole}[variants]\na = 3"),
        (9, 5),
        &["variants have names"],
    );
    let numbers: Vec<String> = (0..40).map(|n| n.to_string()).collect();
    let many = numbers.join(", ");
    let sweep = format!(
        "{whole}[sweep]\nmachine.seed = [{many}]\nqueue.q.nice = [{}]",
        numbers[..26].join(", ")
    );
    check(&sweep, (8, 1), &["40 x 26 cells are too many"]);
    for (setting, words) in [
        ("queue.q.nice", "key=value"),
        ("queue.nice=3", "names no key"),
        ("queue.p.nice=3", "no queue `p`"),
        ("queue.q.ncie=3", "did you mean `nice`"),
        ("queue.q.nice=99", "99 is out of range"),
        ("quue.q.nice=3", "did you mean `queue`"),
        ("machine.slice=*2", "no such value"),
        ("machine.topology=*2", "no number to multiply"),
        ("machine..slice=2", "section.key"),
        ("variants.x=y", "no variants `x`"),
        ("sweep.x=1", "no section `sweep`"),
    ] {
        let Err(mistake) = set(&whole, &[setting]) else {
            panic!("{setting} is taken");
        };
        let shown = mistake.to_string();
        assert!(shown.contains(words) && shown.contains(setting), "{shown}");
    }
}

#[test]
fn settings_change_values_and_fix_what_varies() {
    let text = small(
        "[constants]\nlong = \"4ms\"\n[[thread]]\nname = \"t\"\ncount = 2\ndoes = [\"burn $long\"]\n\
         [sweep]\nthread.t.count = [1, 2, 3]\n[variants.speed]\nfast = { constants.long = \"1ms\" }\nslow = {}\n",
    );
    let ends = |settings: &[&str]| -> Vec<u64> {
        let result = set(&text, settings)
            .unwrap_or_else(|m| panic!("{m}"))
            .run()
            .unwrap();
        result
            .cells
            .iter()
            .map(|cell| cell.cpu.busy_ns / MS)
            .collect()
    };
    assert_eq!(ends(&[]), [1, 4, 2, 8, 3, 12]);
    assert_eq!(ends(&["thread.t.count=2"]), [2, 8]);
    assert_eq!(ends(&["variants.speed=slow"]), [4, 8, 12]);
    assert_eq!(
        ends(&["variants.speed=slow", "constants.long=*1.5"]),
        [6, 12, 18]
    );
    assert_eq!(ends(&["constants.long=2ms", "thread.t.count=1"]), [2, 2]);
}

#[test]
fn programs_that_cannot_go_on_are_named() {
    let error = |rest: &str| {
        let scenario = parse(&small(rest));
        scenario.cells()[0]
            .run()
            .expect_err("it goes on")
            .to_string()
    };
    let forever = "[[thread]]\nname = \"a\"\nmain = true\ndoes = [{ repeat = \"forever\", does = [\"count n\"] }]";
    assert!(error(forever).contains("thread `a`"), "{}", error(forever));
    assert!(error(forever).contains("without letting time pass"));
    let again = "[[item]]\nname = \"i\"\ndoes = [\"queue q i\"]\n[[thread]]\nname = \"a\"\ndoes = [\"queue q i\"]";
    assert!(
        error(again).contains("item `i` of thread `a`"),
        "{}",
        error(again)
    );
    let lock = "[[lock]]\nname = \"l\"\n[[thread]]\nname = \"a\"\ndoes = ";
    assert!(error(&format!("{lock}[\"unlock l\"]")).contains("has not locked"));
    assert!(error(&format!("{lock}[\"lock l\", \"lock l\"]")).contains("has already"));
    assert!(error(&format!("{lock}[\"lock l\"]")).contains("has not unlocked"));
}

#[test]
fn who_waits_for_ever_is_reported() {
    let report = run(
        "[[semaphore]]\nname = \"s\"\n[[thread]]\nname = \"a\"\ncount = 2\ndoes = [\"take s\"]",
    );
    assert_eq!(
        (report.ended.as_str(), report.stuck.join(" ")),
        ("quiet", "a/0 a/1".to_owned())
    );
    assert!(report.to_string().contains("stuck"));
}

#[test]
fn items_may_do_what_threads_may() {
    let report = run(r#"
        [[device]]
        name = "disk"
        takes = "1ms"
        [[data]]
        name = "shared"
        [[semaphore]]
        name = "done"
        [[item]]
        name = "leaf"
        does = ["burn 1ms", "count leaves"]
        [[item]]
        name = "posts"
        does = ["post done"]
        [[item]]
        name = "work"
        does = [
          "queue q leaf", "flush item leaf", "touch shared 1KiB", "io disk 1KiB",
          "submit disk 1KiB then queue q posts", "submit disk 1KiB", "yield",
          { at_most = 3, does = ["queue q work after 1ms"] },
        ]
        [[thread]]
        name = "main"
        does = [
          "queue q work", "wait", "count waited",
          "take done", "take done", "take done", "take done",
          "queue q leaf after 5ms", "cancel leaf", "wait", "flush q",
          "submit disk 1KiB then post done", "take done", "count end",
        ]
    "#);
    let total = |name: &str| report.counters[name].total;
    assert_eq!([total("leaves"), total("waited"), total("end")], [4, 1, 1]);
    assert_eq!(report.devices["disk"].served, 13);
    assert!(report.stuck.is_empty());
}

#[test]
fn items_of_a_queue_that_claims_are_executed_by_who_joins_them() {
    let rest = r#"
        [[item]]
        name = "work"
        does = ["burn 1ms"]
        [[thread]]
        name = "main"
        does = [{ repeat = 10, does = ["queue q work", "join work"] }]
    "#;
    for (stacking, claimed) in [("claim", 10), ("stay", 0), ("off", 0)] {
        let report = run(&format!("stacking = \"{stacking}\"\n{rest}"));
        assert_eq!(report.virtual_ns, 10 * MS, "{stacking}");
        let pool = &report.pools[0];
        assert_eq!((pool.executions, pool.claimed), (10, claimed), "{stacking}");
    }
}

#[test]
fn the_warm_up_is_not_counted() {
    let rest = "[[thread]]\nname = \"t\"\ndoes = [{ repeat = \"forever\", does = [\"burn 1ms\", \"count n\"] }]";
    let text = small(rest).replace("\"T2\"", "\"T2\"\nduration = \"100ms\"\nwarmup = \"40ms\"");
    let report = parse(&text).cells()[0].run().unwrap();
    // One ends in the very instant in which the measuring begins.
    assert_eq!(report.counters["n"].total, 61);
    assert_eq!((report.measured_ns, report.cpu.busy_ns), (60 * MS, 60 * MS));
    assert_eq!(report.cpu.utilisation, 0.5);
}
