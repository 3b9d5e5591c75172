//! Jobs on machines of 8, 48 and 96 CPUs, with the core that the runtime's jobs have: what a
//! foreground feels of them, what they make of the rest of the machine, and what their end takes.

use cmwq_policy::job::Chunks;
use cmwq_policy::time::{MICROSECOND, MILLISECOND, SECOND};
use cmwq_policy::{Nanos, Time};
use cmwq_sim::*;

const SIZES: [usize; 3] = [8, 48, 96];
const UNIT: Nanos = 10 * MICROSECOND;
const FOREGROUND: Nanos = 2 * SECOND;

fn machine(cpus: usize) -> Machine {
    let topology = Topology::synthetic(&format!("core:{cpus} pu:1")).unwrap();
    let mut options = Options::of(topology);
    options.placement = Placement::linux();
    Machine::new(options)
}

fn spec(cpu_time: Nanos) -> JobSpec {
    JobSpec {
        units: cpu_time / UNIT,
        unit: UNIT,
        max_threads: 0,
        chunks: Chunks::Kernel,
        lifts: false,
    }
}

/// A job with helpers of this nice level; its caller is a thread of nice 0.
fn start(machine: &Machine, nice: i8, spec: JobSpec) -> SimJob {
    let queue = machine.alloc_workqueue(QueueSpec::unmanaged("job").at_nice(nice));
    let job = machine.job(queue, spec);
    machine.spawn(ThreadSpec::named("caller"), job.caller(machine));
    job
}

/// The foreground's time, in thousandths of its time alone; CPU time that the job has had
/// meanwhile, in thousandths of what the foreground has left.
fn beside(cpus: usize, nice: i8, chunks: Chunks) -> (u64, u64) {
    let machine = machine(cpus);
    // More than there is room for until the foreground ends.
    let job = start(
        &machine,
        nice,
        JobSpec {
            chunks,
            ..spec(cpus as u64 * 10 * SECOND)
        },
    );
    machine.run_until(Time(100 * MILLISECOND));
    let (begun, done) = (machine.now().0, job.stats().done);
    let foreground: Vec<ThreadId> = (1..cpus)
        .map(|n| {
            let program = Script::boxed([Act::Burn(FOREGROUND)]);
            machine.spawn(ThreadSpec::named(format!("foreground {n}")), program)
        })
        .collect();
    let over = |id: &ThreadId| machine.thread_stats(*id).cpu_ns >= FOREGROUND;
    machine.run_while(Time(100 * SECOND), |_| !foreground.iter().all(over));
    let took = machine.now().0 - begun;
    let left = took * cpus as u64 - FOREGROUND * foreground.len() as u64;
    let job_cpu = (job.stats().done - done) * UNIT;
    assert!(
        job.stats().helpers >= cpus as u32 * 4 / 5,
        "{:?}",
        job.stats()
    );
    (took * 1000 / FOREGROUND, job_cpu * 1000 / left)
}

#[test]
fn a_foreground_hardly_feels_helpers_at_nice_19_and_they_use_the_rest() {
    for cpus in SIZES {
        for chunks in [Chunks::Kernel, Chunks::Adaptive] {
            let (nice, rest) = beside(cpus, 19, chunks);
            let (equal, _) = beside(cpus, 0, chunks);
            println!("{cpus} CPUs, {chunks:?}: {nice}, nice 0 {equal}; of the rest {rest}");
            assert!(nice <= 1030 && rest >= 950, "{cpus} CPUs: {nice}, {rest}");
            assert!(equal >= 1300, "{cpus} CPUs: {equal}");
        }
    }
}

/// A job of one second of CPU time, while there are two threads of others for every CPU: how long
/// it takes.
fn beside_hogs(cpus: usize, spec: JobSpec) -> (Nanos, SimJobStats) {
    let machine = machine(cpus);
    for n in 0..2 * cpus {
        let hog = Script::boxed([Act::Burn(1000 * SECOND)]);
        machine.spawn(ThreadSpec::named(format!("hog {n}")), hog);
    }
    machine.run_until(Time(50 * MILLISECOND));
    let begun = machine.now();
    let job = start(&machine, 19, spec);
    machine.run_while(Time(100 * SECOND), |_| job.stats().over_at.is_none());
    let stats = job.stats();
    assert_eq!(stats.done, spec.units);
    (stats.over_at.unwrap().since(begun), stats)
}

#[test]
fn starved_helpers_do_not_make_a_job_longer() {
    for cpus in SIZES {
        let alone = beside_hogs(
            cpus,
            JobSpec {
                max_threads: 1,
                ..spec(SECOND)
            },
        )
        .0;
        for lifts in [false, true] {
            for chunks in [Chunks::Kernel, Chunks::Adaptive] {
                let (took, stats) = beside_hogs(
                    cpus,
                    JobSpec {
                        lifts,
                        chunks,
                        ..spec(SECOND)
                    },
                );
                println!("{cpus} CPUs, {chunks:?}, lifts {lifts}: {took} of {alone}, {stats:?}");
                assert!(
                    took <= alone / 10 * 11,
                    "{cpus} CPUs: {took} of {alone}, {stats:?}"
                );
            }
        }
    }
}

#[test]
fn on_an_idle_machine_all_that_the_quota_grants_help() {
    for cpus in SIZES {
        let machine = machine(cpus);
        let job = start(&machine, 19, spec(cpus as u64 * SECOND));
        machine.run_while(Time(100 * SECOND), |_| job.stats().over_at.is_none());
        let stats = job.stats();
        let threads = 1 + cpus as u64 * 4 / 5;
        let perfect = cpus as u64 * SECOND / threads;
        println!("{cpus} CPUs: {:?} of {perfect}", stats.over_at);
        assert_eq!(stats.done, spec(cpus as u64 * SECOND).units);
        assert!(stats.over_at.unwrap().0 * 97 <= perfect * 100, "{stats:?}");
    }
}
