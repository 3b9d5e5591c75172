//! How many hold a queue.
//!
//! One word would do, as in an `Arc`. But a closure that is spawned has a handle, which holds the
//! queue, too: two writes to that word for each item, by all CPUs that spawn, one after the other.
//! So there are two kinds of holders, as the kernel's `percpu_ref` has two modes. *Owners* are the
//! queue's own handles. They are few, and one word counts them. *Guests* are handles of its items.
//! Each thread counts them in a word that it shares with few others. One may come on one thread and
//! go on another: only the sum of these words means anything.
//!
//! Nobody can read a sum at once while it changes. So while there is an owner nobody asks for it.
//! The last owner shuts the words: it swaps each for [`SHUT`], and adds what it has found to the
//! owners' word. Whoever finds its word shut counts in the owners' word from then on. That has
//! [`OPEN`] more while the words are open, and [`SHUTTING`] until all are shut: so nobody takes it
//! for the last one's before, and one owner shuts.
//!
//! | who | does | is the last one if |
//! | --- | --- | --- |
//! | owner comes | counts in the owners' word | |
//! | owner goes | counts there; the last one, if the words are open, writes `SHUTTING` instead, and shuts | the word was 1 |
//! | shuts, once | swaps all words, then adds their sum less `SHUTTING` | the outcome is 0 |
//! | guest comes | counts in its thread's word; if that is shut, in the owners' | |
//! | guest goes | the same | the owners' word was 1 |
//!
//! *Nobody comes too late.* A guest that goes and finds its word open is in the sum. It touches
//! nothing after that, and who shuts has not read that word yet, so nobody is the last one before.
//! A guest that finds it shut has been counted in, and is counted out in the owners' word, which is
//! not 0 before.
//!
//! *Few queues need words.* They take up to a kilobyte. They are made when two threads are about to
//! count at the same time. Until then whoever comes as a guest is counted as an owner, and
//! remembers that.
//!
//! *Nobody comes from nowhere.* Who comes is brought by one who is there. A guest may bring an
//! owner after the words were shut: they stay shut.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::AtomicUsize;

use crate::sync::{AtomicI64, AtomicPtr, Relaxed, SeqCst};

/// The owners' word has so much more while the guests' words are open,
const OPEN: i64 = 1 << 40;
/// and so much while they are being shut.
const SHUTTING: i64 = 2 * OPEN;
/// One owner, and the words are open.
const LAST_OWNER: i64 = OPEN + 1;
/// A word that is shut. Who counts there all the same does not make it look open.
const SHUT: i64 = i64::MIN / 2;
/// Words for guests, at most: each takes a cache line.
const MOST_WORDS: usize = 16;

/// A guests' word, which shares its line with nothing.
#[repr(align(64))]
struct Word(AtomicI64);

/// Whether a guests' word is shut that was this.
fn is_shut(word: i64) -> bool {
    word < SHUT / 2
}

/// Before the owners' word counts one more. Whoever forgets so many handles that it would come to
/// mean something else ends the process, as with an `Arc`.
#[inline]
fn bound(owners: i64) {
    if (OPEN / 4..OPEN / 4 * 3).contains(&owners.rem_euclid(OPEN)) {
        std::process::abort();
    }
}

/// How somebody is counted who came as a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    Owner,
    Guest,
}

/// See the module's page. Where a call says that nobody is left, it says so once.
pub(crate) struct Holders {
    owners: AtomicI64,
    /// So many words; null until the first guest is counted. A boxed slice.
    guests: AtomicPtr<Word>,
    nr_words: usize,
}

impl Holders {
    /// One owner, on a machine of so many CPUs.
    pub(crate) fn new(nr_cpus: usize) -> Self {
        Holders {
            owners: AtomicI64::new(LAST_OWNER),
            guests: AtomicPtr::default(),
            nr_words: (2 * nr_cpus).next_power_of_two().min(MOST_WORDS),
        }
    }

    /// The caller, who holds the queue, brings an owner.
    pub(crate) fn owner_comes(&self) {
        bound(self.owners.fetch_add(1, SeqCst));
    }

