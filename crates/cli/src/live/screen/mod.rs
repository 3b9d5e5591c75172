//! `cmwq top` on a terminal: views of queues, pools, CPUs, functions and child processes.
//!
//! `state` decides what is shown, by keys and looks; `views`, `table` and `detail` make rows and
//! words of a look; `draw` puts them into a buffer. `look` reads the process on a thread of its
//! own, and `terminal` gives the terminal back whatever happens.

mod detail;
mod draw;
mod look;
mod state;
mod table;
mod terminal;
#[cfg(test)]
mod tests;
mod views;

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use cmwq_stats::control::Request;
use ratatui::crossterm::event::{self, KeyEvent};
use signal_hook::iterator::Signals;

use super::target::Process;
use crate::default_action::die_of;
use look::{Look, look};
use state::{Act, State};
use terminal::Screen;
pub(super) use terminal::{is_dumb, is_possible};

/// How often it is checked whether the terminal is still there.
const CHECK: Duration = Duration::from_secs(1);
const ENDINGS: [i32; 4] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];

/// What the loop waits for.
enum Event {
    Key(KeyEvent),
    /// The terminal has another size.
    Resized,
    Signal(i32),
    Looked(io::Result<Box<Look>>),
    /// Keys cannot be read.
    Failed(io::Error),
}

/// Why the loop has ended.
enum End {
    Quit,
    Signal(i32),
}

/// Shows the process until the user has seen enough, or the process ends.
pub(super) fn show(process: Process, interval: Duration) -> io::Result<()> {
    // What is wrong from the beginning is said before the terminal is taken over.
    let first = look(&process, &Request::Look)?;
    let mut state = State::new(first, interval);
    let (events, happens) = channel();
    follow_signals(&events)?;
    let mut screen = Screen::enter()?;
    read_keys(&events)?;
    let looker = start_looking(process, &events)?;
    let ended = follow(&mut state, &mut screen, &looker, &happens);
    drop(screen);
    match ended? {
        End::Quit => Ok(()),
        End::Signal(signal) => die_of(signal),
    }
}

/// The loop.
fn follow(
    state: &mut State,
    screen: &mut Screen,
    looker: &Sender<Request>,
    happens: &Receiver<Event>,
) -> io::Result<End> {
    let mut asking = Asking::new(state.interval);
    loop {
        screen.draw(state)?;
        let mut event = match happens.recv_timeout(asking.patience(state)) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("no more keys")),
        };
        while let Some(happened) = event {
            if let Some(end) = heed(happened, state, screen, &mut asking)? {
                return Ok(end);
            }
            event = happens.try_recv().ok();
        }
        asking.ask_if_due(state, looker);
    }
}

/// How far the process has been asked for a look.
struct Asking {
    /// It has not answered yet. One look at a time: who does not answer is not asked in vain again
    /// and again.
    waits: bool,
    /// The user wants one before it is due.
    at_once: bool,
    /// When the next one is due.
    next: Instant,
}

impl Asking {
    fn new(interval: Duration) -> Self {
        Self {
            waits: false,
            at_once: false,
            next: Instant::now() + interval,
        }
    }

    /// How long the loop waits for an event.
    fn patience(&self, state: &State) -> Duration {
        match self.waits || state.paused {
            true => CHECK,
            false => self
                .next
                .saturating_duration_since(Instant::now())
                .min(CHECK),
        }
    }

    fn ask_if_due(&mut self, state: &State, looker: &Sender<Request>) {
        // A shorter interval counts at once.
        self.next = self.next.min(Instant::now() + state.interval);
        let is_due = self.at_once || Instant::now() >= self.next;
        if is_due && !self.waits && !state.paused {
            // If that thread has ended, its last event says why.
            let _ = looker.send(state.request());
            *self = Self {
                waits: true,
                ..Self::new(state.interval)
            };
        }
    }
}

/// Does what follows an event.
fn heed(
    happened: Event,
    state: &mut State,
    screen: &mut Screen,
    asking: &mut Asking,
) -> io::Result<Option<End>> {
    match happened {
        Event::Key(key) => match state.key(key) {
            Act::Draw => {}
            Act::Look => asking.at_once = true,
            Act::Quit => return Ok(Some(End::Quit)),
            Act::Suspend => screen.suspend()?,
        },
        Event::Resized => {}
        Event::Signal(libc::SIGTSTP) => screen.suspend()?,
        Event::Signal(libc::SIGCONT) => screen.retake()?,
        Event::Signal(signal) => return Ok(Some(End::Signal(signal))),
        Event::Looked(look) => {
            asking.waits = false;
            state.saw(*look?);
        }
        Event::Failed(error) => return Err(error),
    }
    Ok(None)
}

fn follow_signals(events: &Sender<Event>) -> io::Result<()> {
    let wanted = ENDINGS.into_iter().chain([libc::SIGTSTP, libc::SIGCONT]);
    // One that we were started with as ignored (nohup) stays ignored.
    let wanted = wanted.filter(|&signal| !crate::startup::is_ignored(signal));
    let mut signals = Signals::new(wanted)?;
    let events = events.clone();
    start("cmwq/signals", move || {
        for signal in signals.forever() {
            if events.send(Event::Signal(signal)).is_err() {
                return;
            }
        }
    })
}

fn read_keys(events: &Sender<Event>) -> io::Result<()> {
    let events = events.clone();
    start("cmwq/keys", move || {
        loop {
            let (read, is_over) = match event::read() {
                Ok(event::Event::Key(key)) if key.is_press() => (Event::Key(key), false),
                Ok(event::Event::Resize(..)) => (Event::Resized, false),
                Ok(_) => continue,
                Err(error) => (Event::Failed(error), true),
            };
            if events.send(read).is_err() || is_over {
                return;
            }
        }
    })
}

fn start_looking(process: Process, events: &Sender<Event>) -> io::Result<Sender<Request>> {
    let (looker, wanted) = channel();
    let events = events.clone();
    start("cmwq/look", move || {
        look::serve(&process, &wanted, &events, |looked| {
            Event::Looked(looked.map(Box::new))
        });
    })?;
    Ok(looker)
}

fn start(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.into()).spawn(body)?;
    Ok(())
}
