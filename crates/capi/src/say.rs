//! What people are told: reports of the engine, and misuse of the interface.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::SeqCst;

use cmwq_engine::Process;
use cmwq_engine::report::{self, Report};
use cmwq_engine::sync::Mutex;
use cmwq_engine::user;
use cmwq_os::clock;
use cmwq_policy::ratelimit::{INTERVAL, Ratelimit, Tell};
use cmwq_policy::time::SECOND;

use crate::errno::EINVAL;
use crate::mode;

/// As `struct cmwq_report`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct CReport {
    kind: u32,
    reserved: u32,
    text: *const c_char,
}

type HookFn = extern "C-unwind" fn(*const CReport, *mut c_void);

/// The program's hook.
#[derive(Clone, Copy)]
struct Hook {
    func: HookFn,
    arg: *mut c_void,
}

// SAFETY: whoever sets it says that it may be called on any thread.
unsafe impl Send for Hook {}
// SAFETY: as above.
unsafe impl Sync for Hook {}

impl Hook {
    fn call(self, kind: u32, text: &str) {
        let text = CString::new(text.replace('\0', " ")).expect("it has no zero");
        let report = CReport {
            kind,
            reserved: 0,
            text: text.as_ptr(),
        };
        mode::asks((&raw const HOOK).cast());
        user::run(|| (self.func)(&report, self.arg));
    }
}

/// Null, or leaked: a forked child finds no lock that somebody held.
static HOOK: AtomicPtr<Hook> = AtomicPtr::new(std::ptr::null_mut());

/// `CMWQ_REPORT_MISUSE`.
const MISUSE: u32 = 100;

/// As `enum cmwq_report_kind`.
fn kind(report: &Report) -> u32 {
    match report {
        Report::CpuIntensive { .. } => 1,
        Report::Stall { .. } => 2,
        Report::Starvation { .. } => 3,
        Report::LimitRaised { .. } => 4,
        Report::ThreadLimitRaised { .. } => 5,
        Report::LeftBehind { .. } => 6,
        Report::SlowDrain { .. } => 7,
        Report::TimerDropped { .. } => 8,
        Report::Environment { .. } => 9,
        Report::EnableUnderflow { .. } => 10,
        Report::DisableOverflow { .. } => 11,
        Report::FlushDependency { .. } => 12,
        _ => 0,
    }
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_set_report_hook(hook: Option<HookFn>, arg: *mut c_void) -> c_int {
    let Some(func) = hook else {
        return misuse("cmwq_set_report_hook", "the hook is NULL");
    };
    let hook = Hook { func, arg };
    mode::queued((&raw const HOOK).cast());
    HOOK.store(Box::into_raw(Box::new(hook)), SeqCst);
    report::set_hook(move |report| {
        let hook = hook;
        hook.call(kind(report), &report.to_string());
    });
    0
}

/// The program has done what it must not. It is told, and the call fails with `-EINVAL`.
#[cold]
pub(crate) fn misuse(call: &str, what: &str) -> c_int {
    if !tell_hook(call, what) {
        say_at_times(call, what);
    }
    EINVAL
}

thread_local! {
    /// The thread is in the hook: what goes wrong there is not told to it again.
    static TELLS: Cell<bool> = const { Cell::new(false) };
}

/// Whether there is a hook that could be told.
fn tell_hook(call: &str, what: &str) -> bool {
    // SAFETY: null or leaked.
    match unsafe { HOOK.load(SeqCst).as_ref() } {
        Some(hook) if !TELLS.replace(true) => {
            hook.call(MISUSE, &format!("{call}: {what}"));
            TELLS.set(false);
            true
        }
        _ => false,
    }
}

/// How often standard error was told of misuse of each call.
#[derive(Default)]
struct Told(Mutex<BTreeMap<String, Ratelimit>>);

/// Tells it to standard error, unless that has been told much of this call lately.
fn say_at_times(call: &str, what: &str) {
    let ask = |process: Process| {
        let mut told = process.state::<Told>().0.lock().ok()?;
        let limit = told.entry(call.to_owned()).or_default();
        Some(limit.ask(clock::now()))
    };
    let asked = Process::existing().and_then(ask);
    let more = match asked.unwrap_or(Tell::Now { missed: 0 }) {
        Tell::No => return,
        Tell::Now { missed: 0 } => String::new(),
        Tell::Now { missed } => format!(" ({missed} more were not shown)"),
        Tell::Last => format!(" (more of this is not shown for {} s)", INTERVAL / SECOND),
    };
    cmwq_os::stderr::say(&format!("cmwq: {call}: {what}{more}\n"));
}

/// The same where nothing sure can follow: the process ends.
#[cold]
pub(crate) fn fatal(call: &str, what: &str) -> ! {
    if !tell_hook(call, what) {
        cmwq_os::stderr::say(&format!("cmwq: {call}: {what}\n"));
    }
    std::process::abort();
}

/// The same without the program's hook, which may not be called here.
#[cold]
pub(crate) fn fatal_at_once(what: &str) -> ! {
    cmwq_os::stderr::say(&format!("cmwq: {what}\n"));
    std::process::abort();
}
