//! What an actor asks for, one act after the other.

mod common;

use cmwq_oracle::{Act, Actor, Answer, Call, Cond, MS, Play, Record, RunsOn, Scenario, Seat};
use common::script::{scenario, with_bodies};

fn play(main: &[&str]) -> (Play, Actor) {
    from(scenario(main).expect("a good script"))
}

fn from(scenario: Scenario) -> (Play, Actor) {
    let play = Play::new(&scenario);
    let main = play.main();
    (play, main)
}

const SEAT: Seat = Seat {
    cpu: 1,
    worker: 7,
    nice: 0,
};

fn results(record: &Record, actor: &str) -> Vec<(String, String)> {
    let all = record.returns.get(actor).into_iter().flatten();
    all.map(|r| (r.0.clone(), r.1.clone())).collect()
}

fn pair(op: &str, result: &str) -> (String, String) {
    (op.into(), result.into())
}

/// Answers every call with true and goes on until the end; the acts on the way.
fn run(actor: &mut Actor) -> Vec<String> {
    let mut acts = Vec::new();
    let mut answer = None;
    loop {
        let act = actor.next(0, answer.take());
        acts.push(format!("{act:?}").split(['(', ' ']).next().unwrap().into());
        match act {
            Act::Call(_) | Act::Await(..) => answer = Some(Answer::Bool(true)),
            Act::End => return acts,
            _ => {}
        }
    }
}

#[test]
fn acts_follow_the_script() {
    let (play, mut main) = play(&["spin 3", "sleep 4", "wait g", "spin_wait h", "open k"]);
    assert!(matches!(main.next(0, None), Act::Burn(t) if t == 3 * MS));
    assert!(matches!(main.next(0, None), Act::Sleep(t) if t == 4 * MS));
    assert!(matches!(main.next(0, None), Act::Wait(g) if &*g == "g"));
    assert!(matches!(main.next(0, None), Act::SpinUntil(g) if &*g == "h"));
    assert!(!play.is_open("k"));
    assert!(matches!(main.next(0, None), Act::Open(g) if &*g == "k"));
    assert!(play.is_open("k") && !play.is_open("g"));
    assert!(matches!(main.next(0, None), Act::End));
    assert!(
        results(&play.record(), "main").is_empty(),
        "none has a result"
    );
}

#[test]
fn the_end_of_main_opens_all_gates_and_ends_the_record() {
    let (play, mut main) = play(&["cpu"]);
    let mut item = play.execution("a", SEAT, 0);
    let mut late = play.execution("b", SEAT, 0);
    run(&mut main);
    assert!(play.is_over() && play.is_open("any"));
    assert!(matches!(item.next(5, None), Act::End));
    assert!(matches!(late.next(5, None), Act::End));
    let after = play.execution("a", SEAT, 9);
    assert_eq!(after.name(), "a#0", "it has no number any more");
    let record = play.record();
    assert_eq!(record.execution_order(), ["a#1 start", "b#1 start"]);
    assert!(record.finished);
}

#[test]
fn answers_are_written_as_the_recorder_did() {
    let (play, mut main) = play(&["work_busy a", "reinit a", "cpu", "write wq:w/nice 50"]);
    main.next(0, None);
    main.next(0, Some(Answer::Text("pending+running".into())));
    main.next(0, Some(Answer::Void));
    main.next(0, Some(Answer::Number(2)));
    main.next(0, Some(Answer::Number(-22)));
    let expected = [
        pair("work_busy a", "pending+running"),
        pair("reinit a", "void"),
        pair("cpu", "2"),
        pair("write wq:w/nice 50", "-22"),
    ];
    assert_eq!(results(&play.record(), "main"), expected);
}

#[test]
fn repeating_counts_what_was_true() {
    let (play, mut main) = play(&["repeat 4 cancel_work a", "repeat 2 sleep 1", "repeat 0 cpu"]);
    let mut act = main.next(0, None);
    for truth in [true, false, true, true] {
        assert!(matches!(act, Act::Call(Call::Item(..))), "{act:?}");
        act = main.next(0, Some(Answer::Bool(truth)));
    }
    assert!(matches!(act, Act::Sleep(_)));
    assert!(matches!(main.next(0, None), Act::Sleep(_)));
    assert!(matches!(main.next(0, None), Act::End));
    let expected = [
        pair("repeat 4 cancel_work a", "true=3"),
        pair("repeat 2 sleep 1", "true=0"),
        pair("repeat 0 cpu", "true=0"),
    ];
    assert_eq!(results(&play.record(), "main"), expected);
}

