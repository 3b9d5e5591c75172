//! What an item can ask of its worker.

use crate::wait::place;

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
    let (pwq, key) = place::current_pwq().zip(place::current_key())?;
    Some(CurrentWork {
        queue: crate::queue::pwq::name_of(pwq).to_owned(),
        item: crate::item::Header::name_of(key),
    })
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
    place::current().is_some_and(|place| place::current_pwq().is_some() && place.others_waiting())
}

/// Says what the calling item is at, for reports about it (kernel `set_worker_desc`). Forgotten
/// when it ends; outside of items it does nothing.
///
/// ```
/// cmwq::system().spawn(|| cmwq::set_worker_desc("page 7 of 12")).join()?;
/// # Ok::<(), cmwq::JoinError>(())
/// ```
pub fn set_worker_desc(text: &str) {
    if let Some(place) = place::current() {
        place.describe(text);
    }
}

/// Whether the calling thread is a rescuer (kernel `current_is_workqueue_rescuer`).
///
/// ```
/// assert!(!cmwq::is_rescuer());
/// ```
pub fn is_rescuer() -> bool {
    place::current().is_some_and(|place| place.is_rescuer())
}
