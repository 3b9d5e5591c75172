//! Iterators that execute closures on a queue: lazily, with bounded read-ahead.
//!
//! | file | |
//! | --- | --- |
//! | `mod.rs` | [`Map`] and [`ScopedMap`]: results in the order of the inputs |
//! | `results.rs` | how results come from items to a consumer who does not wait for a certain one |
//! | `unordered.rs` | [`MapUnordered`] and [`ScopedMapUnordered`]: as they come; `for_each` |
//!
//! How far they read ahead is decided in [`cmwq_policy::queue::read_ahead`].

use std::collections::VecDeque;
use std::fmt;
use std::iter::{Fuse, FusedIterator};
use std::panic::resume_unwind;
use std::sync::Arc;

use cmwq_engine::{Awaits, RawPwq};
use cmwq_policy::queue::read_ahead;

use crate::join_error::JoinError;
use crate::join_handle::JoinHandle;
use crate::scope::{Scope, ScopedJoinHandle};
use crate::workqueue::Workqueue;

mod results;
mod unordered;

pub use unordered::{MapUnordered, ScopedMapUnordered};

/// What iterators need of handles.
trait Spawned<T> {
    fn join(self) -> Result<T, JoinError>;
    fn cancel(&self) -> bool;
    fn pwq(&self) -> Option<RawPwq>;
    fn awaits(&self) -> Awaits;
}

impl<T> Spawned<T> for JoinHandle<T> {
    fn join(self) -> Result<T, JoinError> {
        JoinHandle::join(self)
    }

    fn cancel(&self) -> bool {
        JoinHandle::cancel(self)
    }

    fn pwq(&self) -> Option<RawPwq> {
        JoinHandle::pwq(self)
    }

    fn awaits(&self) -> Awaits {
        JoinHandle::awaits(self)
    }
}

impl<T> Spawned<T> for ScopedJoinHandle<'_, T> {
    fn join(self) -> Result<T, JoinError> {
        ScopedJoinHandle::join(self)
    }

    fn cancel(&self) -> bool {
        ScopedJoinHandle::cancel(self)
    }

    fn pwq(&self) -> Option<RawPwq> {
        ScopedJoinHandle::pwq(self)
    }

    fn awaits(&self) -> Awaits {
        ScopedJoinHandle::awaits(self)
    }
}

/// The inputs, and the handles of those that were taken, in their order.
struct Ahead<I: Iterator, H: Spawned<T>, T> {
    inputs: Fuse<I>,
    handles: VecDeque<H>,
    value: std::marker::PhantomData<fn() -> T>,
}

impl<I: Iterator, H: Spawned<T>, T> Ahead<I, H, T> {
    fn new(inputs: I) -> Self {
        Ahead {
            inputs: inputs.fuse(),
            handles: VecDeque::new(),
            value: std::marker::PhantomData,
        }
    }

    /// Takes inputs as far as the queue's limit permits, and waits for the oldest one.
    fn next(
        &mut self,
        queue: &Workqueue,
        spawn: impl Fn(I::Item) -> H,
    ) -> Option<Result<T, JoinError>> {
        let most = read_ahead(queue.raw().max_active());
        while self.handles.len() < most
            && let Some(input) = self.inputs.next()
        {
            self.handles.push_back(spawn(input));
        }
        Some(self.handles.pop_front()?.join())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        more(self.inputs.size_hint(), self.handles.len())
    }
}

/// Those that have not begun never do: the newest first, so that none begins in the place of one
/// that was taken back. The others go on.
impl<I: Iterator, H: Spawned<T>, T> Drop for Ahead<I, H, T> {
    fn drop(&mut self) {
        for handle in self.handles.iter().rev() {
            handle.cancel();
        }
    }
}

/// A hint, and what is there already.
fn more(hint: (usize, Option<usize>), there: usize) -> (usize, Option<usize>) {
    let most = hint.1.and_then(|most| most.checked_add(there));
    (hint.0.saturating_add(there), most)
}

/// The value, or its panic goes on in the caller.
fn value_of<T>(result: Result<T, JoinError>) -> T {
    match result {
        Ok(value) => value,
        Err(JoinError::Panicked(payload)) => resume_unwind(payload),
        Err(other) => panic!("{other}"),
    }
}

/// Results in the order of the inputs. See [`Workqueue::map`].
#[must_use = "it is lazy: nothing is queued before the first result is asked for"]
pub struct Map<I: Iterator, F, T> {
    queue: Workqueue,
    func: Arc<F>,
    ahead: Ahead<I, JoinHandle<T>, T>,
}

/// Results in the order of the inputs, of closures that may borrow. See [`Scope::map`].
#[must_use = "it is lazy: nothing is queued before the first result is asked for"]
pub struct ScopedMap<'scope, 'env, I: Iterator, F, T> {
    scope: &'scope Scope<'scope, 'env>,
    func: Arc<F>,
    ahead: Ahead<I, ScopedJoinHandle<'scope, T>, T>,
}

