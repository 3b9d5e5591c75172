//! Making the engine of a process, at first use.

use std::io;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use cmwq_os::{generation, observe};

use crate::engine::{Engine, existing};
use crate::environment;
use crate::monitor;
use crate::threads::ticker;

/// The number of the process one of whose threads makes the engine, or has made it; 0: none could.
/// A process that was forked meanwhile has another number, so it never waits for its parent.
static MAKER: AtomicU32 = AtomicU32::new(0);

/// How long a thread sleeps while another one makes the engine. It does not spin: it may have a
/// real-time policy, and the CPU that the other one needs.
const MAKING: Duration = Duration::from_micros(50);

/// The process's engine, made at first use.
///
/// # Errors
/// If the system has no page left to tell a forked child by, or no thread, or parents have used up
/// the numbers of pools. The next use tries again.
pub(crate) fn get() -> io::Result<&'static Engine> {
    if let Some(engine) = existing() {
        return Ok(engine);
    }
    let ours = generation::claim()?;
    loop {
        let maker = MAKER.load(SeqCst);
        // After that load: whoever finds no engine here, and the maker unchanged, is the only one.
        if let Some(engine) = existing() {
            return Ok(engine);
        }
        if maker == ours {
            std::thread::sleep(MAKING);
        } else if MAKER.compare_exchange(maker, ours, SeqCst, SeqCst).is_ok() {
            return make(ours);
        }
    }
}

/// Makes the engine of the process that has this number. The calling thread alone does so.
fn make(generation: u32) -> io::Result<&'static Engine> {
    let unmade = Unmade;
    // Before there is a second thread. Else the thread of the page does it, which may wait.
    observe::make_room_if_alone();
    let engine = Box::into_raw(Box::new(Engine::new(generation)?));
    // SAFETY: made above; freed only where no thread knows of it.
    if let Err(error) = ticker::start(unsafe { &*engine }) {
        // SAFETY: nobody but the thread that was not made would have known of it.
        drop(unsafe { Box::from_raw(engine) });
        return Err(error);
    }
    Engine::publish(engine);
    std::mem::forget(unmade);
    // Here, since nothing is locked yet: who is told may use queues.
    environment::check();
    // SAFETY: leaked.
    let engine = unsafe { &*engine };
    // Where this is denied nobody can look, and all else works.
    let _ = monitor::start(engine);
    Ok(engine)
}

/// However the making ends that has begun: another one may begin when this is dropped.
struct Unmade;

impl Drop for Unmade {
    fn drop(&mut self) {
        MAKER.store(0, SeqCst);
    }
}
