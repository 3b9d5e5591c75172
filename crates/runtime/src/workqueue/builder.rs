//! Making queues.

use std::time::Duration;

use cmwq_engine::error::BuildError;
use cmwq_engine::{Process, QueueSpec, RawQueue};
use cmwq_policy::queue::Kind;
use cmwq_policy::stacking::Stacking;

use super::{Attrs, Workqueue};
use crate::affinity::AffinityScope;

/// What a queue is to be like. A word that is said twice counts as it was said last. Words that
/// contradict each other, or that the kind of queue has no use for, are errors of
/// [`build`](Self::build).
///
/// ```
/// let background = cmwq::Workqueue::builder("index").nice(19).build()?;
/// # Ok::<(), cmwq::BuildError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a queue is made by build()"]
pub struct WorkqueueBuilder {
    name: Box<str>,
    attrs: Attrs,
    /// All but the attributes.
    spec: QueueSpec,
    /// Of what contradicts each other: what was said, in this order.
    said: Vec<Word>,
}

/// A word that not every other word may stand beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Fifo,
    Percpu,
    Unmanaged,
    Ordered,
    Bh,
    MaxActive,
    MaxActiveExact,
    Nice,
    Highpri,
}

impl Word {
    const KINDS: &[Word] = &[
        Word::Fifo,
        Word::Percpu,
        Word::Unmanaged,
        Word::Ordered,
        Word::Bh,
    ];
    const LIMITS: &[Word] = &[Word::MaxActive, Word::MaxActiveExact];
    const LEVELS: &[Word] = &[Word::Nice, Word::Highpri];

    fn name(self) -> &'static str {
        match self {
            Word::Fifo => "fifo",
            Word::Percpu => "percpu",
            Word::Unmanaged => "unmanaged",
            Word::Ordered => "ordered",
            Word::Bh => "bh",
            Word::MaxActive => "max_active",
            Word::MaxActiveExact => "max_active_exact",
            Word::Nice => "nice",
            Word::Highpri => "highpri",
        }
    }
}

impl Workqueue {
    /// Starts building a queue. The name is for people: it need not be unique.
    ///
    /// ```
    /// let queue = cmwq::Workqueue::builder("commit").max_active(1).nice(5).build()?;
    /// assert_eq!(queue.name(), "commit");
    /// # Ok::<(), cmwq::BuildError>(())
    /// ```
    pub fn builder(name: &str) -> WorkqueueBuilder {
        WorkqueueBuilder::new(name)
    }
}

impl WorkqueueBuilder {
    fn new(name: &str) -> Self {
        WorkqueueBuilder {
            name: name.into(),
            attrs: Attrs {
                nice: 0,
                cpus: None,
                affinity_scope: None,
                affinity_strict: false,
                locality: Duration::ZERO,
            },
            spec: QueueSpec::default(),
            said: Vec::new(),
        }
    }

    fn kind(mut self, kind: Kind, word: Word) -> Self {
        self.spec.kind = kind;
        self.says(word)
    }

    fn limit(mut self, limit: usize, word: Word) -> Self {
        self.spec.max_active = Some(limit);
        self.spec.exact = word == Word::MaxActiveExact;
        self.says(word)
    }

    fn says(mut self, word: Word) -> Self {
        if !self.said.contains(&word) {
            self.said.push(word);
        }
        self
    }

    /// Nothing that was said is ignored.
    fn checked(&self) -> Result<(), BuildError> {
        for group in [Word::KINDS, Word::LIMITS, Word::LEVELS] {
            let mut said = self.said.iter().filter(|word| group.contains(word));
            if let (Some(one), Some(other)) = (said.next(), said.next()) {
                let (one, other) = (one.name(), other.name());
                return Err(BuildError::Contradiction { one, other });
            }
        }
        let (kind, spec) = (self.spec.kind, &self.spec);
        let useless = [
            (spec.cpu_intensive && kind != Kind::PerCpu, "cpu_intensive"),
            (
                kind.is_per_cpu() && !self.attrs.locality.is_zero(),
                "locality",
            ),
        ];
        match useless.into_iter().find(|(is_useless, _)| *is_useless) {
            Some((_, what)) => Err(BuildError::NotOfKind {
                what,
                kind: kind.name(),
            }),
            None => Ok(()),
        }
    }

