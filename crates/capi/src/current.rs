//! What an item can ask of its worker.

use std::ffi::{c_int, c_void};

use cmwq_engine::worker;

use crate::abi::{Arg, Text, Work};
use crate::say::misuse;
use crate::{checked, mode};

#[unsafe(no_mangle)]
extern "C" fn cmwq_current_work() -> *mut Work {
    let address = match worker::current_item() {
        Some((address, Some(_))) if mode::is_checked() => checked::work_of(address),
        Some((address, Some(_))) => address,
        // An item of another face.
        _ => 0,
    };
    std::ptr::with_exposed_provenance_mut(address)
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_set_worker_desc(text: Text) {
    match text.get() {
        Some(text) => worker::describe(&text),
        None => drop(misuse("cmwq_set_worker_desc", "the text is NULL")),
    }
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_is_rescuer() -> c_int {
    c_int::from(worker::is_rescuer())
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_others_waiting() -> c_int {
    c_int::from(worker::others_waiting())
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_attach_process(pid: c_int) -> c_int {
    worker::attach(pid)
}

/// May unwind: the program's function is called on the program's own stack.
#[unsafe(no_mangle)]
extern "C-unwind" fn cmwq_blocking(wait: Option<extern "C-unwind" fn(*mut c_void)>, arg: Arg) {
    match wait {
        Some(wait) => worker::blocking(|| wait(arg.0)),
        None => drop(misuse("cmwq_blocking", "the function is NULL")),
    }
}
