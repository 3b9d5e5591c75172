//! Shared by the tests: the recorded scenarios, and a backend that answers as the kernel did.

#![allow(dead_code, reason = "each test file uses a part of this")]

pub(crate) mod script;

use cmwq_oracle::{
    Act, Actor, Answer, Backend, Cond, NotApplicable, Play, Record, Scenario, Seat, Switches,
};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

/// Our own copy of the data.
pub(crate) fn data() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/data"))
}

pub(crate) fn scenarios() -> Vec<Scenario> {
    Scenario::load_folder(data()).expect("our copy of the data is readable")
}

/// The trace of endless queueing is cut: it tells less than the results do.
pub(crate) const CUT: &str = "flush/wq-under-constant-requeue";

/// Everything is compared but times, which the puppet has none of.
pub(crate) const ALL: Switches = Switches {
    warnings: true,
    times: false,
};

/// Steps the actors in the order of the kernel's trace and answers calls as the kernel did. All
/// that the interpreter knows by itself must then come out as it was recorded.
pub(crate) struct Puppet;

impl Backend for Puppet {
    fn name(&self) -> &str {
        "puppet"
    }

    fn run(&self, scenario: &Scenario) -> Result<Record, NotApplicable> {
        Ok(Show::new(scenario).run())
    }

    fn switches(&self, _: &Scenario) -> Switches {
        ALL
    }
}

struct Show<'a> {
    scenario: &'a Scenario,
    play: Play,
    /// By name; a timer or interrupt has the name of its context, one at a time.
    actors: BTreeMap<String, Puppeteer>,
    now: u64,
}

struct Puppeteer {
    actor: Actor,
    /// What it asked for last.
    act: Act,
    /// How many of its results the trace has told.
    told: usize,
}

impl<'a> Show<'a> {
    fn new(scenario: &'a Scenario) -> Show<'a> {
        Show {
            scenario,
            play: Play::new(scenario),
            actors: BTreeMap::new(),
            now: 0,
        }
    }

    fn run(mut self) -> Record {
        for message in &self.scenario.observed.kernel_messages {
            self.play.misuse(message.as_str());
        }
        let main = self.play.main();
        self.enter(main);
        for line in &self.scenario.observed.trace {
            self.now += 1000;
            self.line(line);
            self.come_back();
        }
        while !matches!(self.actors["main"].act, Act::End) {
            self.go("main", &mut VecDeque::new());
        }
        self.play.record()
    }

    fn line(&mut self, line: &str) {
        let Some((actor, rest)) = line.split_once(": ") else {
            let (execution, edge) = line.split_once(' ').expect("start or end");
            return match edge {
                "start" => self.start(execution),
                _ => self.finish(execution),
            };
        };
        match rest.split_once(" -> ") {
            Some((op, result)) => self.tell(actor, op, result),
            // The beginning of an operation changes nothing here.
            None if rest.ends_with(" ...") => {}
            None => self.pass(actor),
        }
    }

    /// An operation without a result is over: a latch was opened or passed.
    fn pass(&mut self, name: &str) {
        let act = &self.actors[name].act;
        if matches!(act, Act::Wait(_) | Act::SpinUntil(_) | Act::Open(_)) {
            self.go(name, &mut VecDeque::new());
        }
    }

    /// An actor begins and goes on to its first act.
    fn enter(&mut self, mut actor: Actor) {
        let act = actor.next(self.now, None);
        let name = actor.name().to_string();
        let told = match name.as_str() {
            "timer" | "irq" => self.results(&name),
            _ => 0,
        };
        let puppet = Puppeteer { actor, act, told };
        self.actors.insert(name.clone(), puppet);
        self.set_out(&name);
    }

    /// Who starts somebody else waits for nothing.
    fn set_out(&mut self, name: &str) {
        while matches!(self.actors[name].act, Act::Start(..)) {
            let puppet = self.actors.get_mut(name).expect("it is there");
            let next = puppet.actor.next(self.now, None);
            let Act::Start(actor, _) = std::mem::replace(&mut puppet.act, next) else {
                unreachable!("it was just seen");
            };
            self.enter(*actor);
        }
    }

    /// Who waited for a timer or an interrupt goes on at once, maybe to the next one.
    fn come_back(&mut self) {
        let back = |puppet: &Puppeteer| match &puppet.act {
            Act::Await(cond @ Cond::AsideDone(_), _) => self.play.holds(cond),
            _ => false,
        };
        let names = self.actors.iter().filter(|(_, p)| back(p));
        let names: Vec<String> = names.map(|(name, _)| name.clone()).collect();
        for name in names {
            self.go(&name, &mut VecDeque::new());
        }
    }

    fn start(&mut self, execution: &str) {
        let mut all = self.scenario.observed.executions.iter();
        let is = |e: &&cmwq_oracle::Execution| format!("{}#{}", e.item, e.n) == execution;
        let seen = all.find(is).expect("the trace is of the first run");
        let seat = Seat {
            cpu: seen.cpu,
            worker: seen.worker[1..].parse().expect("K and a number"),
            nice: seen.nice,
        };
        let actor = self.play.execution(&seen.item, seat, self.now);
        assert_eq!(actor.name(), execution);
        self.enter(actor);
    }

    fn finish(&mut self, name: &str) {
        while !matches!(self.actors[name].act, Act::End) {
            self.go(name, &mut VecDeque::new());
        }
    }

    /// An operation of `name` returned `result`.
    fn tell(&mut self, name: &str, op: &str, result: &str) {
        let trues = result.strip_prefix("true=").map(|n| n.parse().unwrap());
        let mut answers: VecDeque<Answer> = match trues {
            Some(n) => vec![Answer::Bool(true); n].into(),
            None => [answer(result)].into(),
        };
        let told = self.actors[name].told;
        while self.results(name) <= told {
            let at = &self.actors[name];
            assert!(!matches!(at.act, Act::End), "{name}: `{op}` never came");
            self.go(name, &mut answers);
        }
        self.actors.get_mut(name).expect("it is there").told += 1;
    }

    fn results(&self, name: &str) -> usize {
        let record = self.play.record();
        record.returns.get(name).map_or(0, Vec::len)
    }

    /// Answers what an actor asked for last and goes on to its next act.
    fn go(&mut self, name: &str, answers: &mut VecDeque<Answer>) {
        let puppet = self.actors.get_mut(name).expect("it is there");
        let answer = match &puppet.act {
            Act::Call(_) => Some(answers.pop_front().unwrap_or(Answer::Bool(false))),
            Act::Await(..) => Some(Answer::Bool(
                answers.front() != Some(&Answer::Text("timeout".into())),
            )),
            _ => None,
        };
        puppet.act = puppet.actor.next(self.now, answer);
        self.set_out(name);
    }
}

fn answer(result: &str) -> Answer {
    match result {
        "void" => Answer::Void,
        "true" | "false" => Answer::Bool(result == "true"),
        _ => match result.parse() {
            Ok(number) => Answer::Number(number),
            Err(_) => Answer::Text(result.into()),
        },
    }
}
