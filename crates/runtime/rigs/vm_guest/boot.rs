//! What a first process has to do.

use std::ffi::CStr;
use std::io;
use std::thread;
use std::time::Duration;

/// Whether there is nobody else to do it.
pub(crate) fn is_init() -> bool {
    std::process::id() == 1
}

/// Mounts what cmwq reads, on folders that are there.
pub(crate) fn mount_all() {
    mount(c"devtmpfs", c"/dev");
    mount(c"proc", c"/proc");
    mount(c"sysfs", c"/sys");
}

fn mount(kind: &CStr, place: &CStr) {
    // SAFETY: the strings end with a zero, and these kinds take no data.
    let result = unsafe {
        libc::mount(
            kind.as_ptr(),
            place.as_ptr(),
            kind.as_ptr(),
            0,
            std::ptr::null(),
        )
    };
    if result != 0 {
        let error = io::Error::last_os_error();
        // Checks that need it will fail.
        eprintln!("vm_guest: cannot mount {kind:?} on {place:?}: {error}");
    }
}

/// Turns the machine off after this long: who waits for its end may be gone.
pub(crate) fn power_off_after(limit: Duration) {
    thread::spawn(move || {
        thread::sleep(limit);
        println!("FAILED to end after {} s", limit.as_secs());
        power_off();
    });
}

/// Restarts the machine, of which its emulator was told that it is the end: that works also without
/// ACPI.
pub(crate) fn power_off() -> ! {
    // SAFETY: no file system keeps anything.
    unsafe { libc::reboot(libc::RB_AUTOBOOT) };
    // A first process that ends is a panic, which is an end as well.
    panic!("cannot restart: {}", io::Error::last_os_error())
}
