//! What a job leaves behind: it is given to us, and reaped when it ends. Nobody waits for it, and
//! our own end leaves it as it is.

use cmwq_os::adopt;
use signal_hook::consts::SIGCHLD;
use signal_hook::iterator::Signals;
use std::io;
use std::time::Duration;

/// So often at most: a signal comes with the end of each job as well.
const REAP_EVERY: Duration = Duration::from_millis(20);

/// From here on orphans of the jobs are ours, where the system allows it. Jobs are started, and
/// awaited, by workers: the children of the main thread are such orphans.
pub(super) fn adopt() -> io::Result<()> {
    if !adopt::begin() {
        return Ok(());
    }
    let mut signals = Signals::new([SIGCHLD])?;
    let reap = move || {
        for _ in signals.forever() {
            adopt::reap();
            std::thread::sleep(REAP_EVERY);
        }
    };
    super::threads::start("cmwq/orphans", reap)?;
    // That thread takes the signal: here it would interrupt waits. Jobs get the mask from before.
    let here = cmwq_os::thread::sigmask();
    cmwq_os::thread::set_sigmask(here | 1 << (SIGCHLD - 1));
    Ok(())
}
