//! Holds jobs back while our output has no room.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a job that is held back does once there is room.
type Deferred = Box<dyn FnOnce() + Send>;

/// Closed while somebody waits for room.
///
/// Who is held back does not wait but ends, and is begun anew: waiting, each would keep a thread,
/// and for each that sleeps the engine would begin another.
#[derive(Clone, Default)]
pub(super) struct Backpressure(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    closed: usize,
    waiting: Vec<Deferred>,
}

impl Backpressure {
    /// Closed until the value is dropped, and as long as there is another such value.
    pub(super) fn close(&self) -> Closed {
        self.lock().closed += 1;
        Closed(self.clone())
    }

    /// If it is closed, takes note of `again`, calls it once it is open, in the order of these
    /// calls, and returns true.
    pub(super) fn defer(&self, again: impl FnOnce() -> Deferred) -> bool {
        let mut state = self.lock();
        if state.closed > 0 {
            state.waiting.push(again());
        }
        state.closed > 0
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().closed > 0
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See [`Backpressure::close`].
pub(super) struct Closed(Backpressure);

impl Drop for Closed {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.closed -= 1;
        let begin = match state.closed {
            0 => std::mem::take(&mut state.waiting),
            _ => Vec::new(),
        };
        drop(state);
        begin.into_iter().for_each(|again| again());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn who_is_deferred_begins_in_order_once_nobody_keeps_it_closed() {
        let (backpressure, (sender, receiver)) = (Backpressure::default(), channel());
        let defer = |number: u32| {
            let sender = sender.clone();
            backpressure.defer(|| Box::new(move || sender.send(number).unwrap()))
        };
        assert!(!defer(0));
        let first = backpressure.close();
        assert!(defer(1));
        let second = backpressure.close();
        assert!(defer(2));
        drop(first);
        assert!(defer(3) && receiver.try_recv().is_err());
        drop(second);
        assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [1, 2, 3]);
        assert!(!defer(4));
    }
}
