//! Items behind their pointers.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::SeqCst;

use cmwq_engine::{Header, RawItem, Ref, Vtable, user};

use crate::abi::{Work, WorkPtr};
use crate::say::misuse;
use crate::{checked, mode, names};

/// Of all C items. An item's function is in the item.
static TABLE: Vtable = Vtable {
    run,
    // The program keeps its items.
    count: |_, _: Ref| (),
    name: |func| names::of(func.addr()),
};

/// # Safety
/// The header is that of an item of the program, which keeps it until its function begins.
unsafe fn run(header: NonNull<Header>) {
    let work = header.cast::<Work>().as_ptr();
    // SAFETY: the item is there, and its function was seen when it was queued.
    let func = unsafe { (*work).func };
    let Some(func) = func else { return };
    mode::entered(work.cast());
    user::run(|| func(work));
    mode::left(work.cast());
}

impl WorkPtr {
    /// The item, for a call of this name.
    ///
    /// # Errors
    /// What the call returns if there is none.
    #[inline]
    pub(crate) fn get(self, call: &str) -> Result<RawItem, c_int> {
        let Some(work) = self.0 else {
            return Err(checked::misuse(call, "the item is NULL"));
        };
        if !work.is_aligned() {
            return Err(checked::misuse(call, "the item is not aligned to 8 bytes"));
        }
        if !mode::is_plain() {
            mode::queued(work.as_ptr().cast());
            if mode::is_checked() {
                return Ok(checked::item(work, call));
            }
        }
        // SAFETY: the program's item; only this field is looked at.
        let table = unsafe { &(*work.as_ptr()).table };
        if table.load(SeqCst) != TABLE_ADDRESS {
            meet(work, table, call)?;
        }
        // SAFETY: it has its table now, and the program keeps it as the header of C says.
        Ok(unsafe { RawItem::new(work.cast()) })
    }
}

const TABLE_ADDRESS: *mut c_void = (&raw const TABLE).cast_mut().cast();

/// An item that the library has not seen gets its table, once: a static initialiser does not know
/// the address.
#[cold]
fn meet(work: NonNull<Work>, table: &AtomicPtr<c_void>, call: &str) -> Result<(), c_int> {
    // SAFETY: the program's item; its function is constant.
    let func = unsafe { (*work.as_ptr()).func };
    if func.is_none() {
        return Err(misuse(
            call,
            &format!("the item {work:p} was never initialised"),
        ));
    }
    // Two threads may meet it at a time.
    let none = std::ptr::null_mut();
    match table.compare_exchange(none, TABLE_ADDRESS, SeqCst, SeqCst) {
        Ok(_) => {
            tell_names();
            Ok(())
        }
        Err(known) if known == TABLE_ADDRESS => Ok(()),
        Err(_) => Err(misuse(call, &format!("at {work:p} there is no item"))),
    }
}

/// Names of functions whose items may be gone are ours to tell.
fn tell_names() {
    Header::set_names(names::of);
}