    /// Items begin in the order in which they were queued, on as many workers as keep the CPUs
    /// busy. Without it short items and nearer ones may overtake others by a little. What it costs:
    ///
    /// * where several workers run they go through the pool's lock for each item, so on many CPUs
    ///   items of a few microseconds come more slowly (the figures are in `docs/benchmarks.md`);
    /// * the queue has no pods: an affinity scope means nothing to it;
    /// * if the functions of its items queue up at a lock, all of its items are held back, not only
    ///   those that would join.
    ///
    /// An item that is queued again while it runs waits for its own end, and others may begin
    /// before it. What is queued after a change of attributes, or of the CPUs that queues may use,
    /// does not wait for what was queued before. For items of which also one is to end before the
    /// next begins, there is [`ordered`](Self::ordered).
    ///
    /// ```
    /// let requests = cmwq::Workqueue::builder("requests").fifo().build()?;
    /// # Ok::<(), cmwq::BuildError>(())
    /// ```
    pub fn fifo(self) -> Self {
        self.kind(Kind::Fifo, Word::Fifo)
    }

    /// A pool for each CPU, which runs the items queued from that CPU, one at a time unless they
    /// sleep (kernel `WQ_PERCPU`). `max_active` counts for each CPU. Such queues have no other
    /// attributes than [`highpri`](Self::highpri).
    ///
    /// ```
    /// let queue = cmwq::Workqueue::builder("percpu").percpu().build()?;
    /// # Ok::<(), cmwq::BuildError>(())
    /// ```
    pub fn percpu(self) -> Self {
        self.kind(Kind::PerCpu, Word::Percpu)
    }

    /// Every active item runs at once, each on a thread of its own (kernel `WQ_UNBOUND`). For items
    /// that must not wait for a CPU to be free. [`max_active`](Self::max_active) still limits them,
    /// and so does [`Builder::thread_limit`](crate::Builder::thread_limit): both are 1024 unless
    /// set, and rise if items that wait for each other need more.
    ///
    /// ```
    /// let queue = cmwq::Workqueue::builder("heartbeats").unmanaged().build()?;
    /// # Ok::<(), cmwq::BuildError>(())
    /// ```
    pub fn unmanaged(self) -> Self {
        self.kind(Kind::Unmanaged, Word::Unmanaged)
    }

    /// One item at a time, in the order of queueing, also across changes of attributes (kernel
    /// `alloc_ordered_workqueue`).
    ///
    /// ```
    /// let journal = cmwq::Workqueue::builder("journal").ordered().build()?;
    /// # Ok::<(), cmwq::BuildError>(())
    /// ```
    pub fn ordered(self) -> Self {
        self.kind(Kind::Ordered, Word::Ordered)
    }

    /// A thread for each CPU runs the items queued from that CPU to their ends, in order, and lets
    /// others run after 10 items or 2 ms (kernel `WQ_BH`). An item that blocks holds up all others
    /// of its CPU. No `max_active`, no attributes but [`highpri`](Self::highpri).
    ///
    /// ```
    /// let completions = cmwq::Workqueue::builder("completions").bh().build()?;
    /// # Ok::<(), cmwq::BuildError>(())
    /// ```
    pub fn bh(self) -> Self {
        self.kind(Kind::Bh, Word::Bh)
    }

    /// How many items may be active at once, 1 to 2048; 1024 unless set. A limit, not a number of
    /// threads: it is for what items use beside CPUs, such as memory or connections.
    ///
    /// ```
    /// let queue = cmwq::Workqueue::builder("connections").max_active(8).build()?;
    /// # Ok::<(), cmwq::BuildError>(())
    /// ```
    ///
    /// Without it the limit is 1024, and is raised where all items that hold a slot stand still
    /// while others wait for one ([`Report::LimitRaised`](crate::Report::LimitRaised)). A limit
    /// that was set stays.
    ///
    /// It counts for the whole process (kernel 6.9). On a machine with several NUMA nodes each node
    /// has its part of it, by the CPUs that the queue may use there, but at least
    /// [`min_active`](Workqueue::set_min_active): the parts together may come to more, and only a
    /// chain of `min_active` items that wait for each other is sure to end. See
    /// [`max_active_exact`](Self::max_active_exact). Pools that are not in one node, such as that
    /// of a managed queue on all CPUs, share the whole limit.
    pub fn max_active(self, max_active: usize) -> Self {
        self.limit(max_active, Word::MaxActive)
    }

