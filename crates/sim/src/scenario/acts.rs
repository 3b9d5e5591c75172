//! What items and threads do, as it is written: one string for one act, tables for what holds other
//! acts.

use std::cell::RefCell;

use cmwq_policy::Nanos;
use cmwq_policy::job::Chunks;

use super::fields::{Cx, Fields};
use super::source::{Mistake, Origin, suggestion};
use super::tree::{Node, Value};
use super::units::{self, Amount};
use crate::JobSpec;

/// Where a queued item goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Queueing {
    pub(crate) queue: usize,
    pub(crate) item: usize,
    pub(crate) cpu: Option<usize>,
    pub(crate) after: Option<Amount>,
}

/// What happens when a device has served a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    Nothing,
    Post(usize),
    Queue(Queueing),
}

/// One act; things are named by their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Burn(Amount),
    Sleep(Amount),
    Lock(usize),
    Unlock(usize),
    Pass(usize),
    Take(usize),
    Post(usize),
    Io(usize, u64),
    Submit(usize, u64, Then),
    /// The request's own data, or shared ones.
    Touch(Option<usize>, u64),
    Queue(Queueing),
    FlushQueue(usize),
    FlushItem(usize),
    Join(usize),
    Cancel {
        item: usize,
        sync: bool,
    },
    Wait,
    /// A multithreaded job, whose helpers are items of this queue.
    Job(usize, JobSpec),
    Yield,
    Hint(bool),
    Count(usize, u64),
    MarkBegin(usize),
    MarkEnd(usize),
    Request,
    /// So many times, or for ever.
    Repeat(Option<u64>, Vec<Step>),
    /// With this probability in a million the first, else the second.
    Choose(u32, Vec<Step>, Vec<Step>),
    /// At most so many times in each request.
    AtMost(u64, Vec<Step>),
}

/// The names of what acts are about, by kind.
#[derive(Default)]
pub(crate) struct Names {
    pub(crate) queues: Vec<String>,
    pub(crate) items: Vec<String>,
    pub(crate) locks: Vec<String>,
    pub(crate) semaphores: Vec<String>,
    pub(crate) devices: Vec<String>,
    pub(crate) data: Vec<String>,
    /// Named by the acts themselves.
    pub(crate) counters: RefCell<Vec<String>>,
    pub(crate) spans: RefCell<Vec<String>>,
}

const VERBS: [&str; 23] = [
    "burn", "sleep", "lock", "unlock", "pass", "take", "post", "io", "submit", "touch", "queue",
    "flush", "join", "cancel", "wait", "job", "yield", "hint", "count", "mark", "request",
    "repeat", "choose",
];

/// Acts in one list, those in other acts included.
const MOST: usize = 10_000;

/// Reads lists of acts.
pub(crate) struct ActReader<'a> {
    pub(crate) cx: &'a Cx<'a>,
    pub(crate) names: &'a Names,
    /// CPUs of the machine.
    pub(crate) cpus: usize,
    /// It is an item that does this.
    pub(crate) in_item: bool,
}

/// The words of one act.
struct Words<'a> {
    reader: &'a ActReader<'a>,
    node: &'a Node,
    words: Vec<(usize, String)>,
    next: usize,
    len: usize,
}

