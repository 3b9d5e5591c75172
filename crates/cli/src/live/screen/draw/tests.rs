use std::time::Duration;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::super::look::Look;
use super::super::tests::rig::{hostile, look};
use super::*;

const KEYS: &str = "12345";

fn state(look: Look, keys: &str) -> State {
    let mut state = State::new(look, Duration::from_secs(1));
    for c in keys.chars() {
        let code = match c {
            '\n' => KeyCode::Enter,
            c => KeyCode::Char(c),
        };
        state.key(KeyEvent::new(code, KeyModifiers::NONE));
    }
    state
}

fn drawn(state: &State, width: u16, height: u16, colours: bool) -> Buffer {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    all(&mut buffer, area, state, colours);
    buffer
}

fn text(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width).max(1);
    let lines = buffer.content.chunks(width);
    let line = |cells: &[ratatui::buffer::Cell]| {
        let symbols = cells.iter().map(|cell| cell.symbol());
        symbols.collect::<String>().trim_end().to_owned() + "\n"
    };
    lines.map(line).collect()
}

#[test]
fn queues_are_drawn_with_why_the_chosen_one_waits() {
    let state = state(look(), "");
    let text = text(&drawn(&state, 80, 24, true));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        "cmwq top: process 77 (server), 2 CPUs, 2 queues, 1 pools"
    );
    assert!(lines[1].starts_with(" 1 queues  2 pools  3 CPUs  4 functions  5 processes"));
    assert!(
        lines[2].starts_with("QUEUE ") && lines[2].contains(" WAIT "),
        "{text}"
    );
    let words: Vec<&str> = lines[3].split_whitespace().collect();
    assert_eq!(words[..6], ["starved", "managed", "1", "1", "1", "3"]);
    assert!(
        text.contains("\n-- QUEUE starved:\n    3 wait: all slots of max_active"),
        "{text}"
    );
    assert_eq!(lines[23], HINTS);
}

#[test]
fn the_other_views_are_drawn() {
    for (key, said) in [
        ("2", "managed   0-1"),
        ("3", "asleep: server::resize 5ms"),
        ("4", "server::resize"),
        ("5", "4000000"),
        ("?", "Of a queue:"),
        ("\n", "1 of 1 slots taken"),
        ("5\n", "gzip -9 file"),
    ] {
        let text = text(&drawn(&state(look(), key), 80, 24, true));
        assert!(text.contains(said), "{key:?}: {text}");
    }
}

#[test]
fn the_sorted_column_is_shown_on_every_width() {
    for width in 30..200 {
        let mut state = state(look(), "");
        for column in state.view.columns().iter().skip(6) {
            state.key(KeyEvent::new(KeyCode::Right, KeyModifiers::NONE));
            let text = text(&drawn(&state, width, 24, true));
            let header = text.lines().nth(2).unwrap();
            assert!(header.contains(column.title), "{width}: {header}");
        }
    }
}

#[test]
fn no_size_makes_it_panic() {
    let sizes = [
        (0, 0),
        (1, 1),
        (1, 9),
        (20, 5),
        (20, 1),
        (5, 40),
        (300, 2),
        (80, 24),
    ];
    for view in KEYS.chars() {
        for more in ["", "\n", "?", "/x", "p"] {
            let state = state(look(), &format!("{view}{more}"));
            for (width, height) in sizes {
                let buffer = drawn(&state, width, height, true);
                assert_eq!(buffer.area, Rect::new(0, 0, width, height));
            }
        }
    }
    let small = text(&drawn(&state(look(), ""), 20, 5, true));
    assert!(small.contains("starved"), "{small}");
}

#[test]
fn a_hostile_process_commands_nothing() {
    for view in KEYS.chars() {
        for more in ["", "\n"] {
            let state = state(hostile(), &format!("{view}{more}"));
            for (width, height) in [(20, 5), (80, 24), (250, 60)] {
                let buffer = drawn(&state, width, height, true);
                for cell in &buffer.content {
                    let bad = |c: char| c.is_control() || "\u{202e}\u{200b}\u{200d}".contains(c);
                    assert!(!cell.symbol().contains(bad), "{:?}", cell.symbol());
                }
            }
        }
    }
}

#[test]
fn without_colours_there_are_none() {
    let coloured = |buffer: &Buffer| {
        let plain =
            |cell: &ratatui::buffer::Cell| cell.fg == Color::Reset && cell.bg == Color::Reset;
        !buffer.content.iter().all(plain)
    };
    for keys in ["", "2", "3", "4", "5", "?", "\n", "p", "/("] {
        let state = state(look(), keys);
        assert!(!coloured(&drawn(&state, 80, 24, false)), "{keys:?}");
    }
    assert!(coloured(&drawn(&state(look(), ""), 80, 24, true)));
}

#[test]
fn the_status_line_says_what_holds() {
    let last = |state: &State| {
        let text = text(&drawn(state, 80, 24, true));
        text.lines().last().unwrap().to_owned()
    };
    assert!(last(&state(look(), "p")).starts_with("PAUSED"));
    assert!(last(&state(look(), "/ma")).starts_with("/ma_"));
    assert!(last(&state(look(), "/ma\n")).starts_with("filter /ma/"));
    assert!(last(&state(look(), "/(\n")).starts_with("no regular expression"));
}
