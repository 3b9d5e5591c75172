//! From words to operations.

use crate::op::{
    Attrs, Call, Context, Cpus, Delayed, Flag, Flags, ItemCall, MS, Name, Nanos, Op, Path,
    QueueCall, Scope, Step, Target,
};
use std::collections::BTreeSet;
use std::str::FromStr;
use std::sync::Arc;

/// The names a script may use.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) items: BTreeSet<String>,
    pub(crate) threads: BTreeSet<String>,
}

/// A word that is wrong, and why.
#[derive(Debug)]
pub(crate) struct Wrong {
    pub(crate) word: String,
    pub(crate) what: String,
}

type Parsed<T> = Result<T, Wrong>;

/// Understands one operation.
pub(crate) fn step(text: &str, known: &Known) -> Parsed<Step> {
    let mut words = Words {
        all: text.split_whitespace().collect(),
        at: 0,
        known,
    };
    let op = words.op()?;
    words.end()?;
    Ok(Step {
        text: words.all.join(" ").into(),
        op,
    })
}

struct Words<'a> {
    all: Vec<&'a str>,
    at: usize,
    known: &'a Known,
}

impl<'a> Words<'a> {
    fn next(&mut self, what: &str) -> Parsed<&'a str> {
        let word = self.all.get(self.at).copied();
        self.at += 1;
        word.ok_or_else(|| wrong(self.all.last().unwrap_or(&""), format!("{what} is missing")))
    }

    fn end(&self) -> Parsed<()> {
        match self.all.get(self.at) {
            Some(word) => Err(wrong(word, "one word too many")),
            None => Ok(()),
        }
    }

    /// The words that are left, as text; at least one.
    fn rest(&mut self, what: &str) -> Parsed<Arc<str>> {
        let first = self.next(what)?;
        let rest = self.all[self.at..].iter().copied();
        let text: Vec<&str> = [first].into_iter().chain(rest).collect();
        self.at = self.all.len();
        Ok(text.join(" ").into())
    }

    fn number<T: FromStr>(&mut self, what: &str) -> Parsed<T> {
        let word = self.next(what)?;
        word.parse()
            .map_err(|_| wrong(word, format!("is not {what}")))
    }

    fn time(&mut self) -> Parsed<Nanos> {
        let ms: u32 = self.number("milliseconds")?;
        Ok(Nanos::from(ms) * MS)
    }

    /// A CPU; -1 is none in particular.
    fn cpu(&mut self) -> Parsed<Option<u32>> {
        match self.number::<i64>("a CPU number")? {
            -1 => Ok(None),
            n => u32::try_from(n)
                .map(Some)
                .map_err(|_| wrong(&n.to_string(), "is not a CPU number")),
        }
    }

    fn name(&mut self, what: &str) -> Parsed<Name> {
        self.next(what).map(Name::from)
    }

    fn item(&mut self) -> Parsed<Name> {
        let word = self.next("an item")?;
        match self.known.items.contains(word) {
            true => Ok(word.into()),
            false => Err(wrong(word, "the script has no such item")),
        }
    }

    fn thread(&mut self) -> Parsed<Name> {
        let word = self.next("a thread")?;
        match self.known.threads.contains(word) {
            true => Ok(word.into()),
            false => Err(wrong(word, "the script has no such thread")),
        }
    }

    fn queue(&mut self) -> Parsed<Name> {
        self.name("a queue")
    }

    fn prefix(&mut self) -> Name {
        self.next("a prefix").unwrap_or_default().into()
    }

    /// The operation that a modifier stands before.
    fn inner(&mut self) -> Parsed<Arc<Step>> {
        let from = self.at;
        let op = self.op()?;
        let text = self.all[from..self.at.min(self.all.len())].join(" ").into();
        Ok(Arc::new(Step { text, op }))
    }

    fn op(&mut self) -> Parsed<Op> {
        let word = self.next("an operation")?;
        let op = match word {
            "sleep" => Op::Sleep(self.time()?),
            "spin" => Op::Spin(self.time()?),
            "wait" => Op::Wait(self.name("a latch")?),
            "spin_wait" => Op::SpinWait(self.name("a latch")?),
            "open" => Op::Open(self.name("a latch")?),
            "upto" => Op::Upto(self.number("a count")?, self.inner()?),
            "only" => Op::Only(self.number("a count")?, self.inner()?),
            "repeat" => Op::Repeat(self.number("a count")?, self.inner()?),
            "until" => Op::Until(self.name("a latch")?, self.inner()?),
            "in_timer" => Op::Aside(Context::Timer, self.inner()?),
            "in_irq" => Op::Aside(Context::Irq, self.inner()?),
            "start" => Op::Start(self.thread()?),
            "join" => Op::Join(self.thread()?),
            "is_done" => Op::IsDone(self.thread()?, self.time()?),
            "done_list" => Op::DoneList(self.name("a prefix")?),
            "await_start" => Op::AwaitStart(self.item()?, self.number("a count")?),
            "await_end" => Op::AwaitEnd(self.item()?, self.number("a count")?),
            "executions" => Op::Executions(self.item()?),
            "running_now" => Op::RunningNow(self.prefix()),
            "max_overlap" => Op::MaxOverlap(self.item()?),
            _ => Op::Call(self.call(word)?),
        };
        Ok(op)
    }

    fn call(&mut self, word: &str) -> Parsed<Call> {
        if let Some(&what) = ItemCall::ALL.iter().find(|c| c.word() == word) {
            return Ok(Call::Item(what, self.item()?));
        }
        if let Some(&what) = QueueCall::ALL.iter().find(|c| c.word() == word) {
            return Ok(Call::Queue(what, self.queue()?));
        }
        match self.queueing(word)? {
            Some(call) => Ok(call),
            None => self.other(word),
        }
    }

    /// What puts an item on a queue.
    fn queueing(&mut self, word: &str) -> Parsed<Option<Call>> {
        let call = match word {
            "queue_work" => self.queue_work(Target::Any)?,
            "queue_work_on" => {
                let to = self.cpu()?.map_or(Target::Any, Target::Cpu);
                self.queue_work(to)?
            }
            "queue_work_node" => {
                let to = Target::Node(self.number("a node")?);
                self.queue_work(to)?
            }
            "queue_delayed_work" => Call::QueueDelayedWork(self.delayed(None)?),
            "queue_delayed_work_on" => {
                let cpu = self.cpu()?;
                Call::QueueDelayedWork(self.delayed(cpu)?)
            }
            "queue_rcu_work" => Call::QueueRcuWork {
                queue: self.queue()?,
                item: self.item()?,
            },
            "enable_and_queue_work" => Call::EnableAndQueueWork {
                queue: self.queue()?,
                item: self.item()?,
            },
            _ => return Ok(None),
        };
        Ok(Some(call))
    }

    fn queue_work(&mut self, to: Target) -> Parsed<Call> {
        Ok(Call::QueueWork {
            queue: self.queue()?,
            item: self.item()?,
            to,
        })
    }

    fn delayed(&mut self, cpu: Option<u32>) -> Parsed<Delayed> {
        Ok(Delayed {
            queue: self.queue()?,
            item: self.item()?,
            cpu,
            delay: self.time()?,
        })
    }

    fn other(&mut self, word: &str) -> Parsed<Call> {
        let call = match word {
            "mod_delayed_work" => Call::ModDelayedWork(self.delayed(None)?),
            "mod_delayed_work_on" => {
                let cpu = self.cpu()?;
                Call::ModDelayedWork(self.delayed(cpu)?)
            }
            "workqueue_congested" => Call::WorkqueueCongested {
                cpu: self.cpu()?,
                queue: self.queue()?,
            },
            "set_worker_desc" => Call::SetWorkerDesc(self.rest("a description")?),
            "current_work" => Call::CurrentWork,
            "alloc_workqueue" => Call::AllocWorkqueue {
                queue: self.queue()?,
                flags: self.flags()?,
                max_active: self.number("a limit")?,
            },
            "create_workqueue" => Call::CreateWorkqueue(self.queue()?),
            "create_singlethread_workqueue" => Call::CreateSinglethreadWorkqueue(self.queue()?),
            "set_max_active" => Call::SetMaxActive(self.queue()?, self.number("a limit")?),
            "set_min_active" => Call::SetMinActive(self.queue()?, self.number("a limit")?),
            "apply_attrs" => Call::ApplyAttrs(self.queue()?, self.attrs()?),
            "freeze_begin" => Call::FreezeBegin,
            "freeze_busy" => Call::FreezeBusy,
            "thaw" => Call::Thaw,
            _ => return self.memory_and_thread(word),
        };
        Ok(call)
    }

    fn memory_and_thread(&mut self, word: &str) -> Parsed<Call> {
        let call = match word {
            "reinit" => Call::Reinit(self.item()?),
            "set_func" => Call::SetFunc(self.item()?, self.number("a function number")?),
            "free_self" => Call::FreeSelf,
            "forget_self" => Call::ForgetSelf,
            "reuse_memory" => Call::ReuseMemory {
                item: self.item()?,
                of: self.item()?,
                function: self.number("a function number")?,
            },
            "pin" => Call::Pin(cpus(self.next("a list of CPUs")?)?),
            "cpu" => Call::Cpu,
            "node" => Call::Node,
            "nice" => Call::Nice,
            "allowed" => Call::Allowed,
            "comm" => Call::Comm,
            "is_rescuer" => Call::IsRescuer,
            "workers" => Call::Workers(self.rest("a prefix")?),
            "write" => Call::Write(path(self.next("a path")?)?, self.rest("a value")?),
            "read" => Call::Read(path(self.next("a path")?)?),
            "fail_thread_creation" => Call::FailThreadCreation(truth(self.next("1 or 0")?)?),
            "injected" => Call::Injected,
            _ => return Err(wrong(word, "no such operation")),
        };
        Ok(call)
    }

    fn flags(&mut self) -> Parsed<Flags> {
        let words = self.next("flags")?.split(',');
        let flags = words.filter(|&word| word != "none").map(|word| {
            let flag = Flag::ALL.iter().find(|f| f.word() == word);
            flag.copied().ok_or_else(|| wrong(word, "no such flag"))
        });
        flags.collect::<Parsed<_>>().map(Flags)
    }

    fn attrs(&mut self) -> Parsed<Attrs> {
        let mut attrs = Attrs::default();
        while self.at < self.all.len() {
            attr(&mut attrs, self.next("an attribute")?)?;
        }
        Ok(attrs)
    }
}

