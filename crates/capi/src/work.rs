//! Items: waiting for them, cancelling, disabling.

use std::ffi::c_int;

use cmwq_engine::{Header, RawItem};
use cmwq_policy::pool::Waits;

use crate::abi::{Work, WorkFn, WorkPtr};
use crate::errno::{self, Errno};
use crate::{checked, mode};

#[unsafe(no_mangle)]
extern "C" fn cmwq_work_init(work: WorkPtr, func: Option<WorkFn>) {
    const CALL: &str = "cmwq_work_init";
    let (Some(place), Some(func)) = (work.0, func) else {
        checked::misuse(CALL, "the item or its function is NULL");
        return;
    };
    if !place.is_aligned() {
        checked::misuse(CALL, "the item is not aligned to 8 bytes");
        return;
    }
    if mode::is_checked() {
        checked::item_initialised(place, CALL);
    }
    // SAFETY: the program says that an item may be written there.
    unsafe { place.write(Work::new(func)) };
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_work_destroy(work: WorkPtr) {
    const CALL: &str = "cmwq_work_destroy";
    match work.0 {
        Some(work) if mode::is_checked() => checked::item_destroyed(work, CALL),
        Some(_) => {}
        None => drop(checked::misuse(CALL, "the item is NULL")),
    }
}

/// As [`with`], for what waits.
fn waiting(call: &str, work: WorkPtr, act: impl FnOnce(RawItem) -> c_int) -> c_int {
    let answer = with(call, work, act);
    mode::waited();
    answer
}

/// Calls `act` with an item, or returns what is wrong with it.
fn with(call: &str, work: WorkPtr, act: impl FnOnce(RawItem) -> c_int) -> c_int {
    work.get(call).map_or_else(|error| error, act)
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_work_pending(work: WorkPtr) -> c_int {
    with("cmwq_work_pending", work, |item| {
        c_int::from(item.is_pending())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_work_busy(work: WorkPtr) -> c_int {
    with("cmwq_work_busy", work, |item| {
        let busy = item.busy();
        c_int::from(busy.pending) | c_int::from(busy.running) << 1
    })
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_work_armed(work: WorkPtr) -> c_int {
    with("cmwq_work_armed", work, |item| {
        c_int::from(item.waits() == Some(Waits::Timer))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_work_is_current(work: WorkPtr) -> c_int {
    with("cmwq_work_is_current", work, |item| {
        c_int::from(item.is_current())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_work_flush(work: WorkPtr) -> c_int {
    waiting("cmwq_work_flush", work, |item| errno::of_bool(item.flush()))
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_delayed_work_flush(work: WorkPtr) -> c_int {
    waiting("cmwq_delayed_work_flush", work, |item| {
        errno::of_bool(item.flush_delayed())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_work_cancel(work: WorkPtr) -> c_int {
    with("cmwq_work_cancel", work, |item| c_int::from(item.cancel()))
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_work_cancel_sync(work: WorkPtr) -> c_int {
    waiting("cmwq_work_cancel_sync", work, |item| {
        errno::of_bool(item.cancel_sync())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_work_disable(work: WorkPtr) -> c_int {
    with("cmwq_work_disable", work, |item| {
        c_int::from(item.disable())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_work_disable_sync(work: WorkPtr) -> c_int {
    waiting("cmwq_work_disable_sync", work, |item| {
        item.disable_sync()
            .map_or_else(|error| error.errno(), c_int::from)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_work_enable(work: WorkPtr) -> c_int {
    with("cmwq_work_enable", work, |item| c_int::from(item.enable()))
}

// What a static initialiser of C says.
const _: () = assert!(Header::NEW_WORD == 0xffff_0000_0000_0000);
