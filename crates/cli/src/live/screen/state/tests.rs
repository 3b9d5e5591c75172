use super::super::table::Cell;
use super::super::tests::rig::{look, queue};
use super::*;

fn state() -> State {
    State::new(look(), Duration::from_secs(1))
}

fn press(state: &mut State, code: KeyCode) -> Act {
    state.key(KeyEvent::new(code, KeyModifiers::NONE))
}

fn write(state: &mut State, keys: &str) {
    for c in keys.chars() {
        let code = match c {
            '\n' => KeyCode::Enter,
            '\x1b' => KeyCode::Esc,
            '\x08' => KeyCode::Backspace,
            c => KeyCode::Char(c),
        };
        press(state, code);
    }
}

fn names(state: &State) -> Vec<String> {
    state.rows().iter().map(|row| row.cells[0].show()).collect()
}

fn chosen(state: &State) -> String {
    names(state)[state.chosen()].clone()
}

#[test]
fn the_queue_that_waits_most_comes_first_with_its_reason() {
    let state = state();
    assert_eq!(names(&state), ["starved", "mail"]);
    assert!(state.brief()[0].contains("3 wait: all slots of max_active"));
    assert!(state.brief()[1].contains("executed: server::resize"));
}

#[test]
fn keys_sort_by_each_column_and_back() {
    let mut state = state();
    press(&mut state, KeyCode::Char('r'));
    assert_eq!(names(&state), ["mail", "starved"]);
    (0..20).for_each(|_| _ = press(&mut state, KeyCode::Char('<')));
    assert_eq!(state.order().column, 0);
    press(&mut state, KeyCode::Char('r'));
    assert_eq!(names(&state), ["starved", "mail"]);
    for column in 1..state.view.columns().len() {
        press(&mut state, KeyCode::Right);
        assert_eq!(state.order().column, column);
    }
    press(&mut state, KeyCode::Right);
    assert_eq!(state.order().column, state.view.columns().len() - 1);
    // Each view has an order of its own.
    press(&mut state, KeyCode::Tab);
    assert_eq!(state.order(), View::Pools.usual_order());
}

#[test]
fn a_bad_expression_is_said_to_be_so_and_changes_nothing() {
    let mut state = state();
    write(&mut state, "/^mail$\n");
    assert_eq!(
        (names(&state), state.filter()),
        (vec!["mail".into()], Some("^mail$"))
    );
    // It is there to be changed.
    write(&mut state, "/");
    assert_eq!(state.typed.as_deref(), Some("^mail$"));
    write(&mut state, "(\n");
    assert!(state.message.contains("no regular expression"));
    assert_eq!(
        (names(&state), state.filter()),
        (vec!["mail".into()], Some("^mail$"))
    );
    // Corrected. `q` and the like are letters here.
    assert_eq!(state.typed.as_deref(), Some("^mail$("));
    write(&mut state, &format!("{}quiet|starved\n", "\x08".repeat(20)));
    assert_eq!(
        (names(&state), state.message.as_str()),
        (vec!["starved".into()], "")
    );
    // Esc leaves it, and nothing shows all again.
    write(&mut state, "/zzz\x1b");
    assert_eq!(names(&state), ["starved"]);
    write(&mut state, "/");
    state.key(KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL));
    write(&mut state, "\n");
    assert_eq!(names(&state).len(), 2);
    write(&mut state, &format!("/{}", "x".repeat(1000)));
    assert_eq!(state.typed.map(|typed| typed.len()), Some(MOST_TYPED));
}

#[test]
fn the_chosen_row_stays_chosen_while_rows_move_and_gives_way_to_its_neighbour() {
    let mut state = state();
    press(&mut state, KeyCode::Down);
    press(&mut state, KeyCode::Down);
    assert_eq!(chosen(&state), "mail");
    let with = |queues| {
        let mut look = look();
        look.seen.snapshot.queues = queues;
        look
    };
    state.saw(with(vec![
        queue(1, "starved", 0),
        queue(2, "mail", 9),
        queue(3, "new", 4),
    ]));
    assert_eq!(
        (names(&state), chosen(&state)),
        (
            vec!["mail".into(), "new".into(), "starved".into()],
            "mail".into()
        )
    );
    press(&mut state, KeyCode::End);
    state.saw(with(vec![queue(2, "mail", 9), queue(3, "new", 4)]));
    assert_eq!(chosen(&state), "new");
    // Whichever comes first, from now on.
    press(&mut state, KeyCode::Home);
    state.saw(with(vec![queue(2, "mail", 9), queue(3, "new", 10)]));
    assert_eq!(chosen(&state), "new");
    state.saw(with(vec![queue(2, "mail", 11), queue(3, "new", 10)]));
    assert_eq!(chosen(&state), "mail");
    state.saw(with(vec![]));
    assert!(state.brief().is_empty());
    assert_eq!(press(&mut state, KeyCode::Enter), Act::Draw);
    for code in [KeyCode::Up, KeyCode::Down, KeyCode::End, KeyCode::PageDown] {
        press(&mut state, code);
    }
    assert_eq!(state.chosen(), 0);
}

