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
//! | `api` | what programs say to the machine, and what it says of itself: plain values |
//! | `machine` | the machine and its events; time passes here |
//! | `threads`, `gates` | threads, asleep and awake; gates |
//! | `program` | what threads and items do, as resumable state machines |
//! | `turn` | one thread's acts, from getting the CPU until it burns, sleeps or ends |
//! | `workers` | the loop of a worker thread, as the runtime has it |
//! | `waits`, `process` | calls that wait, and may be refused; the process around the queues |
//! | `tidy` | what items leave behind in their threads |
//! | `pools` | pools around the core: events in, actions out; the tick |
//! | `signals` | what pools are told of who sleeps: canaries, the tick, hints, or all of it |
//! | `watch` | what the tick notices beside that: hogs, stalls |
//! | `rescuers` | queues' own threads, for when none can be made |
//! | `queues` | queues, and what the policy's protocols run on |
//! | `calls` | the workqueue interface |
//! | `load` | threads of others |
//! | `resources` | locks, semaphores, devices, data with a home |
//! | `job` | multithreaded jobs |
//! | [`random`] | random numbers, from one seed |
//! | [`cpu`] | CPUs and the scheduler |
//! | [`output`] | what CPUs did, for Perfetto or as a picture |
//! | [`scenario`] | scenario files: read, run, reported |
//! | `inspect` | everything as seen from outside, for those who check it |
//! | [`topology`], `events`, `store` | shapes of machines; what will happen; items |
#![forbid(unsafe_code)]

mod api;
mod calls;
pub mod cpu;
mod events;
mod gates;
mod inspect;
mod job;
mod layout;
mod load;
mod machine;
pub mod output;
mod pools;
mod process;
mod program;
mod queues;
pub mod random;
mod rescuers;
mod resources;
pub mod scenario;
mod signals;
mod store;
mod threads;
mod tidy;
pub mod topology;
mod turn;
mod waits;
mod watch;
mod weight;
mod workers;

pub use api::act::{Act, Answer, Completion};
pub use api::call::Call;
pub use api::names::{
    DataId, DeviceId, Execution, Gate, ItemId, LockId, PoolId, PwqId, QueueId, SemId, WorkerRef,
};
pub use api::options::{Options, SignalCosts, Signals, UserSignals};
pub use api::report::{
    DeviceStats, ItemView, LeftBehind, LockStats, PwqView, Report, SemStats, SignalStats,
    SlotHolder, Trouble,
};
pub use api::specs::{DeviceSpec, LockSpec, QueueSpec, ThreadSpec};
pub use api::trace::{Line, What};
pub use cpu::{
    Balance, Costs, CpuStats, Discipline, Domains, Placement, Recent, Run, ThreadId, ThreadState,
    ThreadStats, WakeTo,
};
pub use inspect::Observer;
pub use job::{JobSpec, SimJob, SimJobStats};
pub use load::Load;
pub use machine::{Ended, Machine};
pub use program::{Body, Program, ProgramCx, Script};
pub use random::Random;
pub use topology::{Distance, Place, Topology, TopologyError};
pub use weight::weight;
