//! Queues: making them, queueing, waiting for all items.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::NonNull;

use cmwq_engine::error::QueueError;
use cmwq_engine::{Header, Process, RawItem, RawQueue, Ref, Vtable, user};
use cmwq_os::clock;

use crate::abi::{Arg, Out, Sized32, Text, Work, WorkFn, WorkPtr};
use crate::attrs::{self, COptions};
use crate::errno::{self, ENOMEM, Errno};
use crate::handle::QueuePtr;
use crate::say::misuse;
use crate::{checked, mode, names};

/// As `struct cmwq_counts`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct CCounts {
    size: u32,
    max_active: u32,
    min_active: u32,
    reserved: u32,
    nr_active: u64,
    nr_executing: u64,
    nr_inactive: u64,
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_queue_create(
    name: Text,
    options: Sized32<COptions>,
    queue: Out<QueuePtr>,
) -> c_int {
    const CALL: &str = "cmwq_queue_create";
    let Some(name) = name.get().filter(|_| !queue.is_null()) else {
        return misuse(CALL, "the name, or the place for the queue, is NULL");
    };
    let make = || {
        let spec = attrs::options(&options)?.spec()?;
        QueuePtr::make(&name, &spec).map_err(|error| error.errno())
    };
    match make() {
        Ok(made) => {
            queue.set(made);
            0
        }
        Err(error) => error,
    }
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_queue_destroy(queue: QueuePtr) -> c_int {
    queue.destroy("cmwq_queue_destroy")
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_queue_name(queue: QueuePtr, place: *mut c_char, size: usize) -> c_int {
    let name = match queue.get("cmwq_queue_name") {
        Ok(queue) => queue.name(),
        Err(error) => return error,
    };
    if let Some(place) = NonNull::new(place).filter(|_| size > 0) {
        let length = name.len().min(size - 1);
        // SAFETY: the program says that so much is there.
        unsafe {
            std::ptr::copy_nonoverlapping(name.as_ptr(), place.as_ptr().cast(), length);
            place.add(length).write(0);
        }
    }
    c_int::try_from(name.len()).unwrap_or(c_int::MAX)
}

/// The CPU of a number; negative: whichever.
fn cpu_of(cpu: c_int) -> Option<usize> {
    usize::try_from(cpu).ok()
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_queue_work(queue: QueuePtr, work: WorkPtr) -> c_int {
    const CALL: &str = "cmwq_queue_work";
    let queue = match queue.get(CALL) {
        Ok(queue) => queue,
        Err(error) => return error,
    };
    match work.get(CALL) {
        Ok(item) => errno::of_bool(queue.queue_item(None, item)),
        Err(error) => error,
    }
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_queue_work_on(cpu: c_int, queue: QueuePtr, work: WorkPtr) -> c_int {
    with("cmwq_queue_work_on", queue, work, |queue, item| {
        errno::of_bool(queue.queue_item(cpu_of(cpu), item))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_queue_work_node(node: c_int, queue: QueuePtr, work: WorkPtr) -> c_int {
    with("cmwq_queue_work_node", queue, work, |queue, item| {
        errno::of_bool(match cpu_of(node) {
            Some(node) => queue.queue_item_node(node, item),
            None => queue.queue_item(None, item),
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_queue_delayed_work_on(
    cpu: c_int,
    queue: QueuePtr,
    work: WorkPtr,
    delay_ns: u64,
) -> c_int {
    with("cmwq_queue_delayed_work", queue, work, |queue, item| {
        errno::of_bool(queue.queue_delayed(cpu_of(cpu), item, delay_ns))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_queue_delayed_work(queue: QueuePtr, work: WorkPtr, delay_ns: u64) -> c_int {
    cmwq_queue_delayed_work_on(-1, queue, work, delay_ns)
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_mod_delayed_work_on(
    cpu: c_int,
    queue: QueuePtr,
    work: WorkPtr,
    delay_ns: u64,
) -> c_int {
    with("cmwq_mod_delayed_work", queue, work, |queue, item| {
        match queue.mod_delayed(cpu_of(cpu), item, delay_ns) {
            // As in the kernel: it was not pending.
            Err(QueueError::Disabled) => 0,
            modified => errno::of_bool(modified),
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_mod_delayed_work(queue: QueuePtr, work: WorkPtr, delay_ns: u64) -> c_int {
    cmwq_mod_delayed_work_on(-1, queue, work, delay_ns)
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_enable_and_queue_work(queue: QueuePtr, work: WorkPtr) -> c_int {
    with("cmwq_enable_and_queue_work", queue, work, |queue, item| {
        if !item.enable() {
            return 0;
        }
        match queue.queue_item(None, item) {
            // It was enabled, and somebody was faster.
            Ok(_) | Err(QueueError::Disabled) => 1,
            Err(error) => error.errno(),
        }
    })
}

/// Calls `act` with a queue and an item, or returns what is wrong with them.
fn with(
    call: &str,
    queue: QueuePtr,
    work: WorkPtr,
    act: impl FnOnce(&RawQueue, RawItem) -> c_int,
) -> c_int {
    let act = || Ok(act(queue.get(call)?, work.get(call)?));
    act().unwrap_or_else(|error: c_int| error)
}

/// As [`with_queue`], for what waits.
fn waiting(call: &str, queue: QueuePtr, act: impl FnOnce(&RawQueue) -> c_int) -> c_int {
    let answer = with_queue(call, queue, act);
    mode::waited();
    answer
}

/// The same with a queue only.
fn with_queue(call: &str, queue: QueuePtr, act: impl FnOnce(&RawQueue) -> c_int) -> c_int {
    queue.get(call).map_or_else(|error| error, act)
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_queue_flush(queue: QueuePtr) -> c_int {
    waiting("cmwq_queue_flush", queue, |queue| errno::of(queue.flush()))
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_queue_drain(queue: QueuePtr) -> c_int {
    waiting("cmwq_queue_drain", queue, |queue| {
        errno::of(queue.drain(None).map(drop))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_queue_drain_for(queue: QueuePtr, timeout_ns: u64) -> c_int {
    waiting("cmwq_queue_drain_for", queue, |queue| {
        match queue.drain(Some(clock::now().after(timeout_ns))) {
            Ok(false) => -libc::ETIMEDOUT,
            done => errno::of(done.map(drop)),
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_queue_congested(queue: QueuePtr, cpu: c_int) -> c_int {
    with_queue("cmwq_queue_congested", queue, |queue| {
        c_int::from(queue.is_congested(cpu_of(cpu)))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_queue_counts(queue: QueuePtr, counts: Sized32<CCounts>) -> c_int {
    const CALL: &str = "cmwq_queue_counts";
    with_queue(CALL, queue, |queue| {
        let Some(now) = queue.counts() else {
            return errno::ECHILD;
        };
        let filled = CCounts {
            size: 0,
            max_active: now.max_active,
            min_active: now.min_active,
            reserved: 0,
            nr_active: now.nr_active,
            nr_executing: now.nr_executing,
            nr_inactive: now.nr_inactive,
        };
        match counts.write(&filled) {
            true => 0,
            false => misuse(CALL, "the counts are NULL or have no size"),
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_queue_max_active(queue: QueuePtr) -> c_int {
    with_queue("cmwq_queue_max_active", queue, |queue| {
        c_int::try_from(queue.max_active()).unwrap_or(c_int::MAX)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_queue_min_active(queue: QueuePtr) -> c_int {
    with_queue("cmwq_queue_min_active", queue, |queue| {
        c_int::try_from(queue.min_active()).unwrap_or(c_int::MAX)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_queue_set_max_active(queue: QueuePtr, max_active: c_int) -> c_int {
    with_queue("cmwq_queue_set_max_active", queue, |queue| {
        let limit = usize::try_from(max_active).unwrap_or(0).max(1);
        changed(queue.set_max_active(limit))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_queue_set_min_active(queue: QueuePtr, min_active: c_int) -> c_int {
    with_queue("cmwq_queue_set_min_active", queue, |queue| {
        let limit = usize::try_from(min_active).unwrap_or(0);
        changed(queue.set_min_active(limit))
    })
}

fn changed(changed: bool) -> c_int {
    if changed { 0 } else { -libc::EOPNOTSUPP }
}

/// A call that was submitted. The header comes first.
#[repr(C)]
struct Submitted {
    header: Header,
    func: SubmitFn,
    arg: Arg,
}

type SubmitFn = extern "C-unwind" fn(*mut c_void);

static SUBMITTED: Vtable = Vtable {
    run: run_submitted,
    // It is its own, and goes when it runs.
    count: |_, _: Ref| (),
    name: |func| names::of(func.addr()),
};

/// # Safety
/// The header is that of a [`Submitted`] in a box, which is given to this call.
unsafe fn run_submitted(header: NonNull<Header>) {
    mode::entered(header.as_ptr().cast());
    // SAFETY: as above.
    let call = unsafe { Box::from_raw(header.cast::<Submitted>().as_ptr()) };
    let (func, arg) = (call.func, call.arg);
    drop(call);
    user::run(|| func(arg.0));
    mode::left(header.as_ptr().cast());
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_submit(queue: QueuePtr, func: Option<SubmitFn>, arg: Arg) -> c_int {
    const CALL: &str = "cmwq_submit";
    let Some(func) = func else {
        return checked::misuse(CALL, "the function is NULL");
    };
    with_queue(CALL, queue, |queue| {
        Header::set_names(names::of);
        let call = Box::into_raw(Box::new(Submitted {
            header: Header::with_func(&SUBMITTED, func as *const ()),
            func,
            arg,
        }));
        let header = NonNull::new(call).expect("a box").cast::<Header>();
        mode::queued(call.cast());
        // SAFETY: the header comes first; it is there until it has run.
        let queued = queue.queue_item(None, unsafe { RawItem::new(header) });
        if let Err(why) = queued {
            // SAFETY: nobody has it.
            drop(unsafe { Box::from_raw(call) });
            return why.errno();
        }
        0
    })
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_on_each_cpu(queue: QueuePtr, func: Option<WorkFn>) -> c_int {
    const CALL: &str = "cmwq_on_each_cpu";
    let Some(func) = func else {
        return checked::misuse(CALL, "the function is NULL");
    };
    let Ok(process) = Process::get() else {
        return ENOMEM;
    };
    waiting(CALL, queue, |queue| on_each_cpu(process, queue, func))
}

fn on_each_cpu(process: Process, queue: &RawQueue, func: WorkFn) -> c_int {
    let nodes = process.node_cpus();
    let cpus: Vec<usize> = nodes.iter().flat_map(|node| node.iter()).collect();
    let works: Box<[Work]> = cpus.iter().map(|_| Work::new(func)).collect();
    let works: &mut [Work] = Box::leak(works);
    let items = |works: &mut [Work]| -> Vec<_> {
        let of = |work: &mut Work| WorkPtr(Some(NonNull::from(work))).get("cmwq_on_each_cpu");
        works.iter_mut().filter_map(|work| of(work).ok()).collect()
    };
    let items = items(works);
    let mut outcome = 0;
    for (cpu, item) in cpus.iter().zip(&items) {
        if let Err(why) = queue.queue_item(Some(*cpu), *item) {
            outcome = why.errno();
        }
    }
    for item in &items {
        if let Err(error) = item.flush() {
            outcome = error.errno();
        }
    }
    if outcome == 0 {
        works
            .iter_mut()
            .for_each(|work| checked::item_destroyed(NonNull::from(work), "an item"));
        // SAFETY: it came from a box, and nobody uses an item that was waited for.
        drop(unsafe { Box::from_raw(works) });
    }
    outcome
}
