//! Puts the state into a buffer of cells. Whatever does not fit is cut off.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::super::words::clean;
use super::state::{Page, State};
use super::table::{Column, Row};
use super::views::View;

const HINTS: &str = "? help  / filter  < > sort  Enter more  p pause  q quit";
/// On screens with fewer lines there is nothing below the rows.
const LOW: u16 = 10;

/// How things look. Without colours all is said by bold, underlined and reversed cells.
struct Theme {
    colours: bool,
}

impl Theme {
    fn colour(&self, colour: Color) -> Style {
        match self.colours {
            true => Style::new().fg(colour),
            false => Style::new(),
        }
    }

    fn title(&self) -> Style {
        self.colour(Color::Cyan).add_modifier(Modifier::BOLD)
    }

    fn header(&self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    fn sorted(&self) -> Style {
        self.header().add_modifier(Modifier::UNDERLINED)
    }

    fn chosen(&self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    fn faint(&self) -> Style {
        self.colour(Color::DarkGray)
    }

    /// What somebody should look at.
    fn alarm(&self) -> Style {
        self.colour(Color::Yellow).add_modifier(Modifier::BOLD)
    }
}

/// Lines that are given out from both ends.
struct Lines<'a> {
    buffer: &'a mut Buffer,
    area: Rect,
}

impl Lines<'_> {
    fn top(&mut self) -> Option<Rect> {
        let line = self.area.height.checked_sub(1)?;
        let taken = Rect {
            height: 1,
            ..self.area
        };
        (self.area.y, self.area.height) = (self.area.y + 1, line);
        Some(taken)
    }

    fn bottom(&mut self) -> Option<Rect> {
        self.area.height = self.area.height.checked_sub(1)?;
        Some(Rect {
            y: self.area.bottom(),
            height: 1,
            ..self.area
        })
    }

    /// Writes at the beginning of a line, if there is one.
    fn write(&mut self, line: Option<Rect>, text: &str, style: Style) {
        if let Some(line) = line {
            let width = line.width.into();
            self.buffer.set_stringn(line.x, line.y, text, width, style);
        }
    }
}

/// Draws everything.
pub(super) fn all(buffer: &mut Buffer, area: Rect, state: &State, colours: bool) {
    let theme = Theme { colours };
    let mut lines = Lines { buffer, area };
    title(&mut lines, state, &theme);
    status(&mut lines, state, &theme);
    match &state.page {
        Page::Rows => {
            tabs(&mut lines, state, &theme);
            brief(&mut lines, state, &theme);
            rows(&mut lines, state, &theme);
        }
        Page::Detail(_) | Page::Help => page(&mut lines, state),
    }
}

fn title(lines: &mut Lines, state: &State, theme: &Theme) {
    let seen = &state.look.seen;
    let line = lines.top();
    let mut text = format!(
        "cmwq top: process {} ({}), {} CPUs, {} queues, {} pools",
        seen.pid,
        clean(&seen.command),
        seen.snapshot.cpus,
        seen.snapshot.queues.len(),
        seen.snapshot.pools.len()
    );
    if let Some(run) = &seen.run {
        text += &format!("; {}", run.words());
    }
    lines.write(line, &text, theme.title());
    if let Some(why) = &seen.stale {
        let line = lines.top();
        let text = format!("What it showed last, not what it does now: {}", clean(why));
        lines.write(line, &text, theme.alarm());
    }
}

fn tabs(lines: &mut Lines, state: &State, theme: &Theme) {
    let Some(line) = lines.top() else {
        return;
    };
    let mut x = line.x;
    for (number, view) in (1..).zip(View::ALL) {
        let style = match view == state.view {
            true => theme.chosen(),
            false => theme.faint(),
        };
        let room = line.right().saturating_sub(x).into();
        let text = format!(" {number} {} ", view.title());
        (x, _) = lines.buffer.set_stringn(x, line.y, text, room, style);
    }
}

fn status(lines: &mut Lines, state: &State, theme: &Theme) {
    let line = lines.bottom();
    if !state.message.is_empty() {
        // A library wrote it, of what was typed.
        let text = clean(&state.message.replace('\n', " "));
        return lines.write(line, &text, theme.alarm());
    }
    if let Some(typed) = &state.typed {
        let text = format!("/{}_  (Enter: filter, Esc: leave it)", clean(typed));
        return lines.write(line, &text, Style::new());
    }
    let mut text = String::new();
    if state.paused {
        text.push_str("PAUSED  ");
    }
    if let Some(filter) = state.filter() {
        text.push_str(&format!("filter /{}/  ", clean(filter)));
    }
    let style = match text.is_empty() {
        true => theme.faint(),
        false => theme.alarm(),
    };
    text.push_str(HINTS);
    lines.write(line, &text, style);
}