    /// As [`max_active`](Self::max_active), but one number for all nodes: never more are active,
    /// whatever one node does not use another may, and a chain of that many items that wait for
    /// each other ends. All nodes then count in one word of memory, which goes to and fro between
    /// them with each item.
    ///
    /// ```
    /// let queue = cmwq::Workqueue::builder("licences").max_active_exact(3).build()?;
    /// # Ok::<(), cmwq::BuildError>(())
    /// ```
    pub fn max_active_exact(self, max_active: usize) -> Self {
        self.limit(max_active, Word::MaxActiveExact)
    }

    /// Nice value of the workers, -20 (most CPU) to 19, on top of that of the process at first use,
    /// as with nice(1). What the system does not permit is degraded to what it does; see
    /// [`Stats::nice_denied`](crate::Stats::nice_denied).
    ///
    /// ```
    /// let error = cmwq::Workqueue::builder("odd").nice(20).build().unwrap_err();
    /// assert_eq!(error.to_string(), "nice value 20 is not in -20..=19");
    /// ```
    pub fn nice(mut self, nice: i32) -> Self {
        self.attrs.nice = nice;
        self.says(Word::Nice)
    }

    /// Nice value -20, where permitted (kernel `WQ_HIGHPRI`).
    ///
    /// ```
    /// let urgent = cmwq::Workqueue::builder("urgent").percpu().highpri().build()?;
    /// # Ok::<(), cmwq::BuildError>(())
    /// ```
    pub fn highpri(mut self) -> Self {
        self.spec.highpri = true;
        self.says(Word::Highpri)
    }

    /// CPUs that the workers may use; see [`Attrs::cpus`](crate::Attrs::cpus).
    ///
    /// ```
    /// let queue = cmwq::Workqueue::builder("first").cpus([0]).build()?;
    /// # Ok::<(), cmwq::BuildError>(())
    /// ```
    pub fn cpus(mut self, cpus: impl IntoIterator<Item = usize>) -> Self {
        self.attrs.cpus = Some(cpus.into_iter().collect());
        self
    }

    /// What cuts the CPUs into pods: items run near where they were queued, as far as that leaves
    /// no CPU idle (kernel `affinity_scope`). Which one when:
    /// [`AffinityScope`](crate::AffinityScope).
    ///
    /// ```
    /// use cmwq::AffinityScope;
    ///
    /// let queue = cmwq::Workqueue::builder("index").affinity_scope(AffinityScope::Numa).build()?;
    /// # Ok::<(), cmwq::BuildError>(())
    /// ```
    pub fn affinity_scope(mut self, scope: AffinityScope) -> Self {
        self.attrs.affinity_scope = Some(scope);
        self
    }

    /// Whether items run in their pod and nowhere else, although other CPUs may idle meanwhile
    /// (kernel `affinity_strict`).
    ///
    /// ```
    /// use cmwq::AffinityScope;
    ///
    /// let queue = cmwq::Workqueue::builder("node").affinity_scope(AffinityScope::Numa);
    /// let queue = queue.affinity_strict(true).build()?;
    /// # Ok::<(), cmwq::BuildError>(())
    /// ```
    pub fn affinity_strict(mut self, strict: bool) -> Self {
        self.attrs.affinity_strict = strict;
        self
    }

    /// What an item loses, about, where it runs in another pod: see [`Attrs::locality`].
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// // A megabyte from another cache, at 10 GB/s.
    /// let queue = cmwq::Workqueue::builder("tiles").locality(Duration::from_micros(100)).build()?;
    /// # Ok::<(), cmwq::BuildError>(())
    /// ```
    pub fn locality(mut self, lost: Duration) -> Self {
        self.attrs.locality = lost;
        self
    }

    /// Its items do not count as running once they have begun, so others of their CPU start beside
    /// them (kernel `WQ_CPU_INTENSIVE`). Per-CPU queues only.
    ///
    /// ```
    /// let crypto = cmwq::Workqueue::builder("crypto").percpu().cpu_intensive().build()?;
    /// # Ok::<(), cmwq::BuildError>(())
    /// ```
    pub fn cpu_intensive(mut self) -> Self {
        self.spec.cpu_intensive = true;
        self
    }

    /// A thread of its own, made at build, carries the queue forward when no worker can be made
    /// (kernel `WQ_MEM_RECLAIM`): 10 ms after one is missing, and then each 100 ms.
    ///
    /// ```
    /// let writeback = cmwq::Workqueue::builder("writeback").mem_reclaim().build()?;
    /// # Ok::<(), cmwq::BuildError>(())
    /// ```
    pub fn mem_reclaim(mut self) -> Self {
        self.spec.mem_reclaim = true;
        self
    }

