//! References to a task, which is freed with the last of them.
//!
//! An `Arc` would count weak references as well, of which there are none: eight bytes more for each
//! closure that waits.

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;

use cmwq_engine::sync::{AtomicU32, SeqCst};
use cmwq_engine::{Header, Latch, Ref};

use super::stage::Stage;

/// How a task of any type begins.
#[repr(C)]
pub(super) struct Head {
    header: Header,
    /// Whether the stage is the runner's, the handle's, or nobody's: a handle that is gone has left
    /// the latch.
    pub(super) latch: Latch,
    /// The handle's, the queue's, and those of who looks: too few to overflow.
    refs: AtomicU32,
    /// What the task holds.
    pub(super) stage: UnsafeCell<Stage>,
}

// Each byte more is one that each item writes.
#[cfg(all(not(loom), target_pointer_width = "64"))]
const _: () = assert!(size_of::<Head>() == 64);

impl Head {
    /// Of a task to which there are two references, its handle's and its queue's.
    #[inline(always)]
    pub(super) fn new(header: Header, stage: Stage) -> Self {
        Head {
            header,
            latch: Latch::new(),
            refs: AtomicU32::new(2),
            stage: UnsafeCell::new(stage),
        }
    }

    pub(super) fn header(&self) -> &Header {
        &self.header
    }
}

/// A task of any type.
///
/// # Safety
/// It is laid out as in C, its [`Head`] first.
pub(crate) unsafe trait Headed {}

/// A reference to a task, as an `Arc` is to what it has.
pub(crate) struct TaskRef<A: Headed + ?Sized> {
    task: NonNull<A>,
    /// The last one drops the task.
    owns: PhantomData<A>,
}

// SAFETY: it gives out shared references, and the task itself to whoever is last.
unsafe impl<A: Headed + Send + Sync + ?Sized> Send for TaskRef<A> {}
// SAFETY: as above.
unsafe impl<A: Headed + Send + Sync + ?Sized> Sync for TaskRef<A> {}

impl<A: Headed> TaskRef<A> {
    /// The two references to a new task.
    ///
    /// Made where it is to be: one that is copied there waits for what was just written.
    #[inline(always)]
    pub(super) fn pair(make: impl FnOnce() -> A) -> (Self, Self) {
        let room = Box::<A>::new_uninit();
        let task = NonNull::from(Box::leak(Box::write(room, make())));
        let reference = || TaskRef {
            task,
            owns: PhantomData,
        };
        (reference(), reference())
    }

    /// A reference that nobody has as a value any more, or that is lent.
    ///
    /// # Safety
    /// The task is of this type. One that is lent is forgotten again.
    pub(super) unsafe fn from_header(header: NonNull<Header>) -> Self {
        TaskRef {
            task: header.cast(),
            owns: PhantomData,
        }
    }

    /// Counts a reference that nobody has as a value.
    ///
    /// # Safety
    /// The header is that of such a task, to which there is a reference; `Dropped` gives back what
    /// `Taken` took.
    pub(super) unsafe fn count(header: NonNull<Header>, what: Ref) {
        // SAFETY: one that is there is lent, or the one that was taken comes back.
        let reference = ManuallyDrop::new(unsafe { Self::from_header(header) });
        match what {
            Ref::Taken => std::mem::forget(TaskRef::clone(&reference)),
            Ref::Dropped => drop(ManuallyDrop::into_inner(reference)),
        }
    }
}

impl<A: Headed + ?Sized> TaskRef<A> {
    /// The same reference, to the task as a type that names less of it.
    ///
    /// # Safety
    /// `unsize` returns the pointer that it is given.
    pub(super) unsafe fn unsize<B: Headed + ?Sized>(
        self,
        unsize: impl FnOnce(NonNull<A>) -> NonNull<B>,
    ) -> TaskRef<B> {
        let task = unsize(self.task);
        std::mem::forget(self);
        TaskRef {
            task,
            owns: PhantomData,
        }
    }

    /// By a pointer to all of the task: through that it is executed and freed.
    pub(super) fn header(&self) -> NonNull<Header> {
        self.task.cast()
    }

    /// Whether this is the only one. Then nobody makes another, and what others did with theirs
    /// came before.
    pub(super) fn is_last(&self) -> bool {
        self.refs().load(SeqCst) == 1
    }

    fn refs(&self) -> &AtomicU32 {
        // SAFETY: it begins so, and is there.
        unsafe { &self.task.cast::<Head>().as_ref().refs }
    }
}

impl<A: Headed + ?Sized> Deref for TaskRef<A> {
    type Target = A;

    fn deref(&self) -> &A {
        // SAFETY: the task is there as long as a reference is, and is shared only.
        unsafe { self.task.as_ref() }
    }
}

impl<A: Headed + ?Sized> Clone for TaskRef<A> {
    fn clone(&self) -> Self {
        self.refs().fetch_add(1, SeqCst);
        TaskRef {
            task: self.task,
            owns: PhantomData,
        }
    }
}

impl<A: Headed + ?Sized> Drop for TaskRef<A> {
    fn drop(&mut self) {
        // If it is the last one there is nobody with whom to count, and a look is cheaper.
        if self.is_last() || self.refs().fetch_sub(1, SeqCst) == 1 {
            // SAFETY: it was a box's, and this was the last reference: what others did with theirs
            // came before.
            drop(unsafe { Box::from_raw(self.task.as_ptr()) });
        }
    }
}
