//! What will happen, in the order in which it will.

use std::collections::BTreeMap;

use cmwq_policy::Time;

/// Names an event that is still to come, so that it can be called off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EventKey(Time, u64);

/// Events by time; those of one time in the order in which they were added. So a run never depends
/// on how a heap breaks ties.
#[derive(Debug)]
pub(crate) struct Events<E> {
    pending: BTreeMap<EventKey, E>,
    added: u64,
}

impl<E> Default for Events<E> {
    fn default() -> Self {
        Events {
            pending: BTreeMap::new(),
            added: 0,
        }
    }
}

impl<E> Events<E> {
    /// Adds an event.
    pub(crate) fn add(&mut self, at: Time, event: E) -> EventKey {
        let key = EventKey(at, self.added);
        self.added += 1;
        self.pending.insert(key, event);
        key
    }

    /// Calls an event off; `None` if it has happened already.
    pub(crate) fn remove(&mut self, key: EventKey) -> Option<E> {
        self.pending.remove(&key)
    }

    /// When the next one happens.
    pub(crate) fn next_at(&self) -> Option<Time> {
        self.pending.first_key_value().map(|(key, _)| key.0)
    }

    /// Takes the next one, if its time has come.
    pub(crate) fn pop_due(&mut self, now: Time) -> Option<E> {
        let entry = self.pending.first_entry()?;
        (entry.key().0 <= now).then(|| entry.remove())
    }

    /// Those that are still to come, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &E> {
        self.pending.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_time_and_then_in_the_order_of_adding() {
        let mut events = Events::default();
        for (at, name) in [(5, 'c'), (3, 'a'), (5, 'd'), (3, 'b')] {
            events.add(Time(at), name);
        }
        let gone = events.add(Time(4), 'x');
        assert_eq!(events.remove(gone), Some('x'));
        assert_eq!(events.remove(gone), None);
        assert_eq!(events.pop_due(Time(2)), None);
        let order: String = std::iter::from_fn(|| events.pop_due(Time(5))).collect();
        assert_eq!(order, "abcd");
        assert_eq!(events.next_at(), None);
    }
}
