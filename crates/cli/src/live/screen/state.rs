//! What the screen shows, as keys and looks change it. Nothing here draws or waits.

use std::time::Duration;

use cmwq_stats::control::Request;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use regex_lite::Regex;

use super::super::glossary::GLOSSARY;
use super::super::target::Seen;
use super::detail;
use super::look::Look;
use super::table::{Key, Order, Row, arrange};
use super::views::View;

const SHORTEST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_secs(86400);
/// Bytes of a regular expression, but for the last character.
const MOST_TYPED: usize = 200;
/// Rows of PageUp and PageDown.
const PAGE: isize = 10;

/// What the loop is to do after a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Nothing but draw.
    Draw,
    /// Look now: what is shown has changed.
    Look,
    Quit,
    /// Stop, as a shell's job.
    Suspend,
}

/// What covers the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Page {
    Rows,
    /// All about one of them.
    Detail(Key),
    Help,
}

/// See the module.
pub(super) struct State {
    pub(super) view: View,
    pub(super) page: Page,
    /// First line of a page that is shown.
    pub(super) scroll: usize,
    pub(super) paused: bool,
    pub(super) interval: Duration,
    /// What is being typed as a filter.
    pub(super) typed: Option<String>,
    filter: Option<Regex>,
    /// To be said once.
    pub(super) message: String,
    orders: [Order; View::ALL.len()],
    selected: [Option<Key>; View::ALL.len()],
    pub(super) look: Look,
    /// The look that rates are counted from.
    before: Option<Seen>,
    rows: Vec<Row>,
}

impl State {
    pub(super) fn new(look: Look, interval: Duration) -> State {
        let mut state = State {
            view: View::Queues,
            page: Page::Rows,
            scroll: 0,
            paused: false,
            interval,
            typed: None,
            filter: None,
            message: String::new(),
            orders: View::ALL.map(View::usual_order),
            selected: View::ALL.map(|_| None),
            look,
            before: None,
            rows: Vec::new(),
        };
        state.arrange();
        state
    }

    /// Takes what was seen, unless the screen has been paused meanwhile.
    pub(super) fn saw(&mut self, look: Look) {
        if self.paused {
            return;
        }
        let last = std::mem::replace(&mut self.look, look).seen;
        let gap = self.look.seen.snapshot.at.saturating_sub(last.snapshot.at);
        // Looks between two, after a key, are too close for a rate.
        if self.before.is_none() || u128::from(gap) * 2 >= self.interval.as_nanos() {
            self.before = Some(last);
        }
        self.arrange();
    }

    /// What to ask the process for.
    pub(super) fn request(&self) -> Request {
        match self.page {
            // It says where each worker is.
            Page::Detail(_) => Request::Dump,
            Page::Rows | Page::Help => Request::Look,
        }
    }

    pub(super) fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub(super) fn order(&self) -> Order {
        self.orders[self.view as usize]
    }

    pub(super) fn filter(&self) -> Option<&str> {
        self.filter.as_ref().map(Regex::as_str)
    }

    /// The number of the chosen row. The first one, whichever it is, until another one is chosen.
    pub(super) fn chosen(&self) -> usize {
        let key = self.selected[self.view as usize].as_ref();
        let at = key.and_then(|key| self.rows.iter().position(|row| row.key == *key));
        at.unwrap_or(0)
    }

    /// What is said of the chosen row below the others.
    pub(super) fn brief(&self) -> Vec<String> {
        let row = self.rows.get(self.chosen());
        row.map_or(Vec::new(), |row| {
            detail::brief(self.view, &row.key, &self.look)
        })
    }

    /// The lines of a page that covers the rows.
    pub(super) fn lines(&self) -> Vec<String> {
        match &self.page {
            Page::Rows => Vec::new(),
            Page::Detail(key) => detail::full(self.view, key, &self.look),
            Page::Help => GLOSSARY.lines().map(str::to_owned).collect(),
        }
    }

    pub(super) fn key(&mut self, key: KeyEvent) -> Act {
        self.message.clear();
        if key.modifiers.contains(KeyModifiers::ALT) {
            return Act::Draw;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if control => Act::Quit,
            KeyCode::Char('z') if control => Act::Suspend,
            code if self.typed.is_some() => self.type_filter(code, control),
            // Ctrl-S is no command `s`.
            KeyCode::Char(_) if control => Act::Draw,
            code if self.page != Page::Rows => self.key_on_page(code),
            code => self.key_on_rows(code),
        }
    }

    fn type_filter(&mut self, code: KeyCode, control: bool) -> Act {
        let typed = self.typed.get_or_insert_default();
        match code {
            KeyCode::Enter => self.set_filter(),
            KeyCode::Esc => self.typed = None,
            KeyCode::Backspace => {
                typed.pop();
            }
            KeyCode::Char('u') if control => typed.clear(),
            KeyCode::Char(c) if !control && !c.is_control() && typed.len() < MOST_TYPED => {
                typed.push(c);
            }
            _ => {}
        }
        Act::Draw
    }