#[test]
fn until_goes_on_with_pauses_until_the_gate_is_open() {
    let scenario = with_bodies(&["start t", "open g", "sleep 1"], &[], &["until g cpu"]);
    let (play, mut main) = from(scenario.expect("a good script"));
    let Act::Start(mut thread, RunsOn::Free) = main.next(0, None) else {
        panic!("it starts a thread");
    };
    for _ in 0..3 {
        assert!(matches!(thread.next(0, None), Act::Call(Call::Cpu)));
        let pause = thread.next(0, Some(Answer::Number(0)));
        assert!(matches!(pause, Act::Sleep(t) if (MS / 10..=MS / 5).contains(&t)));
    }
    assert!(matches!(main.next(0, None), Act::Open(_)));
    assert!(matches!(thread.next(0, None), Act::End));
    assert_eq!(
        results(&play.record(), "t"),
        [pair("until g cpu", "stopped")]
    );
}

#[test]
fn some_operations_are_only_for_some_executions() {
    let body = ["upto 2 cpu", "only 2 nice", "only 2 repeat 2 node"];
    let (play, _) = from(with_bodies(&["cpu"], &body, &[]).expect("a good script"));
    let mut acts = Vec::new();
    for _ in 0..3 {
        acts.push(run(&mut play.execution("a", SEAT, 0)).len() - 1);
    }
    assert_eq!(acts, [1, 4, 0]);
    let record = play.record();
    assert_eq!(results(&record, "a#1"), [pair("cpu", "true")]);
    let second = [
        pair("cpu", "true"),
        pair("nice", "true"),
        pair("repeat 2 node", "true=2"),
    ];
    assert_eq!(results(&record, "a#2"), second);
    assert_eq!(record.counts()["a"], 3);
}

#[test]
fn a_thread_does_them_as_its_first_execution() {
    let (play, mut main) = play(&["upto 2 cpu", "only 2 nice", "only 1 node"]);
    run(&mut main);
    let expected = [pair("cpu", "true"), pair("node", "true")];
    assert_eq!(results(&play.record(), "main"), expected);
}

#[test]
fn threads_are_watched_and_joined() {
    let main = [
        "start t",
        "is_done t 30",
        "join t",
        "is_done t 30",
        "done_list t",
        "join t2",
    ];
    let (play, mut main) = play(&main);
    let Act::Start(mut thread, RunsOn::Free) = main.next(0, None) else {
        panic!("it starts a thread");
    };
    assert!(matches!(main.next(0, None), Act::Sleep(t) if t == 30 * MS));
    let Act::Await(cond, patience) = main.next(0, None) else {
        panic!("it waits for the thread");
    };
    assert_eq!(cond, Cond::ThreadDone("t".into()));
    assert!(!play.holds(&cond) && patience > 1000 * MS);
    assert!(matches!(thread.next(0, None), Act::End));
    assert!(play.holds(&cond));
    main.next(0, Some(Answer::Bool(true)));
    assert!(matches!(
        main.next(0, None),
        Act::Await(Cond::ThreadDone(_), _)
    ));
    main.next(0, Some(Answer::Bool(false)));
    let expected = [
        pair("is_done t 30", "blocked"),
        pair("join t", "ok"),
        pair("is_done t 30", "done"),
        // A name without a number is in no list of numbers.
        pair("done_list t", "none"),
        pair("join t2", "timeout"),
    ];
    assert_eq!(results(&play.record(), "main"), expected);
}

#[test]
fn a_thread_runs_where_the_script_says() {
    let (_, mut main) = play(&["start t2"]);
    let act = main.next(0, None);
    assert!(matches!(act, Act::Start(_, RunsOn::Cpu(2))), "{act:?}");
}

#[test]
fn waiting_for_an_end_lets_the_worker_leave() {
    let (play, mut main) = play(&["await_start a 1", "await_end a 1", "await_end b 1"]);
    let Act::Await(started, _) = main.next(0, None) else {
        panic!("it waits for the start");
    };
    assert!(!play.holds(&started));
    let mut item = play.execution("a", SEAT, 0);
    assert!(play.holds(&started));
    let Act::Await(ended, _) = main.next(0, Some(Answer::Bool(true))) else {
        panic!("it waits for the end");
    };
    assert!(!play.holds(&ended));
    item.next(0, None);
    assert!(play.holds(&ended));
    let act = main.next(0, Some(Answer::Bool(true)));
    assert!(matches!(act, Act::Sleep(t) if t == 2 * MS), "{act:?}");
    assert!(matches!(main.next(0, None), Act::Await(..)));
    main.next(0, Some(Answer::Bool(false)));
    let expected = [
        pair("await_start a 1", "ok"),
        pair("await_end a 1", "ok"),
        pair("await_end b 1", "timeout"),
    ];
    assert_eq!(results(&play.record(), "main"), expected);
}

