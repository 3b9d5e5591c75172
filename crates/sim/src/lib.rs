//! A simulated machine around the policy core of cmwq.
//!
//! Virtual CPUs, virtual time and threads, and the same text of the rules that the engine carries
//! out. There is no clock, thread or hash order here, and every random number comes from one seed:
//! the same programs on the same machine do the same, in every run.
//!
//! ```
//! use cmwq_sim::{Act, Call, Machine, Options, QueueSpec, Script, ThreadSpec};
//!
//! let machine = Machine::new(Options::on("T2").unwrap());
//! let queue = machine.alloc_workqueue(QueueSpec::percpu("w"));
//! let item = machine.item("a", |_| Script::boxed([Act::Burn(5_000_000)]));
//! let calls = [
//!     Act::Call(Call::QueueWork { queue, cpu: Some(1), item }),
//!     Act::Call(Call::FlushWorkqueue(queue)),
//! ];
//! machine.spawn(ThreadSpec::named("main").on(0), Script::boxed(calls));
//! machine.run();
//! assert_eq!(machine.now().0, 5_000_000);
//! ```
//!
//! # Floors
//!
//! The lowest first. A room imports from lower floors only. Methods of [`Machine`] still call up
//! where a pool acts at once on what it hears: threads to pools, pools to queues and signals.
//!
//! 1. `topology`, `events`: shapes of machines, and what will happen, in order.
//! 2. `cpu`: CPUs and the scheduler.
//! 3. `api`: what programs say to the machine, and what it says of itself: plain values.
//! 4. `random`: random numbers, from one seed.
//! 5. `state`: what the machine has, in tables.
//! 6. `machine`: all of that as one; programs and the observer, who are handed it.
//! 7. `threads`: created, asleep, woken; latches.
//! 8. `resources`: what threads share: locks, semaphores, devices, data with a home.
//! 9. `pools`: pools around the core: events in, actions out; workers, rescuers, looks at them.
//! 10. `queues`: queues, calls of the workqueue interface, waits, the end of the process.
//! 11. `signals`: what pools are told of who sleeps: canaries, the tick, hints, or all of it.
//! 12. `programs`: scripts, foreign load, multithreaded jobs.
//! 13. `run`: a thread's turn, interrupts, and the loop in which time passes.
//! 14. `inspect`: everything as seen from outside, for those who check it.
//! 15. `output`: what CPUs did, for Perfetto or as a picture.
//! 16. `scenario`: scenario files: read, run, reported.
//! 17. `scale`: the cost of lines that CPUs share, from 1 to 256 CPUs, beside models of others.
#![forbid(unsafe_code)]

mod api;
pub mod cpu;
mod events;
mod inspect;
mod machine;
pub mod output;
mod pools;
mod programs;
mod queues;
pub mod random;
mod resources;
mod run;
pub mod scale;
pub mod scenario;
mod signals;
mod state;
mod threads;
pub mod topology;

pub use api::act::{Act, Answer, Completion};
pub use api::call::Call;
pub use api::names::{
    DataId, DeviceId, Execution, ItemId, Latch, LockId, PoolId, PwqId, QueueId, SemId, WorkerRef,
};
pub use api::options::{Options, SignalCosts, Signals, UserSignals};
pub use api::report::{
    DeviceStats, ItemView, LeftBehind, LockStats, PwqView, Report, SemStats, SignalStats,
    SlotHolder, Trouble,
};
pub use api::specs::{DeviceSpec, LockSpec, QueueSpec, ThreadSpec};
pub use api::trace::{Line, What};
pub use cpu::{
    Balance, Costs, CpuStats, Discipline, Domains, Placement, Recent, Run, Sharing, ThreadId,
    ThreadState, ThreadStats, WakeTo, weight,
};
pub use machine::{Body, Machine, Observer, Program, ProgramCx};
pub use programs::Script;
pub use programs::job::{JobSpec, SimJob, SimJobStats};
pub use programs::load::Load;
pub use random::Random;
pub use run::Ended;
pub use topology::{Distance, Place, Topology, TopologyError};