impl ActReader<'_> {
    /// Reads a list of acts, or a single one.
    pub(crate) fn acts(&self, node: &Node) -> Result<Vec<Step>, Mistake> {
        let steps = match &node.value {
            Value::List(nodes) => nodes
                .iter()
                .map(|node| self.act(node))
                .collect::<Result<_, _>>()?,
            _ => vec![self.act(node)?],
        };
        match count(&steps) <= MOST {
            true => Ok(steps),
            false => Err(self
                .cx
                .wrong(&node.origin, format!("more than {MOST} acts"))),
        }
    }

    fn act(&self, node: &Node) -> Result<Step, Mistake> {
        match &node.value {
            Value::Text(_) => self.string(node),
            Value::Table(_) => self.table(node),
            _ => {
                let message = format!("an act is a string or a table, not {}", node.kind());
                Err(self.cx.wrong(&node.origin, message))
            }
        }
    }

    /// `{ repeat = N, does = [..] }` and its like.
    fn table(&self, node: &Node) -> Result<Step, Mistake> {
        let mut fields = Fields::of(self.cx, "this act", node)?;
        let repeat = fields.read("repeat", |text| match text {
            "forever" => Ok(None),
            text => units::whole(text, 1, i64::MAX).map(|n| Some(n as u64)),
        })?;
        let choose = fields.read("choose", |text| units::share(text, 1_000_000))?;
        let at_most = fields.read("at_most", |text| units::whole(text, 1, i64::MAX))?;
        let said = [repeat.is_some(), choose.is_some(), at_most.is_some()];
        if said.into_iter().filter(|&yes| yes).count() != 1 {
            let message = "an act that is a table has one of `repeat`, `choose` and `at_most`";
            return Err(self.cx.wrong(&node.origin, message));
        }
        let does = self.acts(fields.needed("does")?)?;
        let step = match (repeat, choose, at_most) {
            (Some(times), ..) => Step::Repeat(times, does),
            (_, Some(share), _) => {
                let other = fields
                    .node("else")
                    .map(|node| self.acts(node))
                    .transpose()?;
                Step::Choose(share, does, other.unwrap_or_default())
            }
            (.., at_most) => Step::AtMost(at_most.unwrap_or(1) as u64, does),
        };
        if matches!(&step, Step::Repeat(_, does) if does.is_empty()) {
            return Err(self.cx.wrong(&node.origin, "there is nothing to repeat"));
        }
        fields.done()?;
        Ok(step)
    }

    fn string(&self, node: &Node) -> Result<Step, Mistake> {
        let text = self.cx.text(node)?;
        let offset = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
        let words = text
            .split_whitespace()
            .map(|word| (offset(word), word.to_owned()));
        let mut words = Words {
            reader: self,
            node,
            words: words.collect(),
            next: 0,
            len: text.len(),
        };
        let step = words.step()?;
        match words.peek().map(str::to_owned) {
            None => Ok(step),
            Some(word) => Err(words.wrong_next(format!("`{word}` is one word too many"))),
        }
    }
}

/// The time of each of so many units.
fn unit_of(units: u64, word: &str) -> Result<Nanos, String> {
    let unit = units::time(word)?;
    match units.checked_mul(unit) {
        Some(1..) => Ok(unit),
        Some(0) => Err("a unit takes some time".to_owned()),
        None => Err(format!("{units} units of `{word}` are more than 584 years")),
    }
}

/// Acts in a list, and in those.
fn count(steps: &[Step]) -> usize {
    let inner = |step: &Step| match step {
        Step::Repeat(_, does) | Step::AtMost(_, does) => count(does),
        Step::Choose(_, does, other) => count(does) + count(other),
        _ => 0,
    };
    steps.iter().map(|step| 1 + inner(step)).sum()
}

