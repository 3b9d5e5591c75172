//! Owners and guests of a queue come and go.

use std::sync::Arc;

use loom::thread;

use super::model;
use crate::raw::holders::{Holder, Holders};
use crate::sync::{AtomicU32, SeqCst};

/// Holders that are there for ever, and how often somebody was told to be the last one.
struct Rig {
    holders: Holders,
    last: AtomicU32,
}

impl Rig {
    /// One owner, and a guest that has come on each of these threads.
    fn new(guests: impl IntoIterator<Item = usize>) -> Arc<Self> {
        let holders = Holders::new(1);
        for thread in guests {
            holders.guest_comes_on(thread);
        }
        Arc::new(Rig {
            holders,
            last: AtomicU32::new(0),
        })
    }

    /// Whoever comes or goes is there until it has: nobody was told to be the last one.
    fn is_there(&self) {
        assert_eq!(self.last.load(SeqCst), 0, "it is gone");
    }

    fn guest_goes_on(&self, thread: usize) {
        self.is_there();
        // SAFETY: the model counts as each guest that it has brought; the holders stay.
        self.note(unsafe { Holders::guest_goes_on(&self.holders, thread) });
    }

    fn goes(&self, holder: Holder) {
        self.is_there();
        // SAFETY: as above.
        self.note(unsafe { Holders::goes(&self.holders, holder) });
    }

    fn owner_goes(&self) {
        self.is_there();
        // SAFETY: as above.
        self.note(unsafe { Holders::owner_goes(&self.holders) });
    }

    fn note(&self, is_last: bool) {
        if is_last {
            assert_eq!(self.last.fetch_add(1, SeqCst), 0, "one is the last one");
        }
    }

    fn check(&self) {
        assert_eq!(
            self.last.load(SeqCst),
            1,
            "nobody was told to be the last one"
        );
    }
}

/// Fails if who shuts reads a word and then writes `SHUT`, if a guest that finds it shut is not
/// counted out in the owners' word, or if the words are taken for shut before all are.
#[test]
fn the_last_of_an_owner_and_its_guests_is_told_once() {
    model(|| {
        let rig = Rig::new([0, 0]);
        let guests = [0, 1].map(|thread| {
            let rig = rig.clone();
            thread::spawn(move || rig.guest_goes_on(thread))
        });
        rig.owner_goes();
        guests.map(|guest| guest.join().unwrap());
        rig.check();
    });
}

/// Fails if two owners may shut: the later one may do so when nobody is left.
#[test]
fn a_guest_brings_an_owner_while_the_last_one_goes() {
    while_the_last_owner_goes(|rig| {
        rig.holders.owner_comes();
        rig.guest_goes_on(1);
        rig.owner_goes();
    });
}

/// The same with a guest.
#[test]
fn a_guest_brings_another_while_the_last_owner_goes() {
    while_the_last_owner_goes(|rig| {
        rig.holders.guest_comes_on(1);
        rig.guest_goes_on(0);
        rig.guest_goes_on(0);
    });
}

/// One guest does this on another thread, and is gone after it. Whoever counts after the last one
/// is found.
fn while_the_last_owner_goes(guest: fn(&Rig)) {
    model(move || {
        let rig = Rig::new([0]);
        let other = {
            let rig = rig.clone();
            thread::spawn(move || {
                rig.is_there();
                guest(&rig);
            })
        };
        rig.owner_goes();
        other.join().unwrap();
        rig.check();
        assert!(
            rig.holders.is_empty(),
            "somebody has counted after the last one"
        );
    });
}

/// Fails if somebody who came as an owner goes as a guest.
#[test]
fn who_came_before_there_were_words_goes_as_it_came() {
    model(|| {
        let rig = Rig::new([]);
        let early = rig.holders.guest_comes();
        rig.holders.guest_comes_on(0);
        let late = rig.holders.guest_comes();
        assert_eq!((early, late), (Holder::Owner, Holder::Guest));
        let threads = [early, late].map(|holder| {
            let rig = rig.clone();
            thread::spawn(move || rig.goes(holder))
        });
        rig.guest_goes_on(1);
        rig.owner_goes();
        threads.map(|thread| thread.join().unwrap());
        rig.check();
    });
}

/// Fails if two who make the words count in different ones.
#[test]
fn those_who_make_the_words_count_in_the_same() {
    model(|| {
        let rig = Rig::new([]);
        let guests = [0, 1].map(|thread| {
            let rig = rig.clone();
            thread::spawn(move || rig.holders.guest_comes_on(thread))
        });
        guests.map(|guest| guest.join().unwrap());
        rig.owner_goes();
        rig.guest_goes_on(0);
        rig.guest_goes_on(1);
        rig.check();
    });
}
