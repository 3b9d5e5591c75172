//! Lists of work items that own no pointers.
//!
//! A list is a head, a tail and a length; the links live with the items, behind a [`Links`]
//! accessor. The engine implements it on intrusive headers (that is where the `unsafe` is), the
//! simulator and the tests on indices. Every operation here is O(1).

use core::marker::PhantomData;

/// Where an item's neighbours are kept.
pub trait Links {
    /// An opaque handle of an item.
    type Work: Copy + Eq + core::fmt::Debug;

    /// The item behind `work` in its list.
    fn next(&self, work: Self::Work) -> Option<Self::Work>;
    /// The item before `work` in its list.
    fn prev(&self, work: Self::Work) -> Option<Self::Work>;
    /// Sets the item behind `work`.
    fn set_next(&mut self, work: Self::Work, next: Option<Self::Work>);
    /// Sets the item before `work`.
    fn set_prev(&mut self, work: Self::Work, prev: Option<Self::Work>);
}

/// A doubly linked list of items. An item is in at most one list at a time.
#[derive(Debug)]
pub struct List<L: Links + ?Sized> {
    head: Option<L::Work>,
    tail: Option<L::Work>,
    len: usize,
    links: PhantomData<fn(&L)>,
}

impl<L: Links + ?Sized> Default for List<L> {
    fn default() -> Self {
        List::new()
    }
}

impl<L: Links + ?Sized> List<L> {
    /// An empty list.
    pub const fn new() -> Self {
        List {
            head: None,
            tail: None,
            len: 0,
            links: PhantomData,
        }
    }

    /// How many items are in the list.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.head.is_none()
    }

    /// The first item, left in place.
    pub fn first(&self) -> Option<L::Work> {
        self.head
    }

    /// Appends an item, which must be in no list.
    pub fn push_back(&mut self, links: &mut L, work: L::Work) {
        links.set_prev(work, self.tail);
        links.set_next(work, None);
        match self.tail {
            Some(tail) => links.set_next(tail, Some(work)),
            None => self.head = Some(work),
        }
        self.tail = Some(work);
        self.len += 1;
    }

    /// Puts an item, which must be in no list, before all others.
    pub fn push_front(&mut self, links: &mut L, work: L::Work) {
        let Some(head) = self.head else {
            return self.push_back(links, work);
        };
        links.set_prev(work, None);
        links.set_next(work, Some(head));
        links.set_prev(head, Some(work));
        self.head = Some(work);
        self.len += 1;
    }

    /// Puts an item, which must be in no list, right behind `at`, which must be in this one.
    pub fn insert_after(&mut self, links: &mut L, at: L::Work, work: L::Work) {
        let Some(next) = links.next(at) else {
            return self.push_back(links, work);
        };
        links.set_prev(work, Some(at));
        links.set_next(work, Some(next));
        links.set_next(at, Some(work));
        links.set_prev(next, Some(work));
        self.len += 1;
    }

    /// The items in order.
    pub fn iter<'a>(&self, links: &'a L) -> impl Iterator<Item = L::Work> + use<'a, L> {
        core::iter::successors(self.head, |&work| links.next(work))
    }

    /// Takes the first item out.
    pub fn pop_front(&mut self, links: &mut L) -> Option<L::Work> {
        let work = self.head?;
        self.remove(links, work);
        Some(work)
    }

    /// Takes an item, which must be in this list, out of it.
    pub fn remove(&mut self, links: &mut L, work: L::Work) {
        assert!(self.len > 0, "{work:?} taken out of an empty list");
        let (prev, next) = (links.prev(work), links.next(work));
        match prev {
            Some(prev) => links.set_next(prev, next),
            None => self.head = next,
        }
        match next {
            Some(next) => links.set_prev(next, prev),
            None => self.tail = prev,
        }
        links.set_next(work, None);
        links.set_prev(work, None);
        self.len -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    struct Arena(Vec<(Option<usize>, Option<usize>)>);

    impl Links for Arena {
        type Work = usize;
        fn next(&self, work: usize) -> Option<usize> {
            self.0[work].1
        }
        fn prev(&self, work: usize) -> Option<usize> {
            self.0[work].0
        }
        fn set_next(&mut self, work: usize, next: Option<usize>) {
            self.0[work].1 = next;
        }
        fn set_prev(&mut self, work: usize, prev: Option<usize>) {
            self.0[work].0 = prev;
        }
    }

    proptest! {
        /// Any sequence of pushes, pops and removals leaves what a `Vec` would hold.
        #[test]
        fn behaves_like_a_vec(ops in proptest::collection::vec((0..5u8, 0..8usize), 0..80)) {
            let mut arena = Arena(std::vec![(None, None); 8]);
            let mut list = List::<Arena>::new();
            let mut model: Vec<usize> = Vec::new();
            for (op, work) in ops {
                match op {
                    0 if !model.contains(&work) => {
                        list.push_back(&mut arena, work);
                        model.push(work);
                    }
                    1 => {
                        let expected = (!model.is_empty()).then(|| model.remove(0));
                        prop_assert_eq!(list.pop_front(&mut arena), expected);
                    }
                    2 if model.contains(&work) => {
                        list.remove(&mut arena, work);
                        model.retain(|&w| w != work);
                    }
                    3 if !model.contains(&work) => {
                        list.push_front(&mut arena, work);
                        model.insert(0, work);
                    }
                    4 if !model.contains(&work) && !model.is_empty() => {
                        let at = work % model.len();
                        list.insert_after(&mut arena, model[at], work);
                        model.insert(at + 1, work);
                    }
                    _ => {}
                }
                prop_assert_eq!(list.len(), model.len());
                prop_assert_eq!(list.first(), model.first().copied());
                prop_assert_eq!(list.is_empty(), model.is_empty());
            }
            let rest: Vec<_> = core::iter::from_fn(|| list.pop_front(&mut arena)).collect();
            prop_assert_eq!(rest, model);
        }
    }
}
