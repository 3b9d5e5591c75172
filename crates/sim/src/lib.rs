//! A simulated machine around the policy core of cmwq.
//!
//! Virtual CPUs, virtual time and threads, and the same text of the rules that the runtime carries
//! out. There is no clock, thread or hash order here, and every random number comes from one seed: the
//! same programs on the same machine do the same, in every run.
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
//! | module | |
//! | --- | --- |
//! | [`machine`] | the machine and its events; time passes here |
//! | `threads`, `gates`, `options` | threads, asleep and awake; gates; what a machine is like |
//! | [`program`] | what threads and items do, as resumable state machines |
//! | `turn` | one thread's acts, from getting the CPU until it burns, sleeps or ends |
//! | `workers` | the loop of a worker thread, as the runtime has it |
//! | `waits`, `process` | calls that wait, and may be refused; the process around the queues |
//! | `tidy` | what items leave behind in their threads |
//! | `pools` | pools around the core: events in, actions out; the tick |
//! | [`signals`] | what pools are told of who sleeps: canaries, the tick, hints, or all of it |
//! | [`watch`] | what the tick notices beside that: hogs, stalls |
//! | `rescuers` | queues' own threads, for when none can be made |
//! | [`queues`] | queues, and what the policy's protocols run on |
//! | [`calls`] | the workqueue interface |
//! | [`load`] | threads of others |
//! | [`resources`] | locks, semaphores, devices, data with a home |
//! | [`job`] | multithreaded jobs |
//! | [`random`] | random numbers, from one seed |
//! | [`cpu`] | CPUs and the scheduler |
//! | [`output`] | what CPUs did, for Perfetto or as a picture |
//! | [`scenario`] | scenario files: read, run, reported |
//! | [`inspect`] | everything as seen from outside, for those who check it |
//! | [`topology`], [`events`], [`store`], [`trace`] | shapes of machines; what will happen; items; what happened |
#![forbid(unsafe_code)]

pub mod calls;
pub mod cpu;
pub mod events;
mod gates;
pub mod inspect;
pub mod job;
mod layout;
pub mod load;
pub mod machine;
mod options;
pub mod output;
mod pools;
mod process;
pub mod program;
pub mod queues;
pub mod random;
mod rescuers;
pub mod resources;
pub mod scenario;
pub mod signals;
pub mod store;
mod threads;
mod tidy;
pub mod topology;
pub mod trace;
mod turn;
mod waits;
pub mod watch;
mod weight;
mod workers;

pub use calls::Call;
pub use cpu::{
    Balance, Costs, CpuStats, Discipline, Domains, Placement, Recent, Run, ThreadId, ThreadState,
    ThreadStats, WakeTo,
};
pub use inspect::{ItemView, Observer, PwqView};
pub use job::{JobSpec, SimJob, SimJobStats};
pub use load::Load;
pub use machine::{Ended, Machine};
pub use options::Options;
pub use program::{
    Act, Answer, Body, Execution, Gate, ItemId, PoolId, Program, ProgramCx, QueueId, Script,
    ThreadSpec, WorkerRef,
};
pub use queues::QueueSpec;
pub use random::Random;
pub use resources::{
    Completion, DataId, DeviceId, DeviceSpec, DeviceStats, LockId, LockSpec, LockStats, SemId,
    SemStats,
};
pub use signals::{SignalCosts, SignalStats, Signals, UserSignals};
pub use tidy::LeftBehind;
pub use topology::{Distance, Place, Topology, TopologyError};
pub use trace::{Line, What};
pub use watch::{Report, SlotHolder, Trouble};
pub use weight::weight;
