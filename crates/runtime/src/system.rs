//! The queues that every process has.

use std::sync::OnceLock;

use cmwq_engine::Process;

use crate::workqueue::{Workqueue, WorkqueueBuilder};

/// The system queues of one process, each made at first use.
#[derive(Default)]
pub(crate) struct SystemQueues {
    dfl: OnceLock<Workqueue>,
    percpu: OnceLock<Workqueue>,
    highpri: OnceLock<Workqueue>,
    long: OnceLock<Workqueue>,
    freezable: OnceLock<Workqueue>,
    bh: OnceLock<Workqueue>,
}

fn get(
    which: impl FnOnce(&'static SystemQueues) -> &'static OnceLock<Workqueue>,
    name: &str,
    kind: impl FnOnce(WorkqueueBuilder) -> WorkqueueBuilder,
) -> &'static Workqueue {
    let process = Process::get().expect("cmwq can be used in this process");
    which(process.state()).get_or_init(|| {
        let queue = kind(Workqueue::builder(name)).build_in(process);
        queue.expect("the attributes of the system queues are valid")
    })
}

/// The process's own queue, for whatever needs no other (kernel `system_dfl_wq`; but managed: it
/// keeps as many items running as CPUs serve).
///
/// ```
/// let answer = cmwq::system().spawn(|| 6 * 7).join()?;
/// assert_eq!(answer, 42);
/// # Ok::<(), cmwq::JoinError>(())
/// ```
///
/// # Panics
/// At first use, if the system gives no page of memory or no thread, or in a child at the end of so
/// long a chain of forks that its parents have used up the 65,535 numbers of pools. So do the other
/// system queues.
pub fn system() -> &'static Workqueue {
    get(|queues| &queues.dfl, "system", |queue| queue)
}

/// For short items that are to run on the CPU that queues them (kernel `system_percpu_wq`).
///
/// ```
/// let cpu = cmwq::system_percpu().spawn(|| "near").join()?;
/// # Ok::<(), cmwq::JoinError>(())
/// ```
pub fn system_percpu() -> &'static Workqueue {
    get(
        |queues| &queues.percpu,
        "system_percpu",
        |queue| queue.percpu(),
    )
}

/// As [`system_percpu`], at high priority where permitted (kernel `system_highpri_wq`).
///
/// ```
/// cmwq::system_highpri().spawn(|| "soon").join()?;
/// # Ok::<(), cmwq::JoinError>(())
/// ```
pub fn system_highpri() -> &'static Workqueue {
    let kind = |queue: WorkqueueBuilder| queue.percpu().highpri();
    get(|queues| &queues.highpri, "system_highpri", kind)
}

/// As [`system_percpu`], for items that may take long, so that flushing it does not keep others
/// (kernel `system_long_wq`).
///
/// ```
/// cmwq::system_long().spawn(|| "in a while").join()?;
/// # Ok::<(), cmwq::JoinError>(())
/// ```
pub fn system_long() -> &'static Workqueue {
    get(|queues| &queues.long, "system_long", |queue| queue.percpu())
}

/// As [`system_percpu`], and stands still while [frozen](crate::freezer) (kernel
/// `system_freezable_wq`).
///
/// ```
/// cmwq::system_freezable().spawn(|| "unless frozen").join()?;
/// # Ok::<(), cmwq::JoinError>(())
/// ```
pub fn system_freezable() -> &'static Workqueue {
    let kind = |queue: WorkqueueBuilder| queue.percpu().freezable();
    get(|queues| &queues.freezable, "system_freezable", kind)
}

/// For tiny items that never block (kernel `system_bh_wq`).
///
/// ```
/// cmwq::system_bh().spawn(|| "at once").join()?;
/// # Ok::<(), cmwq::JoinError>(())
/// ```
pub fn system_bh() -> &'static Workqueue {
    get(|queues| &queues.bh, "system_bh", |queue| queue.bh())
}