fn attr(attrs: &mut Attrs, word: &str) -> Parsed<()> {
    let (key, value) = word
        .split_once('=')
        .ok_or_else(|| wrong(word, "is not key=value"))?;
    match key {
        "nice" => {
            let nice = value
                .parse()
                .map_err(|_| wrong(word, "is not a nice level"))?;
            attrs.nice = Some(nice);
        }
        "cpus" => attrs.cpus = Some(cpus(value)?),
        "scope" => {
            let scope = Scope::ALL.iter().find(|s| s.word() == value);
            attrs.scope = Some(*scope.ok_or_else(|| wrong(word, "no such scope"))?);
        }
        "strict" => attrs.strict = Some(truth(value)?),
        "ordered" => attrs.ordered = Some(truth(value)?),
        _ => return Err(wrong(word, "no such attribute")),
    }
    Ok(())
}

fn truth(word: &str) -> Parsed<bool> {
    match word {
        "1" => Ok(true),
        "0" => Ok(false),
        _ => Err(wrong(word, "is neither 0 nor 1")),
    }
}

fn cpus(word: &str) -> Parsed<Cpus> {
    let not_a_list = || wrong(word, "is not a list of CPUs");
    let mut all = BTreeSet::new();
    for part in word.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: u32 = first.parse().map_err(|_| not_a_list())?;
        let last: u32 = last.parse().map_err(|_| not_a_list())?;
        if last < first || last > 4095 {
            return Err(not_a_list());
        }
        all.extend(first..=last);
    }
    Ok(Cpus(all.into_iter().collect()))
}

fn path(word: &str) -> Parsed<Path> {
    let no_path = || wrong(word, "is not a path");
    let (kind, rest) = word.split_once(':').ok_or_else(no_path)?;
    match kind {
        "wq" => {
            let (queue, attr) = rest.rsplit_once('/').ok_or_else(no_path)?;
            Ok(Path::Queue {
                queue: queue.into(),
                attr: attr.into(),
            })
        }
        "global" => Ok(Path::Global(rest.into())),
        "param" => Ok(Path::Param(rest.into())),
        "cpu" => {
            let cpu = rest.strip_suffix("/online").ok_or_else(no_path)?;
            cpu.parse().map(Path::CpuOnline).map_err(|_| no_path())
        }
        _ => Err(no_path()),
    }
}

fn wrong(word: &str, what: impl Into<String>) -> Wrong {
    Wrong {
        word: word.into(),
        what: what.into(),
    }
}
