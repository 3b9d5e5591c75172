//! What others see of this process. A thread writes a snapshot into the page when somebody asks for
//! it, and carries out what its user sets. Otherwise it sleeps in `accept`.
//!
//! The process works without it. Nobody can look where the system denies the page, the socket or
//! the thread, where files may not grow (`RLIMIT_FSIZE`), or after the program has closed all its
//! descriptors.

mod recording;
mod settings;
pub(crate) mod snapshot;

use std::io;
use std::mem::ManuallyDrop;
use std::os::unix::fs::MetadataExt;

use cmwq_os::{file_limit, limits, observe, sched, thread};
use cmwq_policy::stats;
use cmwq_stats::Page;
use cmwq_stats::control::{Answer, Refusal, Request, Socket};

use crate::engine::Engine;

const STACK: usize = 256 * 1024;

/// Makes the page and the thread.
///
/// # Errors
/// What the system answered.
pub(crate) fn start(engine: &'static Engine) -> io::Result<()> {
    // Miri knows no memfd.
    if cfg!(miri) || !stats::is_shown(limits::open_files()) {
        return Ok(());
    }
    let socket = Socket::bind()?;
    let mut shown = Shown::new(engine, socket.name())?;
    // So that it can be found, and says whom to ask.
    shown.write(false)?;
    thread::spawn("cmwq/page", STACK, move || serve(&socket, shown))
}

fn serve(socket: &Socket, mut shown: Shown) {
    as_program(shown.engine);
    // For those who start and look at workers. Nobody waits for this thread.
    observe::make_room();
    socket.serve(|request| shown.answer(request));
}

/// The calling thread has the policy and the nice value that the program began with.
fn as_program(engine: &Engine) {
    if !sched::is_normal_policy_self() {
        let _ = sched::set_normal_policy_self();
    }
    let _ = sched::set_nice_self(engine.base_nice());
}

/// What is shown, and where.
struct Shown {
    engine: &'static Engine,
    socket: String,
    /// Never closed: the program may have closed it already, and its number may be another file's.
    page: ManuallyDrop<Page>,
    /// Device and number of the page.
    made: (u64, u64),
}

impl Shown {
    fn new(engine: &'static Engine, socket: &str) -> io::Result<Shown> {
        let page = ManuallyDrop::new(Page::new()?);
        Ok(Shown {
            engine,
            socket: socket.to_owned(),
            made: identity(&page)?,
            page,
        })
    }

    fn answer(&mut self, request: Request) -> Result<Answer, Refusal> {
        match request {
            Request::Look => self.show(false)?,
            Request::Dump => self.show(true)?,
            Request::Set { queue, settings } => settings::set(self.engine, queue, &settings)?,
            Request::Trace { millis } => return recording::start(self.engine, millis),
        }
        Ok(Answer::Done)
    }

    fn show(&mut self, places: bool) -> Result<(), Refusal> {
        self.write(places).map_err(|error| Refusal {
            errno: error.raw_os_error().unwrap_or(5),
            why: format!("the page cannot be written: {error}"),
        })
    }

    fn write(&mut self, places: bool) -> io::Result<()> {
        // The program may have closed what it did not know, and opened a file of its own.
        if identity(&self.page)? != self.made {
            return Err(io::Error::other("the program has closed its descriptor"));
        }
        let snapshot = snapshot::take(self.engine, &self.socket, places);
        file_limit::as_error(|| self.page.publish(&snapshot))
    }
}

fn identity(page: &Page) -> io::Result<(u64, u64)> {
    let file = page.file().metadata()?;
    Ok((file.dev(), file.ino()))
}
