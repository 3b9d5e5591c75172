//! The example scenarios of the kernel's `workqueue.rst`, on the machine.
//!
//! w0 burns 5 ms, sleeps 10 ms and burns 5 ms; w1 and w2 burn 5 ms and sleep 10 ms. All three are
//! queued at 0 for one CPU, whose pool keeps one worker running. When do they end?

use std::collections::BTreeMap;

use cmwq_policy::time::MILLISECOND;
use cmwq_sim::*;

/// A machine with a queue `w` for w0 and a queue `v` for the others.
struct Scenario {
    machine: Machine,
    w: QueueId,
    v: QueueId,
}

fn scenario(discipline: Discipline, w: QueueSpec, v: Option<QueueSpec>, limit: u32) -> Scenario {
    let machine = Machine::new(Options {
        discipline,
        thread_limit: limit,
        ..Options::on("T4").unwrap()
    });
    let w = machine.alloc_workqueue(w);
    let v = v.map_or(w, |v| machine.alloc_workqueue(v));
    Scenario { machine, w, v }
}

fn burn(ms: u64) -> Act {
    Act::Burn(ms * MILLISECOND)
}

fn sleep(ms: u64) -> Act {
    Act::Sleep(ms * MILLISECOND)
}

impl Scenario {
    /// When w0, w1 and w2 end, in nanoseconds, with everything taking `scale` times as long.
    fn ends(&self, scale: u64) -> Vec<u64> {
        let (m, s) = (&self.machine, scale);
        let first = m.item("w0", move |_| {
            Script::boxed([burn(5 * s), sleep(10 * s), burn(5 * s)])
        });
        let rest = ["w1", "w2"]
            .map(|name| m.item(name, move |_| Script::boxed([burn(5 * s), sleep(10 * s)])));
        let items = [(self.w, first), (self.v, rest[0]), (self.v, rest[1])];
        let cpu = Some(1);
        let queue = |(queue, item)| Act::Call(Call::QueueWork { queue, cpu, item });
        m.spawn(
            ThreadSpec::named("main").on(0),
            Script::boxed(items.map(queue)),
        );
        m.run();
        let ends: BTreeMap<ItemId, u64> = m.trace().iter().filter_map(end_of).collect();
        items.map(|(_, item)| ends[&item]).to_vec()
    }

    /// The same in milliseconds; they end at whole ones.
    fn ends_ms(&self) -> Vec<u64> {
        let whole = |ns: u64| {
            assert_eq!(ns % MILLISECOND, 0, "{ns} ns");
            ns / MILLISECOND
        };
        self.ends(1).into_iter().map(whole).collect()
    }
}

fn end_of(line: &Line) -> Option<(ItemId, u64)> {
    match line.what {
        What::End(execution) => Some((execution.item, line.at.0)),
        _ => None,
    }
}

/// Fair scheduling by slices that divide 5 ms, and by the usual ones.
const SLICES: [u64; 3] = [250_000, 1_000_000, 3_000_000];

fn all() -> impl Iterator<Item = Discipline> {
    let fair = SLICES.into_iter().map(Discipline::Fair);
    fair.chain([Discipline::Fifo])
}

#[test]
fn with_max_active_3_the_cpu_is_never_idle() {
    for (discipline, max) in all().flat_map(|d| [3, 4, 1024].map(|max| (d, max))) {
        let s = scenario(
            discipline,
            QueueSpec::percpu("w").max_active(max),
            None,
            512,
        );
        assert_eq!(s.ends_ms(), [20, 20, 25], "{discipline:?}, {max}");
    }
}

#[test]
fn with_max_active_2_the_third_waits_for_a_slot() {
    for discipline in all() {
        let s = scenario(discipline, QueueSpec::percpu("w").max_active(2), None, 512);
        assert_eq!(s.ends_ms(), [20, 20, 35], "{discipline:?}");
    }
}

#[test]
fn one_at_a_time_they_run_one_after_the_other() {
    for discipline in all() {
        let s = scenario(discipline, QueueSpec::percpu("w").max_active(1), None, 512);
        assert_eq!(s.ends_ms(), [20, 35, 50], "{discipline:?}");
        let one_thread = scenario(discipline, QueueSpec::percpu("w"), None, 1);
        assert_eq!(one_thread.ends_ms(), [20, 35, 50], "{discipline:?}");
    }
}

fn cpu_intensive(discipline: Discipline) -> Scenario {
    let v = QueueSpec::percpu("v").cpu_intensive();
    scenario(discipline, QueueSpec::percpu("w"), Some(v), 512)
}

#[test]
fn cpu_intensive_items_run_as_documented_under_fifo() {
    assert_eq!(cpu_intensive(Discipline::Fifo).ends_ms(), [20, 20, 25]);
}

#[test]
fn cpu_intensive_items_share_the_cpu_under_fair_scheduling() {
    for slice in [250_000, 500_000, 1_000_000, 2_500_000] {
        let s = cpu_intensive(Discipline::Fair(slice));
        assert_eq!(s.ends_ms(), [20, 25, 25], "{slice}");
    }
}

#[test]
fn longer_ones_share_it_within_a_slice() {
    let s = cpu_intensive(Discipline::Fair(3 * MILLISECOND));
    // Or w0, which burns 50 ms, would let the others start before it sleeps.
    s.machine.set_hog_threshold(0);
    let ends = s.ends(10);
    let early: Vec<u64> = [200, 250, 250]
        .iter()
        .zip(ends)
        .map(|(end, at)| (end * MILLISECOND).abs_diff(at))
        .collect();
    assert!(early.iter().all(|&by| by <= 3 * MILLISECOND), "{early:?}");
}
