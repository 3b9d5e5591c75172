//! A tray of an inbox: a stack of items, linked by their headers, with the number of them in the
//! highest bits of its one word.

use std::ptr::{NonNull, null_mut};

use cmwq_policy::work::PWQ_ALIGN;

use crate::item::Header;
use crate::sync::{AtomicPtr, SeqCst};

/// The number of items stands above the address, which has 47 bits.
const NUMBER_SHIFT: u32 = 48;
const ADDRESS: usize = (1 << NUMBER_SHIFT) - 1;

const _: () = assert!(PWQ_ALIGN as usize >= align_of::<Header>());

/// What else is on its line would go with it from CPU to CPU.
#[repr(align(128))]
pub(super) struct Tray(AtomicPtr<Header>);

fn number(head: *mut Header) -> u32 {
    (head.addr() >> NUMBER_SHIFT) as u32
}

/// It is counted as far as there is room.
fn numbered(work: NonNull<Header>, number: u32) -> *mut Header {
    let number = usize::from(u16::try_from(number).unwrap_or(u16::MAX));
    work.as_ptr().map_addr(|addr| addr | number << NUMBER_SHIFT)
}

fn first(head: *mut Header) -> Option<NonNull<Header>> {
    NonNull::new(head.map_addr(|addr| addr & ADDRESS))
}

pub(super) fn header<'a>(work: NonNull<Header>) -> &'a Header {
    // SAFETY: an item in the inbox is pending, so its owner keeps it until it is executed.
    unsafe { work.as_ref() }
}

/// The word of a tray as it was read.
#[derive(Clone, Copy)]
pub(super) struct Top(*mut Header);

impl Top {
    /// So many lie there.
    pub(super) fn number(self) -> u32 {
        number(self.0)
    }
}

impl Tray {
    pub(super) fn new() -> Tray {
        Tray(AtomicPtr::new(null_mut()))
    }

    /// What is to be handed to [`push`](Self::push).
    pub(super) fn top(&self) -> Top {
        Top(self.0.load(SeqCst))
    }

    /// Puts an item on top, which is the caller's, if this is the top still; else what is.
    pub(super) fn push(&self, work: NonNull<Header>, top: Top) -> Result<(), Top> {
        header(work).next.set(first(top.0));
        let next = numbered(work, top.number().saturating_add(1));
        let pushed = self.0.compare_exchange_weak(top.0, next, SeqCst, SeqCst);
        pushed.map(drop).map_err(Top)
    }

    /// Takes everything out: the one that was put there last, which is linked to the one before.
    pub(super) fn empty(&self) -> Option<NonNull<Header>> {
        // An empty one stays where it is, with those who leave items there.
        first(self.0.load(SeqCst))?;
        first(self.0.swap(null_mut(), SeqCst))
    }
}
