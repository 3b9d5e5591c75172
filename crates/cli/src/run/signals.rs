//! Ctrl-C and its kin: start nothing more, tell the jobs, wait for them.

use super::session::Session;
use rustix::process::Signal;
use signal_hook::iterator::Signals;
use std::io;
use std::sync::Arc;

const WATCHED: [Signal; 3] = [Signal::HUP, Signal::INT, Signal::TERM];

/// From here on these signals stop the run. One that we were started with as ignored (nohup)
/// stays ignored.
pub(super) fn watch(session: &Arc<Session>) -> io::Result<()> {
    let wanted = WATCHED.iter().map(|signal| signal.as_raw());
    let mut signals = Signals::new(wanted.filter(|&signal| !crate::startup::is_ignored(signal)))?;
    let session = Arc::clone(session);
    let follow = move || {
        for number in signals.forever() {
            if let Some(signal) = Signal::from_named_raw(number) {
                session.control.signalled(signal);
            }
        }
    };
    std::thread::Builder::new()
        .name("cmwq/signals".into())
        .spawn(follow)?;
    Ok(())
}
