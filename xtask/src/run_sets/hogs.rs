//! Shells that compute all the time, as somebody else's programs would.

use std::io;
use std::process::{Child, Command, Stdio};

/// They are ended with this value.
pub(super) struct Hogs(Vec<Child>);

impl Hogs {
    pub(super) fn start(number: u32) -> io::Result<Hogs> {
        let mut hogs = Hogs(Vec::new());
        for _ in 0..number {
            let mut shell = Command::new("sh");
            let shell = shell.args(["-c", "while :; do :; done"]);
            hogs.0.push(shell.stdin(Stdio::null()).spawn()?);
        }
        Ok(hogs)
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            let _ = hog.kill().and_then(|()| hog.wait());
        }
    }
}
