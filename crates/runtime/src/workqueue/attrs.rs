//! What can be changed of a queue that is in use.

use std::time::Duration;

use cmwq_engine::error::AttrsError;
use cmwq_policy::{CpuMask, queue};

use super::Workqueue;
use crate::affinity::AffinityScope;

/// Attributes of the workers of a queue (kernel `workqueue_attrs`). Begin with the
/// [present ones](Workqueue::attrs), change, [apply](Workqueue::apply_attrs).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attrs {
    /// Nice value, -20 (most CPU) to 19, on top of that of the process at first use.
    pub nice: i32,
    /// CPUs that the workers may use, by number; `None`: all of the process. CPUs that the process
    /// may not use count for nothing, and so does a list of which nothing is left.
    pub cpus: Option<Vec<usize>>,
    /// What cuts those CPUs into pods, in which the items that are queued from one run; `None`:
    /// what is the [default](crate::default_affinity_scope) of all queues.
    pub affinity_scope: Option<AffinityScope>,
    /// Items run in the pod that they were queued from and nowhere else, whether its CPUs are busy
    /// or not. Otherwise they begin there if they can.
    pub affinity_strict: bool,
    /// What an item loses, about, where it runs in another pod than it was queued in: the time to
    /// fetch its data from there. From 20 us on, workers of a managed queue are brought to the pod
    /// of the item that waits. Zero unless set: then each CPU takes what is near, but a worker
    /// wakes up where a core idles.
    pub locality: Duration,
}

impl Attrs {
    pub(super) fn checked(&self) -> Result<queue::Attrs, AttrsError> {
        if !(-20..=19).contains(&self.nice) {
            return Err(AttrsError::Nice(self.nice));
        }
        let cpumask = self.cpus.as_deref().map(mask).transpose()?;
        Ok(queue::Attrs {
            nice: self.nice as i8,
            cpumask,
            scope: self.affinity_scope,
            strict: self.affinity_strict,
            locality: u64::try_from(self.locality.as_nanos()).unwrap_or(u64::MAX),
        })
    }
}

fn mask(cpus: &[usize]) -> Result<CpuMask, AttrsError> {
    match cpus.iter().find(|&&cpu| cpu >= cmwq_policy::MAX_CPUS) {
        Some(&cpu) => Err(AttrsError::Cpu(cpu)),
        None => Ok(cpus.iter().copied().collect()),
    }
}

impl Workqueue {
    /// The attributes as they are now.
    ///
    /// ```
    /// let queue = cmwq::Workqueue::builder("index").nice(5).build()?;
    /// assert_eq!(queue.attrs().nice, 5);
    /// # Ok::<(), cmwq::BuildError>(())
    /// ```
    pub fn attrs(&self) -> Attrs {
        let attrs = self.raw().attrs();
        Attrs {
            nice: i32::from(attrs.nice),
            cpus: attrs.cpumask.map(|mask| mask.iter().collect()),
            affinity_scope: attrs.scope,
            affinity_strict: attrs.strict,
            locality: Duration::from_nanos(attrs.locality),
        }
    }

    /// Changes the attributes, all at once. What is queued from then on goes by the new ones; older
    /// items end where they are, before any newer one on an ordered queue. An item that queues
    /// itself without a pause stays where it is.
    ///
    /// # Errors
    /// [`AttrsError`] names what is out of range or cannot be had; nothing is changed then. Per-CPU
    /// and BH queues have no attributes to change.
    ///
    /// ```
    /// let queue = cmwq::Workqueue::builder("index").build()?;
    /// let mut attrs = queue.attrs();
    /// attrs.nice = 10;
    /// queue.apply_attrs(&attrs)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn apply_attrs(&self, attrs: &Attrs) -> Result<(), AttrsError> {
        self.raw().apply_attrs(attrs.checked()?)
    }

    /// Changes how many items may be active at once; clamped to 1..=2048. Raising it starts waiting
    /// items at once, in their order. Lowering it lets active ones end; a wait of an item that then
    /// never would fails. False, and nothing changes, for ordered and BH queues: their kind is
    /// their limit.
    ///
    /// ```
    /// let queue = cmwq::Workqueue::builder("download").max_active(2).build()?;
    /// assert!(queue.set_max_active(16));
    /// assert_eq!(queue.max_active(), 16);
    /// # Ok::<(), cmwq::BuildError>(())
    /// ```
    pub fn set_max_active(&self, max_active: usize) -> bool {
        self.raw().set_max_active(max_active)
    }

    /// The limit, also while the queue is frozen.
    ///
    /// ```
    /// assert_eq!(cmwq::system().max_active(), 1024);
    /// ```
    pub fn max_active(&self) -> usize {
        self.raw().max_active() as usize
    }

    /// Changes what each NUMA node is granted of the limit at least; clamped to the limit, 8 or the
    /// limit unless set. On a machine with one node it changes nothing: there the node's share is
    /// the whole limit. False, and nothing changes, for kinds whose limit is not shared by nodes.
    ///
    /// ```
    /// let queue = cmwq::Workqueue::builder("chain").max_active(64).build()?;
    /// assert!(queue.set_min_active(16));
    /// assert_eq!(queue.min_active(), 16);
    /// # Ok::<(), cmwq::BuildError>(())
    /// ```
    pub fn set_min_active(&self, min_active: usize) -> bool {
        self.raw().set_min_active(min_active)
    }

    /// See [`set_min_active`](Self::set_min_active).
    ///
    /// ```
    /// assert_eq!(cmwq::system().min_active(), 8);
    /// ```
    pub fn min_active(&self) -> usize {
        self.raw().min_active() as usize
    }
}
