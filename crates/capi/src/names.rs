//! Names of C functions, for reports: what the dynamic linker knows.

use std::collections::BTreeMap;
use std::ffi::CStr;

use cmwq_engine::Process;
use cmwq_engine::sync::Mutex;

/// Names that were asked for. They are never freed: reports keep them.
#[derive(Default)]
struct Names(Mutex<BTreeMap<usize, &'static str>>);

/// The name of the function at this address, or the object that has it and where in it. A program
/// shows its own names if it is linked with `-rdynamic`.
pub(crate) fn of(func: usize) -> &'static str {
    let Some(process) = Process::existing() else {
        return "an item";
    };
    let names = &process.state::<Names>().0;
    let known = |names: &Mutex<BTreeMap<_, _>>| names.lock().ok()?.get(&func).copied();
    known(names).unwrap_or_else(|| {
        // Not under the lock: the linker's own may be held by who loads a library.
        let name = lookup(func).into_boxed_str();
        let mut names = names.lock().expect("nobody panics with it");
        // Kept only if nobody was faster: what is not in the map, nobody finds again.
        names.entry(func).or_insert_with(|| Box::leak(name))
    })
}

fn lookup(func: usize) -> String {
    let mut info = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // SAFETY: any address may be asked for; `info` is ours.
    let found = unsafe { libc::dladdr(func as *const libc::c_void, &mut info) } != 0;
    if found && !info.dli_sname.is_null() && info.dli_saddr as usize == func {
        return text(info.dli_sname);
    }
    if found && !info.dli_fname.is_null() {
        let file = text(info.dli_fname);
        let file = file.rsplit('/').next().unwrap_or_default();
        return format!("{file}+{:#x}", func.wrapping_sub(info.dli_fbase as usize));
    }
    format!("{func:#x}")
}

fn text(name: *const std::ffi::c_char) -> String {
    // SAFETY: the linker's names end with a zero, and stay while their object is loaded.
    unsafe { CStr::from_ptr(name) }
        .to_string_lossy()
        .into_owned()
}
