//! The items of `cmwq bench mix` on two CPUs: signals of user space reach about what was measured
//! on a real machine. What is held here are orderings and wide bounds; the figures are printed.

use cmwq_policy::time::{MICROSECOND, MILLISECOND, SECOND};
use cmwq_policy::{Nanos, Time};
use cmwq_sim::*;

const MS: u64 = MILLISECOND;
const US: u64 = MICROSECOND;
const ITEMS: usize = 600;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Work {
    Block,
    Cpu,
    Mixed,
}

const WORKS: [Work; 3] = [Work::Block, Work::Cpu, Work::Mixed];

impl Work {
    fn acts(self, i: usize) -> Vec<Act> {
        match self {
            Work::Block => vec![Act::Burn(500 * US), Act::Sleep(5 * MS), Act::Burn(500 * US)],
            Work::Cpu => vec![Act::Burn(3 * MS)],
            Work::Mixed if i.is_multiple_of(3) => Work::Cpu.acts(i),
            Work::Mixed => Work::Block.acts(i),
        }
    }

    /// What two CPUs need for it.
    fn bound(self) -> Nanos {
        match self {
            Work::Block => 300 * MS,
            Work::Cpu => 900 * MS,
            Work::Mixed => 500 * MS,
        }
    }
}

/// How a run went, in per mille.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    /// The bound's share of the time taken.
    of_bound: u64,
    /// What foreign load had of the machine.
    hogs: u64,
    workers: u32,
    reports: u64,
}

/// A machine of two CPUs about as the real one is. Its kernel (6.18, EEVDF) gives a thread that has
/// slept no credit for that: beside hogs it has to wait for its turn.
fn real() -> Options {
    let mut options = Options::on("T2").unwrap();
    options.spawn_takes = 30 * US;
    options.placement = Placement {
        wakeup_preemption: false,
        ..Placement::linux()
    };
    options.costs = Costs {
        switch: 2 * US,
        call: 300,
        ..Costs::default()
    };
    options
}

fn run(work: Work, signals: Signals, hogs: usize) -> Outcome {
    let machine = Machine::new(Options { signals, ..real() });
    let queue = machine.alloc_workqueue(QueueSpec::managed("w"));
    let load: Vec<ThreadId> = (0..hogs)
        .map(|_| {
            machine.spawn(
                ThreadSpec::named("hog"),
                Script::boxed([Act::Burn(3600 * SECOND)]),
            )
        })
        .collect();
    let cpu = None;
    let mut acts: Vec<Act> = (0..ITEMS)
        .map(|i| machine.item("item", move |_| Script::boxed(work.acts(i))))
        .map(|item| Act::Call(Call::QueueWork { queue, cpu, item }))
        .collect();
    acts.push(Act::Call(Call::FlushWorkqueue(queue)));
    let main = machine.spawn(ThreadSpec::named("main"), Script::boxed(acts));
    let ended = machine.run_while(Time(60 * SECOND), |m| !m.is_done(main));
    assert_eq!(ended, Ended::Stopped, "{work:?}");
    let took = machine.now().0;
    let burnt: Nanos = load.iter().map(|&id| machine.thread_stats(id).cpu_ns).sum();
    Outcome {
        of_bound: work.bound() * 1000 / took,
        hogs: burnt * 1000 / (2 * took),
        workers: machine.pool_stats(PoolId(0)).peak_workers,
        reports: machine.signal_stats().reports,
    }
}

fn table(name: &str, signals: Signals, hogs: usize) -> [Outcome; 3] {
    WORKS.map(|work| {
        let outcome = run(work, signals, hogs);
        println!("{name:20} {work:6?} {outcome:?}");
        outcome
    })
}

#[test]
fn alone_user_space_does_nearly_as_well_as_exact_knowledge() {
    let user = UserSignals::default();
    let exact = table("exact", Signals::Exact, 0);
    let all = table("all", Signals::User(user), 0);
    let canaries = UserSignals {
        tick: Nanos::MAX,
        ..user
    };
    table("canaries", Signals::User(canaries), 0);
    let tick = UserSignals {
        canaries: false,
        ..user
    };
    table("tick", Signals::User(tick), 0);
    for (at, work) in WORKS.into_iter().enumerate() {
        assert!(all[at].of_bound >= 930, "{work:?} {all:?}");
        assert!(
            all[at].of_bound + 60 >= exact[at].of_bound,
            "{work:?} {all:?} {exact:?}"
        );
        assert!(all[at].workers < 64, "{work:?} {all:?}");
        assert_eq!(exact[at].reports, 0);
    }
    assert!(all[0].reports > 0, "{all:?}");
}

#[test]
fn beside_hogs_canaries_starve_and_the_tick_makes_up_for_it() {
    let user = UserSignals::default();
    let of = |tick| {
        let name = format!("hogs, tick {tick}");
        table(&name, Signals::User(UserSignals { tick, ..user }), 2)
    };
    let exact = table("hogs, exact", Signals::Exact, 2);
    let [alone, slow, quick, paced] = [Nanos::MAX, 4 * MS, 250 * US, 0].map(of);
    // Items that only compute need no signal.
    for at in [0, 2] {
        assert!(alone[at].of_bound < slow[at].of_bound, "{alone:?} {slow:?}");
        assert!(
            alone[at].of_bound < paced[at].of_bound,
            "{alone:?} {paced:?}"
        );
        assert!(
            alone[at].of_bound < exact[at].of_bound,
            "{alone:?} {exact:?}"
        );
        // It takes its share, and not more.
        assert!((400..600).contains(&paced[at].hogs), "{paced:?}");
    }
    // A quicker tick helps those who block; who computes in between has his share already.
    assert!(slow[0].of_bound < quick[0].of_bound, "{slow:?} {quick:?}");
    // As a pool of one thread for each CPU.
    assert!((100..=165).contains(&alone[0].of_bound), "{alone:?}");
}
