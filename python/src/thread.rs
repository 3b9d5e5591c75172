//! Python's state of the engine's threads.
//!
//! A thread of the engine gets its state with its first task and keeps it until it ends. Between
//! tasks it is detached: it holds no lock of the interpreter, and may sleep.

use std::cell::Cell;
use std::ffi::{c_int, c_ulong};
use std::sync::OnceLock;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32};
use std::time::Duration;
use std::{fs, mem, ptr, thread};

use cmwq_policy::interpreter::Hold;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::{engine, gil};

// The same functions as in `pyo3::ffi`, which says that they never unwind. They do: before 3.14
// the interpreter ends a thread that comes back during its finalization, by `pthread_exit`.
// SAFETY: so they are declared in Python's headers.
unsafe extern "C-unwind" {
    fn PyEval_RestoreThread(state: *mut ffi::PyThreadState);
    fn PyGILState_Ensure() -> c_int;
    fn PyThread_get_thread_ident() -> c_ulong;
    fn PyObject_Call(
        callable: *mut ffi::PyObject,
        args: *mut ffi::PyObject,
        kwargs: *mut ffi::PyObject,
    ) -> *mut ffi::PyObject;
}

/// What `PyGILState_Ensure` returns where the thread was detached.
const DETACHED: ffi::PyGILState_STATE = ffi::PyGILState_STATE::PyGILState_UNLOCKED;

/// The interpreter ends, and no thread of ours attaches any more.
static OVER: AtomicBool = AtomicBool::new(false);
/// Counts the forks that lead to this process.
static FORKS: AtomicU32 = AtomicU32::new(0);
/// Threads that make their states just now, which they do without the interpreter's lock. Python
/// takes another lock for that, which up to 3.11 would be held for ever in a child that is forked
/// meanwhile. So a fork waits for them, and they for it.
static MAKERS: AtomicU32 = AtomicU32::new(0);
static FORKING: AtomicU32 = AtomicU32::new(0);
/// Each looks again after so long: nobody is woken, as no lock may be held over a fork.
const LOOKS_AGAIN: Duration = Duration::from_micros(100);
/// The interpreter, which the states are for.
static INTERPRETER: AtomicPtr<ffi::PyInterpreterState> = AtomicPtr::new(ptr::null_mut());
/// Called in a thread that is new to Python, with its name, and in one that ends.
static HOOKS: OnceLock<(Py<PyAny>, Py<PyAny>)> = OnceLock::new();

/// Whether the interpreter ends.
pub(crate) fn is_over() -> bool {
    OVER.load(SeqCst)
}

/// How many forks lead to this process.
pub(crate) fn forks() -> u32 {
    FORKS.load(SeqCst)
}

/// No thread of the engine attaches to the interpreter from now on.
#[pyfunction]
pub(crate) fn end() {
    OVER.store(true, SeqCst);
}

/// The calling thread is about to fork.
#[pyfunction]
pub(crate) fn forks_now(py: Python<'_>) {
    FORKING.fetch_add(1, SeqCst);
    // They may need its CPU. Without the interpreter's lock they may also stop all threads that
    // are attached.
    while MAKERS.load(SeqCst) > 0 {
        detached(py, || thread::sleep(LOOKS_AGAIN));
    }
}

/// It has, and this is the parent.
#[pyfunction]
pub(crate) fn has_forked() {
    FORKING.fetch_sub(1, SeqCst);
}

/// The calling process is a forked child.
#[pyfunction]
pub(crate) fn forked() {
    FORKS.fetch_add(1, SeqCst);
    FORKING.store(0, SeqCst);
    // One that was just looking is counted.
    MAKERS.store(0, SeqCst);
}

/// Says what is called in threads of the engine: `began` with the thread's name before its first
/// task, `ends` when it ends. The first call counts.
#[pyfunction]
pub(crate) fn set_hooks(_py: Python<'_>, began: Py<PyAny>, ends: Py<PyAny>) {
    // SAFETY: the thread is attached.
    INTERPRETER.store(unsafe { ffi::PyInterpreterState_Get() }, SeqCst);
    let _ = HOOKS.set((began, ends));
}

/// If the interpreter ends the calling thread while this is there, the thread stays here for ever
/// instead, as it does from Python 3.14 on. Its stack belongs to the engine, which cannot be
/// unwound by others; the process ends without it.
struct Stay;

impl Drop for Stay {
    fn drop(&mut self) {
        loop {
            thread::park();
        }
    }
}

fn guarded<R>(call: impl FnOnce() -> R) -> R {
    let stay = Stay;
    let result = call();
    mem::forget(stay);
    result
}

/// The calling thread's identifier, as `threading.get_ident` has it.
pub(crate) fn ident() -> u64 {
    // SAFETY: it takes nothing and always works.
    unsafe { PyThread_get_thread_ident() }
}