#[test]
fn a_row_is_drilled_into_and_left() {
    let mut state = state();
    assert_eq!(state.request(), Request::Look);
    assert_eq!(press(&mut state, KeyCode::Enter), Act::Look);
    // Where its workers are is asked for only now.
    assert_eq!(state.request(), Request::Dump);
    let lines = state.lines().join("\n");
    for said in [
        "1 of 1 slots",
        "settings: ",
        "thread 10 executes server::resize",
        " ago: an item",
    ] {
        assert!(lines.contains(said), "{said}: {lines}");
    }
    press(&mut state, KeyCode::End);
    assert_eq!(state.scroll, state.lines().len() - 1);
    assert_eq!(press(&mut state, KeyCode::Esc), Act::Look);
    assert_eq!((&state.page, state.scroll), (&Page::Rows, 0));
    // The queue ends while it is looked at.
    press(&mut state, KeyCode::Enter);
    let mut without = look();
    without.seen.snapshot.queues.clear();
    state.saw(without);
    assert_eq!(state.lines(), ["It is no longer there."]);
    for (view, said) in [
        ('2', "queues: mail, starved"),
        ('3', "thread 10"),
        ('4', "thread 10"),
        ('5', "gzip -9"),
    ] {
        let mut state = self::state();
        write(
            &mut state,
            &format!("{view}{}\n", if view == '3' { "j" } else { "" }),
        );
        let lines = state.lines().join("\n");
        assert!(lines.contains(said), "{view}: {lines}");
    }
}

#[test]
fn a_paused_screen_takes_no_looks_until_it_goes_on() {
    let mut state = state();
    assert_eq!(press(&mut state, KeyCode::Char('p')), Act::Draw);
    let mut later = look();
    later.seen.snapshot.queues.clear();
    state.saw(later);
    assert_eq!(names(&state).len(), 2);
    assert_eq!(press(&mut state, KeyCode::Char(' ')), Act::Look);
    assert!(!state.paused);
}

#[test]
fn rates_are_counted_between_looks_that_are_far_enough_apart() {
    let mut state = state();
    let rate = |state: &State| match &state.rows()[0].cells[6] {
        Cell::Rate(rate) => *rate,
        other => panic!("{other:?}"),
    };
    assert_eq!(rate(&state), None);
    let later = |ms: u64, started| {
        let mut later = look();
        later.seen.snapshot.at += ms * 1_000_000;
        later.seen.snapshot.queues[1].started = started;
        later
    };
    state.saw(later(1000, 30));
    assert_eq!(rate(&state), Some(20.0));
    // A key asked for this one: it is counted from the one before the last.
    state.saw(later(1250, 35));
    assert_eq!(rate(&state), Some(20.0));
    // A clock or a counter that goes backwards has no rate.
    state.saw(later(0, 0));
    assert_eq!(rate(&state), None);
}

#[test]
fn the_interval_has_ends() {
    let mut state = state();
    press(&mut state, KeyCode::Char('+'));
    assert_eq!(state.interval, Duration::from_secs(2));
    assert!(state.message.contains("2s"));
    (0..100).for_each(|_| _ = press(&mut state, KeyCode::Char('-')));
    assert_eq!(state.interval, SHORTEST);
    (0..100).for_each(|_| _ = press(&mut state, KeyCode::Char('+')));
    assert_eq!(state.interval, LONGEST);
}

#[test]
fn whoever_wants_to_leave_may() {
    let control = |c| KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL);
    for before in ["", "/abc", "?", "\n", "5", "3\n"] {
        let mut state = state();
        write(&mut state, before);
        assert_eq!(state.key(control('c')), Act::Quit, "{before:?}");
        assert_eq!(state.key(control('z')), Act::Suspend, "{before:?}");
    }
    assert_eq!(press(&mut state(), KeyCode::Char('q')), Act::Quit);
    assert_eq!(press(&mut state(), KeyCode::Esc), Act::Quit);
    // From help, `q` leads back: its reader has not seen enough.
    let mut state = state();
    write(&mut state, "?");
    assert!(state.lines().iter().any(|line| line.contains("WAIT50")));
    assert_eq!(press(&mut state, KeyCode::Char('q')), Act::Look);
    assert_eq!(state.page, Page::Rows);
}
