//! The terminal: taken over, and always given back.

use std::io::{self, IsTerminal, stdin, stdout};
use std::sync::Once;

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::draw;
use super::state::State;
use crate::default_action;

/// Gives the terminal back when it is dropped.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<io::Stdout>>,
    colours: bool,
}

impl Screen {
    pub(super) fn enter() -> io::Result<Screen> {
        restore_on_panic();
        let terminal = Terminal::new(CrosstermBackend::new(stdout()))?;
        let colours = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let mut screen = Screen { terminal, colours };
        screen.take()?;
        Ok(screen)
    }

    fn take(&mut self) -> io::Result<()> {
        enable_raw_mode()?;
        execute!(stdout(), EnterAlternateScreen)?;
        // Its `clear` would ask the terminal where the cursor is, and the answer is among the keys.
        let whole = self.terminal.size()?.into();
        self.terminal.resize(whole)
    }

    pub(super) fn draw(&mut self, state: &State) -> io::Result<()> {
        if !is_there() {
            return Err(io::Error::other("the terminal has gone"));
        }
        let colours = self.colours;
        self.terminal.draw(|frame| {
            let area = frame.area();
            draw::all(frame.buffer_mut(), area, state, colours);
        })?;
        Ok(())
    }

    /// Stops this process, as Ctrl-Z does. Returns when it is continued.
    pub(super) fn suspend(&mut self) -> io::Result<()> {
        restore();
        default_action::stop_ourselves();
        self.take()
    }

    /// After a stop that nobody could follow: the shell has changed the terminal meanwhile.
    pub(super) fn retake(&mut self) -> io::Result<()> {
        restore();
        self.take()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// A terminal that has gone takes nothing back, so errors are nobody's.
fn restore() {
    let _ = disable_raw_mode();
    let _ = execute!(stdout(), LeaveAlternateScreen, Show);
}

/// The message of a panic is for the screen that the user then sees.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            before(panic);
        }));
    });
}

/// Whether somebody still holds the other end. The library that reads keys does not say so.
fn is_there() -> bool {
    let input = stdin();
    let mut polled = [PollFd::new(&input, PollFlags::IN)];
    let asked = poll(&mut polled, Some(&Timespec::default()));
    let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    asked.is_err() || !polled[0].revents().intersects(gone)
}

/// Whether there is a terminal that can show it, and one to take keys from.
pub(in crate::live) fn is_possible() -> bool {
    stdin().is_terminal() && stdout().is_terminal() && !is_dumb()
}

/// Whether the terminal knows no commands.
pub(in crate::live) fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}