#[test]
fn other_contexts_are_actors_of_their_own() {
    let (play, mut main) = play(&["in_timer cancel_work a", "repeat 2 in_irq queue_work w a"]);
    let mut answers = [true, true, false].into_iter();
    loop {
        match main.next(0, None) {
            Act::Start(mut aside, RunsOn::Here) => {
                let Act::Await(cond, _) = main.next(0, None) else {
                    panic!("it waits for the other context");
                };
                assert!(!play.holds(&cond));
                assert!(matches!(aside.next(0, None), Act::Call(_)));
                let truth = answers.next().expect("three calls");
                assert!(matches!(aside.next(0, Some(Answer::Bool(truth))), Act::End));
                assert!(play.holds(&cond));
            }
            Act::End => break,
            other => panic!("{other:?}"),
        }
    }
    let record = play.record();
    assert_eq!(results(&record, "timer"), [pair("cancel_work a", "true")]);
    let irq = [
        pair("queue_work w a", "true"),
        pair("queue_work w a", "false"),
    ];
    assert_eq!(results(&record, "irq"), irq);
    let main = [pair("repeat 2 in_irq queue_work w a", "true=1")];
    assert_eq!(results(&record, "main"), main);
}

#[test]
fn executions_are_counted_and_placed() {
    let main = [
        "sleep 1",
        "executions a",
        "max_overlap a",
        "running_now",
        "running_now b",
        "cpu",
    ];
    let (play, mut main) = play(&main);
    main.next(0, None);
    let other = Seat {
        worker: 9,
        cpu: 3,
        ..SEAT
    };
    let mut first = play.execution("a", SEAT, MS);
    let second = play.execution("a", other, 2 * MS);
    first.next(3 * MS, None);
    let third = play.execution("a", SEAT, 4 * MS);
    assert_eq!((second.name(), third.name()), ("a#2", "a#3"));
    main.next(0, None);
    let record = play.record();
    let expected = [
        pair("executions a", "3"),
        pair("max_overlap a", "2"),
        pair("running_now", "2"),
        pair("running_now b", "0"),
    ];
    assert_eq!(results(&record, "main"), expected);
    let order = ["a#1 start", "a#2 start", "a#1 end", "a#3 start"];
    assert_eq!(record.execution_order(), order);
    assert_eq!(record.start_order(), ["a#1", "a#2", "a#3"]);
    assert_eq!(record.peak, 2);
    let workers: Vec<&str> = record.executions.iter().map(|e| &*e.worker).collect();
    assert_eq!(workers, ["K1", "K2", "K1"]);
    assert!(!record.same_worker()["a"]);
    assert_eq!(record.executions[1].cpu, 3);
}

#[test]
fn times_count_from_the_first_queueing_call() {
    let (play, mut main) = play(&["cpu", "queue_work w a", "queue_work w b", "sleep 1"]);
    main.next(5 * MS, None);
    main.next(6 * MS, Some(Answer::Number(0)));
    let mut item = play.execution("a", SEAT, 9 * MS);
    main.next(10 * MS, Some(Answer::Bool(true)));
    main.next(20 * MS, Some(Answer::Bool(true)));
    item.next(12 * MS, None);
    let record = play.record();
    let times: Vec<f64> = record.events.iter().map(|e| e.at_ms).collect();
    assert_eq!(times, [-1.0, 2.0]);
}

#[test]
fn what_main_waited_for_has_settled() {
    let (play, mut main) = play(&["cpu", "flush_work a", "sleep 1", "cpu", "cpu"]);
    main.next(0, None);
    let mut item = play.execution("a", SEAT, 0);
    main.next(0, Some(Answer::Number(0)));
    assert_eq!(
        play.record().settled.events,
        0,
        "asking for a CPU waits for nothing"
    );
    item.next(0, None);
    main.next(0, Some(Answer::Bool(true)));
    assert_eq!(
        play.record().settled.events,
        2,
        "the flush waited for the end"
    );
    play.execution("b", SEAT, 0);
    assert_eq!(play.record().settled.events, 2);
    main.next(0, None);
    assert_eq!(
        play.record().settled.events,
        3,
        "so has what came before a sleep ends"
    );
}
