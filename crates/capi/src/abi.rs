//! What C and Rust both know: the structs of `include/cmwq.h`, and pointers to them.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::NonNull;
use std::sync::atomic::AtomicPtr;

use cmwq_engine::Header;

/// The function of an item. It may not unwind, which ends the process.
pub type WorkFn = extern "C-unwind" fn(*mut Work);

/// An item, as `struct cmwq_work`. The engine's header, and room for it to grow.
#[repr(C)]
#[derive(Debug)]
pub struct Work {
    pub(crate) word: u64,
    links: [*mut c_void; 2],
    home: u32,
    reserved: u32,
    /// Null until the library has seen it.
    pub(crate) table: AtomicPtr<c_void>,
    pub(crate) func: Option<WorkFn>,
    room: [usize; 2],
}

/// As `struct cmwq_delayed_work`. The timer is the engine's.
#[repr(C)]
#[derive(Debug)]
pub struct DelayedWork {
    work: Work,
    room: [usize; 2],
}

// The header's layout is documented in the engine; what C sees may not be smaller.
const _: () = assert!(
    size_of::<Work>() == 64
        && size_of::<DelayedWork>() == 80
        && align_of::<Work>() == 8
        && size_of::<Header>() <= size_of::<Work>()
        && align_of::<Header>() == align_of::<Work>()
        && std::mem::offset_of!(Work, table) == 32
        && std::mem::offset_of!(Work, func) == 40
);

impl Work {
    pub(crate) fn new(func: WorkFn) -> Work {
        Work {
            word: Header::NEW_WORD,
            links: [std::ptr::null_mut(); 2],
            home: 0,
            reserved: 0,
            table: AtomicPtr::new(std::ptr::null_mut()),
            func: Some(func),
            room: [0; 2],
        }
    }
}

/// A pointer to an item, from the program: NULL, or an item that stays valid as the header says.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct WorkPtr(pub(crate) Option<NonNull<Work>>);

/// A struct of the program that the library fills in or reads; its first field is its size.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Sized32<T>(*mut T);

impl<T: Copy> Sized32<T> {
    pub(crate) const NULL: Self = Sized32(std::ptr::null_mut());

    pub(crate) fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// What the program has of it, over `known`. `None` for NULL, and for more than this library
    /// knows unless that is zero.
    pub(crate) fn read(&self, mut known: T) -> Option<T> {
        let from = NonNull::new(self.0)?.cast::<u8>();
        let size = self.size()?;
        // SAFETY: the program says that so much is there.
        let given = unsafe { std::slice::from_raw_parts(from.as_ptr(), size) };
        let ours = size.min(size_of::<T>());
        if given[ours..].iter().any(|byte| *byte != 0) {
            return None;
        }
        // SAFETY: `T` is plain numbers, and so much fits.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), (&raw mut known).cast(), ours) };
        Some(known)
    }

    /// Fills in what the program has room for, but for the size. False for NULL.
    pub(crate) fn write(&self, value: &T) -> bool {
        let Some(size) = self.size() else {
            return false;
        };
        let ours = size.min(size_of::<T>());
        let skip = size_of::<u32>();
        // SAFETY: the program says that so much is there; `T` begins with its size.
        unsafe {
            let from = std::ptr::from_ref(value).cast::<u8>().add(skip);
            std::ptr::copy_nonoverlapping(from, self.0.cast::<u8>().add(skip), ours - skip);
        }
        true
    }

    fn size(&self) -> Option<usize> {
        // SAFETY: the program's, or NULL; the size comes first.
        let size = unsafe { self.0.cast::<u32>().as_ref() }?;
        let size = *size as usize;
        (size >= size_of::<u32>() && size < 1 << 16).then_some(size)
    }
}

/// So many structs of the program, or NULL.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Items<T> {
    first: *const T,
    count: usize,
}

impl<T: Copy> Items<T> {
    pub(crate) const NONE: Self = Items {
        first: std::ptr::null(),
        count: 0,
    };

    /// How many the program says that there are.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// They are the program's, and stay as long as the call.
    pub(crate) fn get(&self) -> Option<&[T]> {
        // SAFETY: the program says that so many are there.
        (!self.first.is_null())
            .then(|| unsafe { std::slice::from_raw_parts(self.first, self.count) })
    }
}

/// A text of the program, or NULL.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Text(*const c_char);

impl Text {
    pub(crate) fn get(self) -> Option<String> {
        let text = NonNull::new(self.0.cast_mut())?;
        // SAFETY: the program says that it ends with a zero.
        let text = unsafe { CStr::from_ptr(text.as_ptr()) };
        Some(text.to_string_lossy().into_owned())
    }
}

/// Something of the program that is only handed back to it.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Arg(pub(crate) *mut c_void);

impl Arg {
    /// Closures that call this capture all of it, which may be sent.
    pub(crate) fn get(self) -> *mut c_void {
        self.0
    }
}

// SAFETY: only an address; the program says that its functions may be called on any thread.
unsafe impl Send for Arg {}
// SAFETY: as above.
unsafe impl Sync for Arg {}

/// A place for a result.
#[repr(transparent)]
#[derive(Debug)]
pub struct Out<T>(*mut T);

impl<T> Out<T> {
    pub(crate) fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// Nothing happens where it is NULL.
    pub(crate) fn set(&self, value: T) {
        if let Some(place) = NonNull::new(self.0) {
            // SAFETY: the program says that it may be written to.
            unsafe { place.write(value) };
        }
    }
}
