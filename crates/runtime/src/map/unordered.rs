//! Results as they come.

use std::collections::BTreeMap;
use std::fmt;
use std::iter::{Fuse, FusedIterator};
use std::sync::Arc;

use cmwq_engine::error::QueueError;
use cmwq_engine::{Latch, Process, RawPwq, Until, user};
use cmwq_policy::queue::read_ahead;

use super::results::{Shared, Ticket};
use super::{Spawned, more, value_of};
use crate::join_error::JoinError;
use crate::join_handle::JoinHandle;
use crate::scope::{Scope, ScopedJoinHandle};
use crate::task;
use crate::workqueue::Workqueue;

/// The inputs, and what is under way.
struct Pending<I: Iterator, H: Spawned<()>, T> {
    inputs: Fuse<I>,
    shared: Arc<Shared<T>>,
    /// By number: those whose results have not been taken.
    handles: BTreeMap<u64, H>,
    taken: u64,
    pwqs: Pwqs,
    process: Process,
}

/// Where items went: the first pwq, and whether there was another one.
#[derive(Default)]
struct Pwqs {
    first: Option<RawPwq>,
    several: bool,
}

impl Pwqs {
    fn add(&mut self, pwq: Option<RawPwq>) {
        self.several |= pwq.is_some() && self.first.is_some() && pwq != self.first;
        self.first = self.first.or(pwq);
    }
}

impl<I: Iterator, H: Spawned<()>, T> Pending<I, H, T> {
    fn new(queue: &Workqueue, inputs: I) -> Self {
        Pending {
            inputs: inputs.fuse(),
            shared: Shared::new(),
            handles: BTreeMap::new(),
            taken: 0,
            pwqs: Pwqs::default(),
            process: queue.raw().process(),
        }
    }

    /// Takes inputs as far as the queue's limit permits, and waits for any result.
    fn next(
        &mut self,
        queue: &Workqueue,
        spawn: impl Fn(Ticket<T>, I::Item) -> H,
    ) -> Option<Result<T, JoinError>> {
        if !self.process.is_ours() {
            return self.next_in_child();
        }
        self.fill(read_ahead(queue.raw().max_active()), spawn);
        loop {
            if self.handles.is_empty() {
                return None;
            }
            let latch = match self.shared.take() {
                Ok((number, result)) => return Some(self.ended(number, result)),
                Err(latch) => latch,
            };
            if let Err(error) = self.wait(queue, &latch) {
                return Some(Err(error));
            }
        }
    }

    /// In a forked child nothing ends that the parent has queued, and the list may be locked for
    /// ever.
    fn next_in_child(&mut self) -> Option<Result<T, JoinError>> {
        if self.handles.pop_first().is_none() {
            self.inputs.next()?;
        }
        Some(Err(JoinError::Refused(QueueError::Forked)))
    }

    fn fill(&mut self, most: usize, spawn: impl Fn(Ticket<T>, I::Item) -> H) {
        while self.handles.len() < most
            && let Some(input) = self.inputs.next()
        {
            let number = self.taken;
            self.taken += 1;
            let handle = spawn(Ticket::new(self.shared.clone(), number), input);
            self.pwqs.add(handle.pwq());
            self.handles.insert(number, handle);
        }
    }

    /// What came of one. Its handle knows more of one that never ran.
    fn ended(&mut self, number: u64, result: Result<T, JoinError>) -> Result<T, JoinError> {
        let handle = self.handles.remove(&number);
        match (result, handle) {
            (Err(JoinError::Cancelled), Some(handle)) => {
                Err(handle.join().err().unwrap_or(JoinError::Cancelled))
            }
            (result, _) => result,
        }
    }

