//! What an item can ask of its worker.

use cmwq_engine::worker;

/// The item that the calling thread executes (kernel `current_work`): the queue and the function.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CurrentWork {
    /// The name of the queue through which it was queued.
    pub queue: String,
    /// The type name of its function.
    pub item: &'static str,
}

/// The item that the calling thread executes; `None` outside of items.
/// [`Work::is_current`](crate::Work::is_current) tells one from another.
///
/// ```
/// assert_eq!(cmwq::current_work(), None);
/// let inside = cmwq::system().spawn(|| cmwq::current_work().unwrap().queue).join()?;
/// assert_eq!(inside, "system");
/// # Ok::<(), cmwq::JoinError>(())
/// ```
pub fn current_work() -> Option<CurrentWork> {
    let (queue, item) = worker::current_work()?;
    Some(CurrentWork { queue, item })
}

/// Whether anything waits for the slot or for the worker of the calling item. A long one can step
/// aside then: put down what it has done, queue itself again, and return. False outside of items.
///
/// ```
/// let busy = cmwq::system().spawn(cmwq::others_waiting).join()?;
/// # let _ = busy;
/// # Ok::<(), cmwq::JoinError>(())
/// ```
pub fn others_waiting() -> bool {
    worker::others_waiting()
}

/// Says what the calling item is at, for reports about it (kernel `set_worker_desc`). Forgotten
/// when it ends; outside of items it does nothing.
///
/// ```
/// cmwq::system().spawn(|| cmwq::set_worker_desc("page 7 of 12")).join()?;
/// # Ok::<(), cmwq::JoinError>(())
/// ```
pub fn set_worker_desc(text: &str) {
    worker::describe(text);
}

/// Whether the calling thread is a rescuer (kernel `current_is_workqueue_rescuer`).
///
/// ```
/// assert!(!cmwq::is_rescuer());
/// ```
pub fn is_rescuer() -> bool {
    worker::is_rescuer()
}