    /// Whether nobody is left. By its address: if somebody is, it may be gone before this returns.
    ///
    /// # Safety
    /// The owner is the caller.
    #[must_use]
    pub(crate) unsafe fn owner_goes(this: *const Self) -> bool {
        // SAFETY: the owner is there until this.
        let owners = unsafe { &(*this).owners };
        let less = |owners| match owners {
            LAST_OWNER => SHUTTING,
            more => more - 1,
        };
        match owners.fetch_update(SeqCst, SeqCst, |owners| Some(less(owners))) {
            // SAFETY: it was the last one, and the words were open.
            Ok(LAST_OWNER) => unsafe { Self::shut(this) },
            before => before == Ok(1),
        }
    }

    /// The caller, who holds the queue, brings a guest, or an owner in its place: which.
    #[inline]
    pub(crate) fn guest_comes(&self) -> Holder {
        if self.guests.load(SeqCst).is_null() {
            let owners = self.owners.load(SeqCst);
            bound(owners);
            let comes = self
                .owners
                .compare_exchange(owners, owners + 1, SeqCst, SeqCst);
            if comes.is_ok() {
                return Holder::Owner;
            }
        }
        self.guest_comes_on(thread_number());
        Holder::Guest
    }

    /// The caller brings a guest on the thread with this number.
    #[inline]
    pub(crate) fn guest_comes_on(&self, thread: usize) {
        if is_shut(self.word(thread).0.fetch_add(1, SeqCst)) {
            self.owner_comes();
        }
    }

    /// Whether nobody is left. By its address, as [`owner_goes`](Self::owner_goes).
    ///
    /// # Safety
    /// The caller is what [`guest_comes`](Self::guest_comes) has brought.
    #[inline]
    #[must_use]
    pub(crate) unsafe fn goes(this: *const Self, holder: Holder) -> bool {
        match holder {
            // SAFETY: says the caller.
            Holder::Owner => unsafe { Self::owner_goes(this) },
            // SAFETY: as above.
            Holder::Guest => unsafe { Self::guest_goes_on(this, thread_number()) },
        }
    }

    /// A guest goes on the thread with this number.
    ///
    /// # Safety
    /// The guest is the caller.
    #[inline]
    pub(crate) unsafe fn guest_goes_on(this: *const Self, thread: usize) -> bool {
        // SAFETY: the guest is there until it is counted out.
        let word = ptr::from_ref(unsafe { (*this).word(thread) });
        // SAFETY: as above.
        if !is_shut(unsafe { (*word).0.fetch_sub(1, SeqCst) }) {
            return false;
        }
        // SAFETY: it was shut, so the guest is counted among the owners until this.
        unsafe { (*this).owners.fetch_sub(1, SeqCst) == 1 }
    }

    /// Whether the words are shut and nobody is counted.
    #[cfg(all(test, loom))]
    pub(crate) fn is_empty(&self) -> bool {
        self.owners.load(SeqCst) == 0
    }

    /// There was no owner. Whether nobody is left.
    ///
    /// # Safety
    /// The caller was the last one, and has written [`SHUTTING`].
    unsafe fn shut(this: *const Self) -> bool {
        // SAFETY: nobody is the last one before that is taken off.
        let (owners, words) = unsafe { (&(*this).owners, (*this).words()) };
        // None has ever come, or all that have are seen.
        let guests: i64 = words.iter().map(|word| word.0.swap(SHUT, SeqCst)).sum();
        let change = guests - SHUTTING;
        owners.fetch_add(change, SeqCst) + change == 0
    }

    /// Of the thread with this number.
    #[inline]
    fn word(&self, thread: usize) -> &Word {
        let words = match self.words() {
            [] => self.make_words(),
            words => words,
        };
        // A power of two; to divide takes longer than to count.
        &words[thread & (words.len() - 1)]
    }

    /// All, if they are made.
    #[inline]
    fn words(&self) -> &[Word] {
        let words = self.guests.load(SeqCst);
        let nr_words = if words.is_null() { 0 } else { self.nr_words };
        let words = ptr::NonNull::new(words).unwrap_or(ptr::NonNull::dangling());
        // SAFETY: so many were made, and live as long as this.
        unsafe { std::slice::from_raw_parts(words.as_ptr(), nr_words) }
    }