    /// It stands still between [`freeze`](crate::freezer::freeze) and
    /// [`thaw`](crate::freezer::thaw) (kernel `WQ_FREEZABLE`).
    ///
    /// ```
    /// let queue = cmwq::Workqueue::builder("uploads").freezable().build()?;
    /// # Ok::<(), cmwq::BuildError>(())
    /// ```
    pub fn freezable(mut self) -> Self {
        self.spec.freezable = true;
        self
    }

    /// The user of the process may change the queue while it runs, with `cmwq set` (kernel
    /// `WQ_SYSFS`): its limit, nice value, CPUs and affinity. `cmwq top` looks at any queue,
    /// whether it was built so or not.
    ///
    /// ```
    /// let resize = cmwq::Workqueue::builder("resize").max_active(4).sysfs().build()?;
    /// # Ok::<(), cmwq::BuildError>(())
    /// ```
    pub fn sysfs(mut self) -> Self {
        self.spec.sysfs = true;
        self
    }

    /// Sets what a thread does that waits for an item of this queue.
    ///
    /// The default, [`Stacking::Stay`], keeps the thread on its CPU if the item runs there, as
    /// items of per-CPU queues do. A wake-up would otherwise move the thread to an idle CPU. For at
    /// most 2 ms of its wait, its mask may be that CPU alone. [`Stacking::Off`] turns this off.
    ///
    /// With [`Stacking::Claim`], [`join`](crate::JoinHandle::join) and [`scope`](Workqueue::scope)
    /// also execute what they would wait for, if no worker has begun it. The item then runs on the
    /// calling thread and its stack, with its signal mask and thread-locals, perhaps before older
    /// items. It pays for many small items whose results are waited for at once.
    ///
    /// The thread must be like a worker: with the worker's nice value and scheduling policy, half
    /// of a worker's stack, and on a CPU that the item may use. While the item runs, the thread
    /// uses no CPU that the item may not use. Claims nest at most 16 deep. Items of FIFO,
    /// ordered, per-CPU and BH queues are never claimed, and `flush` and `cancel_sync` never claim.
    ///
    /// ```
    /// use cmwq::{Stacking, Workqueue};
    ///
    /// let queue = Workqueue::builder("sums").stacking(Stacking::Claim).build()?;
    /// let sum = queue.spawn(|| (1..=100).sum::<u32>()).join();
    /// assert_eq!(sum.unwrap(), 5050);
    /// # Ok::<(), cmwq::BuildError>(())
    /// ```
    ///
    /// ```
    /// use cmwq::Stacking;
    ///
    /// let queue = cmwq::Workqueue::builder("io").percpu().stacking(Stacking::Off).build()?;
    /// # Ok::<(), cmwq::BuildError>(())
    /// ```
    pub fn stacking(mut self, stacking: Stacking) -> Self {
        self.spec.stacking = stacking;
        self
    }

    /// Makes the queue. It has no thread of its own but with [`mem_reclaim`](Self::mem_reclaim).
    /// Workers appear when something is queued; the first queue of a process makes two threads
    /// that sleep: one until items wait, one until somebody looks (`cmwq top`). The second one is
    /// left out where the process may have fewer than 64 descriptors.
    ///
    /// # Errors
    /// [`BuildError`] names the attribute that is out of range, or that its kind does not have, or
    /// two words that contradict each other: two kinds, both limits, `nice` and `highpri`.
    ///
    /// ```
    /// let error = cmwq::Workqueue::builder("none").max_active(0).build().unwrap_err();
    /// assert_eq!(error.to_string(), "max_active 0 is not in 1..=2048");
    /// let error = cmwq::Workqueue::builder("both").bh().ordered().build().unwrap_err();
    /// assert_eq!(error.to_string(), "bh and ordered contradict each other");
    /// ```
    pub fn build(self) -> Result<Workqueue, BuildError> {
        self.build_in(Process::get().map_err(BuildError::System)?)
    }

    /// The same for a process that the caller knows.
    pub(crate) fn build_in(mut self, process: Process) -> Result<Workqueue, BuildError> {
        self.checked()?;
        self.spec.attrs = self.attrs.checked().map_err(BuildError::Attrs)?;
        Ok(RawQueue::make(process, &self.name, &self.spec)?.into())
    }
}