/// What is said of the chosen row, in at most the lower half.
fn brief(lines: &mut Lines, state: &State, theme: &Theme) {
    if lines.area.height < LOW {
        return;
    }
    let said = state.brief();
    let most = usize::from(lines.area.height / 2);
    // From below upwards.
    for text in said.iter().take(most).rev() {
        let line = lines.bottom();
        let style = match text.contains(" wait: ") {
            true => theme.alarm(),
            false => Style::new(),
        };
        lines.write(line, text, style);
    }
    let rows = state.rows();
    if let Some(row) = rows.get(state.chosen()) {
        let line = lines.bottom();
        let text = format!(
            "-- {} {}:",
            state.view.columns()[0].title,
            row.cells[0].show()
        );
        lines.write(line, &text, theme.header());
    }
}

fn rows(lines: &mut Lines, state: &State, theme: &Theme) {
    let columns = fit(state.view.columns(), state.order().column, lines.area.width);
    if let Some(line) = lines.top() {
        header(lines.buffer, line, state, &columns, theme);
    }
    let (rows, chosen) = (state.rows(), state.chosen());
    let height = usize::from(lines.area.height);
    // The chosen one stays in the middle, but for the ends.
    let first = chosen.saturating_sub(height / 2);
    let first = first.min(rows.len().saturating_sub(height));
    for (at, row) in rows.iter().enumerate().skip(first).take(height) {
        let Some(line) = lines.top() else {
            return;
        };
        of_row(lines.buffer, line, row, &columns);
        if at == chosen {
            lines.buffer.set_style(line, theme.chosen());
        }
    }
    if rows.is_empty() {
        let line = lines.top();
        let text = match state.filter() {
            Some(_) => "nothing matches",
            None => "nothing",
        };
        lines.write(line, text, theme.faint());
    }
}

/// A column, by its number, and its width.
type Fitted<'a> = (usize, &'a Column, u16);

/// The first column, and behind it as many as there is room for, the sorted one among them.
fn fit(columns: &[Column], sorted: usize, width: u16) -> Vec<Fitted<'_>> {
    let room = |from: usize, to: usize| -> u16 {
        let behind = columns[from..=to].iter().map(|column| column.width + 1);
        columns[0].width + behind.sum::<u16>()
    };
    let mut from = 1;
    while from < sorted && room(from, sorted) > width {
        from += 1;
    }
    let last = (from..columns.len()).take_while(|&last| room(from, last) <= width);
    let last = last.last().unwrap_or(0);
    let shown = std::iter::once(0).chain(from..=last);
    let mut shown: Vec<Fitted> = shown
        .map(|at| (at, &columns[at], columns[at].width))
        .collect();
    let used: u16 = shown.iter().map(|(_, _, width)| width + 1).sum();
    let spare = (width + 1).saturating_sub(used);
    if let Some((_, _, width)) = shown.iter_mut().find(|(_, column, _)| column.wide) {
        *width += spare;
    }
    shown
}

fn header(buffer: &mut Buffer, line: Rect, state: &State, columns: &[Fitted], theme: &Theme) {
    let first = state.rows().first();
    let mut x = line.x;
    for &(at, column, width) in columns {
        let style = match at == state.order().column {
            true => theme.sorted(),
            false => theme.header(),
        };
        let left = first.is_none_or(|row| row.cells[at].is_text());
        put(buffer, line, x, width, column.title, left, style);
        x = x.saturating_add(width + 1);
    }
}

fn of_row(buffer: &mut Buffer, line: Rect, row: &Row, columns: &[Fitted]) {
    let mut x = line.x;
    for &(at, _, width) in columns {
        let cell = &row.cells[at];
        put(
            buffer,
            line,
            x,
            width,
            &cell.show(),
            cell.is_text(),
            Style::new(),
        );
        x = x.saturating_add(width + 1);
    }
}

/// Writes a cell, on its left or its right.
fn put(buffer: &mut Buffer, line: Rect, x: u16, width: u16, text: &str, left: bool, style: Style) {
    if x >= line.right() {
        return;
    }
    let width = width.min(line.right() - x);
    let blank = match left {
        true => 0,
        // Only numbers and titles are on the right: a character is a cell.
        false => width.saturating_sub(text.chars().count().try_into().unwrap_or(u16::MAX)),
    };
    buffer.set_stringn(x + blank, line.y, text, width.into(), style);
}

/// The lines of a page; long ones go on in the next line.
fn page(lines: &mut Lines, state: &State) {
    let width = usize::from(lines.area.width).max(1);
    for text in state.lines().iter().skip(state.scroll) {
        let characters: Vec<char> = text.chars().collect();
        let mut parts = characters.chunks(width).map(String::from_iter);
        // An empty line is one as well.
        let first = parts.next().unwrap_or_default();
        for part in std::iter::once(first).chain(parts) {
            let Some(line) = lines.top() else {
                return;
            };
            lines.write(Some(line), &part, Style::new());
        }
    }
}

#[cfg(test)]
mod tests;