    fn wait(&self, queue: &Workqueue, latch: &Latch) -> Result<(), JoinError> {
        let queue = queue.raw();
        let pwq = self.pwqs.first.filter(|_| !self.pwqs.several);
        let awaits = task::known_to_wait(self.handles.values().map(H::awaits));
        // SAFETY: the handles are of items that were queued through this pwq, of this queue, and
        // keep them.
        unsafe { queue.wait_latch(pwq, latch, None, (Until::Any, &awaits)) }
            .map_err(JoinError::WouldDeadlock)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        more(self.inputs.size_hint(), self.handles.len())
    }
}

/// As for results in order: what has not begun never does, the newest first.
impl<I: Iterator, H: Spawned<()>, T> Drop for Pending<I, H, T> {
    fn drop(&mut self) {
        if !self.process.is_ours() {
            return;
        }
        for handle in self.handles.values().rev() {
            handle.cancel();
        }
        user::discard(self.shared.close());
    }
}

/// Results as they come. See [`Workqueue::map_unordered`].
#[must_use = "it is lazy: nothing is queued before the first result is asked for"]
pub struct MapUnordered<I: Iterator, F, T> {
    queue: Workqueue,
    func: Arc<F>,
    pending: Pending<I, JoinHandle<()>, T>,
}

/// Results as they come, of closures that may borrow. See [`Scope::map_unordered`].
#[must_use = "it is lazy: nothing is queued before the first result is asked for"]
pub struct ScopedMapUnordered<'scope, 'env, I: Iterator, F, T> {
    scope: &'scope Scope<'scope, 'env>,
    func: Arc<F>,
    pending: Pending<I, ScopedJoinHandle<'scope, ()>, T>,
}

impl<I, F, T> MapUnordered<I, F, T>
where
    I: Iterator<Item: Send + 'static>,
    F: Fn(I::Item) -> T + Send + Sync + 'static,
    T: Send + 'static,
{
    /// As [`next`](Iterator::next), and tells why there is no value instead of panicking. After a
    /// [`JoinError::WouldDeadlock`] the items are still under way.
    ///
    /// ```
    /// let mut odd = cmwq::system().map_unordered(0..2, |n| assert!(n % 2 == 1));
    /// let ended = [odd.try_next().unwrap(), odd.try_next().unwrap()];
    /// assert_eq!(ended.iter().filter(|result| result.is_ok()).count(), 1);
    /// assert!(odd.try_next().is_none());
    /// ```
    pub fn try_next(&mut self) -> Option<Result<T, JoinError>> {
        let (queue, func) = (&self.queue, &self.func);
        self.pending.next(queue, |ticket, input| {
            let func = func.clone();
            queue.spawn(move || ticket.run(|| func(input)))
        })
    }
}

impl<I, F, T> Iterator for MapUnordered<I, F, T>
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
        self.pending.size_hint()
    }
}

impl<'scope, I, F, T> ScopedMapUnordered<'scope, '_, I, F, T>
where
    I: Iterator<Item: Send + 'scope>,
    F: Fn(I::Item) -> T + Send + Sync + 'scope,
    T: Send + 'scope,
{
    /// As [`MapUnordered::try_next`].
    ///
    /// ```
    /// let base = vec![7];
    /// let sums = cmwq::system().scope(|scope| scope.map_unordered(0..1, |n| base[n]).try_next());
    /// assert_eq!(sums?.unwrap()?, 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_next(&mut self) -> Option<Result<T, JoinError>> {
        let (scope, func) = (self.scope, &self.func);
        self.pending.next(scope.queue(), |ticket, input| {
            let func = func.clone();
            scope.spawn(move || ticket.run(|| func(input)))
        })
    }
}

impl<'scope, I, F, T> Iterator for ScopedMapUnordered<'scope, '_, I, F, T>
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
        self.pending.size_hint()
    }
}

impl<I: Iterator, F, T> FusedIterator for MapUnordered<I, F, T> where Self: Iterator {}

impl<I: Iterator, F, T> FusedIterator for ScopedMapUnordered<'_, '_, I, F, T> where Self: Iterator {}

