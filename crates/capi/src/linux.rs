//! What `linux/workqueue.h` needs beside `cmwq.h`: queues by the kernel's flags.

use cmwq_engine::QueueSpec;
use cmwq_engine::error::BuildError;
use cmwq_policy::pwq::MAX_ACTIVE_RANGE;
use cmwq_policy::queue::Kind;
use std::ffi::c_int;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;

use crate::abi::{Out, Text};
use crate::errno::{EINVAL, Errno};
use crate::handle::QueuePtr;
use crate::say::misuse;

const WQ_BH: u32 = 1;
const WQ_UNBOUND: u32 = 1 << 1;
const WQ_FREEZABLE: u32 = 1 << 2;
const WQ_MEM_RECLAIM: u32 = 1 << 3;
const WQ_HIGHPRI: u32 = 1 << 4;
const WQ_CPU_INTENSIVE: u32 = 1 << 5;
const WQ_SYSFS: u32 = 1 << 6;
const WQ_PERCPU: u32 = 1 << 8;
const WQ_ORDERED: u32 = 1 << 17;
/// What a BH queue may have beside it (kernel `__WQ_BH_ALLOWS`).
const BH_ALLOWS: u32 = WQ_BH | WQ_HIGHPRI | WQ_PERCPU;

/// Bytes of a name, with the zero behind it (kernel `WQ_NAME_LEN`).
const NAME_LEN: usize = 32;

const CALL: &str = "alloc_workqueue";

#[unsafe(no_mangle)]
extern "C" fn cmwq_linux_alloc_workqueue(
    name: Text,
    flags: u32,
    max_active: c_int,
    queue: Out<QueuePtr>,
) -> c_int {
    let Some(name) = name.get().filter(|_| !queue.is_null()) else {
        return misuse(CALL, "the name, or the place for the queue, is NULL");
    };
    let name = kept(name);
    let make = || {
        let spec = spec(&name, flags, max_active)?;
        QueuePtr::make(&name, &spec).map_err(|error: BuildError| {
            misuse(CALL, &format!("queue \"{name}\": {error}"));
            error.errno()
        })
    };
    match make() {
        Ok(made) => {
            queue.set(made);
            0
        }
        Err(error) => error,
    }
}

/// What the kernel keeps of a name; the first that is cut is said.
fn kept(mut name: String) -> String {
    static SAID: AtomicBool = AtomicBool::new(false);
    if name.len() < NAME_LEN {
        return name;
    }
    let fits = |end: &usize| name.is_char_boundary(*end);
    let end = (0..NAME_LEN).rev().find(fits).unwrap_or(0);
    name.truncate(end);
    if !SAID.swap(true, SeqCst) {
        misuse(
            CALL,
            &format!("a name was too long and is cut to \"{name}\""),
        );
    }
    name
}

/// A queue of these flags, as the kernel understands them.
fn spec(name: &str, flags: u32, max_active: c_int) -> Result<QueueSpec, c_int> {
    let has = |flag| flags & flag != 0;
    let kind = match () {
        () if has(WQ_BH) => Kind::Bh,
        () if has(WQ_ORDERED) => Kind::Ordered,
        () if has(WQ_UNBOUND) => Kind::Unmanaged,
        () => Kind::PerCpu,
    };
    if kind == Kind::Bh && (flags & !BH_ALLOWS != 0 || max_active != 0) {
        misuse(
            CALL,
            &format!("queue \"{name}\": a BH queue has no other flags, and max_active 0"),
        );
        return Err(EINVAL);
    }
    warn_of_place(name, flags);
    Ok(QueueSpec {
        kind,
        max_active: match kind {
            Kind::Bh | Kind::Ordered => None,
            _ => clamped(name, max_active),
        },
        highpri: has(WQ_HIGHPRI),
        cpu_intensive: has(WQ_CPU_INTENSIVE),
        mem_reclaim: has(WQ_MEM_RECLAIM),
        freezable: has(WQ_FREEZABLE),
        sysfs: has(WQ_SYSFS),
        ..QueueSpec::default()
    })
}

/// As the kernel since 7.2: each of both is said once.
fn warn_of_place(name: &str, flags: u32) {
    static NEITHER: AtomicBool = AtomicBool::new(false);
    static BOTH: AtomicBool = AtomicBool::new(false);
    let (said, what) = match flags & (WQ_BH | WQ_UNBOUND | WQ_PERCPU) {
        0 => (
            &NEITHER,
            "neither WQ_PERCPU nor WQ_UNBOUND is given: it is WQ_PERCPU",
        ),
        both if both == WQ_UNBOUND | WQ_PERCPU => (
            &BOTH,
            "WQ_PERCPU and WQ_UNBOUND are given: it is WQ_UNBOUND",
        ),
        _ => return,
    };
    if !said.swap(true, SeqCst) {
        misuse(CALL, &format!("queue \"{name}\": {what}"));
    }
}

/// `None` for the default; a limit that is out of range is clamped, and somebody is told.
fn clamped(name: &str, max_active: c_int) -> Option<usize> {
    let range = MAX_ACTIVE_RANGE;
    let (least, most) = (*range.start() as c_int, *range.end() as c_int);
    if max_active == 0 {
        return None;
    }
    let clamped = max_active.clamp(least, most);
    if clamped != max_active {
        let what = format!("queue \"{name}\": max_active {max_active} becomes {clamped}");
        misuse(CALL, &what);
    }
    Some(clamped as usize)
}

/// The kernel warns where it refuses. `-EINVAL` was reported where it was found, and a disabled
/// item is refused in silence.
#[unsafe(no_mangle)]
extern "C" fn cmwq_linux_warn(call: Text, error: c_int) {
    const SILENT: [c_int; 2] = [EINVAL, -libc::ECANCELED];
    if error >= 0 || SILENT.contains(&error) {
        return;
    }
    let call = call.get().unwrap_or_default();
    let why = std::io::Error::from_raw_os_error(error.saturating_neg());
    misuse(&call, &format!("refused: {why}"));
}