    /// A bad expression is said to be so, stays to be corrected, and changes nothing else.
    fn set_filter(&mut self) {
        let typed = self.typed.take().unwrap_or_default();
        if typed.is_empty() {
            self.filter = None;
        } else {
            match Regex::new(&typed) {
                Ok(regex) => self.filter = Some(regex),
                Err(error) => {
                    self.message = format!("no regular expression: {error}");
                    self.typed = Some(typed);
                }
            }
        }
        self.arrange();
    }

    fn key_on_page(&mut self, code: KeyCode) -> Act {
        let last = self.lines().len().saturating_sub(1);
        let page = PAGE as usize;
        self.scroll = match code {
            KeyCode::Up | KeyCode::Char('k') => self.scroll.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => (self.scroll + 1).min(last),
            KeyCode::PageUp => self.scroll.saturating_sub(page),
            KeyCode::PageDown => (self.scroll + page).min(last),
            KeyCode::Home => 0,
            KeyCode::End => last,
            KeyCode::Char('q') if self.page != Page::Help => return Act::Quit,
            KeyCode::Esc | KeyCode::Backspace | KeyCode::Enter | KeyCode::Char('q') => {
                return self.turn_to(Page::Rows);
            }
            KeyCode::Char('?' | 'h') => {
                let help = self.page == Page::Help;
                return self.turn_to(if help { Page::Rows } else { Page::Help });
            }
            code => return self.key_anywhere(code),
        };
        Act::Draw
    }

    fn key_on_rows(&mut self, code: KeyCode) -> Act {
        match code {
            KeyCode::Char('q') | KeyCode::Esc => return Act::Quit,
            KeyCode::Up | KeyCode::Char('k') => self.choose(-1),
            KeyCode::Down | KeyCode::Char('j') => self.choose(1),
            KeyCode::PageUp => self.choose(-PAGE),
            KeyCode::PageDown => self.choose(PAGE),
            KeyCode::Home => self.selected[self.view as usize] = None,
            KeyCode::End => self.choose(isize::MAX),
            KeyCode::Enter => {
                if let Some(row) = self.rows.get(self.chosen()) {
                    return self.turn_to(Page::Detail(row.key.clone()));
                }
            }
            KeyCode::Char('?' | 'h') => return self.turn_to(Page::Help),
            KeyCode::Char('/') => self.typed = Some(self.filter().unwrap_or_default().to_owned()),
            KeyCode::Char('<') | KeyCode::Left => self.sort_by(-1),
            KeyCode::Char('>') | KeyCode::Right => self.sort_by(1),
            KeyCode::Char('r') => {
                let order = &mut self.orders[self.view as usize];
                order.descends = !order.descends;
                self.arrange();
            }
            code => return self.key_anywhere(code),
        }
        Act::Draw
    }

    fn key_anywhere(&mut self, code: KeyCode) -> Act {
        let views = View::ALL.len();
        match code {
            KeyCode::Tab => self.show((self.view as usize + 1) % views),
            KeyCode::BackTab => self.show((self.view as usize + views - 1) % views),
            KeyCode::Char(c @ '1'..='5') => self.show(c as usize - '1' as usize),
            KeyCode::Char('p' | ' ') => {
                self.paused = !self.paused;
                match self.paused {
                    true => Act::Draw,
                    false => Act::Look,
                }
            }
            KeyCode::Char('+') => self.look_every(self.interval.saturating_mul(2).min(LONGEST)),
            KeyCode::Char('-') => self.look_every((self.interval / 2).max(SHORTEST)),
            _ => Act::Draw,
        }
    }

    fn look_every(&mut self, interval: Duration) -> Act {
        self.interval = interval;
        self.message = format!("looks every {interval:?}");
        Act::Draw
    }

    fn show(&mut self, view: usize) -> Act {
        self.view = View::ALL[view];
        self.turn_to(Page::Rows)
    }

    fn turn_to(&mut self, page: Page) -> Act {
        (self.page, self.scroll) = (page, 0);
        self.arrange();
        Act::Look
    }

    fn choose(&mut self, by: isize) {
        let last = self.rows.len().saturating_sub(1);
        let at = self.chosen().saturating_add_signed(by).min(last);
        self.selected[self.view as usize] = self.rows.get(at).map(|row| row.key.clone());
    }

    fn sort_by(&mut self, by: isize) {
        let last = self.view.columns().len() - 1;
        let order = &mut self.orders[self.view as usize];
        order.column = order.column.saturating_add_signed(by).min(last);
        self.arrange();
    }

    fn arrange(&mut self) {
        let at = self.chosen();
        let order = self.order();
        self.rows = self.view.rows(&self.look, self.before.as_ref());
        arrange(&mut self.rows, self.filter.as_ref(), order);
        // Where the chosen one has gone, its neighbour takes its place.
        let chosen = &mut self.selected[self.view as usize];
        let has_gone = |key: &Key| !self.rows.iter().any(|row| row.key == *key);
        if chosen.as_ref().is_some_and(has_gone) {
            let at = at.min(self.rows.len().saturating_sub(1));
            *chosen = self.rows.get(at).map(|row| row.key.clone());
        }
    }
}

#[cfg(test)]
mod tests;
