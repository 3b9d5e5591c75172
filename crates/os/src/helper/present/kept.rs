//! What the helper keeps of the parent's memory: where it is.

use std::ffi::c_void;
use std::ptr::NonNull;

/// What the program or library with this code has mapped of its file.
pub(super) fn object_of(code: usize) -> Option<(usize, usize)> {
    let mut found = Found { code, range: None };
    // SAFETY: `look` is called during this call only, with what is given here.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
    found.range
}

/// The range of the object with this code, once the walk over all objects has come to it.
struct Found {
    code: usize,
    range: Option<(usize, usize)>,
}

/// Looks at one object; ends the walk if it is the one.
///
/// # Safety
///
/// `info` is what `dl_iterate_phdr` gives, `found` a [`Found`], and both are nobody else's for the
/// time of the call.
unsafe extern "C" fn look(
    info: *mut libc::dl_phdr_info,
    _: libc::size_t,
    found: *mut c_void,
) -> libc::c_int {
    // SAFETY: see above.
    let (info, found) = unsafe { (&*info, &mut *found.cast::<Found>()) };
    // SAFETY: the object's own table.
    let headers =
        unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let range = loaded(info.dlpi_addr as usize, headers);
    found.range = range.filter(|(from, to)| (*from..*to).contains(&found.code));
    libc::c_int::from(found.range.is_some())
}

/// From the first to the last byte that an object loaded at `base` has of its file.
fn loaded(base: usize, headers: &[libc::Elf64_Phdr]) -> Option<(usize, usize)> {
    let loads = headers
        .iter()
        .filter(|header| header.p_type == libc::PT_LOAD);
    let ranges = loads.map(|load| {
        let from = base + load.p_vaddr as usize;
        (from, from + load.p_filesz as usize)
    });
    ranges.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// Where the kernel tells this thread its CPU, if the C library has asked for that and says where.
pub(super) fn rseq_area(thread: usize) -> Option<usize> {
    // SAFETY: looks up names that only the C library may define, as constants.
    let named = |name: &std::ffi::CStr| unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    let offset = NonNull::new(named(c"__rseq_offset"))?.cast::<isize>();
    // SAFETY: a `const ptrdiff_t` of that name (glibc 2.35).
    Some(thread.wrapping_add_signed(unsafe { *offset.as_ref() }))
}
