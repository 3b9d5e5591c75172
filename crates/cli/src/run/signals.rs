//! Ctrl-C, Ctrl-Z and their kin.

use super::session::Session;
use super::threads;
use crate::default_action::{die_of, stop_ourselves};
use rustix::process::Signal;
use signal_hook::iterator::Signals;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const WATCHED: [Signal; 5] = [
    Signal::HUP,
    Signal::INT,
    Signal::QUIT,
    Signal::TERM,
    Signal::TSTP,
];

/// A terminal sends SIGINT first and then throws away the output that nobody has read yet: what is
/// written at once may be lost.
const FLUSH: Duration = Duration::from_millis(20);

/// From here on these signals are ours to follow. One that we were started with as ignored
/// (nohup) stays ignored.
pub(super) fn watch(session: &Arc<Session>) -> io::Result<()> {
    let wanted = WATCHED.iter().map(|signal| signal.as_raw());
    let mut signals = Signals::new(wanted.filter(|&signal| !crate::startup::is_ignored(signal)))?;
    let session = Arc::clone(session);
    let follow = move || {
        for number in signals.forever() {
            match Signal::from_named_raw(number) {
                Some(Signal::INT) => interrupt(&session),
                Some(Signal::TSTP) => suspend(&session),
                Some(signal) => session.control.signalled(signal),
                None => {}
            }
        }
    };
    threads::start("cmwq/signals", follow)?;
    Ok(())
}

/// A file that may not grow (RLIMIT_FSIZE) is an error of the write, not our end. A handler, unlike
/// an ignored signal, is not inherited by jobs. Before the first write.
pub(super) fn survive_file_limit() -> io::Result<()> {
    if !crate::startup::is_ignored(libc::SIGXFSZ) {
        signal_hook::flag::register(libc::SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
    }
    Ok(())
}

fn interrupt(session: &Session) {
    let (number, running) = session.control.interrupted();
    let next = match (number, running) {
        // Their output is being written, and then all is over.
        (1, 0) => return,
        (1, _) => format!("waiting for {running} running jobs; Ctrl-C again terminates them"),
        (2, 1..) => format!("terminating {running} running jobs; Ctrl-C again kills them"),
        (3, 1..) => format!("killing {running} running jobs"),
        // What is awaited is not a job: perhaps nobody takes the output.
        _ => {
            session.output.erase_bar();
            die_of(libc::SIGINT);
        }
    };
    std::thread::sleep(FLUSH);
    session.output.note_at_once(&next);
}

fn suspend(session: &Session) {
    session.output.erase_bar();
    session.control.suspend(stop_ourselves);
}
