//! What people are told of a task: `cmwq top` shows the name of its function.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyFunction, PyString, PyTuple, PyType};

/// Functions that only call their first argument: asyncio's, and that of a chunk of a map.
const WRAPPERS: [&str; 2] = ["Context.run", "call_each"];
/// So many of them, partial functions and methods are looked through.
const DEPTH: usize = 6;

/// The name of what a task calls. Code of the program may run meanwhile, if it gives its objects
/// the names of Python's.
pub(crate) fn of_task<'py>(task: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
    let task = task.cast::<PyTuple>()?;
    let (mut called, mut args) = (task.get_item(1)?, task.get_item(2)?);
    let py = called.py();
    for _ in 0..DEPTH {
        let name = if has_name(&called) {
            let name = called.getattr(intern!(py, "__qualname__"))?;
            let name = name.cast_into::<PyString>()?;
            if !WRAPPERS.contains(&&*name.to_cow()?) {
                return Ok(name);
            }
            called = args.get_item(0)?;
            continue;
        } else {
            called.get_type().qualname()?
        };
        match &*name.to_cow()? {
            "method" => called = called.getattr(intern!(py, "__func__"))?,
            "partial" => {
                args = called.getattr(intern!(py, "args"))?;
                called = called.getattr(intern!(py, "func"))?;
            }
            // Any other object is shown as its type.
            _ => return Ok(name),
        }
    }
    called.get_type().qualname()
}

/// Makes the names of attributes that [`of_task`] asks for, by asking for all of them.
pub(crate) fn prepare(py: Python<'_>) -> PyResult<()> {
    let len = py.import("builtins")?.getattr("len")?;
    let method = py
        .import("types")?
        .getattr("MethodType")?
        .call1((&len, 0))?;
    let partial = py.import("functools")?.getattr("partial")?.call1((&len,))?;
    for called in [len, method, partial] {
        let task = PyTuple::new(
            py,
            [
                py.None().into_bound(py),
                called,
                PyTuple::empty(py).into_any(),
            ],
        )?;
        of_task(&task)?;
    }
    Ok(())
}

fn has_name(called: &Bound<'_, PyAny>) -> bool {
    called.is_exact_instance_of::<PyFunction>()
        || called.is_exact_instance_of::<PyCFunction>()
        || called.is_exact_instance_of::<PyType>()
}