impl Words<'_> {
    fn peek(&self) -> Option<&str> {
        self.words.get(self.next).map(|(_, word)| word.as_str())
    }

    /// Takes the next word if it is this one.
    fn take_if(&mut self, word: &str) -> bool {
        let is = self.peek() == Some(word);
        self.next += usize::from(is);
        is
    }

    fn place(&self, at: usize) -> Origin {
        let cx = self.reader.cx;
        match self.words.get(at) {
            Some((from, word)) => cx.part(self.node, *from, word.len()),
            None => cx.part(self.node, self.len, 1),
        }
    }

    fn wrong_next(&self, message: impl Into<String>) -> Mistake {
        self.reader.cx.wrong(&self.place(self.next), message)
    }

    /// The next word, read by this function.
    fn read<T>(
        &mut self,
        what: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, Mistake> {
        let Some(word) = self.peek() else {
            return Err(self.wrong_next(format!("{what} is missing here")));
        };
        let value = read(word).map_err(|message| self.wrong_next(message))?;
        self.next += 1;
        Ok(value)
    }

    /// The number of the thing with this name.
    fn name(&mut self, kind: &str, names: &[String]) -> Result<usize, Mistake> {
        self.read(&format!("the name of a {kind}"), |word| {
            names.iter().position(|name| name == word).ok_or_else(|| {
                let known = suggestion(word, names.iter().map(String::as_str));
                format!("there is no {kind} `{word}`{known}")
            })
        })
    }

    /// The number of a name that need not be known yet.
    fn new_name(&mut self, what: &str, names: &RefCell<Vec<String>>) -> Result<usize, Mistake> {
        self.read(what, |word| {
            let mut names = names.borrow_mut();
            let known = names.iter().position(|name| name == word);
            Ok(known.unwrap_or_else(|| {
                names.push(word.to_owned());
                names.len() - 1
            }))
        })
    }

    fn amount(&mut self) -> Result<Amount, Mistake> {
        self.read("a time", units::amount)
    }

    fn size(&mut self) -> Result<u64, Mistake> {
        self.read("a size", units::size)
    }

    fn begin_or_end(&mut self) -> Result<bool, Mistake> {
        self.read("`begin` or `end`", |word| match word {
            "begin" => Ok(true),
            "end" => Ok(false),
            _ => Err(format!("`{word}` is neither `begin` nor `end`")),
        })
    }

    fn step(&mut self) -> Result<Step, Mistake> {
        let names = self.reader.names;
        let verb = self.read("an act", |word| Ok(word.to_owned()))?;
        Ok(match verb.as_str() {
            "burn" => Step::Burn(self.amount()?),
            "sleep" => Step::Sleep(self.amount()?),
            "lock" => Step::Lock(self.name("lock", &names.locks)?),
            "unlock" => Step::Unlock(self.name("lock", &names.locks)?),
            "pass" => Step::Pass(self.name("lock", &names.locks)?),
            "take" => Step::Take(self.name("semaphore", &names.semaphores)?),
            "post" => Step::Post(self.name("semaphore", &names.semaphores)?),
            "io" => Step::Io(self.name("device", &names.devices)?, self.size()?),
            "submit" => self.submit()?,
            "touch" => self.touch()?,
            "queue" => Step::Queue(self.queueing()?),
            "flush" => self.flush()?,
            "join" => Step::Join(self.name("item", &names.items)?),
            "cancel" => {
                let sync = self.take_if("sync");
                let item = self.name("item", &names.items)?;
                Step::Cancel { item, sync }
            }
            "wait" if self.reader.in_item => {
                self.next -= 1;
                let message = "an item that waited for what its thread has queued would wait for itself; \
                               say `flush item NAME`";
                return Err(self.wrong_next(message));
            }
            "wait" => Step::Wait,
            "job" if self.reader.in_item => {
                self.next -= 1;
                return Err(self.wrong_next("a job is called by a thread, not by an item"));
            }
            "job" => self.job()?,
            "yield" => Step::Yield,
            "hint" => Step::Hint(self.begin_or_end()?),
            "count" => self.count()?,
            "mark" => {
                let begins = self.begin_or_end()?;
                let span = self.new_name("the name of a span", &names.spans)?;
                if begins {
                    Step::MarkBegin(span)
                } else {
                    Step::MarkEnd(span)
                }
            }
            "request" => Step::Request,
            _ => return Err(self.unknown(&verb)),
        })
    }

    fn unknown(&mut self, verb: &str) -> Mistake {
        self.next -= 1;
        let message = match verb {
            "repeat" | "choose" | "at_most" => format!(
                "`{verb}` holds other acts: write it as a table, {{ {verb} = .., does = [..] }}"
            ),
            _ => format!("there is no act `{verb}`{}", suggestion(verb, VERBS)),
        };
        self.wrong_next(message)
    }

    fn submit(&mut self) -> Result<Step, Mistake> {
        let names = self.reader.names;
        let device = self.name("device", &names.devices)?;
        let size = self.size()?;
        if !self.take_if("then") {
            return Ok(Step::Submit(device, size, Then::Nothing));
        }
        let then = match () {
            () if self.take_if("post") => Then::Post(self.name("semaphore", &names.semaphores)?),
            () if self.take_if("queue") => {
                let at = self.next;
                let queueing = self.queueing()?;
                if queueing.cpu.is_some() || queueing.after.is_some() {
                    self.next = at;
                    let message = "what a device queues goes to the CPU that submitted, at once";
                    return Err(self.wrong_next(message));
                }
                Then::Queue(queueing)
            }
            () => return Err(self.wrong_next("after `then` comes `post` or `queue`")),
        };
        Ok(Step::Submit(device, size, then))
    }

    fn touch(&mut self) -> Result<Step, Mistake> {
        let names = self.reader.names;
        let is_size = self
            .peek()
            .is_none_or(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        let data = match is_size {
            true => None,
            false => Some(self.name("data", &names.data)?),
        };
        Ok(Step::Touch(data, self.size()?))
    }

    fn queueing(&mut self) -> Result<Queueing, Mistake> {
        let names = self.reader.names;
        let cpus = self.reader.cpus;
        let queue = self.name("queue", &names.queues)?;
        let item = self.name("item", &names.items)?;
        let (mut cpu, mut after) = (None, None);
        loop {
            match () {
                () if cpu.is_none() && self.take_if("on") => {
                    let read = |word: &str| units::whole(word, 0, cpus as i64 - 1);
                    cpu = Some(self.read("a CPU", read)? as usize);
                }
                () if after.is_none() && self.take_if("after") => after = Some(self.amount()?),
                () => break,
            }
        }
        Ok(Queueing {
            queue,
            item,
            cpu,
            after,
        })
    }

    /// `job QUEUE UNITS of TIME [adaptive] [threads N] [lifts]`
    fn job(&mut self) -> Result<Step, Mistake> {
        let queue = self.name("queue", &self.reader.names.queues)?;
        let units = self.number("a number of units", i64::MAX)?;
        self.read("`of`", |word| match word {
            "of" => Ok(()),
            _ => Err(format!("after the units comes `of`, not `{word}`")),
        })?;
        let mut spec = JobSpec {
            units,
            unit: self.read("the time of a unit", |word| unit_of(units, word))?,
            max_threads: 0,
            chunks: Chunks::Kernel,
            lifts: false,
        };
        loop {
            match () {
                () if self.take_if("adaptive") => spec.chunks = Chunks::Adaptive,
                () if self.take_if("lifts") => spec.lifts = true,
                () if self.take_if("threads") => {
                    spec.max_threads = self.number("a number of threads", 1024)? as u32;
                }
                () => break Ok(Step::Job(queue, spec)),
            }
        }
    }

    fn number(&mut self, what: &str, most: i64) -> Result<u64, Mistake> {
        self.read(what, |word| units::whole(word, 1, most).map(|n| n as u64))
    }

    fn flush(&mut self) -> Result<Step, Mistake> {
        let names = self.reader.names;
        if self.take_if("item") {
            return Ok(Step::FlushItem(self.name("item", &names.items)?));
        }
        Ok(Step::FlushQueue(self.name("queue", &names.queues)?))
    }

    fn count(&mut self) -> Result<Step, Mistake> {
        let counter = self.new_name("the name of a counter", &self.reader.names.counters)?;
        if !self.take_if("by") {
            return Ok(Step::Count(counter, 1));
        }
        let by = self.read("a number or a size", |word| {
            let number = units::whole(word, 1, i64::from(u32::MAX)).map(|n| n as u64);
            match number.or_else(|_| units::size(word))? {
                0 => Err(format!("`{word}` counts nothing")),
                by => Ok(by),
            }
        })?;
        Ok(Step::Count(counter, by))
    }
}