    /// Makes them, unless somebody else does. With no lock, which a forked child may find held.
    #[cold]
    fn make_words(&self) -> &[Word] {
        let word = || Word(AtomicI64::new(0));
        let words: Box<[Word]> = std::iter::repeat_with(word).take(self.nr_words).collect();
        let words = Box::into_raw(words);
        let publish = |words| {
            let null = ptr::null_mut();
            self.guests.compare_exchange(null, words, SeqCst, SeqCst)
        };
        if publish(words.cast()).is_err() {
            // SAFETY: nobody has seen it.
            drop(unsafe { Box::from_raw(words) });
        }
        self.words()
    }
}

impl Drop for Holders {
    fn drop(&mut self) {
        let words = self.guests.load(SeqCst);
        if !words.is_null() {
            let words = ptr::slice_from_raw_parts_mut(words, self.nr_words);
            // SAFETY: it was a box's, and nobody is left.
            drop(unsafe { Box::from_raw(words) });
        }
    }
}

/// A number of the calling thread, from 0 on.
#[inline]
fn thread_number() -> usize {
    const NONE: usize = usize::MAX;
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        // Constant and without a destructor, so that it can be used at any moment of a thread's
        // life.
        static NUMBER: Cell<usize> = const { Cell::new(NONE) };
    }
    let number = NUMBER.get();
    if number != NONE {
        return number;
    }
    // Relaxed: any number will do.
    let number = NEXT.fetch_add(1, Relaxed) % NONE;
    NUMBER.set(number);
    number
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    // The holders are there until the test ends.
    fn owner_goes(holders: &Holders) -> bool {
        // SAFETY: the test counts as each owner that it has brought.
        unsafe { Holders::owner_goes(holders) }
    }

    fn guest_goes(holders: &Holders) -> bool {
        // SAFETY: as above.
        unsafe { Holders::goes(holders, Holder::Guest) }
    }

    #[test]
    fn the_last_one_is_told_whoever_it_is() {
        let (owner_last, guest_last) = (Holders::new(2), Holders::new(2));
        owner_last.guest_comes_on(0);
        owner_last.owner_comes();
        assert!(!guest_goes(&owner_last) && !owner_goes(&owner_last));
        assert!(owner_goes(&owner_last));

        guest_last.guest_comes_on(0);
        guest_last.guest_comes_on(0);
        assert!(!owner_goes(&guest_last) && !guest_goes(&guest_last));
        assert!(guest_goes(&guest_last));
    }

    #[test]
    fn a_guest_may_bring_an_owner_when_there_is_none() {
        let holders = Holders::new(2);
        holders.guest_comes_on(thread_number());
        assert!(!owner_goes(&holders));
        holders.owner_comes();
        holders.guest_comes_on(thread_number());
        assert!(!guest_goes(&holders) && !guest_goes(&holders));
        assert!(owner_goes(&holders));
    }

    #[test]
    fn guests_may_go_on_other_threads_than_they_came_on() {
        let holders = Holders::new(8);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..100).for_each(|_| holders.guest_comes_on(thread_number())));
            }
        });
        assert!(!owner_goes(&holders));
        let last: usize = std::thread::scope(|scope| {
            let go = || (0..100).filter(|_| guest_goes(&holders)).count();
            let threads = [(); 4].map(|()| scope.spawn(go));
            threads.map(|thread| thread.join().unwrap()).iter().sum()
        });
        assert_eq!(last, 1);
    }

    #[test]
    fn a_guest_is_an_owner_while_nobody_is_in_its_way() {
        let holders = Holders::new(2);
        assert_eq!(holders.guest_comes(), Holder::Owner);
        assert!(!owner_goes(&holders));
        // SAFETY: the test counts as what it has brought.
        assert!(unsafe { Holders::goes(&holders, Holder::Owner) });

        let crowded = Holders::new(2);
        crowded.guest_comes_on(0);
        assert_eq!(crowded.guest_comes(), Holder::Guest);
    }

    #[test]
    fn each_thread_has_its_number() {
        let here = thread_number();
        assert_eq!(thread_number(), here);
        let there = std::thread::spawn(thread_number).join().unwrap();
        assert_ne!(there, here);
    }
}