/// The state of a thread of the engine while it is detached; null before its first task.
struct Kept(Cell<*mut ffi::PyThreadState>);

thread_local! {
    static KEPT: Kept = const { Kept(Cell::new(ptr::null_mut())) };
    static HOLD: Cell<Hold> = const { Cell::new(Hold::NEW) };
}

/// The thread ends.
impl Drop for Kept {
    fn drop(&mut self) {
        let state = self.0.get();
        if state.is_null() || is_over() {
            return;
        }
        // SAFETY: it is this thread's, which is detached.
        guarded(|| unsafe { PyEval_RestoreThread(state) });
        Python::attach(|py| {
            if let Some((_, ends)) = HOOKS.get() {
                report(py, ends.call0(py).map(drop));
            }
        });
        // SAFETY: the thread is attached, and this gives back what `attach_first` took.
        unsafe { ffi::PyGILState_Release(DETACHED) };
    }
}

/// The calling thread is about to attach: it lets others have the lock, if it is time for that.
fn come() {
    let Some(interval) = gil::interval() else {
        return;
    };
    let mut hold = HOLD.get();
    if hold.comes(interval, engine::now()) {
        thread::sleep(Duration::from_nanos(Hold::PAUSE));
    }
    HOLD.set(hold);
}

/// It is detached again.
fn leave() {
    let mut hold = HOLD.get();
    hold.leaves(engine::now());
    HOLD.set(hold);
}

/// Calls `body` with the calling thread, which is the engine's, attached to the interpreter.
pub(crate) fn attached<R>(body: impl FnOnce(Python<'_>) -> R) -> R {
    come();
    KEPT.with(|kept| {
        match kept.0.get() {
            state if state.is_null() => attach_first(),
            // SAFETY: it is this thread's, which is detached.
            state => guarded(|| unsafe { PyEval_RestoreThread(state) }),
        }
        let result = Python::attach(body);
        // SAFETY: the thread is attached.
        kept.0.set(unsafe { ffi::PyEval_SaveThread() });
        leave();
        result
    })
}

fn attach_first() {
    let state = new_state();
    // SAFETY: it is this thread's first one, and kept until the thread ends.
    guarded(|| unsafe { PyEval_RestoreThread(state) });
    Python::attach(|py| {
        let name = fs::read_to_string("/proc/thread-self/comm");
        let name = name.map_or("cmwq".into(), |name| name.trim_end().to_owned());
        if let Some((began, _)) = HOOKS.get() {
            report(py, began.call1(py, (name,)).map(drop));
        }
    });
}

/// A state of the calling thread, which has none. As `PyGILState_Ensure` makes it, it counts as
/// taken once.
fn new_state() -> *mut ffi::PyThreadState {
    // Who has come in first is waited for: both look after they have said so.
    loop {
        MAKERS.fetch_add(1, SeqCst);
        if FORKING.load(SeqCst) == 0 {
            break;
        }
        MAKERS.fetch_sub(1, SeqCst);
        thread::sleep(LOOKS_AGAIN);
    }
    // SAFETY: the interpreter is there, and was stored before the first task.
    let state = unsafe { ffi::PyThreadState_New(INTERPRETER.load(SeqCst)) };
    MAKERS.fetch_sub(1, SeqCst);
    state
}

/// Calls `body`, in which the calling thread, of any kind, is not attached. It must not touch
/// objects of Python but inside of [`back`].
pub(crate) fn detached<R>(_py: Python<'_>, body: impl FnOnce() -> R) -> R {
    // SAFETY: the thread is attached, as `_py` shows.
    let state = unsafe { ffi::PyEval_SaveThread() };
    let result = body();
    // SAFETY: it is this thread's.
    guarded(|| unsafe { PyEval_RestoreThread(state) });
    result
}

/// Calls `body` attached, in a thread of any kind that is [`detached`].
pub(crate) fn back<R>(body: impl FnOnce(Python<'_>) -> R) -> R {
    come();
    // SAFETY: the interpreter is there.
    guarded(|| unsafe { PyGILState_Ensure() });
    let result = Python::attach(body);
    // SAFETY: gives back what was taken above.
    unsafe { ffi::PyGILState_Release(DETACHED) };
    leave();
    result
}

/// Calls `callable(arg)`. In the middle of it the interpreter may end the thread.
pub(crate) fn call(callable: &Bound<'_, PyAny>, arg: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = callable.py();
    let args = pyo3::types::PyTuple::new(py, [arg])?;
    let null = ptr::null_mut();
    // SAFETY: two objects that are there, and no keywords.
    let result = guarded(|| unsafe { PyObject_Call(callable.as_ptr(), args.as_ptr(), null) });
    // SAFETY: a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, result) }.map(drop)
}

/// An error that nobody waits for.
pub(crate) fn report(py: Python<'_>, result: PyResult<()>) {
    if let Err(error) = result {
        error.write_unraisable(py, None);
    }
}