impl<I, F, T> Map<I, F, T>
where
    I: Iterator<Item: Send + 'static>,
    F: Fn(I::Item) -> T + Send + Sync + 'static,
    T: Send + 'static,
{
    /// As [`next`](Iterator::next), and tells why there is no value instead of panicking. The next
    /// call goes on with the next input.
    ///
    /// ```
    /// let mut odd = cmwq::system().map(0..2, |n| assert!(n % 2 == 1));
    /// assert!(odd.try_next().unwrap().is_err_and(|error| error.is_panic()));
    /// assert!(odd.try_next().unwrap().is_ok());
    /// assert!(odd.try_next().is_none());
    /// ```
    pub fn try_next(&mut self) -> Option<Result<T, JoinError>> {
        let (queue, func) = (&self.queue, &self.func);
        self.ahead.next(queue, |input| {
            let func = func.clone();
            queue.spawn(move || func(input))
        })
    }
}

impl<I, F, T> Iterator for Map<I, F, T>
where
    I: Iterator<Item: Send + 'static>,
    F: Fn(I::Item) -> T + Send + Sync + 'static,
    T: Send + 'static,
{
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.try_next().map(value_of)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.ahead.size_hint()
    }
}

impl<'scope, I, F, T> ScopedMap<'scope, '_, I, F, T>
where
    I: Iterator<Item: Send + 'scope>,
    F: Fn(I::Item) -> T + Send + Sync + 'scope,
    T: Send + 'scope,
{
    /// As [`Map::try_next`].
    ///
    /// ```
    /// let base = vec![7];
    /// let sums = cmwq::system().scope(|scope| scope.map(0..1, |n| base[n]).try_next());
    /// assert_eq!(sums?.unwrap()?, 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_next(&mut self) -> Option<Result<T, JoinError>> {
        let (scope, func) = (self.scope, &self.func);
        self.ahead.next(scope.queue(), |input| {
            let func = func.clone();
            scope.spawn(move || func(input))
        })
    }
}

impl<'scope, I, F, T> Iterator for ScopedMap<'scope, '_, I, F, T>
where
    I: Iterator<Item: Send + 'scope>,
    F: Fn(I::Item) -> T + Send + Sync + 'scope,
    T: Send + 'scope,
{
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.try_next().map(value_of)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.ahead.size_hint()
    }
}

impl<I: Iterator, F, T> FusedIterator for Map<I, F, T> where Self: Iterator {}

impl<I: Iterator, F, T> FusedIterator for ScopedMap<'_, '_, I, F, T> where Self: Iterator {}

impl<I: Iterator, F, T> fmt::Debug for Map<I, F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Map").finish_non_exhaustive()
    }
}

impl<I: Iterator, F, T> fmt::Debug for ScopedMap<'_, '_, I, F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedMap").finish_non_exhaustive()
    }
}

impl Workqueue {
    /// Calls `func` for each input on this queue, and gives the results in the order of the inputs.
    ///
    /// It is lazy: [`next`](Iterator::next) takes some inputs, queues an item for each, and waits
    /// for the oldest one. At most `max_active` inputs, and as many again up to 16, are taken
    /// before their results are. So a consumer that is slow slows the producer down, and
    /// [`max_active`](crate::WorkqueueBuilder::max_active) bounds the memory of results that wait
    /// for their turn. The inputs come from the calling thread, one by one.
    ///
    /// Dropping it early cancels what has not begun. What has begun goes on, and its results are
    /// dropped.
    ///
    /// # Panics
    /// In `next`: with the item's panic; and with the text of a [`JoinError`] if the queue refuses
    /// the item, or if waiting, inside an item, would never end. `Map::try_next` returns these.
    ///
    /// ```
    /// let queue = cmwq::Workqueue::builder("pages").max_active(8).build()?;
    /// let lengths = queue.map(["a", "bc", "def"], |page: &str| {
    ///     std::thread::sleep(std::time::Duration::from_millis(3)); // fetches it
    ///     page.len()
    /// });
    /// assert_eq!(lengths.collect::<Vec<_>>(), [1, 2, 3]);
    /// # Ok::<(), cmwq::BuildError>(())
    /// ```
    pub fn map<I, F, T>(&self, inputs: I, func: F) -> Map<I::IntoIter, F, T>
    where
        I: IntoIterator<Item: Send + 'static>,
        F: Fn(I::Item) -> T + Send + Sync + 'static,
        T: Send + 'static,
    {
        Map {
            queue: self.clone(),
            func: Arc::new(func),
            ahead: Ahead::new(inputs.into_iter()),
        }
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// As [`Workqueue::map`], with inputs, results and a function that may borrow what outlives the
    /// scope. The scope waits for what has begun when the iterator is dropped early.
    ///
    /// # Panics
    /// As there, in `next`.
    ///
    /// ```
    /// let text = String::from("some words to count");
    /// let lengths = cmwq::system().scope(|scope| {
    ///     let lengths = scope.map(text.split(' '), |word| word.len());
    ///     lengths.collect::<Vec<_>>()
    /// })?;
    /// assert_eq!(lengths, [4, 5, 2, 5]);
    /// # Ok::<(), cmwq::WouldDeadlock>(())
    /// ```
    pub fn map<I, F, T>(
        &'scope self,
        inputs: I,
        func: F,
    ) -> ScopedMap<'scope, 'env, I::IntoIter, F, T>
    where
        I: IntoIterator<Item: Send + 'scope>,
        F: Fn(I::Item) -> T + Send + Sync + 'scope,
        T: Send + 'scope,
    {
        ScopedMap {
            scope: self,
            func: Arc::new(func),
            ahead: Ahead::new(inputs.into_iter()),
        }
    }
}