impl<I: Iterator, F, T> fmt::Debug for MapUnordered<I, F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MapUnordered").finish_non_exhaustive()
    }
}

impl<I: Iterator, F, T> fmt::Debug for ScopedMapUnordered<'_, '_, I, F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedMapUnordered").finish_non_exhaustive()
    }
}

impl Workqueue {
    /// As [`map`](Self::map), and gives the results as they come: a slow item holds up no other.
    ///
    /// # Panics
    /// As there, in `next`.
    ///
    /// ```
    /// let slow_first = cmwq::system().map_unordered([20, 1, 5], |ms| {
    ///     std::thread::sleep(std::time::Duration::from_millis(ms));
    ///     ms
    /// });
    /// assert_eq!(slow_first.sum::<u64>(), 26);
    /// ```
    pub fn map_unordered<I, F, T>(&self, inputs: I, func: F) -> MapUnordered<I::IntoIter, F, T>
    where
        I: IntoIterator<Item: Send + 'static>,
        F: Fn(I::Item) -> T + Send + Sync + 'static,
        T: Send + 'static,
    {
        MapUnordered {
            queue: self.clone(),
            func: Arc::new(func),
            pending: Pending::new(self, inputs.into_iter()),
        }
    }

    /// Calls `func` for each input on this queue, and waits until all have ended. Inputs and
    /// function may borrow. It reads ahead as [`map`](Self::map) does: a long input is never in
    /// memory as a whole.
    ///
    /// # Errors
    /// The first [`JoinError`] that is no panic: the queue refuses, or waiting, inside an item,
    /// would never end. What had not begun is cancelled then, and the rest of the inputs is not
    /// taken.
    ///
    /// # Panics
    /// With the first panic of an item. The others are treated in the same way.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    ///
    /// let (text, bytes) = (String::from("lines\nof a\nfile"), AtomicUsize::new(0));
    /// cmwq::system().for_each(text.lines(), |line| {
    ///     bytes.fetch_add(line.len(), SeqCst);
    /// })?;
    /// assert_eq!(bytes.into_inner(), 13);
    /// # Ok::<(), cmwq::JoinError>(())
    /// ```
    pub fn for_each<I, F>(&self, inputs: I, func: F) -> Result<(), JoinError>
    where
        I: IntoIterator<Item: Send>,
        F: Fn(I::Item) + Send + Sync,
    {
        let func = &func;
        let inputs = inputs.into_iter();
        let ended = self.scope(|scope| {
            let mut all = scope.map_unordered(inputs, func);
            while let Some(result) = all.try_next() {
                match result {
                    Err(panic @ JoinError::Panicked(_)) => value_of(Err(panic)),
                    result => result?,
                }
            }
            Ok(())
        });
        ended.map_err(JoinError::WouldDeadlock)?
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// As [`Workqueue::map_unordered`], with inputs, results and a function that may borrow what
    /// outlives the scope.
    ///
    /// # Panics
    /// As there, in `next`.
    ///
    /// ```
    /// let words = ["some", "words"];
    /// let letters = cmwq::system().scope(|scope| {
    ///     let lengths = scope.map_unordered(&words, |word| word.len());
    ///     lengths.sum::<usize>()
    /// })?;
    /// assert_eq!(letters, 9);
    /// # Ok::<(), cmwq::WouldDeadlock>(())
    /// ```
    pub fn map_unordered<I, F, T>(
        &'scope self,
        inputs: I,
        func: F,
    ) -> ScopedMapUnordered<'scope, 'env, I::IntoIter, F, T>
    where
        I: IntoIterator<Item: Send + 'scope>,
        F: Fn(I::Item) -> T + Send + Sync + 'scope,
        T: Send + 'scope,
    {
        ScopedMapUnordered {
            scope: self,
            func: Arc::new(func),
            pending: Pending::new(self.queue(), inputs.into_iter()),
        }
    }
}
